/*
 * answer.h - reading an engine's answer as it passes: where it begins, whether it failed, how it ends.
 *
 * Why: engines send 200 and headers before they have a place, put refusals and crashes into the stream
 * as events, and end failed streams with [DONE]. A status code is not enough to know what happened.
 *
 * Guarantee: bytes are only looked at; verdicts do not depend on how they are cut. State is bounded.
 */
#ifndef PST_CODEC_ANSWER_H
#define PST_CODEC_ANSWER_H

#include "codec/report.h"
#include "codec/sse.h"
#include "pst.h"

/* How the path's streams begin, fail and end (the table of the data plane). */
enum pst_answer_form {
    PST_ANSWER_OPENAI,    /* chat/completions, completions: data:, error in data:, [DONE] */
    PST_ANSWER_RESPONSES, /* first delta or output item; error, response.failed; response.completed */
    PST_ANSWER_MESSAGES, /* content_block_*; event: error; message_stop */
    PST_ANSWER_PLAIN,    /* anything else: first data: or body byte; end of message */
    PST_ANSWER_FORM_COUNT
};

/* Set by the driver from the response's head. */
enum pst_answer_kind {
    PST_ANSWER_EVENTS, /* Content-Type: text/event-stream */
    PST_ANSWER_JSON,   /* application/json: usage is read from it */
    PST_ANSWER_OPAQUE, /* anything else */
    PST_ANSWER_KIND_COUNT
};

struct pst_answer {
    enum pst_answer_form form;
    enum pst_answer_kind kind;
    /* Results so far; read by the driver, written here. */
    bool begun;           /* the first byte that belongs to an answer was seen */
    bool failed;          /* a failure event was seen */
    bool failed_first;    /* … before anything that belongs to an answer */
    bool ended;           /* its end event was seen ([DONE] …) */
    bool at_boundary;     /* after a whole event (or nothing yet): an event may be added here */
    uint16_t error_code;  /* status named in the failure event ("code": 503), 0: none */
    uint32_t data_events; /* that carry output */
    uint32_t tokens_in;   /* from usage; 0: not there */
    uint32_t tokens_out;
    /* The room's own: framing, and the event (or body) being read. */
    struct pst_sse sse;
    struct pst_report report;
    uint8_t data_head_len;
    char data_head[8];
};

void pst_answer_init(struct pst_answer *answer, enum pst_answer_form form,
                     enum pst_answer_kind kind);

/*
 * Looks at the next bytes. Returns how many of them may be judged together: stops after the event (or
 * byte) that changes `begun`, `failed` or `ended`, so that the driver sees each change in order; call
 * again with the rest. What is no event stream begins with its first byte, and nothing can change
 * after it: it is taken whole. len 0 returns 0.
 */
size_t pst_answer_feed(struct pst_answer *answer, const char *data, size_t len);

/* At the end of the message: a raw JSON error tail without a blank line counts as a failure too. */
void pst_answer_end(struct pst_answer *answer);

/* True for a status and body that mean "the model is still loading" (503 with Loading in its text). */
bool pst_answer_is_loading(uint16_t status, const char *body, size_t len);

#endif
