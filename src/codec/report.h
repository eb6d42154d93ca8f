/*
 * report.h - what one JSON text from an engine says: an error, usage, output.
 *
 * Why: every event of a stream and every whole answer is such a text; dialects (OpenAI, Anthropic, TGI,
 * SGLang, llama.cpp) put the same few facts under different keys.
 *
 * Guarantee: as walk.h. A text that is not JSON says nothing.
 */
#ifndef PST_CODEC_REPORT_H
#define PST_CODEC_REPORT_H

#include "codec/walk.h"

#define PST_REPORT_WORD_MAX 64

/* What the text is: bits, as in the maps of a walk. */
enum pst_report_of {
    PST_REPORT_EVENT = 1 << 0,
    PST_REPORT_ANSWER = 1 << 1, /* a whole one: only its usage is asked for */
};

struct pst_report {
    struct pst_walk walk;
    bool is_broken; /* not JSON: the rest is ignored */
    bool has_error; /* a top-level "error" that is not null, or "object": "error" */
    bool has_usage; /* tokens_in or tokens_out was there */
    bool has_tokens_in;
    bool has_tokens_out;
    bool has_output;  /* text, a call, anything the client asked for that is not empty */
    bool has_choices; /* a choice was there */
    bool has_role;
    bool has_finish; /* a finish_reason that is not null */
    uint16_t status; /* from a code; a number before a name */
    uint16_t status_named;
    uint32_t tokens_in;
    uint32_t tokens_out;
    uint8_t word_len; /* PST_REPORT_WORD_MAX + 1: longer */
    uint8_t type_len;
    char word[PST_REPORT_WORD_MAX]; /* of the short string at hand */
    char type[PST_REPORT_WORD_MAX]; /* the text's own "type" */
};

void pst_report_init(struct pst_report *report, enum pst_report_of of);
void pst_report_feed(struct pst_report *report, const char *data, size_t len);
/* True when what was fed is one whole JSON value. */
bool pst_report_is_whole(const struct pst_report *report);

#endif
