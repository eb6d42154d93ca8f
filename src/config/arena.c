#include "config/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

struct pst_arena_piece {
    struct pst_arena_piece *before;
    alignas(max_align_t) unsigned char bytes[];
};

void pst_arena_init(struct pst_arena *arena, size_t bytes_max)
{
    *arena = (struct pst_arena){.bytes_max = bytes_max};
}

void pst_arena_done(struct pst_arena *arena)
{
    while (arena->last != NULL) {
        struct pst_arena_piece *piece = arena->last;
        arena->last = piece->before;
        free(piece);
    }
    arena->bytes = 0;
}

void *pst_arena_take(struct pst_arena *arena, size_t bytes)
{
    struct pst_arena_piece *piece;

    if (bytes > arena->bytes_max - arena->bytes) {
        arena->failed = true;
        return NULL;
    }
    piece = calloc(1, sizeof *piece + bytes);
    if (piece == NULL) {
        arena->failed = true;
        return NULL;
    }
    piece->before = arena->last;
    arena->last = piece;
    arena->bytes += bytes;
    return piece->bytes;
}

void *pst_arena_grow(struct pst_arena *arena, const void *old, size_t old_bytes, size_t bytes)
{
    void *grown = pst_arena_take(arena, bytes);

    if (grown != NULL && old_bytes > 0)
        memcpy(grown, old, old_bytes);
    return grown;
}

char *pst_arena_text(struct pst_arena *arena, const char *text, size_t len)
{
    char *copy = pst_arena_take(arena, len + 1);

    if (copy != NULL && len > 0)
        memcpy(copy, text, len);
    return copy;
}
