/*
 * keeper.h - the process that holds credentials and engines: `penstock run` is two processes where a pool
 * has local engines, a cluster's pods, or measurements that need a token or a program.
 *
 *   keeper (first process)                       gateway (its child)
 *   reads the configuration whole                gets it without command lines and tokens
 *   starts and stops engines, watches pods,      parses requests; gate and scaler decide there
 *   asks for metrics                  <-- wire.h -->
 *
 * Why: a bug in a parser must not hand out a cluster token or a shell on the engines' host.
 * Guarantee: the child is the same program, run anew: nothing of the keeper's memory, environment and
 * descriptors is in it but a public form of the configuration (config/public.h), a few harmless variables and the
 * wire. It is confined (confine.h) before it opens a listener, and cannot read the keeper (not dumpable).
 *
 * SIGTERM, SIGINT, SIGHUP, SIGUSR1 to the keeper go on to the gateway. When that ends as it was told, the sources are
 * stopped, and the keeper's exit status is the gateway's. A gateway that crashes is started again, with
 * back-off, and told all replicas, none of which is marked to leave any more. A keeper that is killed, or whose first gateway fails by itself, leaves
 * the engines to the next start (state.h); a gateway whose keeper is gone drains and ends.
 */
#ifndef PST_SCALE_KEEPER_H
#define PST_SCALE_KEEPER_H

#include "config/config.h"

/* Does this configuration need a keeper? Also where engines of an earlier one are still to be ended. */
bool pst_keeper_is_needed(const struct pst_config *config);

/*
 * Runs the keeper until it is over; takes over the configuration. Returns the exit status. Its gateway is this
 * program with the arguments "run" and the configuration's path, which must ask pst_keeper_is_child() first.
 */
int pst_keeper_run(struct pst_config *config);

/* Is this process the gateway of a keeper? */
bool pst_keeper_is_child(void);
/* In it, first of all: takes over what it was given, and is confined from then on. Faults are said. */
int pst_keeper_enter(struct pst_config **ret_config, int *ret_wire);
/* In it, at reload: what CONFIG brought. Closes the descriptor. PST_E_INVALID, PST_E_SYSTEM, PST_E_NOMEM. */
int pst_keeper_config(int fd, const char *path, struct pst_config **ret_config,
                      struct pst_problems *problems);

#endif
