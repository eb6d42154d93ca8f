/*
 * engine_token.c - continuous batching with chunked prefill and paged context.
 *
 *   NONE --work--> STARTING --all said--> RUNNING --its end--> ENDING --all said--> NONE
 *
 * An iteration is planned whole when it begins: running sequences first, in order of admission, then
 * the head of the queue with what is left of the budget and of the blocks. An iteration that had to
 * preempt admits nobody: what was freed would be taken from the victim at once.
 */
#include "core/num.h"
#include "model/engine_impl.h"

uint64_t pst_engine_blocks_for(const struct pst_engine *engine, uint64_t tokens)
{
    uint64_t size = engine->config.kv_block_tokens;

    return tokens / size + (tokens % size != 0);
}

void pst_engine_release_blocks(struct pst_engine *engine, struct pst_engine_request *request)
{
    engine->blocks_free += request->blocks;
    request->blocks = 0;
    request->computed = 0;
}

/* Tokens of its context that are not in blocks yet: the rest of the prompt, or the last token. */
static uint64_t tokens_left(const struct pst_engine_request *request)
{
    uint64_t context = request->prompt_tokens + (uint64_t)request->generated * request->sequences;

    return context - request->computed;
}

static void preempt_last(struct pst_engine *engine)
{
    uint32_t victim = engine->running.tail;
    struct pst_engine_request *request = &engine->requests[victim];

    pst_engine_list_remove(engine, &engine->running, victim);
    pst_engine_release_blocks(engine, request);
    request->state = PST_ENGINE_WAITING;
    request->preempted = true;
    request->share = 0;
    pst_engine_list_prepend(engine, &engine->waiting, victim);
}

static bool take_blocks(struct pst_engine *engine, struct pst_engine_request *request,
                        uint64_t tokens)
{
    uint64_t wanted = pst_engine_blocks_for(engine, request->computed + tokens) - request->blocks;

    if (wanted > engine->blocks_free)
        return false;
    engine->blocks_free -= (uint32_t)wanted;
    request->blocks += (uint32_t)wanted;
    return true;
}

/* Returns the tokens planned; *ret_preempted says whether somebody had to go. */
static uint64_t plan_running(struct pst_engine *engine, uint64_t budget, bool *ret_preempted)
{
    uint64_t planned = 0;
    bool preempted = false;
    uint32_t next;

    for (uint32_t i = engine->running.head; i != PST_ENGINE_NOBODY; i = next) {
        struct pst_engine_request *request = &engine->requests[i];
        uint64_t share = pst_min_u64(tokens_left(request), budget - planned);

        while (request->state == PST_ENGINE_RUNNING && !take_blocks(engine, request, share)) {
            preempt_last(engine);
            preempted = true;
        }
        if (request->state != PST_ENGINE_RUNNING)
            break; /* it was the last itself */
        request->share = (uint32_t)share;
        planned += share;
        next = request->next;
    }
    *ret_preempted = preempted;
    return planned;
}

static uint64_t plan_waiting(struct pst_engine *engine, uint64_t budget)
{
    uint64_t planned = 0;

    while (engine->waiting.head != PST_ENGINE_NOBODY && planned < budget) {
        uint32_t index = engine->waiting.head;
        struct pst_engine_request *request = &engine->requests[index];
        uint64_t share = pst_min_u64(tokens_left(request), budget - planned);

        if (!pst_engine_place_is_free(engine, request) || !take_blocks(engine, request, share))
            break;
        pst_engine_list_remove(engine, &engine->waiting, index);
        pst_engine_list_append(engine, &engine->running, index);
        request->state = PST_ENGINE_RUNNING;
        request->share = (uint32_t)share;
        planned += share;
        engine->counts.preemptions += request->preempted;
        request->preempted = false;
    }
    return planned;
}

static void plan_iteration(struct pst_engine *engine, pst_ns start)
{
    const struct pst_engine_config *config = &engine->config;
    uint64_t budget = config->iteration_tokens_max;
    bool preempted;
    uint64_t planned = plan_running(engine, budget, &preempted);
    pst_ns length;

    if (!preempted)
        planned += plan_waiting(engine, budget - planned);
    engine->held_back = engine->waiting.sequences;
    length = pst_add_sat(config->iteration_base, pst_mul_sat(config->iteration_token, planned));
    engine->iteration_end = pst_add_sat(start, pst_max_u64(length, config->iteration_min));
    engine->counts.iterations++;
}

static bool say_start(struct pst_engine *engine, uint32_t index,
                      struct pst_engine_action *ret_action)
{
    struct pst_engine_request *request = &engine->requests[index];

    if (request->started)
        return false;
    request->started = true;
    *ret_action = (struct pst_engine_action){.kind = PST_ENGINE_START, .request = index};
    return true;
}

static void finish(struct pst_engine *engine, uint32_t index, struct pst_engine_action *ret_action)
{
    struct pst_engine_request *request = &engine->requests[index];

    pst_engine_list_remove(engine, &engine->running, index);
    pst_engine_release_blocks(engine, request);
    request->state = PST_ENGINE_FREE;
    *ret_action = (struct pst_engine_action){
        .kind = PST_ENGINE_DONE, .request = index, .count = request->output_tokens};
}

/*
 * Takes one request over the end of the iteration. True when that is worth an action; the cursor stays
 * on a request whose last token was said, so that DONE follows.
 */
static bool end_share(struct pst_engine *engine, uint32_t index,
                      struct pst_engine_action *ret_action)
{
    struct pst_engine_request *request = &engine->requests[index];
    bool first = request->generated == 0;

    if (request->share > 0) {
        request->computed += request->share;
        request->share = 0;
        if (tokens_left(request) > 0)
            return false; /* the prompt goes on in the next one */
        if (first)
            engine->counts.prompt_tokens += request->prompt_tokens;
        if (request->generated < request->output_tokens) {
            request->generated++;
            engine->counts.output_tokens += request->sequences;
            if (request->tokens) {
                *ret_action = (struct pst_engine_action){
                    .kind = PST_ENGINE_TOKENS, .request = index, .count = request->generated};
                if (request->generated == request->output_tokens)
                    engine->cursor = index;
                return true;
            }
        }
    } else if (request->generated == 0 || request->generated < request->output_tokens) {
        return false; /* it was not in this iteration */
    }
    if (request->generated < request->output_tokens)
        return false;
    finish(engine, index, ret_action);
    return true;
}

bool pst_engine_token_poll(struct pst_engine *engine, struct pst_engine_action *ret_action)
{
    for (;;) {
        uint32_t index = engine->cursor;

        switch (engine->phase) {
        case PST_ENGINE_PHASE_NONE:
            if (engine->running.head == PST_ENGINE_NOBODY &&
                engine->waiting.head == PST_ENGINE_NOBODY) {
                engine->held_back = 0;
                return false;
            }
            /* Back to back with the last one; after a pause, from now on. */
            plan_iteration(engine,
                           engine->iteration_end == 0 ? engine->now : engine->iteration_end);
            engine->phase = PST_ENGINE_PHASE_STARTING;
            engine->cursor = engine->running.head;
            break;
        case PST_ENGINE_PHASE_STARTING:
            if (index == PST_ENGINE_NOBODY) {
                engine->phase = PST_ENGINE_PHASE_RUNNING;
                break;
            }
            engine->cursor = engine->requests[index].next;
            if (say_start(engine, index, ret_action))
                return true;
            break;
        case PST_ENGINE_PHASE_RUNNING:
            if (engine->now < engine->iteration_end)
                return false;
            engine->phase = PST_ENGINE_PHASE_ENDING;
            engine->cursor = engine->running.head;
            break;
        case PST_ENGINE_PHASE_ENDING:
            if (index == PST_ENGINE_NOBODY) {
                engine->phase = PST_ENGINE_PHASE_NONE;
                if (engine->running.head == PST_ENGINE_NOBODY &&
                    engine->waiting.head == PST_ENGINE_NOBODY)
                    engine->iteration_end = 0;
                break;
            }
            engine->cursor = engine->requests[index].next;
            if (end_share(engine, index, ret_action))
                return true;
            break;
        }
    }
}
