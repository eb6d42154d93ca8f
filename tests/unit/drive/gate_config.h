/*
 * gate_config.h - a small valid configuration and the events that bring one replica up, for the tests of
 * this room.
 */
#ifndef PST_TEST_DRIVE_GATE_CONFIG_H
#define PST_TEST_DRIVE_GATE_CONFIG_H

#include "drive/drive.h"

static inline struct pst_gate_config small_config(uint32_t tickets)
{
    return (struct pst_gate_config){
        .seed = 7,
        .bytes_max = 1 << 30,
        .body_max = 32 << 20,
        .tickets_max = tickets,
        .flows_max = 16,
        .replicas_max = 4,
        .classes_count = 2,
        .pools_count = 1,
        .classes = {{100 * PST_MS, 5 * PST_S, 30 * PST_S, 0, PST_ON_FULL_REJECT, {2, 2, 2}},
                    {PST_S, 15 * PST_S, 60 * PST_S, 50000, PST_ON_FULL_REJECT, {2, 2, 2}}},
        .pools = {{.policy = PST_POLICY_ADAPTIVE,
                   .slots = 2,
                   .gateways = 3,
                   .length_short_tokens = 512,
                   .length_long_tokens = 2048,
                   .long_share_ppm = 500000,
                   .retry_budget_ppm = 100000,
                   .tries_max = 3,
                   .first_byte = 600 * PST_S,
                   .first_byte_stream = 120 * PST_S,
                   .stall = 60 * PST_S,
                   .no_replica_ttl = 300 * PST_S,
                   .probe_interval = 5 * PST_S,
                   .probe_timeout = 5 * PST_S,
                   .probe_rise = 1,
                   .probe_fall = 3,
                   .fixed_queue = {50, 100},
                   .fixed_inflight = {8, 4},
                   .fixed_promote_after = 15 * PST_S}},
    };
}

static inline void send_replica(struct pst_drive *drive, pst_ns now, enum pst_replica_state state)
{
    struct pst_gate_event event = {.now = now, .kind = PST_EVENT_REPLICA};

    event.u.replica.state = (uint8_t)state;
    pst_drive_event(drive, &event);
}

static inline void send_probe(struct pst_drive *drive, pst_ns now,
                              const struct pst_gate_action *check)
{
    struct pst_gate_event event = {.now = now, .kind = PST_EVENT_PROBE};

    event.u.probe.replica = check->u.check.replica;
    event.u.probe.probe = check->u.check.probe;
    event.u.probe.result = PST_PROBE_OK;
    pst_drive_event(drive, &event);
}

static inline void send_offer(struct pst_drive *drive, pst_ns now, struct pst_ticket_id id)
{
    struct pst_gate_event event = {.now = now, .kind = PST_EVENT_OFFER};

    event.u.offer.id = id;
    event.u.offer.body_bytes = 100;
    event.u.offer.pool = PST_POOL_NONE;
    event.u.offer.weight = 100;
    pst_drive_event(drive, &event);
}

static inline void send_arrive(struct pst_drive *drive, pst_ns now, struct pst_ticket_id id,
                               uint8_t class_)
{
    struct pst_gate_event event = {.now = now, .kind = PST_EVENT_ARRIVE};

    event.u.arrive.id = id;
    event.u.arrive.class_ = class_;
    event.u.arrive.prompt_bytes = 400;
    event.u.arrive.sequences = 1;
    event.u.arrive.weight = 100;
    pst_drive_event(drive, &event);
}

static inline void send_cancel(struct pst_drive *drive, pst_ns now, struct pst_ticket_id id)
{
    struct pst_gate_event event = {.now = now, .kind = PST_EVENT_CANCEL};

    event.u.cancel.id = id;
    pst_drive_event(drive, &event);
}

static inline void send_end(struct pst_drive *drive, pst_ns now,
                            const struct pst_gate_action *dispatch)
{
    struct pst_gate_event event = {.now = now, .kind = PST_EVENT_END};

    event.u.end.id = dispatch->u.dispatch.id;
    event.u.end.attempt = dispatch->u.dispatch.attempt;
    event.u.end.kind = PST_END_DONE;
    event.u.end.tokens_in = 100;
    event.u.end.tokens_out = 10;
    pst_drive_event(drive, &event);
}

#endif
