/*
 * service.c - an attempt runs, in slot mode: a place for its service time.
 *
 * What its replica's clock lost while it hung is added at the end: an event that comes up too early goes
 * back to where it belongs.
 */
#include "core/num.h"
#include "sim/world.h"

/* As long as it takes on that replica, now. */
static pst_ns stretched(const struct pst_lives_replica *replica, pst_ns time)
{
    double factor = replica->fate.slowness * replica->fault_factor;

    return factor == 1.0 ? time : pst_to_u64((double)time * factor);
}

static struct pst_lives_replica *replica_of(struct pst_sim *sim, const struct pst_client *client)
{
    return &sim->lives.items[client->replica];
}

void pst_service_start(struct pst_sim *sim, uint32_t ticket)
{
    struct pst_client *client = &sim->tickets.items[ticket];
    const struct pst_lives_replica *replica = replica_of(sim, client);
    bool streams = client->first_part < client->service;

    if (sim->scenario->pools[replica->pool].token_mode) {
        pst_engines_add(sim, ticket);
        return;
    }
    client->frozen = pst_lives_frozen(replica);
    if (pst_lives_hangs(replica, sim->now)) /* it begins when the clock goes on */
        client->frozen -= pst_min_u64(client->frozen, replica->hung_until - sim->now);
    pst_world_at(
        sim,
        pst_add_sat(sim->now, stretched(replica, streams ? client->first_part : client->service)),
        streams ? PST_WORLD_ANSWER : PST_WORLD_END, ticket, client->run);
}

void pst_service_stop(struct pst_sim *sim, uint32_t ticket)
{
    struct pst_client *client = &sim->tickets.items[ticket];

    if (sim->scenario->pools[replica_of(sim, client)->pool].token_mode)
        pst_engines_cancel(sim, ticket);
    client->run = 0; /* what was due is void */
}

/* Its replica's clock stood still meanwhile: it is due so much later. */
static bool is_put_off(struct pst_sim *sim, const struct pst_event *event)
{
    struct pst_client *client = &sim->tickets.items[event->subject];
    pst_ns frozen = pst_lives_frozen(replica_of(sim, client));
    pst_ns late = frozen - client->frozen;

    if (late == 0)
        return false;
    client->frozen = frozen;
    pst_world_at(sim, pst_add_sat(event->at, late), (enum pst_world_event)pst_event_kind(event),
                 event->subject, event->serial);
    return true;
}

void pst_service_event(struct pst_sim *sim, const struct pst_event *event)
{
    struct pst_client *client = &sim->tickets.items[event->subject];
    pst_ns rest = client->service - client->first_part;

    if (client->state != PST_CLIENT_RUNNING || client->run != event->serial ||
        is_put_off(sim, event))
        return;
    if (pst_event_kind(event) == PST_WORLD_END) {
        pst_gate_side_end(sim, event->subject, PST_END_DONE);
        return;
    }
    pst_world_at(sim, pst_add_sat(event->at, stretched(replica_of(sim, client), rest)),
                 PST_WORLD_END, event->subject, event->serial);
    pst_gate_side_first(sim, event->subject);
}
