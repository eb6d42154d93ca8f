/*
 * secret.h - a token from a file or the environment.
 *
 * Why: a configuration is kept in repositories and printed in tickets; what opens doors is not.
 * Guarantee: the text is one line of visible ASCII, fit for a header; it is never put in a message.
 */
#ifndef PST_CONFIG_SECRET_H
#define PST_CONFIG_SECRET_H

#include "config/arena.h"

#define PST_SECRET_MAX 4096

/* On failure, *ret_fault is what is wrong, in words. PST_E_INVALID, PST_E_SYSTEM or PST_E_NOMEM. */
int pst_secret_from_env(const char *name, struct pst_arena *arena, char **ret_secret,
                        const char **ret_fault);
/* A file, FIFO excluded; a trailing line break is not part of the secret. */
int pst_secret_from_file(const char *path, struct pst_arena *arena, char **ret_secret,
                         const char **ret_fault);

#endif
