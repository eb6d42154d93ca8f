/* run_drain.c - the end of the gateway, in order; see run.h. */
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/run.h"
#include "core/num.h"

/* The last bytes of answers may still be in sockets' buffers: closed connections say that they left. */
#define FLUSH_LOOK_EVERY (10 * PST_MS)
#define FLUSH_MAX        (2 * PST_S)

/* Queued and in flight as the gate counts, or requests whose answer is not yet written. */
static uint32_t left(const struct pst_run *run)
{
    struct pst_gate_counters counters;
    uint32_t open = pst_gateway_open(run->gateway);

    pst_gate_counters(pst_drive_gate(run->drive), &counters);
    return counters.tickets > open ? counters.tickets : open;
}

void pst_run_drain_status(const struct pst_run *run, struct pst_drain_status *ret_status)
{
    *ret_status = (struct pst_drain_status){
        .phase = run->drain.phase,
        .grace_until = run->drain.grace_until,
        .until = run->drain.until,
        .left = left(run),
    };
}

static void stop_listening(struct pst_run *run)
{
    if (run->drain.stopped)
        return;
    run->drain.stopped = true;
    pst_gateway_stop(run->gateway);
}

static void end_process(struct pst_run *run)
{
    uint32_t count = left(run);
    bool failed = run->drain.cut && count > 0;

    run->drain.over = true;
    if (failed) {
        pst_gateway_cut(run->gateway);
        pst_say(PST_LOG_ERROR, "drain: %u requests were cut off at the deadline", count);
    }
    run->exit_code = failed ? PST_EXIT_FAILED : PST_EXIT_OK;
    pst_loop_stop(run->loop);
}

/* Ended, and a signal asked for the exit: as soon as the last bytes, refusals included, have left. */
static void flush_out(struct pst_run *run)
{
    struct pst_run_drain *drain = &run->drain;
    pst_ns now = pst_loop_now(run->loop);
    bool cut = drain->cut && left(run) > 0;

    stop_listening(run);
    if (drain->flush_until == 0)
        drain->flush_until = now + FLUSH_MAX;
    if (cut || pst_gateway_connections(run->gateway) == 0 || now >= drain->flush_until)
        end_process(run);
    else
        pst_timer_set(run->loop, &drain->timer, now + FLUSH_LOOK_EVERY);
}

static void set_phase(struct pst_run *run, enum pst_drain_phase phase)
{
    run->drain.phase = phase;
    if (phase == PST_DRAIN_ENDED) {
        run->drain.cut = left(run) > 0;
        pst_say(PST_LOG_INFO, "drain: ended with %u requests left", left(run));
    }
    pst_observe_drain_changed(run->observe);
}

/* One look at the clock and at what is left; sets the next one. */
static void look(struct pst_run *run)
{
    struct pst_run_drain *drain = &run->drain;
    pst_ns now = pst_loop_now(run->loop);

    if (drain->phase == PST_DRAIN_GRACE && now >= drain->grace_until) {
        if (drain->exits)
            stop_listening(run);
        set_phase(run, PST_DRAIN_REFUSING);
    }
    if (drain->phase == PST_DRAIN_REFUSING && (left(run) == 0 || now >= drain->until))
        set_phase(run, PST_DRAIN_ENDED);

    switch (drain->phase) {
    case PST_DRAIN_GRACE:
        pst_timer_set(run->loop, &drain->timer, drain->grace_until);
        return;
    case PST_DRAIN_REFUSING:
        pst_timer_set(run->loop, &drain->timer, drain->until);
        return;
    case PST_DRAIN_ENDED:
        if (drain->exits && !drain->over)
            flush_out(run);
        return;
    case PST_DRAIN_SERVING:
    case PST_DRAIN_PHASE_COUNT:
        return;
    }
}

static void on_timer(struct pst_timer *timer)
{
    look((struct pst_run *)((char *)timer - offsetof(struct pst_run, drain.timer)));
}

static void on_look(struct pst_later *later)
{
    look((struct pst_run *)((char *)later - offsetof(struct pst_run, drain.look)));
}

void pst_run_drain_init(struct pst_run *run)
{
    run->drain.phase = PST_DRAIN_SERVING;
    run->drain.timer.fire = on_timer;
    run->drain.look.run = on_look;
}

void pst_run_drain_look(struct pst_run *run)
{
    if (run->drain.phase != PST_DRAIN_SERVING)
        pst_later(run->loop, &run->drain.look); /* when the turn's work is counted */
}

void pst_run_drain_begin(struct pst_run *run, pst_ns grace, pst_ns deadline)
{
    pst_ns now = pst_loop_now(run->loop);
    struct pst_gate_event event = {.now = now, .kind = PST_EVENT_DRAIN};

    if (run->drain.phase != PST_DRAIN_SERVING)
        return;
    run->drain.grace_until = pst_add_sat(now, grace);
    run->drain.until = pst_add_sat(now, deadline > grace ? deadline : grace);
    pst_say(PST_LOG_INFO, "drain: %.1f s to be seen, %.1f s to end", (double)grace / PST_S,
            (double)(run->drain.until - now) / PST_S);
    set_phase(run, PST_DRAIN_GRACE);
    pst_gateway_close_after(run->gateway);
    if (run->keda != NULL)
        pst_keda_drain(run->keda);
    event.u.drain.replica = PST_REPLICA_ALL;
    event.u.drain.grace_until = run->drain.grace_until;
    event.u.drain.until = run->drain.until;
    pst_drive_event(run->drive, &event);
    look(run);
}

void pst_run_drain_exit(struct pst_run *run)
{
    run->drain.exits = true;
    pst_run_drain_begin(run, run->config->drain_grace, run->config->drain_deadline);
    if (run->drain.phase == PST_DRAIN_REFUSING)
        stop_listening(run);
    look(run);
}
