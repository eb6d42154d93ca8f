/*
 * peek_state.h - the state of a body's peek, so that a request can embed it. Fields are peek.c's own.
 */
#ifndef PST_CODEC_PEEK_STATE_H
#define PST_CODEC_PEEK_STATE_H

#include "codec/hash.h"
#include "codec/peek.h"
#include "codec/walk.h"

#define PST_PEEK_TALLIES_MAX 8
#define PST_PEEK_DATA_URL    18 /* the longest beginning that tells a data: URL of media from text */

/* What one key of the body's object adds; kept apart so that a later duplicate can replace it. */
struct pst_peek_tally {
    const struct pst_walk_rule *rule;
    uint64_t text_bytes;
    uint64_t text_chars;
    uint64_t wide_chars;
    uint64_t tokens_given;
    uint32_t media_parts;
    uint32_t prompts;
};

struct pst_peek {
    struct pst_walk walk;
    enum pst_peek_form form;
    const char *error;
    uint64_t error_at;
    bool is_object;        /* the body is one */
    uint64_t media_levels; /* bit n: the object at nesting level n + 1 was counted as media */
    struct pst_peek_tally tallies[PST_PEEK_TALLIES_MAX];
    uint8_t tallies_count;
    uint8_t tally;       /* index: the one in use */
    uint8_t opening_len; /* of the string at hand, held back while it may be a data: URL */
    bool opening;        /* the string's beginning is still being judged */
    bool is_media;       /* the string is a data: URL: not text */
    char opening_text[PST_PEEK_DATA_URL];
    struct pst_hash prefix; /* becomes prefix_hash */
    uint32_t model_len;
    uint32_t user_len;
    uint32_t word_len;
    char word[PST_WALK_KEY_MAX]; /* a part's type */
    uint32_t max_tokens;
    uint32_t max_completion_tokens;
    uint32_t n;
    uint32_t best_of;
    struct pst_peek_result result; /* what is complete as it is read */
};

#endif
