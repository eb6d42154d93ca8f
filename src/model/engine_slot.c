/*
 * engine_slot.c - places with a service law. Tokens of a stream are spread evenly over its service.
 */
#include "core/num.h"
#include "model/engine_impl.h"

static pst_ns next_moment(const struct pst_engine_request *request)
{
    pst_ns passed = request->service;

    if (request->tokens && request->generated < request->output_tokens)
        passed = pst_muldiv(request->service, request->generated + 1, request->output_tokens);
    return pst_add_sat(request->start, passed);
}

static void start(struct pst_engine *engine, uint32_t index, struct pst_engine_action *ret_action)
{
    struct pst_engine_request *request = &engine->requests[index];

    pst_engine_list_remove(engine, &engine->waiting, index);
    pst_engine_list_append(engine, &engine->running, index);
    request->state = PST_ENGINE_RUNNING;
    request->start = engine->now;
    request->service = pst_law_draw(&engine->config.service, &engine->prng, request->prompt_tokens,
                                    request->output_tokens);
    pst_heap_put(&engine->moments, index, next_moment(request), ++engine->order);
    engine->counts.prompt_tokens += request->prompt_tokens;
    *ret_action = (struct pst_engine_action){
        .kind = PST_ENGINE_START, .request = index, .service = request->service};
}

static void advance(struct pst_engine *engine, uint32_t index, struct pst_engine_action *ret_action)
{
    struct pst_engine_request *request = &engine->requests[index];

    if (request->tokens && request->generated < request->output_tokens) {
        request->generated++;
        engine->counts.output_tokens += request->sequences;
        pst_heap_put(&engine->moments, index, next_moment(request), ++engine->order);
        *ret_action = (struct pst_engine_action){
            .kind = PST_ENGINE_TOKENS, .request = index, .count = request->generated};
        return;
    }
    engine->counts.output_tokens +=
        (uint64_t)(request->output_tokens - request->generated) * request->sequences;
    pst_heap_remove(&engine->moments, index);
    pst_engine_list_remove(engine, &engine->running, index);
    request->state = PST_ENGINE_FREE;
    *ret_action = (struct pst_engine_action){
        .kind = PST_ENGINE_DONE, .request = index, .count = request->output_tokens};
}

/* What is due comes before what may start: a place that frees now is taken now. */
bool pst_engine_slot_poll(struct pst_engine *engine, struct pst_engine_action *ret_action)
{
    uint32_t due = pst_heap_top(&engine->moments);
    uint32_t head = engine->waiting.head;

    if (due != PST_HEAP_NONE && pst_heap_top_key(&engine->moments) <= engine->now) {
        advance(engine, due, ret_action);
        return true;
    }
    if (head != PST_ENGINE_NOBODY && pst_engine_place_is_free(engine, &engine->requests[head])) {
        start(engine, head, ret_action);
        return true;
    }
    return false;
}
