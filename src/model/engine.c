#include "model/engine.h"

#include <stdlib.h>

#include "core/num.h"
#include "model/engine_impl.h"

#define REQUESTS_MAX (UINT32_C(1) << 24)

void pst_engine_list_append(struct pst_engine *engine, struct pst_engine_list *list, uint32_t index)
{
    struct pst_engine_request *request = &engine->requests[index];

    request->next = PST_ENGINE_NOBODY;
    request->previous = list->tail;
    if (list->tail == PST_ENGINE_NOBODY)
        list->head = index;
    else
        engine->requests[list->tail].next = index;
    list->tail = index;
    list->sequences += pst_engine_places_of(engine, request);
}

void pst_engine_list_prepend(struct pst_engine *engine, struct pst_engine_list *list,
                             uint32_t index)
{
    struct pst_engine_request *request = &engine->requests[index];

    request->previous = PST_ENGINE_NOBODY;
    request->next = list->head;
    if (list->head == PST_ENGINE_NOBODY)
        list->tail = index;
    else
        engine->requests[list->head].previous = index;
    list->head = index;
    list->sequences += pst_engine_places_of(engine, request);
}

void pst_engine_list_remove(struct pst_engine *engine, struct pst_engine_list *list, uint32_t index)
{
    struct pst_engine_request *request = &engine->requests[index];

    if (request->previous == PST_ENGINE_NOBODY)
        list->head = request->next;
    else
        engine->requests[request->previous].next = request->next;
    if (request->next == PST_ENGINE_NOBODY)
        list->tail = request->previous;
    else
        engine->requests[request->next].previous = request->previous;
    list->sequences -= pst_engine_places_of(engine, request);
}

static bool config_is_valid(const struct pst_engine_config *c)
{
    if (c->requests_max == 0 || c->requests_max > REQUESTS_MAX || c->slots == 0)
        return false;
    switch (c->mode) {
    case PST_ENGINE_SLOT:
        return true;
    case PST_ENGINE_TOKEN:
        return (c->iteration_min > 0 || c->iteration_base > 0) && c->iteration_tokens_max > 0 &&
               c->kv_blocks > 0 && c->kv_block_tokens > 0;
    case PST_ENGINE_MODE_COUNT:
        break;
    }
    return false;
}

int pst_engine_new(const struct pst_engine_config *config, struct pst_engine **ret_engine)
{
    struct pst_engine *engine;

    if (!config_is_valid(config))
        return PST_E_INVALID;
    engine = calloc(1, sizeof *engine);
    if (engine == NULL)
        return PST_E_NOMEM;
    engine->config = *config;
    pst_prng_init(&engine->prng, config->seed);
    engine->waiting = (struct pst_engine_list){PST_ENGINE_NOBODY, PST_ENGINE_NOBODY, 0};
    engine->running = engine->waiting;
    engine->refusal.request = PST_ENGINE_NOBODY;
    if (config->mode == PST_ENGINE_TOKEN)
        engine->blocks_free = config->kv_blocks;

    engine->requests = calloc(config->requests_max, sizeof *engine->requests);
    if (engine->requests == NULL)
        goto fail;
    if (pst_heap_init(&engine->moments, config->requests_max) != PST_OK)
        goto fail;

    *ret_engine = engine;
    return PST_OK;

fail:
    pst_engine_free(engine);
    return PST_E_NOMEM;
}

void pst_engine_free(struct pst_engine *engine)
{
    if (engine == NULL)
        return;
    pst_heap_done(&engine->moments);
    free(engine->requests);
    free(engine);
}

/* The most its context can grow to. */
static uint64_t context_max(const struct pst_engine_request *request)
{
    return request->prompt_tokens + (uint64_t)request->output_tokens * request->sequences;
}

static void add(struct pst_engine *engine, const struct pst_engine_event *event)
{
    const struct pst_engine_config *config = &engine->config;
    struct pst_engine_request *request = &engine->requests[event->request];
    uint64_t admitted;

    PST_ASSERT(request->state == PST_ENGINE_FREE);
    *request = (struct pst_engine_request){
        .prompt_tokens = event->prompt_tokens,
        .output_tokens = event->output_tokens,
        .sequences = event->sequences,
        .tokens = event->tokens,
    };
    admitted = (uint64_t)engine->running.sequences + engine->waiting.sequences;
    engine->refusal = (struct pst_engine_action){.request = event->request};
    if (config->mode == PST_ENGINE_TOKEN &&
        pst_engine_blocks_for(engine, context_max(request)) > config->kv_blocks) {
        engine->refusal.kind = PST_ENGINE_TOO_LONG;
    } else if (config->admitted_max != 0 &&
               admitted + pst_engine_places_of(engine, request) > config->admitted_max) {
        engine->refusal.kind = PST_ENGINE_REFUSED;
    } else {
        engine->refusal.request = PST_ENGINE_NOBODY;
        request->state = PST_ENGINE_WAITING;
        pst_engine_list_append(engine, &engine->waiting, event->request);
    }
}

static void cancel(struct pst_engine *engine, uint32_t index)
{
    struct pst_engine_request *request = &engine->requests[index];

    switch (request->state) {
    case PST_ENGINE_FREE:
        return;
    case PST_ENGINE_WAITING:
        pst_engine_list_remove(engine, &engine->waiting, index);
        break;
    case PST_ENGINE_RUNNING:
        pst_engine_list_remove(engine, &engine->running, index);
        pst_heap_remove(&engine->moments, index);
        pst_engine_release_blocks(engine, request);
        break;
    }
    request->state = PST_ENGINE_FREE;
}

void pst_engine_step(struct pst_engine *engine, const struct pst_engine_event *event)
{
    PST_ASSERT(event->now >= engine->now);
    PST_ASSERT(engine->refusal.request == PST_ENGINE_NOBODY); /* polled dry before */
    engine->now = event->now;
    switch (event->kind) {
    case PST_ENGINE_TIME:
        return;
    case PST_ENGINE_ADD:
        PST_ASSERT(event->request < engine->config.requests_max);
        PST_ASSERT(event->prompt_tokens > 0 && event->sequences > 0);
        add(engine, event);
        return;
    case PST_ENGINE_CANCEL:
        PST_ASSERT(event->request < engine->config.requests_max);
        cancel(engine, event->request);
        return;
    case PST_ENGINE_EVENT_COUNT:
        break;
    }
    PST_ASSERT(false);
}

bool pst_engine_poll(struct pst_engine *engine, struct pst_engine_action *ret_action)
{
    if (engine->refusal.request != PST_ENGINE_NOBODY) {
        *ret_action = engine->refusal;
        engine->refusal.request = PST_ENGINE_NOBODY;
        return true;
    }
    return engine->config.mode == PST_ENGINE_SLOT ? pst_engine_slot_poll(engine, ret_action)
                                                  : pst_engine_token_poll(engine, ret_action);
}

pst_ns pst_engine_deadline(const struct pst_engine *engine)
{
    if (engine->config.mode == PST_ENGINE_SLOT)
        return pst_heap_top_key(&engine->moments);
    return engine->phase == PST_ENGINE_PHASE_RUNNING ? engine->iteration_end : PST_NEVER;
}

void pst_engine_view(const struct pst_engine *engine, struct pst_engine_view *ret_view)
{
    *ret_view = engine->counts;
    ret_view->running = engine->running.sequences;
    ret_view->waiting = engine->waiting.sequences;
    if (engine->config.mode == PST_ENGINE_TOKEN) {
        /* Who came since then waits for the next iteration, not for a place. */
        if (ret_view->waiting > engine->held_back)
            ret_view->waiting = engine->held_back;
        ret_view->kv_blocks = engine->config.kv_blocks;
        ret_view->kv_blocks_used = engine->config.kv_blocks - engine->blocks_free;
    }
}

static uint32_t list_verify(const struct pst_engine *engine, const struct pst_engine_list *list,
                            enum pst_engine_state state)
{
    uint32_t count = 0, sequences = 0, previous = PST_ENGINE_NOBODY;

    for (uint32_t i = list->head; i != PST_ENGINE_NOBODY; i = engine->requests[i].next) {
        const struct pst_engine_request *request = &engine->requests[i];

        PST_ASSERT(request->state == state && request->previous == previous);
        PST_ASSERT(request->generated <= request->output_tokens);
        sequences += pst_engine_places_of(engine, request);
        previous = i;
        count++;
    }
    PST_ASSERT(list->tail == previous && list->sequences == sequences);
    return count;
}

void pst_engine_verify(const struct pst_engine *engine)
{
    uint32_t listed = list_verify(engine, &engine->waiting, PST_ENGINE_WAITING) +
                      list_verify(engine, &engine->running, PST_ENGINE_RUNNING);
    uint64_t blocks = 0;

    PST_ASSERT(engine->running.sequences <= engine->config.slots);
    for (uint32_t i = 0; i < engine->config.requests_max; i++) {
        const struct pst_engine_request *request = &engine->requests[i];

        listed -= request->state != PST_ENGINE_FREE;
        blocks += request->state == PST_ENGINE_RUNNING ? request->blocks : 0;
        PST_ASSERT(request->state == PST_ENGINE_RUNNING || request->blocks == 0);
    }
    PST_ASSERT(listed == 0);
    if (engine->config.mode == PST_ENGINE_TOKEN)
        PST_ASSERT(blocks + engine->blocks_free == engine->config.kv_blocks);
}
