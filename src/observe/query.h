/*
 * query.h - the pieces of a request target: path, parameters, percent-encoding.
 */
#ifndef PST_OBSERVE_QUERY_H
#define PST_OBSERVE_QUERY_H

#include "base/slice.h"

/* Before and after the first '?'. */
void pst_target_split(struct pst_slice target, struct pst_slice *ret_path,
                      struct pst_slice *ret_query);

/*
 * The value of ?name=…, decoded. PST_OK, PST_E_AGAIN (not given; text is ""), PST_E_SYNTAX (broken or
 * too long).
 */
int pst_query_find(struct pst_slice query, const char *name, char *text, size_t size);

#endif
