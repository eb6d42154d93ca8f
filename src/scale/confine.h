/*
 * confine.h - the gateway can open and do only what serving requests takes.
 *
 * Why: it parses strangers' bytes. Whoever gets into it through a bug must find no credentials to read, no
 * program to start and no process to look into (keeper.h).
 *
 * Guarantee: on a kernel with Landlock (5.13) no file can be opened but system libraries and
 * settings, what the configuration names for this process, and our own entries of /proc; with 6.12 no
 * other process can be signalled, by whatever means. Everywhere (seccomp) no program is started, no other
 * process traced, read or signalled, and no local socket of another service spoken to; of root's
 * rights none is left that serving does not take. What the kernel cannot do is said in the log, and is no reason not to serve.
 */
#ifndef PST_SCALE_CONFINE_H
#define PST_SCALE_CONFINE_H

#include "config/config.h"

/* For good. PST_OK, or PST_E_SYSTEM: in part or not at all, and said. */
int pst_confine(const struct pst_config *config);
/* The part of it that is seccomp's; false: said why not. Needs PR_SET_NO_NEW_PRIVS. */
bool pst_confine_calls(void);

#endif
