/*
 * engine_text.h - what a stand-in engine says: answers, events and errors, in the engine's own words.
 *
 * Why: a gateway that looks into answers must meet the bytes that production sends: vLLM's [DONE] after
 * an error, the empty role chunk first, the usage chunk without choices, llama.cpp's error types.
 *
 * A streamed answer is lead, then tokens(1) … tokens(n), then tail; a whole one is whole. Every token is
 * six bytes of text, so that lengths can be checked.
 */
#ifndef PST_REHEARSE_ENGINE_TEXT_H
#define PST_REHEARSE_ENGINE_TEXT_H

#include "base/text.h"

#define PST_ENGINE_TOKEN_BYTES 6
#define PST_ENGINE_ID_MAX      200

enum pst_engine_like { PST_ENGINE_LIKE_VLLM, PST_ENGINE_LIKE_LLAMACPP, PST_ENGINE_LIKE_COUNT };

enum pst_engine_form {
    PST_ENGINE_CHAT,
    PST_ENGINE_COMPLETION,
    PST_ENGINE_RESPONSES,
    PST_ENGINE_MESSAGES,
    PST_ENGINE_EMBEDDINGS,
    PST_ENGINE_FORM_COUNT
};

enum pst_engine_error {
    PST_ENGINE_ERROR_SYNTAX,
    PST_ENGINE_ERROR_TOO_LONG,
    PST_ENGINE_ERROR_MODEL,
    PST_ENGINE_ERROR_PATH,
    PST_ENGINE_ERROR_METHOD,
    PST_ENGINE_ERROR_BUSY,
    PST_ENGINE_ERROR_LOADING,
    PST_ENGINE_ERROR_INTERNAL,
    PST_ENGINE_ERROR_COUNT
};

struct pst_engine_answer {
    enum pst_engine_like like;
    enum pst_engine_form form;
    char id[PST_ENGINE_ID_MAX + 1]; /* of the request; safe inside a JSON string */
    const char *model;              /* likewise */
    uint64_t created;               /* seconds since 1970 */
    uint32_t prompt_tokens;
    uint32_t output_tokens; /* per sequence */
    uint32_t sequences;
    bool include_usage;
    bool limited; /* ended by max_tokens, not by itself */
};

void pst_engine_text_whole(const struct pst_engine_answer *answer, struct pst_text *text);
void pst_engine_text_lead(const struct pst_engine_answer *answer, struct pst_text *text);
void pst_engine_text_tokens(const struct pst_engine_answer *answer, uint32_t number,
                            struct pst_text *text);
void pst_engine_text_tail(const struct pst_engine_answer *answer, struct pst_text *text);

/* A failure inside a stream, and the stream's end as the engine then writes it. */
void pst_engine_text_failure(const struct pst_engine_answer *answer, enum pst_engine_error error,
                             struct pst_text *text);

uint16_t pst_engine_error_status(enum pst_engine_error error);
/* The body of an error as a status. `detail`: what the message names; may be NULL. */
void pst_engine_text_error(enum pst_engine_like like, enum pst_engine_form form,
                           enum pst_engine_error error, const char *detail, struct pst_text *text);

/* The text of tokens [from, from + count). */
void pst_engine_text_words(uint32_t from, uint32_t count, struct pst_text *text);

/* Of the other forms; called by the above. */
void pst_engine_messages_whole(const struct pst_engine_answer *answer, struct pst_text *text);
void pst_engine_messages_lead(const struct pst_engine_answer *answer, struct pst_text *text);
void pst_engine_messages_tokens(uint32_t number, struct pst_text *text);
void pst_engine_messages_tail(const struct pst_engine_answer *answer, struct pst_text *text);
void pst_engine_responses_whole(const struct pst_engine_answer *answer, struct pst_text *text);
void pst_engine_responses_lead(const struct pst_engine_answer *answer, struct pst_text *text);
void pst_engine_responses_tokens(const struct pst_engine_answer *answer, uint32_t number,
                                 struct pst_text *text);
void pst_engine_responses_tail(const struct pst_engine_answer *answer, struct pst_text *text);

#endif
