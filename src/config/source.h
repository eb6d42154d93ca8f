/*
 * source.h - the text of a configuration or scenario.
 *
 * Guarantee: bounded; whatever can be read will do, a pipe too. One byte past the bound is kept, so that
 * the tree's reader can say that the file is too large.
 */
#ifndef PST_CONFIG_SOURCE_H
#define PST_CONFIG_SOURCE_H

#include "config/config.h"

/* *ret_text is the caller's to free. PST_E_SYSTEM (said in `problems`) or PST_E_NOMEM. */
int pst_source_read(const char *path, struct pst_problems *problems, char **ret_text,
                    size_t *ret_len);

#endif
