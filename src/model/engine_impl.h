/*
 * engine_impl.h - what the two modes of the engine model share: the table of requests and its lists.
 *
 * A request's state is the list it is on. Slot mode keeps its running requests in a heap by their next
 * moment; token mode in a list by admission, whose tail is the next victim.
 */
#ifndef PST_MODEL_ENGINE_IMPL_H
#define PST_MODEL_ENGINE_IMPL_H

#include "core/heap.h"
#include "model/engine.h"

#define PST_ENGINE_NOBODY UINT32_MAX

enum pst_engine_state { PST_ENGINE_FREE, PST_ENGINE_WAITING, PST_ENGINE_RUNNING };

struct pst_engine_request {
    enum pst_engine_state state;
    uint32_t next, previous; /* on its list */
    uint32_t prompt_tokens, output_tokens;
    uint32_t generated; /* per sequence */
    uint16_t sequences; /* as asked for */
    bool tokens;
    bool started;          /* START was said */
    bool preempted;        /* waits to compute its context again */
    pst_ns start, service; /* slot mode */
    uint32_t blocks;       /* token mode: KV blocks held */
    uint64_t computed;     /* tokens of its context that are in them */
    uint32_t share;        /* tokens of it in this iteration */
};

struct pst_engine_list {
    uint32_t head, tail;
    uint32_t sequences;
};

enum pst_engine_phase {
    PST_ENGINE_PHASE_NONE,
    PST_ENGINE_PHASE_STARTING,
    PST_ENGINE_PHASE_RUNNING,
    PST_ENGINE_PHASE_ENDING
};

struct pst_engine {
    struct pst_engine_config config;
    struct pst_prng prng;
    pst_ns now;
    struct pst_engine_request *requests;
    struct pst_engine_list waiting, running;
    struct pst_heap moments; /* slot mode */
    uint64_t order;          /* of starts: ties of the heap */
    enum pst_engine_phase phase;
    uint32_t cursor; /* of STARTING and ENDING */
    pst_ns iteration_end;
    uint32_t held_back; /* sequences that found no room in this iteration */
    uint32_t blocks_free;
    struct pst_engine_action refusal; /* of the last ADD; request PST_ENGINE_NOBODY: none */
    struct pst_engine_view counts;
};

static inline uint32_t pst_engine_places_of(const struct pst_engine *engine,
                                            const struct pst_engine_request *request)
{
    uint32_t slots = engine->config.slots;

    return request->sequences < slots ? request->sequences : slots;
}

static inline bool pst_engine_place_is_free(const struct pst_engine *engine,
                                            const struct pst_engine_request *request)
{
    return engine->running.sequences + pst_engine_places_of(engine, request) <=
           engine->config.slots;
}

void pst_engine_list_append(struct pst_engine *engine, struct pst_engine_list *list,
                            uint32_t index);
void pst_engine_list_prepend(struct pst_engine *engine, struct pst_engine_list *list,
                             uint32_t index);
void pst_engine_list_remove(struct pst_engine *engine, struct pst_engine_list *list,
                            uint32_t index);

bool pst_engine_slot_poll(struct pst_engine *engine, struct pst_engine_action *ret_action);

bool pst_engine_token_poll(struct pst_engine *engine, struct pst_engine_action *ret_action);
uint64_t pst_engine_blocks_for(const struct pst_engine *engine, uint64_t tokens);
void pst_engine_release_blocks(struct pst_engine *engine, struct pst_engine_request *request);

#endif
