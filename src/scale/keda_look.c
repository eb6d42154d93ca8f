/* keda_look.c - see keda_look.h. */
#include "scale/keda_look.h"

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

/* While nothing drains, seconds of backlog have no end, and would ask for max: what was decided stands in. */
static uint64_t decided_backlog_ms(const struct pst_export_input *in)
{
    return in->out_above_ms * in->number / (in->existing > 0 ? in->existing : 1);
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
    in.existing = pst_scaler_existing(scaler, pool, &in.unfinished);
    if (pst_scaler_decision(scaler, pool, &last))
        in.holds = pst_export_holds(last.u.decision.vetoes, in.number, in.existing);
    if (in.known && in.backlog_ms == PST_NEVER / PST_MS)
        in.backlog_ms = decided_backlog_ms(&in);
    *ret_input = in;
}
