/*
 * engines.c - replicas in token mode: the engine model, each with a clock of its own.
 *
 * A slow replica's clock runs slower, a hung one's stands still; the engine never knows. It is brought
 * up to date before anything happens to it, and before its speed changes.
 */
#include <stdlib.h>

#include "core/num.h"
#include "sim/world.h"

struct engine {
    struct pst_engine *model; /* NULL: none runs here */
    uint32_t *tickets;        /* by the model's request number */
    uint32_t *free;           /* stack of free request numbers */
    uint32_t free_count;
    pst_ns clock;    /* its own */
    pst_ns looked;   /* when that was right */
    pst_ns due;      /* virtual time of the event that is under way; PST_NEVER: none */
    uint32_t serial; /* of that event */
};

/* What a model said, of a run: obeyed when nobody is in the middle of a step. */
struct word {
    uint32_t ticket, run;
    uint32_t kind; /* enum pst_engine_action_kind */
    uint32_t count;
};

struct pst_engines {
    struct engine items[PST_REPLICAS_MAX];
    struct pst_inbox said;
    bool obeying;
};

int pst_engines_new(struct pst_engines **ret_engines)
{
    struct pst_engines *engines = calloc(1, sizeof *engines);

    if (engines == NULL)
        return PST_E_NOMEM;
    for (uint32_t i = 0; i < PST_REPLICAS_MAX; i++)
        engines->items[i].due = PST_NEVER;
    *ret_engines = engines;
    return PST_OK;
}

static void release(struct engine *engine)
{
    uint32_t serial = engine->serial;

    pst_engine_free(engine->model);
    free(engine->tickets);
    free(engine->free);
    *engine = (struct engine){.due = PST_NEVER, .serial = serial + 1};
}

void pst_engines_free(struct pst_engines *engines)
{
    if (engines == NULL)
        return;
    for (uint32_t i = 0; i < PST_REPLICAS_MAX; i++)
        release(&engines->items[i]);
    pst_inbox_done(&engines->said);
    free(engines);
}

void pst_engines_close(struct pst_sim *sim, uint16_t replica)
{
    release(&sim->engines->items[replica]);
}

void pst_engines_open(struct pst_sim *sim, uint16_t replica)
{
    uint16_t pool = sim->lives.items[replica].pool;
    struct pst_engine_config config = sim->scenario->pools[pool].engine;
    struct engine *engine = &sim->engines->items[replica];

    release(engine);
    config.mode = PST_ENGINE_TOKEN;
    config.requests_max = sim->gate_config.pools[pool].slots;
    engine->looked = sim->now;
    engine->tickets = calloc(config.requests_max, sizeof *engine->tickets);
    engine->free = calloc(config.requests_max, sizeof *engine->free);
    if (engine->tickets == NULL || engine->free == NULL ||
        pst_engine_new(&config, &engine->model) != PST_OK) {
        release(engine);
        sim->failed = PST_E_NOMEM; /* the configuration was tried before */
        return;
    }
    for (uint32_t i = config.requests_max; i-- > 0;)
        engine->free[engine->free_count++] = i;
}

static double speed(const struct pst_lives_replica *replica)
{
    return replica->fate.slowness * replica->fault_factor;
}

static void wind(struct pst_sim *sim, uint16_t index)
{
    const struct pst_lives_replica *replica = &sim->lives.items[index];
    struct engine *engine = &sim->engines->items[index];
    pst_ns passed = sim->now - engine->looked;
    double factor = speed(replica);

    engine->looked = sim->now;
    if (replica->hung_until == 0)
        engine->clock += factor == 1.0 ? passed : pst_to_u64((double)passed / factor);
}

static void obey(struct pst_sim *sim, const struct word *word)
{
    struct pst_client *client = &sim->tickets.items[word->ticket];

    if (client->state != PST_CLIENT_RUNNING || client->run != word->run)
        return; /* closed meanwhile */
    switch ((enum pst_engine_action_kind)word->kind) {
    case PST_ENGINE_START:
        break;
    case PST_ENGINE_TOKENS:
        if (word->count == 1)
            pst_gate_side_first(sim, word->ticket);
        break;
    case PST_ENGINE_TOO_LONG: /* an answer of the engine's own: 400, which tells of no tokens */
        client->prompt_tokens = client->output_tokens = 0;
        pst_gate_side_end(sim, word->ticket, PST_END_DONE);
        break;
    case PST_ENGINE_DONE:
        pst_gate_side_end(sim, word->ticket, PST_END_DONE);
        break;
    case PST_ENGINE_REFUSED:
        pst_gate_side_end(sim, word->ticket, PST_END_FULL);
        break;
    case PST_ENGINE_ACTION_COUNT:
        PST_ASSERT(!"an action of the engine");
    }
}

void pst_engines_settle(struct pst_sim *sim)
{
    struct pst_engines *engines = sim->engines;
    struct word word;

    if (engines->obeying || sim->gate_steps)
        return;
    engines->obeying = true;
    while (pst_inbox_take(&engines->said, &word, sizeof word))
        obey(sim, &word);
    engines->obeying = false;
}

/* A request that the model has done with leaves it now, whenever that is told. */
static void keep(struct pst_sim *sim, struct engine *engine, const struct pst_engine_action *action)
{
    uint32_t ticket = engine->tickets[action->request];
    struct pst_client *client = &sim->tickets.items[ticket];
    struct word word = {ticket, client->run, action->kind, action->count};

    if (action->kind == PST_ENGINE_START ||
        (action->kind == PST_ENGINE_TOKENS && action->count > 1))
        return;
    if (action->kind != PST_ENGINE_TOKENS) {
        engine->free[engine->free_count++] = action->request;
        client->engine = PST_CLIENT_NONE;
    }
    if (pst_inbox_put(&sim->engines->said, &word, sizeof word) != PST_OK)
        sim->failed = PST_E_NOMEM;
}

/* When its next iteration ends, in virtual time. */
static pst_ns due_of(const struct pst_sim *sim, uint16_t index)
{
    const struct pst_lives_replica *replica = &sim->lives.items[index];
    const struct engine *engine = &sim->engines->items[index];
    pst_ns deadline = pst_engine_deadline(engine->model);
    double factor = speed(replica);
    pst_ns left;

    if (deadline == PST_NEVER || replica->hung_until != 0)
        return PST_NEVER;
    left = pst_sub_sat(deadline, engine->clock);
    return pst_add_sat(sim->now, factor == 1.0 ? left : pst_ceil_u64((double)left * factor));
}

static void schedule(struct pst_sim *sim, uint16_t index)
{
    struct engine *engine = &sim->engines->items[index];
    pst_ns due = due_of(sim, index);

    if (due == engine->due)
        return;
    engine->due = due;
    engine->serial++;
    pst_world_at(sim, due, PST_WORLD_ENGINE, index, engine->serial);
}

static void step(struct pst_sim *sim, uint16_t index, struct pst_engine_event *event)
{
    struct engine *engine = &sim->engines->items[index];
    struct pst_engine_action action;

    event->now = engine->clock;
    pst_engine_step(engine->model, event);
    while (pst_engine_poll(engine->model, &action))
        keep(sim, engine, &action);
    schedule(sim, index);
    pst_engines_settle(sim);
}

void pst_engines_add(struct pst_sim *sim, uint32_t ticket)
{
    struct pst_client *client = &sim->tickets.items[ticket];
    struct engine *engine = &sim->engines->items[client->replica];
    struct pst_engine_event event = {
        .kind = PST_ENGINE_ADD,
        .prompt_tokens = client->prompt_tokens == 0 ? 1 : client->prompt_tokens,
        .output_tokens = client->output_tokens,
        .sequences = sim->scenario->streams[client->stream].sequences,
        .tokens = true,
    };

    if (engine->model == NULL)
        return; /* no memory for it: run() says so */
    PST_ASSERT(engine->free_count > 0);
    if (event.sequences == 0)
        event.sequences = 1;
    client->engine = engine->free[--engine->free_count];
    engine->tickets[client->engine] = ticket;
    event.request = client->engine;
    wind(sim, client->replica);
    step(sim, client->replica, &event);
}

void pst_engines_cancel(struct pst_sim *sim, uint32_t ticket)
{
    const struct pst_client *client = &sim->tickets.items[ticket];
    struct engine *engine = &sim->engines->items[client->replica];
    struct pst_engine_event event = {.kind = PST_ENGINE_CANCEL, .request = client->engine};

    if (engine->model == NULL || client->engine == PST_CLIENT_NONE)
        return; /* it died with its replica, or has done with it */
    engine->free[engine->free_count++] = client->engine;
    wind(sim, client->replica);
    step(sim, client->replica, &event);
}

void pst_engines_time(struct pst_sim *sim, uint16_t replica)
{
    struct pst_engine_event event = {.kind = PST_ENGINE_TIME};

    if (sim->engines->items[replica].model == NULL)
        return;
    wind(sim, replica);
    step(sim, replica, &event);
}

void pst_engines_event(struct pst_sim *sim, const struct pst_event *event)
{
    struct engine *engine = &sim->engines->items[event->subject];

    if (engine->serial != event->serial)
        return;
    engine->due = PST_NEVER;
    pst_engines_time(sim, (uint16_t)event->subject);
}
