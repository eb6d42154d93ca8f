/* reaction.c - see reaction.h. */
#include "drive/reaction.h"

#include "core/num.h"

static void add(struct pst_reaction_spans *spans, pst_ns since, pst_ns now)
{
    spans->count++;
    spans->longest = pst_max_u64(spans->longest, now - since);
}

void pst_reaction_settled(struct pst_reaction *reaction, const struct pst_gate *gate,
                          const struct pst_scaler_config *config, pst_ns now)
{
    for (uint16_t p = 0; p < config->pools_count; p++) {
        struct pst_reaction_pool *pool = &reaction->pools[p];
        struct pst_gate_class_view lowest;

        pst_gate_class_view(gate, p, (uint8_t)(config->classes_count - 1), now, &lowest);
        pool->is_over = lowest.backlog > config->pools[p].out_above;
        pool->is_back = lowest.backlog <= config->pools[p].in_below;
        if (!pool->is_over || pool->is_on || pool->waits)
            continue;
        pool->is_on = pool->waits = true;
        pool->is_seen = false;
        pool->since = now;
    }
}

void pst_reaction_gate_event(struct pst_reaction *reaction, const struct pst_gate_event *event)
{
    if (event->kind == PST_EVENT_PROMOTE) {
        reaction->replicas[event->u.promote.replica] =
            (struct pst_reaction_replica){.waits = true, .since = event->now};
        return;
    }
    if (event->kind != PST_EVENT_FIRST)
        return;
    for (uint32_t r = 0; r < PST_REPLICAS_MAX; r++) {
        struct pst_reaction_replica *replica = &reaction->replicas[r];

        if (!replica->waits || replica->attempt != event->u.first.attempt ||
            replica->id.index != event->u.first.id.index ||
            replica->id.generation != event->u.first.id.generation)
            continue;
        add(&reaction->promoted, replica->since, event->now);
        replica->waits = false;
    }
}

void pst_reaction_gate_action(struct pst_reaction *reaction, const struct pst_gate_action *action)
{
    struct pst_reaction_replica *replica;

    if (action->kind != PST_ACTION_DISPATCH)
        return;
    replica = &reaction->replicas[action->u.dispatch.replica];
    if (!replica->waits || replica->attempt != 0)
        return;
    replica->id = action->u.dispatch.id;
    replica->attempt = action->u.dispatch.attempt;
}

void pst_reaction_scaler_event(struct pst_reaction *reaction, const struct pst_scaler_event *event)
{
    if (event->kind != PST_SCALER_TICK)
        return;
    for (uint32_t p = 0; p < PST_POOLS_MAX; p++) {
        struct pst_reaction_pool *pool = &reaction->pools[p];

        if (pool->waits && !pool->is_seen && !pool->is_over) {
            pool->waits = pool->is_on = false;
            reaction->gone++;
        }
        pool->is_on = pool->is_on && !pool->is_back;
        pool->is_seen = true;
    }
}

void pst_reaction_scaler_action(struct pst_reaction *reaction,
                                const struct pst_scaler_action *action, pst_ns now)
{
    struct pst_reaction_pool *pool = &reaction->pools[action->pool];

    if (action->kind != PST_SCALER_DECISION || !pool->waits || !pool->is_seen)
        return;
    add(&reaction->decided, pool->since, now);
    pool->waits = false;
}
