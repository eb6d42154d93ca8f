#include "config/likely.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 48 /* longest word for which a likely one is looked for */

/* Edit distance, with neighbours exchanged as one step: how people mistype. */
static unsigned distance(const char *a, const char *b)
{
    const size_t a_len = strlen(a), b_len = strlen(b);
    unsigned rows[3][WORD_MAX + 1];

    if (a_len > WORD_MAX || b_len > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_len; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i - 1) % 3], *second = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            unsigned least = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < least)
                least = above[j] + 1;
            if (row[j - 1] + 1 < least)
                least = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                second[j - 2] + 1 < least)
                least = second[j - 2] + 1;
            row[j] = least;
        }
    }
    return rows[a_len % 3][b_len];
}

struct pst_likely pst_likely_begin(const char *word)
{
    return (struct pst_likely){.word = word, .least = (unsigned)strlen(word) / 3 + 1};
}

void pst_likely_offer(struct pst_likely *likely, const char *candidate)
{
    unsigned steps;

    if (candidate == NULL)
        return;
    steps = distance(likely->word, candidate);
    if (steps <= likely->least && (likely->best == NULL || steps < likely->least)) {
        likely->least = steps;
        likely->best = candidate;
    }
}

const char *pst_likely_text(const struct pst_likely *likely, char *buffer, size_t size)
{
    buffer[0] = '\0';
    if (likely->best != NULL)
        snprintf(buffer, size, "; did you mean `%s`?", likely->best);
    return buffer;
}
