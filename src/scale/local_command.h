/*
 * local_command.h - the command line and environment of one engine, from the pool's template.
 *
 * Why: each engine has its own port and GPUs; everything else is the operator's to say.
 * Guarantee: bounded; what holds secrets is erased when it is done with.
 */
#ifndef PST_SCALE_LOCAL_COMMAND_H
#define PST_SCALE_LOCAL_COMMAND_H

#include "config/config.h"

#define PST_LOCAL_WORD_MAX ((size_t)128 * 1024) /* MAX_ARG_STRLEN of Linux */

/* What is put in place of {name}, {model}, {port}, {gpu} (the first) and {gpus} (with commas). */
struct pst_local_words {
    const char *name, *model;
    uint16_t port;
    const uint32_t *gpus;
    size_t gpus_count;
};

struct pst_local_command {
    char **argv, **env; /* each ends with NULL */
};

/* Our own environment, and the names of those in it that are secrets: the engine inherits the others. */
struct pst_local_inherited {
    char *const *environ_, *const *secrets;
    size_t secrets_count;
};

/*
 * What the template's `env` says is set in any case, whoever else calls it a secret; where GPUs are given, CUDA_VISIBLE_DEVICES names them
 * unless the template does. PST_OK, PST_E_FULL (a word grew too long) or PST_E_NOMEM.
 */
int pst_local_command_make(const struct pst_config_local *local,
                           const struct pst_local_words *words,
                           const struct pst_local_inherited *inherited,
                           struct pst_local_command *ret_command);
void pst_local_command_done(struct pst_local_command *command); /* takes half-made ones */

/* Differs when another command would be run; never 0, and not to be turned back without the salt. */
uint32_t pst_local_revision(const struct pst_config_local *local, const uint8_t *salt, size_t len);

#endif
