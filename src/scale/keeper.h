/*
 * keeper.h - the process that holds credentials and engines: `penstock run` is two processes where a pool
 * has local engines, a cluster's pods, or metrics that need a token.
 *
 *   keeper (first process)                       gateway (its child)
 *   reads the configuration whole                gets it without command lines and tokens
 *   starts and stops engines, watches pods,      parses requests; gate and scaler decide there
 *   asks for metrics                  <-- wire.h -->
 *
 * Why: a bug in a parser must not hand out a cluster token or a shell on the engines' host.
 * Guarantee: the child is forked before a listener opens and before any secret is used; it can open no file
 * but those it was given a path for (Landlock, where the kernel has it: said in the log where not), cannot
 * read the memory or environment of the keeper (not dumpable), and holds no descriptor of it but the wire.
 * SIGTERM, SIGINT, SIGHUP, SIGUSR1 to the keeper go on to the gateway. The keeper's exit status is the gateway's. A gateway
 * that crashes is started again, with back-off, and told all replicas; engines live on. A keeper that is
 * killed leaves the engines to the next start (state file), and the gateway drains and ends.
 */
#ifndef PST_SCALE_KEEPER_H
#define PST_SCALE_KEEPER_H

#include "config/config.h"

/* Does this configuration need a keeper? */
bool pst_keeper_is_needed(const struct pst_config *config);

/*
 * Runs the keeper until it is over. gateway() is called in the child, with the wire's descriptor and a
 * configuration without secrets; what it returns is the child's exit status. Returns the exit status.
 */
int pst_keeper_run(struct pst_config *config, int (*gateway)(struct pst_config *config, int wire));

#endif
