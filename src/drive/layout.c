/* layout.c - see layout.h. */
#include "drive/layout.h"

#include <string.h>

#include "drive/layout_fields.h"

#define E(member) PST_LAYOUT_IN(pst_gate_event, u.member)
#define A(member) PST_LAYOUT_IN(pst_gate_action, u.member)

/* `now` and `flags` of every event stand before these. */
static const struct pst_layout_kind events[PST_EVENT_COUNT] = {
    [PST_EVENT_TIME] = {"time", {{0, 0}}},
    [PST_EVENT_OFFER] = {"offer",
                         {E(offer.id.index), E(offer.id.generation), E(offer.body_bytes),
                          E(offer.pool), E(offer.class_), E(offer.type), E(offer.flow),
                          E(offer.weight)}},
    [PST_EVENT_HELD] = {"held", {E(held.id.index), E(held.id.generation), E(held.bytes)}},
    [PST_EVENT_ARRIVE] = {"arrive",
                          {E(arrive.id.index), E(arrive.id.generation), E(arrive.pool),
                           E(arrive.class_), E(arrive.type), E(arrive.flow), E(arrive.prompt_bytes),
                           E(arrive.max_tokens), E(arrive.ttl_ms), E(arrive.sequences),
                           E(arrive.weight), E(arrive.body_hash), E(arrive.affinity)}},
    [PST_EVENT_CANCEL] = {"cancel", {E(cancel.id.index), E(cancel.id.generation)}},
    [PST_EVENT_FIRST] = {"first", {E(first.id.index), E(first.id.generation), E(first.attempt)}},
    [PST_EVENT_END] = {"end",
                       {E(end.id.index), E(end.id.generation), E(end.attempt), E(end.kind),
                        E(end.tokens_in), E(end.tokens_out), E(end.retry_after_ms)}},
    [PST_EVENT_REPLICA] = {"replica",
                           {E(replica.replica), E(replica.pool), E(replica.state), E(replica.cause),
                            E(replica.warm), E(replica.revision), E(replica.slots)}},
    [PST_EVENT_PROBE] = {"probe", {E(probe.replica), E(probe.probe), E(probe.result)}},
    [PST_EVENT_SLOTS] = {"slots",
                         {E(slots.replica), E(slots.source), E(slots.slots), E(slots.until)}},
    [PST_EVENT_PROGRESS] = {"progress",
                            {E(progress.replica), E(progress.held_back), E(progress.tokens)}},
    [PST_EVENT_DRAIN] = {"drain", {E(drain.replica), E(drain.grace_until), E(drain.until)}},
    [PST_EVENT_UNDRAIN] = {"undrain", {E(undrain.replica)}},
    [PST_EVENT_PROMOTE] = {"promote", {E(promote.replica)}},
    [PST_EVENT_ENGINE] = {"engine",
                          {E(engine.replica), E(engine.asleep), E(engine.running),
                           E(engine.waiting), E(engine.kv_ppm), E(engine.tokens), E(engine.age)}},
};

static const struct pst_layout_kind actions[PST_ACTION_COUNT] = {
    [PST_ACTION_CONTINUE] = {"continue", {A(ticket.id.index), A(ticket.id.generation)}},
    [PST_ACTION_PAUSE] = {"pause", {A(ticket.id.index), A(ticket.id.generation)}},
    [PST_ACTION_DISPATCH] = {"dispatch",
                             {A(dispatch.id.index), A(dispatch.id.generation), A(dispatch.attempt),
                              A(dispatch.replica), A(dispatch.flags), A(dispatch.waited)}},
    [PST_ACTION_CLOSE] = {"close", {A(close.id.index), A(close.id.generation), A(close.attempt)}},
    [PST_ACTION_FINISH] = {"finish",
                           {A(finish.id.index), A(finish.id.generation), A(finish.outcome),
                            A(finish.reason), A(finish.length), A(finish.retry_after_ms),
                            A(finish.tokens_estimated), A(finish.waited)}},
    [PST_ACTION_CHECK] = {"check", {A(check.replica), A(check.probe)}},
    [PST_ACTION_DRAINED] = {"drained", {A(drained.replica), A(drained.complete), A(drained.left)}},
    [PST_ACTION_WAKE] = {"wake", {A(wake.pool)}},
    [PST_ACTION_STATE] = {"state", {A(state.replica), A(state.from), A(state.to)}},
};

static const struct pst_layout_field config_fields[] = {
    PST_LAYOUT_IN(pst_gate_config, seed),          PST_LAYOUT_IN(pst_gate_config, bytes_max),
    PST_LAYOUT_IN(pst_gate_config, body_max),      PST_LAYOUT_IN(pst_gate_config, tickets_max),
    PST_LAYOUT_IN(pst_gate_config, flows_max),     PST_LAYOUT_IN(pst_gate_config, replicas_max),
    PST_LAYOUT_IN(pst_gate_config, classes_count), PST_LAYOUT_IN(pst_gate_config, pools_count),
};

static const struct pst_layout_field class_fields[] = {
    PST_LAYOUT_IN(pst_gate_class, target),  PST_LAYOUT_IN(pst_gate_class, max_wait),
    PST_LAYOUT_IN(pst_gate_class, ttl),     PST_LAYOUT_IN(pst_gate_class, guard_ppm),
    PST_LAYOUT_IN(pst_gate_class, on_full), PST_LAYOUT_IN(pst_gate_class, on_full_length),
};

/* Arrays of numbers are runs: they too are copied as they lie. */
static const struct pst_layout_field pool_fields[] = {
    PST_LAYOUT_IN(pst_gate_pool, policy),
    PST_LAYOUT_IN(pst_gate_pool, fixed_scope_replica),
    PST_LAYOUT_IN(pst_gate_pool, ready_model),
    PST_LAYOUT_IN(pst_gate_pool, affinity),
    PST_LAYOUT_IN(pst_gate_pool, slots),
    PST_LAYOUT_IN(pst_gate_pool, gateways),
    PST_LAYOUT_IN(pst_gate_pool, length_short_tokens),
    PST_LAYOUT_IN(pst_gate_pool, length_long_tokens),
    PST_LAYOUT_IN(pst_gate_pool, long_share_ppm),
    PST_LAYOUT_IN(pst_gate_pool, kv_tokens_max),
    PST_LAYOUT_IN(pst_gate_pool, retry_budget_ppm),
    PST_LAYOUT_IN(pst_gate_pool, tries_max),
    PST_LAYOUT_IN(pst_gate_pool, first_byte),
    PST_LAYOUT_IN(pst_gate_pool, first_byte_stream),
    PST_LAYOUT_IN(pst_gate_pool, stall),
    PST_LAYOUT_IN(pst_gate_pool, no_replica_ttl),
    PST_LAYOUT_IN(pst_gate_pool, cancel_lag),
    PST_LAYOUT_IN(pst_gate_pool, slow_start),
    PST_LAYOUT_IN(pst_gate_pool, probe_interval),
    PST_LAYOUT_IN(pst_gate_pool, probe_timeout),
    PST_LAYOUT_IN(pst_gate_pool, probe_rise),
    PST_LAYOUT_IN(pst_gate_pool, probe_fall),
    PST_LAYOUT_IN(pst_gate_pool, fixed_queue),
    PST_LAYOUT_IN(pst_gate_pool, fixed_inflight),
    PST_LAYOUT_IN(pst_gate_pool, fixed_promote_after),
};

/* A field that is added to one of these has to be added above, too. */
_Static_assert(sizeof(struct pst_gate_class) == 32, "class_fields lists every field");
_Static_assert(sizeof(struct pst_gate_pool) == 184, "pool_fields lists every field");
_Static_assert(sizeof(struct pst_gate_config) == 48 + 32 * PST_CLASSES_MAX + 184 * PST_POOLS_MAX,
               "config_fields lists every field");
_Static_assert(sizeof(struct pst_gate_config) <= PST_LAYOUT_CONFIG_MAX, "a configuration fits");

/* Event: kind, flags, now, fields. */
enum { EVENT_HEAD = 2 + sizeof(pst_ns), ACTION_HEAD = 1 };

size_t pst_layout_event(const struct pst_gate_event *event, uint8_t *bytes)
{
    PST_ASSERT(event->kind < PST_EVENT_COUNT);
    bytes[0] = event->kind;
    bytes[1] = event->flags;
    memcpy(bytes + 2, &event->now, sizeof event->now);
    return EVENT_HEAD + pst_layout_put(bytes + EVENT_HEAD, event, events[event->kind].fields,
                                       PST_LAYOUT_FIELDS_MAX);
}

size_t pst_layout_action(const struct pst_gate_action *action, uint8_t *bytes)
{
    PST_ASSERT(action->kind < PST_ACTION_COUNT);
    bytes[0] = action->kind;
    return ACTION_HEAD + pst_layout_put(bytes + ACTION_HEAD, action, actions[action->kind].fields,
                                        PST_LAYOUT_FIELDS_MAX);
}

bool pst_layout_read_event(const uint8_t *bytes, size_t len, struct pst_gate_event *ret_event)
{
    struct pst_gate_event event = {.kind = 0};

    if (len < EVENT_HEAD || bytes[0] >= PST_EVENT_COUNT ||
        len - EVENT_HEAD != pst_layout_bytes_of(events[bytes[0]].fields, PST_LAYOUT_FIELDS_MAX))
        return false;
    event.kind = bytes[0];
    event.flags = bytes[1];
    memcpy(&event.now, bytes + 2, sizeof event.now);
    (void)pst_layout_get(bytes + EVENT_HEAD, &event, events[event.kind].fields,
                         PST_LAYOUT_FIELDS_MAX);
    *ret_event = event;
    return true;
}

bool pst_layout_read_action(const uint8_t *bytes, size_t len, struct pst_gate_action *ret_action)
{
    struct pst_gate_action action = {.kind = 0};

    if (len < ACTION_HEAD || bytes[0] >= PST_ACTION_COUNT ||
        len - ACTION_HEAD != pst_layout_bytes_of(actions[bytes[0]].fields, PST_LAYOUT_FIELDS_MAX))
        return false;
    action.kind = bytes[0];
    (void)pst_layout_get(bytes + ACTION_HEAD, &action, actions[action.kind].fields,
                         PST_LAYOUT_FIELDS_MAX);
    *ret_action = action;
    return true;
}

/* All classes and pools are written, used or not: one size, and nothing to be believed when read. */
size_t pst_layout_config(const struct pst_gate_config *config, uint8_t *bytes)
{
    size_t len = pst_layout_put(bytes, config, config_fields, PST_COUNT_OF(config_fields));

    for (size_t i = 0; i < PST_CLASSES_MAX; i++)
        len += pst_layout_put(bytes + len, &config->classes[i], class_fields,
                              PST_COUNT_OF(class_fields));
    for (size_t i = 0; i < PST_POOLS_MAX; i++)
        len +=
            pst_layout_put(bytes + len, &config->pools[i], pool_fields, PST_COUNT_OF(pool_fields));
    return len;
}

bool pst_layout_read_config(const uint8_t *bytes, size_t len, struct pst_gate_config *ret_config)
{
    size_t at,
        expected = pst_layout_bytes_of(config_fields, PST_COUNT_OF(config_fields)) +
                   PST_CLASSES_MAX * pst_layout_bytes_of(class_fields, PST_COUNT_OF(class_fields)) +
                   PST_POOLS_MAX * pst_layout_bytes_of(pool_fields, PST_COUNT_OF(pool_fields));

    if (len != expected)
        return false;
    memset(ret_config, 0, sizeof *ret_config);
    at = pst_layout_get(bytes, ret_config, config_fields, PST_COUNT_OF(config_fields));
    for (size_t i = 0; i < PST_CLASSES_MAX; i++)
        at += pst_layout_get(bytes + at, &ret_config->classes[i], class_fields,
                             PST_COUNT_OF(class_fields));
    for (size_t i = 0; i < PST_POOLS_MAX; i++)
        at += pst_layout_get(bytes + at, &ret_config->pools[i], pool_fields,
                             PST_COUNT_OF(pool_fields));
    return true;
}

uint64_t pst_layout_digest(void)
{
    uint64_t digest = PST_REPLICA_STATE_COUNT << 16 | PST_REASON_COUNT << 8 | PST_END_COUNT;

    for (size_t i = 0; i < PST_EVENT_COUNT; i++)
        digest = pst_layout_digest_of(digest, events[i].fields, PST_LAYOUT_FIELDS_MAX);
    for (size_t i = 0; i < PST_ACTION_COUNT; i++)
        digest = pst_layout_digest_of(digest, actions[i].fields, PST_LAYOUT_FIELDS_MAX);
    digest = pst_layout_digest_of(digest, config_fields, PST_COUNT_OF(config_fields));
    digest = pst_layout_digest_of(digest, class_fields, PST_COUNT_OF(class_fields));
    return pst_layout_digest_of(digest, pool_fields, PST_COUNT_OF(pool_fields));
}

const char *pst_layout_event_name(uint8_t kind)
{
    return kind < PST_EVENT_COUNT ? events[kind].name : "?";
}

const char *pst_layout_action_name(uint8_t kind)
{
    return kind < PST_ACTION_COUNT ? actions[kind].name : "?";
}
