/* layout_scaler.c - see layout_scaler.h. */
#include "drive/layout_scaler.h"

#include "drive/layout_fields.h"

#define E(member) PST_LAYOUT_IN(pst_scaler_event, u.member)
#define A(member) PST_LAYOUT_IN(pst_scaler_action, u.member)
#define P(member) PST_LAYOUT_IN(pst_scaler_pool, member)

/* `now`, `class_` and `pool` of every event stand before these. */
static const struct pst_layout_kind events[PST_SCALER_EVENT_COUNT] = {
    [PST_SCALER_TICK] = {"tick", {E(tick.wall_s)}},
    [PST_SCALER_OBSERVE_CLASS] = {"observe_class",
                                  {E(observe_class.arrived), E(observe_class.refused),
                                   E(observe_class.waited), E(observe_class.late),
                                   E(observe_class.arrived_work), E(observe_class.refused_work),
                                   E(observe_class.queued_work), E(observe_class.queued),
                                   E(observe_class.inflight)}},
    [PST_SCALER_OBSERVE_POOL] = {"observe_pool",
                                 {E(observe_pool.served), E(observe_pool.failed),
                                  E(observe_pool.service), E(observe_pool.service_square),
                                  E(observe_pool.slots), E(observe_pool.inflight),
                                  E(observe_pool.oldest), E(observe_pool.tickets)}},
    [PST_SCALER_REPLICA] = {"replica",
                            {E(replica.replica), E(replica.state), E(replica.crashed),
                             E(replica.op), E(replica.revision), E(replica.inflight),
                             E(replica.going), E(replica.warm)}},
    [PST_SCALER_SIGNAL] = {"signal", {E(signal.kind), E(signal.value), E(signal.age)}},
    [PST_SCALER_FLOOR] = {"floor",
                          {E(floor.source), E(floor.replicas), E(floor.from), E(floor.until)}},
    [PST_SCALER_SCALE] = {"scale", {E(scale.replicas)}},
    [PST_SCALER_RESULT] = {"result",
                           {E(result.action), E(result.error), E(result.replica), E(result.op)}},
    [PST_SCALER_HISTORY] = {"history", {E(history.span), E(history.work)}},
    [PST_SCALER_WAKE] = {"wake", {{0, 0}}},
    [PST_SCALER_SYNCED] = {"synced", {{0, 0}}},
};

static const struct pst_layout_kind actions[PST_SCALER_ACTION_COUNT] = {
    [PST_SCALER_START] = {"start", {A(start.op), A(start.warm)}},
    [PST_SCALER_PROMOTE] = {"promote", {A(replica.replica)}},
    [PST_SCALER_CANCEL] = {"cancel", {A(replica.replica)}},
    [PST_SCALER_MARK] = {"mark", {A(replica.replica)}},
    [PST_SCALER_DRAIN] = {"drain", {A(replica.replica), A(replica.until)}},
    [PST_SCALER_UNDRAIN] = {"undrain", {A(replica.replica)}},
    [PST_SCALER_REMOVE] = {"remove", {A(replica.replica)}},
    [PST_SCALER_DECISION] = {"decision",
                             {A(decision.desired), A(decision.before), A(decision.ready),
                              A(decision.starting), A(decision.warm), A(decision.draining),
                              A(decision.terms), A(decision.winner), A(decision.vetoes),
                              A(decision.backlog_ms), A(decision.start_ms),
                              A(decision.oldest_input_ms)}},
};

static const struct pst_layout_field config_fields[] = {
    PST_LAYOUT_IN(pst_scaler_config, seed),
    PST_LAYOUT_IN(pst_scaler_config, classes_count),
    PST_LAYOUT_IN(pst_scaler_config, pools_count),
    PST_LAYOUT_IN(pst_scaler_config, replicas_max),
};

static const struct pst_layout_field class_fields[] = {
    PST_LAYOUT_IN(pst_scaler_class, target),       PST_LAYOUT_IN(pst_scaler_class, max_wait),
    PST_LAYOUT_IN(pst_scaler_class, depth_weight), PST_LAYOUT_IN(pst_scaler_class, envelope),
    PST_LAYOUT_IN(pst_scaler_class, sheds),
};

static const struct pst_layout_field pool_fields[] = {
    P(min),
    P(max),
    P(warm),
    P(slots),
    P(rule),
    P(actuate),
    P(reserves),
    P(awaits_synced),
    P(awaits_signals),
    P(out_above),
    P(in_below),
    P(in_after),
    P(start_time),
    P(warm_time),
    P(start_timeout),
    P(drain_deadline),
    P(rotate),
    P(stale_after),
    P(utilisation_ppm),
    P(inflight_guard_ppm),
    P(gpu_guard_ppm),
    P(qps_milli),
    P(cost_micro),
    P(budget_hour_micro),
    P(budget_day_micro),
};

/* A field that is added to one of these has to be added above, too. */
_Static_assert(sizeof(struct pst_scaler_class) == 24, "class_fields lists every field");
_Static_assert(sizeof(struct pst_scaler_pool) == 136, "pool_fields lists every field");
_Static_assert(sizeof(struct pst_scaler_config) == 24 + 24 * PST_CLASSES_MAX + 136 * PST_POOLS_MAX,
               "config_fields lists every field");
_Static_assert(sizeof(struct pst_scaler_config) + sizeof(uint64_t) <= PST_LAYOUT_CONFIG_MAX,
               "a configuration fits");

#define FIELDS_OF(table) table, PST_COUNT_OF(table)

/* Event: kind, class, pool, now, fields. Action: kind, pool, fields. */
enum { EVENT_HEAD = 4 + sizeof(pst_ns), ACTION_HEAD = 3 };

static uint64_t digest(void)
{
    uint64_t sum = PST_TERM_COUNT << 16 | PST_VETO_COUNT << 8 | PST_SIGNAL_COUNT;

    for (size_t i = 0; i < PST_SCALER_EVENT_COUNT; i++)
        sum = pst_layout_digest_of(sum, FIELDS_OF(events[i].fields));
    for (size_t i = 0; i < PST_SCALER_ACTION_COUNT; i++)
        sum = pst_layout_digest_of(sum, FIELDS_OF(actions[i].fields));
    sum = pst_layout_digest_of(sum, FIELDS_OF(config_fields));
    sum = pst_layout_digest_of(sum, FIELDS_OF(class_fields));
    return pst_layout_digest_of(sum, FIELDS_OF(pool_fields));
}

size_t pst_layout_scaler_event(const struct pst_scaler_event *event, uint8_t *bytes)
{
    PST_ASSERT(event->kind < PST_SCALER_EVENT_COUNT);
    bytes[0] = event->kind;
    bytes[1] = event->class_;
    memcpy(bytes + 2, &event->pool, sizeof event->pool);
    memcpy(bytes + 4, &event->now, sizeof event->now);
    return EVENT_HEAD +
           pst_layout_put(bytes + EVENT_HEAD, event, FIELDS_OF(events[event->kind].fields));
}

size_t pst_layout_scaler_action(const struct pst_scaler_action *action, uint8_t *bytes)
{
    PST_ASSERT(action->kind < PST_SCALER_ACTION_COUNT);
    bytes[0] = action->kind;
    memcpy(bytes + 1, &action->pool, sizeof action->pool);
    return ACTION_HEAD +
           pst_layout_put(bytes + ACTION_HEAD, action, FIELDS_OF(actions[action->kind].fields));
}

bool pst_layout_read_scaler_event(const uint8_t *bytes, size_t len,
                                  struct pst_scaler_event *ret_event)
{
    struct pst_scaler_event event = {.kind = 0};

    if (len < EVENT_HEAD || bytes[0] >= PST_SCALER_EVENT_COUNT ||
        len - EVENT_HEAD != pst_layout_bytes_of(FIELDS_OF(events[bytes[0]].fields)))
        return false;
    event.kind = bytes[0];
    event.class_ = bytes[1];
    memcpy(&event.pool, bytes + 2, sizeof event.pool);
    memcpy(&event.now, bytes + 4, sizeof event.now);
    (void)pst_layout_get(bytes + EVENT_HEAD, &event, FIELDS_OF(events[event.kind].fields));
    *ret_event = event;
    return true;
}

/* All classes and pools are written, used or not: one size, and nothing to be believed when read. */
size_t pst_layout_scaler_config(const struct pst_scaler_config *config, uint8_t *bytes)
{
    uint64_t sum = digest();
    size_t len = sizeof sum;

    memcpy(bytes, &sum, sizeof sum);
    len += pst_layout_put(bytes + len, config, FIELDS_OF(config_fields));
    for (size_t i = 0; i < PST_CLASSES_MAX; i++)
        len += pst_layout_put(bytes + len, &config->classes[i], FIELDS_OF(class_fields));
    for (size_t i = 0; i < PST_POOLS_MAX; i++)
        len += pst_layout_put(bytes + len, &config->pools[i], FIELDS_OF(pool_fields));
    return len;
}

bool pst_layout_read_scaler_config(const uint8_t *bytes, size_t len,
                                   struct pst_scaler_config *ret_config)
{
    uint64_t sum = digest();
    size_t at = sizeof sum,
           expected = sizeof sum + pst_layout_bytes_of(FIELDS_OF(config_fields)) +
                      PST_CLASSES_MAX * pst_layout_bytes_of(FIELDS_OF(class_fields)) +
                      PST_POOLS_MAX * pst_layout_bytes_of(FIELDS_OF(pool_fields));

    if (len != expected || memcmp(bytes, &sum, sizeof sum) != 0)
        return false;
    memset(ret_config, 0, sizeof *ret_config);
    at += pst_layout_get(bytes + at, ret_config, FIELDS_OF(config_fields));
    for (size_t i = 0; i < PST_CLASSES_MAX; i++)
        at += pst_layout_get(bytes + at, &ret_config->classes[i], FIELDS_OF(class_fields));
    for (size_t i = 0; i < PST_POOLS_MAX; i++)
        at += pst_layout_get(bytes + at, &ret_config->pools[i], FIELDS_OF(pool_fields));
    return true;
}

const char *pst_layout_scaler_event_name(uint8_t kind)
{
    return kind < PST_SCALER_EVENT_COUNT ? events[kind].name : "?";
}

const char *pst_layout_scaler_action_name(uint8_t kind)
{
    return kind < PST_SCALER_ACTION_COUNT ? actions[kind].name : "?";
}
