/*
 * public.h - a configuration as the process that parses requests may have it.
 *
 * Why: that process may open neither the file nor what the file names (scale/keeper.h). What it is given
 * must not hold the engines' command lines and environments, nor comments, where people note such things.
 *
 * Guarantee: written anew from what was understood, so only that goes out: replicas.local's command and the
 * values of its env are x's (placeholders stay); secrets that are the gateway's own (tokens that clients
 * show, upstream_auth) go along as what was read from files and environment. Every value keeps its line.
 */
#ifndef PST_CONFIG_PUBLIC_H
#define PST_CONFIG_PUBLIC_H

#include "base/text.h"
#include "config/config.h"

/*
 * From the text that `config` was read from. PST_OK, PST_E_INVALID (not in this form: what is secret is
 * shared by an anchor with what is not), PST_E_SYSTEM (a secret is not there any more) or PST_E_NOMEM. The
 * package is binary, and the caller's to erase.
 */
int pst_config_public(const struct pst_config *config, struct pst_text *ret_package);
/* As pst_config_parse, from a package: nothing outside of it is looked at. */
int pst_config_parse_public(const char *path, const char *package, size_t len,
                            struct pst_config **ret_config, struct pst_problems *problems);

#endif
