/* observe.c - see observe.h. */
#include "core/observe.h"

#include <string.h>

#include "core/num.h"

/* What was added since the last telling; what does not fit waits for the next one. */
static uint64_t told(uint64_t now, uint64_t *last, uint64_t most)
{
    uint64_t more = pst_min_u64(now - *last, most);

    *last += more;
    return more;
}

static uint32_t told_count(uint64_t now, uint64_t *last)
{
    return (uint32_t)told(now, last, UINT32_MAX);
}

static uint64_t told_sum(uint64_t now, uint64_t *last)
{
    return told(now, last, UINT64_MAX);
}

static struct pst_scaler_event event_of(enum pst_scaler_event_kind kind, uint16_t pool, pst_ns now)
{
    struct pst_scaler_event event;

    memset(&event, 0, sizeof event); /* recordings compare bytes */
    event.now = now;
    event.kind = (uint8_t)kind;
    event.pool = pool;
    return event;
}

/* With what the class adds to its pool's event. */
static struct pst_scaler_event observe_class(struct pst_gate_class_totals *last,
                                             const struct pst_gate *gate, uint8_t class_,
                                             struct pst_scaler_event *of_pool)
{
    struct pst_scaler_event event = event_of(PST_SCALER_OBSERVE_CLASS, of_pool->pool, of_pool->now);
    struct pst_gate_class_totals totals;
    struct pst_gate_class_view view;

    pst_gate_class_totals(gate, event.pool, class_, event.now, &totals);
    pst_gate_class_view(gate, event.pool, class_, event.now, &view);
    event.class_ = class_;
    event.u.observe_class.arrived = told_count(totals.arrived, &last->arrived);
    event.u.observe_class.refused = told_count(totals.refused, &last->refused);
    event.u.observe_class.waited = told_count(totals.waited, &last->waited);
    event.u.observe_class.late = told_count(totals.late, &last->late);
    event.u.observe_class.arrived_work = told_sum(totals.arrived_work, &last->arrived_work);
    event.u.observe_class.refused_work = told_sum(totals.refused_work, &last->refused_work);
    event.u.observe_class.queued_work = view.queued_work;
    for (int length = 0; length < PST_LENGTH_COUNT; length++)
        event.u.observe_class.queued += view.queued[length];
    event.u.observe_class.inflight = view.inflight;
    of_pool->u.observe_pool.oldest = pst_max_u64(of_pool->u.observe_pool.oldest, view.oldest);
    if (event.u.observe_class.queued > 0 || view.inflight > 0)
        of_pool->u.observe_pool.tickets = 1;
    return event;
}

static struct pst_scaler_event observe_pool(struct pst_gate_pool_totals *last,
                                            const struct pst_gate *gate, uint16_t pool, pst_ns now)
{
    struct pst_scaler_event event = event_of(PST_SCALER_OBSERVE_POOL, pool, now);
    struct pst_gate_pool_totals totals;
    struct pst_gate_pool_view view;

    pst_gate_pool_totals(gate, pool, &totals);
    pst_gate_pool_view(gate, pool, &view);
    event.u.observe_pool.served = told_count(totals.served, &last->served);
    event.u.observe_pool.failed = told_count(totals.failed, &last->failed);
    event.u.observe_pool.service = told_sum(totals.service, &last->service);
    event.u.observe_pool.service_square = told_sum(totals.service_square, &last->service_square);
    event.u.observe_pool.slots = view.slots;
    event.u.observe_pool.inflight = view.inflight;
    return event;
}

uint32_t pst_observe(struct pst_observer *observer, const struct pst_gate *gate, uint16_t pool,
                     pst_ns now, struct pst_scaler_event events[PST_CLASSES_MAX + 1])
{
    uint8_t classes = pst_gate_classes(gate);

    events[classes] = observe_pool(&observer->pools[pool], gate, pool, now);
    for (uint8_t c = 0; c < classes; c++)
        events[c] = observe_class(&observer->classes[pool][c], gate, c, &events[classes]);
    return classes + 1u;
}
