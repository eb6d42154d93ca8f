/*
 * gate_side.c - clients and the gate: who comes is offered as the gateway would offer it, and what the
 * gate says is done at once.
 *
 *   (arrives) -> QUEUED -> RUNNING -> (answered)
 *                  ^ |  ^      |
 *                  | |  +------+ the attempt failed, or was closed
 *                  | +-> AWAY, refused: comes again -+
 *                  +---------------------------------+
 */
#include "core/num.h"
#include "sim/world.h"

#define BYTES_PER_TOKEN  4
#define RETRY_DEFAULT_MS 1000 /* a client that was not told when */

static struct pst_client *client_of(struct pst_sim *sim, uint32_t ticket)
{
    PST_ASSERT(ticket < sim->tickets.made);
    return &sim->tickets.items[ticket];
}

static const struct pst_stream *stream_of(const struct pst_sim *sim,
                                          const struct pst_client *client)
{
    return &sim->scenario->streams[client->stream];
}

static struct pst_world_pool *pool_of(struct pst_sim *sim, const struct pst_client *client)
{
    return &sim->pools[stream_of(sim, client)->pool];
}

static uint32_t places_of(const struct pst_sim *sim, const struct pst_client *client)
{
    const struct pst_stream *stream = stream_of(sim, client);
    uint64_t sequences = stream->sequences == 0 ? 1 : stream->sequences;

    return (uint32_t)pst_min_u64(sequences, sim->gate_config.pools[stream->pool].slots);
}

static void enqueue(struct pst_sim *sim, struct pst_client *client)
{
    struct pst_world_pool *pool = pool_of(sim, client);

    pst_world_look(sim, stream_of(sim, client)->pool);
    client->state = PST_CLIENT_QUEUED;
    pool->queued++;
    pool->queued_class[client->class_]++;
}

static void dequeue(struct pst_sim *sim, const struct pst_client *client)
{
    struct pst_world_pool *pool = pool_of(sim, client);

    PST_ASSERT(client->state == PST_CLIENT_QUEUED && pool->queued > 0);
    pst_world_look(sim, stream_of(sim, client)->pool);
    pool->queued--;
    pool->queued_class[client->class_]--;
}

/* Its attempt is over: it waits again, unless what the gate says next ends it. */
static void stop_running(struct pst_sim *sim, struct pst_client *client)
{
    uint32_t places = places_of(sim, client);

    pst_world_look(sim, stream_of(sim, client)->pool);
    pool_of(sim, client)->inflight -= places;
    sim->lives.items[client->replica].inflight -= places;
    sim->lives.items[client->replica].streams -= client->streams;
    client->streams = 0;
    enqueue(sim, client);
}

static void dispatch(struct pst_sim *sim, const struct pst_gate_action *action)
{
    uint32_t ticket = action->u.dispatch.id.index;
    struct pst_client *client = client_of(sim, ticket);
    uint32_t places = places_of(sim, client);

    dequeue(sim, client);
    client->state = PST_CLIENT_RUNNING;
    client->attempt = action->u.dispatch.attempt;
    client->replica = action->u.dispatch.replica;
    client->run = ++sim->runs;
    pool_of(sim, client)->inflight += places;
    sim->lives.items[client->replica].inflight += places;
    if (!client->dispatched) {
        client->dispatched = 1;
        pst_tally_dispatched(&sim->tally, client, sim->now);
    }
    pst_service_start(sim, ticket);
}

static void close_attempt(struct pst_sim *sim, const struct pst_gate_action *action)
{
    uint32_t ticket = action->u.close.id.index;
    struct pst_client *client = client_of(sim, ticket);

    pst_service_stop(sim, ticket);
    stop_running(sim, client);
}

/* It was refused, and will come again. */
static void go_away(struct pst_sim *sim, const struct pst_client *client, uint32_t told_ms)
{
    const struct pst_stream *stream = stream_of(sim, client);
    pst_ns after = stream->retry_after;
    uint32_t index;

    if (after == 0)
        after = (told_ms == 0 ? RETRY_DEFAULT_MS : told_ms) * PST_MS;
    if (pst_clients_take(&sim->away, &index) != PST_OK) {
        sim->failed = PST_E_NOMEM;
        return;
    }
    sim->away.items[index] = *client;
    sim->away.items[index].state = PST_CLIENT_AWAY;
    pst_world_at(sim, pst_add_sat(sim->now, after), PST_WORLD_AGAIN, index, 0);
}

static void finish(struct pst_sim *sim, const struct pst_gate_action *action)
{
    uint32_t ticket = action->u.finish.id.index;
    struct pst_client *client = client_of(sim, ticket);
    bool refused = action->u.finish.outcome == PST_OUTCOME_REFUSED;

    dequeue(sim, client);
    if (refused && client->tries <= stream_of(sim, client)->retries_max &&
        sim->now < sim->scenario->horizon)
        go_away(sim, client, action->u.finish.retry_after_ms);
    else
        pst_tally_ended(&sim->tally, client, (enum pst_outcome)action->u.finish.outcome);
    pst_clients_give(&sim->tickets, ticket);
}

static void wake(struct pst_sim *sim, uint16_t pool)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_WAKE, .pool = pool};

    pst_scaler_side_event(sim, &event);
}

static void obey(struct pst_sim *sim, const struct pst_gate_action *action)
{
    switch ((enum pst_gate_action_kind)action->kind) {
    case PST_ACTION_DISPATCH:
        dispatch(sim, action);
        break;
    case PST_ACTION_CLOSE:
        close_attempt(sim, action);
        break;
    case PST_ACTION_FINISH:
        finish(sim, action);
        break;
    case PST_ACTION_CHECK:
        pst_fleet_side_check(sim, action->u.check.replica, (enum pst_probe)action->u.check.probe);
        break;
    case PST_ACTION_DRAINED:
        pst_fleet_side_drained(sim, action);
        break;
    case PST_ACTION_WAKE:
        wake(sim, action->u.wake.pool);
        break;
    case PST_ACTION_CONTINUE: /* the body is there already */
    case PST_ACTION_PAUSE:    /* said of bodies of unknown length alone */
    case PST_ACTION_STATE:
        break;
    case PST_ACTION_COUNT:
        PST_ASSERT(!"an action of the gate");
    }
}

static void step(struct pst_sim *sim, struct pst_gate_event *event)
{
    struct pst_gate_action action;

    event->now = sim->now + PST_SIM_EPOCH;
    sim->gate_steps = true;
    pst_gate_step(sim->gate, event);
    while (pst_gate_poll(sim->gate, &action)) {
        obey(sim, &action);
        pst_tally_gate(&sim->tally, &action); /* last: by now its words are out of the pipeline */
    }
    sim->gate_steps = false;
}

void pst_gate_side_event(struct pst_sim *sim, struct pst_gate_event *event)
{
    if (sim->gate_steps) {
        if (pst_inbox_put(&sim->for_gate, event, sizeof *event) != PST_OK)
            sim->failed = PST_E_NOMEM;
        return;
    }
    step(sim, event);
    while (sim->for_gate.count > 0) {
        struct pst_gate_event next;

        pst_inbox_take(&sim->for_gate, &next, sizeof next);
        step(sim, &next);
    }
    if (sim->engines != NULL)
        pst_engines_settle(sim);
}

static struct pst_ticket_id id_of(const struct pst_client *client, uint32_t ticket)
{
    return (struct pst_ticket_id){ticket, client->generation};
}

static uint32_t prompt_bytes(const struct pst_client *client)
{
    return (uint32_t)pst_min_u64((uint64_t)client->prompt_tokens * BYTES_PER_TOKEN, UINT32_MAX);
}

static void offer(struct pst_sim *sim, const struct pst_client *client, struct pst_ticket_id id)
{
    const struct pst_stream *stream = stream_of(sim, client);
    struct pst_gate_event event = {.kind = PST_EVENT_OFFER};

    event.flags = client->tries > 1 ? PST_ARRIVE_RETRY : 0;
    event.u.offer.id = id;
    event.u.offer.body_bytes = prompt_bytes(client);
    /* of several the body decides, by the model it names */
    event.u.offer.pool = sim->gate_config.pools_count == 1 ? 0 : PST_POOL_NONE;
    event.u.offer.class_ = sim->one_class ? 0 : client->class_;
    event.u.offer.type = stream->type;
    event.u.offer.flow = sim->one_class ? 0 : client->flow;
    event.u.offer.weight = stream->weight;
    pst_gate_side_event(sim, &event);
}

static void arrive(struct pst_sim *sim, const struct pst_client *client, struct pst_ticket_id id)
{
    const struct pst_stream *stream = stream_of(sim, client);
    struct pst_gate_event event = {.kind = PST_EVENT_ARRIVE};

    if (client->tries > 1)
        event.flags |= PST_ARRIVE_RETRY;
    if (sim->scenario->pools[stream->pool].token_mode || client->first_part < client->service)
        event.flags |= PST_ARRIVE_STREAM;
    event.u.arrive.id = id;
    event.u.arrive.pool = stream->pool;
    event.u.arrive.class_ = sim->one_class ? 0 : client->class_;
    event.u.arrive.type = stream->type;
    event.u.arrive.flow = sim->one_class ? 0 : client->flow;
    event.u.arrive.prompt_bytes = prompt_bytes(client);
    event.u.arrive.ttl_ms = sim->one_class ? 0 : stream->ttl_ms;
    event.u.arrive.sequences = stream->sequences;
    event.u.arrive.weight = stream->weight;
    pst_gate_side_event(sim, &event);
}

/* The slab is full: the client is told so without having been a ticket. */
static void turn_down(struct pst_sim *sim, const struct pst_client *client)
{
    const struct pst_stream *stream = stream_of(sim, client);

    if (client->tries <= stream->retries_max && sim->now < sim->scenario->horizon)
        go_away(sim, client, 0);
    else
        pst_tally_ended(&sim->tally, client, PST_OUTCOME_REFUSED);
}

static void come(struct pst_sim *sim, const struct pst_client *who)
{
    struct pst_ticket_id id;
    struct pst_client *client;
    int rc = pst_clients_take(&sim->tickets, &id.index);

    if (rc == PST_E_FULL)
        turn_down(sim, who);
    else if (rc != PST_OK)
        sim->failed = rc;
    if (rc != PST_OK)
        return;
    client = client_of(sim, id.index);
    id.generation = client->generation;
    *client = *who;
    client->generation = id.generation;
    enqueue(sim, client);
    offer(sim, client, id); /* what follows may move the clients' memory */
    client = client_of(sim, id.index);
    if (client->state != PST_CLIENT_FREE && client->generation == id.generation)
        arrive(sim, client, id);
}

void pst_gate_side_arrive(struct pst_sim *sim, const struct pst_arrival *arrival)
{
    struct pst_client client = {
        .arrived = sim->now,
        .service = arrival->service,
        .first_part = arrival->first_part,
        .prompt_tokens = arrival->prompt_tokens,
        .output_tokens = arrival->output_tokens,
        .flow = arrival->flow,
        .stream = arrival->stream,
        .class_ = arrival->class_,
        .tries = 1,
    };

    pool_of(sim, &client)->arrived++;
    pst_tally_arrived(&sim->tally, &client);
    come(sim, &client);
}

void pst_gate_side_again(struct pst_sim *sim, uint32_t index)
{
    struct pst_client client = sim->away.items[index];

    pst_clients_give(&sim->away, index);
    if (client.tries == 1)
        pst_tally_retried(&sim->tally, &client);
    client.tries++;
    come(sim, &client);
}

void pst_gate_side_first(struct pst_sim *sim, uint32_t ticket)
{
    struct pst_client *client = client_of(sim, ticket);
    struct pst_gate_event event = {.kind = PST_EVENT_FIRST};

    if (!client->answered) {
        client->answered = 1;
        pst_tally_answered(&sim->tally, client, sim->now);
    }
    client->streams = 1;
    sim->lives.items[client->replica].streams++;
    event.u.first.id = id_of(client, ticket);
    event.u.first.attempt = client->attempt;
    pst_gate_side_event(sim, &event);
}

void pst_gate_side_end(struct pst_sim *sim, uint32_t ticket, enum pst_end end)
{
    struct pst_client *client = client_of(sim, ticket);
    struct pst_gate_event event = {.kind = PST_EVENT_END};

    if (end == PST_END_DONE && !client->answered) {
        client->answered = 1;
        pst_tally_answered(&sim->tally, client, sim->now);
    }
    event.u.end.id = id_of(client, ticket);
    event.u.end.attempt = client->attempt;
    event.u.end.kind = (uint8_t)end;
    if (end == PST_END_DONE) {
        event.u.end.tokens_in = client->prompt_tokens;
        event.u.end.tokens_out = (uint32_t)pst_min_u64(
            (uint64_t)client->output_tokens * places_of(sim, client), UINT32_MAX);
    }
    stop_running(sim, client);
    pst_gate_side_event(sim, &event);
}

void pst_gate_side_leave(struct pst_sim *sim)
{
    for (uint32_t i = 0; i < sim->tickets.made; i++) {
        struct pst_gate_event event = {.kind = PST_EVENT_CANCEL};

        if (sim->tickets.items[i].state == PST_CLIENT_FREE)
            continue;
        event.u.cancel.id = id_of(&sim->tickets.items[i], i);
        pst_gate_side_event(sim, &event);
    }
    for (uint32_t i = 0; i < sim->away.made; i++) {
        if (sim->away.items[i].state == PST_CLIENT_FREE)
            continue;
        pst_tally_ended(&sim->tally, &sim->away.items[i], PST_OUTCOME_REFUSED);
        pst_clients_give(&sim->away, i);
    }
}
