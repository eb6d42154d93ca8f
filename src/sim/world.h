/*
 * world.h - the simulator's memory, shared by the files behind sim.h.
 *
 * Who does what:
 *   sim.c          the facade: what is asked for is judged, built, run and freed
 *   policy.c       what a policy makes of the scenario's configurations
 *   world.c        the loop: what is next, whose business it is
 *   gate_side.c    clients come, wait, are refused and come again; the gate's events and actions
 *   service.c      an attempt runs: slots with a law
 *   engines.c      … or the engine model
 *   fleet_side.c   replicas start, load, drain, stop and die, and both cores are told
 *   scaler_side.c  the scaler observes, and is obeyed
 *   actuator.c     a number becomes replicas, for the rules that only say a number
 *   faults.c       what goes wrong
 * and the leaves that know no world: event_heap, arrivals, rate, clients, lives, inbox, tally.
 *
 * Guarantee: no memory error is forgotten: the first one is kept in `failed`, and run() returns it.
 */
#ifndef PST_SIM_WORLD_H
#define PST_SIM_WORLD_H

#include "core/observe.h"
#include "sim/arrivals.h"
#include "sim/clients.h"
#include "sim/event_heap.h"
#include "sim/inbox.h"
#include "sim/lives.h"
#include "sim/pilot.h"
#include "sim/sim.h"
#include "sim/tally.h"

/* The cores' clocks are ahead of virtual time by so much: 0 means "never" here and there. */
#define PST_SIM_EPOCH (3600 * PST_S)
/* Virtual time 0 as seconds since 1970: a Monday, midnight UTC. */
#define PST_SIM_WALL_S UINT64_C(1704067200)
/* After the horizon whoever is still here may be finished for so long; then its client leaves. */
#define PST_SIM_PATIENCE (3600 * PST_S)

enum pst_world_event {
    PST_WORLD_MEASURE, /* the measured span begins */
    PST_WORLD_BILL,    /* … and ends */
    PST_WORLD_SECOND,
    PST_WORLD_PILOT,    /* subject: pool */
    PST_WORLD_ANSWER,   /* ticket, run: its first byte */
    PST_WORLD_END,      /* ticket, run */
    PST_WORLD_ENGINE,   /* replica, its turn: an iteration ends */
    PST_WORLD_AGAIN,    /* one who was refused comes again */
    PST_WORLD_LOADED,   /* replica, turn: cold start or promotion is over */
    PST_WORLD_STOPPED,  /* replica, turn */
    PST_WORLD_DEATH,    /* replica, number */
    PST_WORLD_TIMEOUT,  /* replica and probe, number: nobody answered */
    PST_WORLD_FAULT,    /* fault: it begins */
    PST_WORLD_REPAIRED, /* fault: it ends */
    PST_WORLD_EVENT_COUNT
};

/* What one pool looks like to whoever scales it. */
struct pst_world_pool {
    struct pst_pilot *pilot; /* NULL: none looks */
    bool acts;               /* a number becomes replicas by actuator.c */
    bool follows;            /* … and that is the scaler's: pst_scaler_number */
    uint32_t wanted;         /* replicas, as the workload's spec says */
    uint32_t told;           /* … as the last decision says */
    uint32_t inflight, queued;
    uint32_t queued_class[PST_CLASSES_MAX];
    uint64_t inflight_ns, busy_ns; /* integrals up to `looked` */
    pst_ns looked;
    uint64_t arrived;
    uint32_t revision; /* of replicas created from now on */
};

struct pst_engines;

struct pst_sim {
    const struct pst_scenario *scenario;
    const struct pst_scenario_policy *policy;
    struct pst_gate_config gate_config;
    struct pst_scaler_config scaler_config;
    bool one_class; /* FIFO: the gate knows one class; stats go by the requests' own */
    bool over;
    int failed; /* first error */
    pst_ns now;

    struct pst_gate *gate;
    struct pst_scaler *scaler; /* NULL: a peer's rule decides */
    struct pst_observer observer;
    struct pst_inbox for_gate, for_scaler;
    bool gate_steps, scaler_steps;

    struct pst_event_heap events;
    struct pst_arrivals *arrivals;
    struct pst_clients tickets; /* by the gate's index */
    struct pst_clients away;    /* refused, and will come again */
    uint32_t runs;              /* serial of the last one */
    struct pst_lives lives;
    struct pst_engines *engines; /* NULL: no pool is in token mode */
    struct pst_world_pool pools[PST_POOLS_MAX];
    uint8_t faults_on[PST_FAULT_KIND_COUNT][PST_POOLS_MAX];
    struct pst_tally tally;
};

/* Something at a time, or never. */
void pst_world_at(struct pst_sim *sim, pst_ns at, enum pst_world_event kind, uint32_t subject,
                  uint32_t serial);
/* Brings the pool's integrals up to now: before inflight or queued change. */
void pst_world_look(struct pst_sim *sim, uint16_t pool);

/* policy.c: the configurations of gate and scaler. True: there is a scaler. */
bool pst_policy_configure(struct pst_sim *sim);

/* The first events, and every one that follows. */
void pst_world_begin(struct pst_sim *sim);
bool pst_world_next(struct pst_sim *sim, pst_ns until);

/* gate_side.c. An event's time is set here; it waits while the gate steps. */
void pst_gate_side_event(struct pst_sim *sim, struct pst_gate_event *event);
void pst_gate_side_arrive(struct pst_sim *sim, const struct pst_arrival *arrival);
void pst_gate_side_again(struct pst_sim *sim, uint32_t index);
void pst_gate_side_first(struct pst_sim *sim, uint32_t ticket);
void pst_gate_side_end(struct pst_sim *sim, uint32_t ticket, enum pst_end end);
/* Every client that is still here leaves. */
void pst_gate_side_leave(struct pst_sim *sim);

/* service.c */
void pst_service_start(struct pst_sim *sim, uint32_t ticket);
void pst_service_stop(struct pst_sim *sim, uint32_t ticket);
void pst_service_event(struct pst_sim *sim, const struct pst_event *event);

/* engines.c: token mode. */
int pst_engines_new(struct pst_engines **ret_engines);
void pst_engines_free(struct pst_engines *engines); /* takes NULL */
void pst_engines_open(struct pst_sim *sim, uint16_t replica);
void pst_engines_close(struct pst_sim *sim, uint16_t replica);
void pst_engines_add(struct pst_sim *sim, uint32_t ticket);
void pst_engines_cancel(struct pst_sim *sim, uint32_t ticket);
/* Time alone; also before and after its speed changes. */
void pst_engines_time(struct pst_sim *sim, uint16_t replica);
/* What models said is passed on, unless the gate is in the middle of a step. */
void pst_engines_settle(struct pst_sim *sim);
void pst_engines_event(struct pst_sim *sim, const struct pst_event *event);

/* fleet_side.c. Start: PST_OK, PST_E_FULL (quota, or no index is free). */
int pst_fleet_side_start(struct pst_sim *sim, uint16_t pool, uint32_t op, bool warm);
void pst_fleet_side_born_ready(struct pst_sim *sim, uint16_t pool);
void pst_fleet_side_promote(struct pst_sim *sim, uint16_t replica);
void pst_fleet_side_drain(struct pst_sim *sim, uint16_t replica, pst_ns until);
void pst_fleet_side_undrain(struct pst_sim *sim, uint16_t replica);
void pst_fleet_side_stop(struct pst_sim *sim, uint16_t replica);
/* Others end it: it drains, if it has not, and stops. */
void pst_fleet_side_evict(struct pst_sim *sim, uint16_t replica);
void pst_fleet_side_crash(struct pst_sim *sim, uint16_t replica);
void pst_fleet_side_check(struct pst_sim *sim, uint16_t replica, enum pst_probe probe);
void pst_fleet_side_drained(struct pst_sim *sim, const struct pst_gate_action *action);
/* Those whose answers are under way say so, as a gateway does: once a second. */
void pst_fleet_side_progress(struct pst_sim *sim);
void pst_fleet_side_event(struct pst_sim *sim, const struct pst_event *event);

/* scaler_side.c. Does nothing where there is no scaler. */
/* Of a pool whose number is kept: what is there, and how many its spec says. */
void pst_scaler_side_begin(struct pst_sim *sim);
void pst_scaler_side_scaled(struct pst_sim *sim, uint16_t pool);
void pst_scaler_side_history(struct pst_sim *sim, uint64_t seed);
void pst_scaler_side_event(struct pst_sim *sim, struct pst_scaler_event *event);
void pst_scaler_side_replica(struct pst_sim *sim, uint16_t replica, bool crashed);
void pst_scaler_side_second(struct pst_sim *sim);

/* actuator.c */
void pst_actuator_follow(struct pst_sim *sim, uint16_t pool);
void pst_actuator_look(struct pst_sim *sim, uint16_t pool);
void pst_actuator_reconcile(struct pst_sim *sim, uint16_t pool);

/* faults.c */
void pst_faults_plan(struct pst_sim *sim);
/* No more of the pool's replicas may exist now; UINT32_MAX: as many as there is room for. */
uint32_t pst_faults_quota(const struct pst_sim *sim, uint16_t pool);
void pst_faults_event(struct pst_sim *sim, const struct pst_event *event);

#endif
