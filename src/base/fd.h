/*
 * fd.h - descriptors: how many there may be, and writing without being killed for it.
 */
#ifndef PST_BASE_FD_H
#define PST_BASE_FD_H

#include "pst.h"

/* Raises the soft limit on open files to the hard one; returns what holds now. */
uint64_t pst_fd_limit_raise(void);

/*
 * Descriptors 0 to 2 that whoever started us left closed are taken, so that no file that is opened later
 * is written to as standard output or standard error. Once per process, first of all.
 */
void pst_fd_hold_standard(void);

/* A reader that went away is an error of write(), not a signal. Once per process. */
void pst_fd_ignore_sigpipe(void);

/*
 * TCP: small writes go out at once, and a peer whose machine vanished is noticed within a minute. Sockets
 * accepted from `fd` inherit it.
 */
void pst_fd_tune_tcp(int fd);

#endif
