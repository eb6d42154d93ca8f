/*
 * engine.h - an inference engine as a queue sees it: who runs, who waits, when the next token comes.
 *
 * Why: the stand-in engine and the simulator must be slow in the same way as the real thing. Two
 * abstractions are enough:
 *
 *   slot mode    N places, a service time drawn from a law, FIFO beyond. What queueing theory knows.
 *   token mode   continuous batching. Every iteration takes all running sequences one token on and
 *                spends the rest of its token budget on chunks of prompts; it lasts
 *                max(iteration_min, iteration_base + iteration_token x tokens in it). Context lives in
 *                KV blocks; when they run out, the sequence that came last is preempted: its blocks go,
 *                it waits at the head of the queue and computes its context again.
 *
 *   free -> waiting -> running -> free      cancel: from anywhere to free, nothing is said any more
 *              ^          |
 *              +- preempt +
 *
 * Guarantee: pure. The same configuration and events give the same actions. A request that was added
 * gets REFUSED alone, or START once and DONE once, unless cancelled; between them TOKEN, if asked for,
 * with counts 1 … output_tokens. Never more than `slots` sequences run; never more than kv_blocks are
 * held. Memory is allocated by new() only; a step is O(log n) in slot mode, O(running) in token mode.
 *
 * Use: step(event), then poll() until false, before the next step; deadline() says when to step with
 * TIME alone. A late step is made up for: iterations follow one another without a gap while there is
 * work. Requests are the driver's indices below requests_max.
 * Source: Yu et al., "Orca" (OSDI 2022); Kwon et al., "Efficient memory management for large language
 * model serving with PagedAttention" (SOSP 2023); Agrawal et al., "Sarathi-Serve" (OSDI 2024).
 */
#ifndef PST_MODEL_ENGINE_H
#define PST_MODEL_ENGINE_H

#include "model/law.h"
#include "pst.h"

enum pst_engine_mode { PST_ENGINE_SLOT, PST_ENGINE_TOKEN, PST_ENGINE_MODE_COUNT };

struct pst_engine_config {
    enum pst_engine_mode mode;
    uint64_t seed;
    uint32_t requests_max;  /* running and waiting; > 0 */
    uint32_t slots;         /* sequences that may run together; > 0 */
    uint32_t admitted_max;  /* sequences running and waiting; beyond: REFUSED. 0: no bound */
    struct pst_law service; /* slot mode */
    pst_ns iteration_min;   /* token mode, from here on; of min and base one is > 0 */
    pst_ns iteration_base;
    pst_ns iteration_token;        /* per token in the iteration */
    uint32_t iteration_tokens_max; /* budget of one iteration: the size of a prompt chunk; > 0 */
    uint32_t kv_blocks;            /* > 0 */
    uint32_t kv_block_tokens;      /* > 0 */
};

enum pst_engine_event_kind {
    PST_ENGINE_TIME,
    PST_ENGINE_ADD,
    PST_ENGINE_CANCEL, /* takes a request that is not there */
    PST_ENGINE_EVENT_COUNT
};

struct pst_engine_event {
    pst_ns now; /* monotonic; never less than before */
    enum pst_engine_event_kind kind;
    uint32_t request;
    uint32_t prompt_tokens; /* with ADD: >= 1 */
    uint32_t output_tokens; /* per sequence; 0: an embedding */
    uint16_t sequences;     /* >= 1; takes the less of it and `slots` places */
    bool tokens;            /* TOKEN actions are wanted */
};

enum pst_engine_action_kind {
    PST_ENGINE_REFUSED,  /* as many are admitted as may be */
    PST_ENGINE_TOO_LONG, /* its context can never fit the KV blocks */
    PST_ENGINE_START,
    PST_ENGINE_TOKENS, /* `count` tokens of each sequence are there */
    PST_ENGINE_DONE,
    PST_ENGINE_ACTION_COUNT
};

struct pst_engine_action {
    enum pst_engine_action_kind kind;
    uint32_t request;
    uint32_t count;
    pst_ns service; /* with START, slot mode: how long it will run; else 0 */
};

struct pst_engine_view {
    uint32_t running; /* sequences */
    uint32_t waiting; /* … that found no place; token mode: when the last iteration was planned */
    uint32_t kv_blocks_used; /* slot mode: 0 */
    uint32_t kv_blocks;
    uint64_t prompt_tokens; /* computed for the first time, ever */
    uint64_t output_tokens; /* generated, ever */
    uint64_t preemptions;   /* counted when the victim runs again, as engines do */
    uint64_t iterations;
};

struct pst_engine;

/* PST_E_INVALID (a number out of its range) or PST_E_NOMEM. */
int pst_engine_new(const struct pst_engine_config *config, struct pst_engine **ret_engine);
void pst_engine_free(struct pst_engine *engine); /* takes NULL */

void pst_engine_step(struct pst_engine *engine, const struct pst_engine_event *event);
bool pst_engine_poll(struct pst_engine *engine, struct pst_engine_action *ret_action);
pst_ns pst_engine_deadline(const struct pst_engine *engine); /* PST_NEVER: idle */

void pst_engine_view(const struct pst_engine *engine, struct pst_engine_view *ret_view);
/* Every invariant of the header, asserted; for tests. O(requests). */
void pst_engine_verify(const struct pst_engine *engine);

#endif
