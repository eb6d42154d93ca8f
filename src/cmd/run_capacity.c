/*
 * run_capacity.c - how many replicas there should be: the scaler's clock, its news, and where what it says
 * goes; see run.h.
 *
 * It decides for every pool, also where nobody acts on it: then /explain says what it would do. Pools whose
 * replicas are told by a source are decided once that has told of all that was there.
 */
#include <stddef.h>

#include "base/clock.h"
#include "base/log.h"
#include "cmd/run.h"

/* The past is told before the first second is counted; who does not tell it in time has none. */
#define HISTORY_WAIT (10 * PST_S)

static void on_act(void *user, const struct pst_scaler_action *action)
{
    pst_run_wire_act(user, action);
}

static void on_decided(void *user, const struct pst_capacity_decision *decision)
{
    struct pst_run *run = user;

    if (run->observe != NULL)
        pst_observe_decided(run->observe, decision);
    pst_calendar_decided(run->calendar, decision->wall_ns / PST_S, &decision->action);
    if (run->keda != NULL)
        pst_keda_decided(run->keda, decision->action.pool);
}

/* Until the first second was counted there is no deadline: then begin() has set the timer. */
static void on_settled(void *user, pst_ns deadline)
{
    struct pst_run *run = user;

    if (deadline != PST_NEVER)
        pst_timer_set(run->loop, &run->capacity_timer, deadline);
}

static void on_timer(struct pst_timer *timer)
{
    struct pst_run *run =
        (struct pst_run *)((char *)timer - offsetof(struct pst_run, capacity_timer));
    pst_ns now = pst_loop_now(run->loop);
    uint64_t wall = pst_clock_wall_ns();

    pst_calendar_tick(run->calendar, now, wall);
    pst_capacity_tick(run->capacity, now, wall);
    pst_observe_second(run->observe);
}

static void on_wanted(void *user, const struct pst_scaler_event *floor)
{
    struct pst_run *run = user;

    pst_capacity_event(run->capacity, floor);
}

int pst_run_capacity_new(struct pst_run *run)
{
    const struct pst_capacity_handlers handlers = {run, on_act, on_decided, on_settled};
    const struct pst_calendar_handlers calendar = {run, on_wanted};
    int rc = pst_capacity_new(&run->config->scaler, run->drive, &run->capacity);

    if (rc == PST_OK)
        rc = pst_calendar_new(run->config, &calendar, &run->calendar);
    if (rc != PST_OK)
        return rc;
    run->capacity_timer.fire = on_timer;
    pst_capacity_handlers(run->capacity, &handlers);
    return PST_OK;
}

/* What the configuration lists is all that there is. */
static void listed_are_known(struct pst_run *run)
{
    for (uint16_t p = 0; p < run->config->pools_count; p++) {
        const struct pst_scaler_event event = {.kind = PST_SCALER_SYNCED, .pool = p};
        enum pst_actuate actuate = run->config->scaler.pools[p].actuate;

        if (actuate != PST_ACTUATE_OWN && actuate != PST_ACTUATE_MARKED &&
            run->config->pools[p].dns.name == NULL)
            pst_run_found_event(run, 0, &event);
    }
}

static int begin_keda(struct pst_run *run)
{
    const struct pst_keda_config config = {
        .loop = run->loop,
        .config = run->config,
        .capacity = run->capacity,
        .drive = run->drive,
        .metrics = run->metrics,
    };

    return run->config->keda.listen == NULL ? PST_OK : pst_keda_new(&config, &run->keda);
}

int pst_run_capacity_begin(struct pst_run *run)
{
    pst_ns wait = run->wire == NULL ? 0 : HISTORY_WAIT;
    int rc = begin_keda(run);

    if (rc != PST_OK)
        return rc;
    listed_are_known(run);
    rc = pst_run_sources_reload(run, run->config);
    if (rc == PST_OK)
        rc = pst_run_measure_reload(run, run->config);
    pst_timer_set(run->loop, &run->capacity_timer, pst_loop_now(run->loop) + wait);
    return rc;
}

void pst_run_capacity_first(struct pst_run *run)
{
    if (pst_scaler_deadline(pst_capacity_scaler(run->capacity)) == PST_NEVER)
        pst_timer_set(run->loop, &run->capacity_timer, pst_loop_now(run->loop));
}

void pst_run_capacity_fleet_action(struct pst_run *run, const struct pst_gate_action *action)
{
    pst_capacity_fleet_action(run->capacity, action, pst_loop_now(run->loop));
    if (action->kind == PST_ACTION_WAKE && run->keda != NULL)
        pst_keda_wake(run->keda, action->u.wake.pool);
    if (action->kind == PST_ACTION_STATE && action->u.state.to == PST_REPLICA_GONE)
        run->found.keys[action->u.state.replica] = 0; /* what is still said of it has no meaning */
}

/* All take the new one, whatever one of them says of it: nobody may keep what is freed next. */
int pst_run_capacity_reload(struct pst_run *run, const struct pst_config *config)
{
    int scaler = pst_capacity_reconfigure(run->capacity, &config->scaler);
    int calendar = pst_calendar_reload(run->calendar, config);
    int sources = pst_run_sources_reload(run, config);

    if (run->keda != NULL)
        pst_keda_reload(run->keda, config);
    return scaler != PST_OK ? scaler : calendar != PST_OK ? calendar : sources;
}

void pst_run_capacity_free(struct pst_run *run)
{
    pst_run_sources_free(run);
    pst_measure_free(run->measure);
    pst_keda_free(run->keda);
    pst_calendar_free(run->calendar);
    pst_wire_free(run->wire);
    pst_capacity_free(run->capacity);
}
