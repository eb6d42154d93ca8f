/* keda_look.c - see keda_look.h. */
#include "scale/keda_look.h"

#include <string.h>

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void look_at_class(const struct pst_keda_world *world, uint16_t pool, uint8_t class_,
                          pst_ns now, struct pst_export_input *in)
{
    const struct pst_scaler_class *config = &world->config->scaler.classes[class_];
    struct pst_gate_class_view view;

    pst_gate_class_view(pst_drive_gate(world->drive), pool, class_, now, &view);
    for (int length = 0; length < PST_LENGTH_COUNT; length++)
        in->queued[class_] += view.queued[length];
    in->tickets = in->tickets || in->queued[class_] > 0 || view.inflight > 0;
    in->weight[class_] = config->depth_weight;
    in->target_ms[class_] = config->target / PST_MS;
    in->p99_wait_ms[class_] =
        pst_keda_waits_p99_ms(world->waits, pool, class_, in->queued[class_], view.oldest);
    in->backlog_ms = view.backlog / PST_MS; /* of all above too: the last class's is everybody's */
}

static void look_at_replicas(const struct pst_keda_world *world, uint16_t pool,
                             struct pst_export_input *in)
{
    struct pst_gate_pool_view view;

    pst_gate_pool_view(pst_drive_gate(world->drive), pool, &view);
    for (int state = PST_REPLICA_GONE + 1; state < PST_REPLICA_STATE_COUNT; state++)
        in->existing += view.replicas[state];
    in->unfinished = view.replicas[PST_REPLICA_STARTING] + view.replicas[PST_REPLICA_LOADING];
}

void pst_keda_look(const struct pst_keda_world *world, uint16_t pool, pst_ns now,
                   struct pst_export_input *ret_input)
{
    const struct pst_scaler *scaler = pst_capacity_scaler(world->capacity);
    const struct pst_scaler_pool *config = &world->config->scaler.pools[pool];
    struct pst_export_input in = {
        .min = config->min,
        .out_above_ms = config->out_above / PST_MS,
        .classes_count = world->config->scaler.classes_count,
    };
    struct pst_scaler_action last;

    in.known = pst_scaler_number(scaler, pool, &in.number);
    for (uint32_t c = 0; c < in.classes_count; c++)
        look_at_class(world, pool, (uint8_t)c, now, &in);
    look_at_replicas(world, pool, &in);
    if (pst_scaler_decision(scaler, pool, &last)) {
        uint32_t told = (uint32_t)last.u.decision.ready + last.u.decision.starting +
                        last.u.decision.warm + last.u.decision.draining;

        in.existing = most(in.existing, told);
        in.unfinished = most(in.unfinished, last.u.decision.starting);
        in.holds = pst_export_holds(last.u.decision.vetoes, in.number, in.existing);
    }
    *ret_input = in;
}
