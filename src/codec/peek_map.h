/*
 * peek_map.h - where in a request body the wanted values stand, one table for all forms.
 *
 * Why: the forms differ in the names of their keys, not in what is done with the values.
 */
#ifndef PST_CODEC_PEEK_MAP_H
#define PST_CODEC_PEEK_MAP_H

#include "codec/peek.h"
#include "codec/walk.h"

enum pst_peek_place {
    PST_PEEK_AT_ROOT = PST_WALK_ROOT,
    PST_PEEK_AT_MODEL,
    PST_PEEK_AT_USER,
    PST_PEEK_AT_STREAM,
    PST_PEEK_AT_MAX_TOKENS,
    PST_PEEK_AT_MAX_COMPLETION_TOKENS,
    PST_PEEK_AT_N,
    PST_PEEK_AT_BEST_OF,
    PST_PEEK_AT_STREAM_OPTIONS,
    PST_PEEK_AT_INCLUDE_USAGE,
    PST_PEEK_AT_METADATA,
    PST_PEEK_AT_PARAMETERS, /* TGI's parameters, SGLang's sampling_params */
    PST_PEEK_AT_COUNTED,    /* places from here on add to a tally */
    PST_PEEK_AT_MESSAGES = PST_PEEK_AT_COUNTED,
    PST_PEEK_AT_PART,      /* a message, an item, a content part: an object with content or text */
    PST_PEEK_AT_PART_TYPE, /* image_url, text, ... */
    PST_PEEK_AT_PART_MEDIA,
    PST_PEEK_AT_CONTENT, /* text, or a list of parts */
    PST_PEEK_AT_TEXT,
    PST_PEEK_AT_PROMPT,      /* string | [strings] | [tokens] | [[tokens]] */
    PST_PEEK_AT_PROMPT_ITEM, /* one of a list */
    PST_PEEK_AT_TOKEN,
    PST_PEEK_AT_SCHEMA,   /* tools: every key and string is text */
    PST_PEEK_AT_ANYTHING, /* unknown form: every string is text */
    PST_PEEK_AT_MEDIA,    /* images given directly, each string or object one */
    PST_PEEK_AT_COUNT
};

extern const struct pst_walk_place pst_peek_map[PST_PEEK_AT_COUNT];

/* The types of parts that are no text. */
bool pst_peek_is_media_type(const char *type, size_t len);

#endif
