/*
 * likely.h - "did you mean": the known word that is nearest to a mistyped one.
 *
 * Use: begin with the word, offer every candidate, look at `best`. Distances count insertions, deletions,
 * replacements and exchanged neighbours as one step each; a third of the word may be wrong.
 */
#ifndef PST_CONFIG_LIKELY_H
#define PST_CONFIG_LIKELY_H

#include "pst.h"

struct pst_likely {
    const char *word;
    const char *best; /* NULL: nothing is near */
    unsigned least;
};

struct pst_likely pst_likely_begin(const char *word);
void pst_likely_offer(struct pst_likely *likely, const char *candidate); /* takes NULL */
/* "; did you mean `best`?", or nothing. Returns buffer. */
const char *pst_likely_text(const struct pst_likely *likely, char *buffer, size_t size);

#endif
