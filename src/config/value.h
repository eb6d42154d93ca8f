/*
 * value.h - one text of the file becomes one member of a struct, as its row says.
 *
 * Guarantee: the member is written on success only, and is then in the row's range.
 */
#ifndef PST_CONFIG_VALUE_H
#define PST_CONFIG_VALUE_H

#include "config/schema.h"

/* True for kinds that are one text; false for maps, lists and secrets. */
bool pst_value_is_scalar(enum pst_field_kind kind);

/*
 * PST_OK, PST_E_SYNTAX, PST_E_FULL (out of range), or PST_E_INVALID: well written and not to be had,
 * with the reason in *ret_refused.
 */
int pst_value_store(const struct pst_field *field, const char *text, void *place,
                    struct pst_arena *arena, const char **ret_refused);

/* How a value of this field is written: with an example in messages, without in the documentation. */
void pst_value_form(const struct pst_field *field, bool with_example, char *buffer, size_t size);

#endif
