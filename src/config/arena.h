/*
 * arena.h - memory of one configuration: taken piece by piece, given back at once.
 *
 * Why: a configuration is hundreds of small strings and lists with one owner and one end; freeing each
 * on every error path is where such readers leak.
 *
 * Guarantee: zeroed memory; never more than the bound, whatever the file says; a failure is remembered,
 * so that the reader may go on collecting problems and ask once at the end.
 */
#ifndef PST_CONFIG_ARENA_H
#define PST_CONFIG_ARENA_H

#include "pst.h"

struct pst_arena_piece;

struct pst_arena {
    struct pst_arena_piece *last;
    size_t bytes, bytes_max;
    bool failed; /* some allocation was refused */
};

void pst_arena_init(struct pst_arena *arena, size_t bytes_max);
void pst_arena_done(struct pst_arena *arena);

void *pst_arena_take(struct pst_arena *arena, size_t bytes); /* zeroed; NULL sets failed */
/* A larger copy of a list; the old one stays until the end. */
void *pst_arena_grow(struct pst_arena *arena, const void *old, size_t old_bytes, size_t bytes);
char *pst_arena_text(struct pst_arena *arena, const char *text, size_t len); /* terminated copy */

#endif
