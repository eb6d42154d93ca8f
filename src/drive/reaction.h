/*
 * reaction.h - how soon a decision, and a promoted replica's first token, came: from what was recorded.
 *
 * Why: whether the scaler reacts in time is asked of the moment at which the gate's own backlog passed
 * out_above, and nobody looks at that moment: the scaler ticks once a second, metrics are read less often.
 * A recording has every event with its time, so that the moment can be found again, without a cost to
 * the gateway.
 *
 *   decided    backlog of the lowest class first above out_above -> first DECISION of the pool, whichever
 *              way, of a tick that saw it; `gone`: it was below again at the next tick
 *   promoted   PROMOTE -> FIRST of the first ticket that was sent to that replica
 *
 * Guarantee: both ends are times of events, one monotonic clock. A pool's next span begins once a tick
 * has seen its backlog back at in_below: until then what was decided of it stands.
 */
#ifndef PST_DRIVE_REACTION_H
#define PST_DRIVE_REACTION_H

#include "core/scaler.h"

struct pst_reaction_spans {
    uint64_t count;
    pst_ns longest; /* 0: none */
};

struct pst_reaction_pool {
    bool is_over; /* the backlog is above out_above */
    bool is_back; /* … or no more than in_below */
    bool is_on;   /* it was above, and no tick has seen it back */
    bool waits;   /* … and nothing was decided since */
    bool is_seen; /* by a tick */
    pst_ns since;
};

struct pst_reaction_replica {
    bool waits; /* promoted, without a first token since */
    pst_ns since;
    struct pst_ticket_id id; /* sent to it first */
    uint32_t attempt;        /* of that; 0: nothing was */
};

/* All zero: nothing happened yet. */
struct pst_reaction {
    struct pst_reaction_spans decided, promoted;
    uint64_t gone;
    struct pst_reaction_pool pools[PST_POOLS_MAX];
    struct pst_reaction_replica replicas[PST_REPLICAS_MAX];
};

/* Once the actions of a gate's event are all out. */
void pst_reaction_settled(struct pst_reaction *reaction, const struct pst_gate *gate,
                          const struct pst_scaler_config *config, pst_ns now);
void pst_reaction_gate_event(struct pst_reaction *reaction, const struct pst_gate_event *event);
void pst_reaction_gate_action(struct pst_reaction *reaction, const struct pst_gate_action *action);
void pst_reaction_scaler_event(struct pst_reaction *reaction, const struct pst_scaler_event *event);
/* `now`: of the event that caused it. */
void pst_reaction_scaler_action(struct pst_reaction *reaction,
                                const struct pst_scaler_action *action, pst_ns now);

#endif
