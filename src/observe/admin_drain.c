/* admin_drain.c - draining all, or one replica, and those who wait for its end; see admin.h. */
#include <stdio.h>
#include <stdlib.h>

#include "base/percent.h"
#include "config/config.h"
#include "core/num.h"
#include "observe/admin_room.h"
#include "observe/query.h"
#include "observe/reply.h"

const char *pst_drain_phase_name(enum pst_drain_phase phase)
{
    static const char *const names[PST_DRAIN_PHASE_COUNT] = {
        [PST_DRAIN_SERVING] = "serving",
        [PST_DRAIN_GRACE] = "grace",
        [PST_DRAIN_REFUSING] = "refusing",
        [PST_DRAIN_ENDED] = "ended",
    };

    PST_ASSERT(phase < PST_DRAIN_PHASE_COUNT);
    return names[phase];
}

static void answer_left(struct pst_exchange *x, bool drained, uint32_t left)
{
    struct pst_text text = {NULL, 0, 0, false};

    pst_text_print(&text, "{\"drained\":%s,\"left\":%u}\n", drained ? "true" : "false", left);
    pst_reply_text(x, drained ? 200 : 409, PST_TYPE_JSON, &text);
}

static void waiter_free(struct pst_admin_waiter *waiter)
{
    struct pst_admin_waiter **at = &waiter->admin->waiters;

    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    pst_timer_cancel(waiter->admin->view->loop, &waiter->timer);
    free(waiter);
}

static void on_gone(struct pst_admin_held *held)
{
    waiter_free((struct pst_admin_waiter *)held);
}

static void waiter_answer(struct pst_admin_waiter *waiter, bool drained, uint32_t left)
{
    struct pst_exchange *x = waiter->held.x;

    waiter_free(waiter);
    answer_left(x, drained, left);
}

static uint32_t replica_left(const struct pst_admin *admin, uint16_t replica)
{
    struct pst_gate_replica_view now;

    return pst_gate_replica_view(pst_drive_gate(admin->view->drive), replica, &now) ? now.inflight
                                                                                    : 0;
}

static void on_deadline(struct pst_timer *timer)
{
    struct pst_admin_waiter *waiter =
        (struct pst_admin_waiter *)((char *)timer - offsetof(struct pst_admin_waiter, timer));

    uint32_t left = replica_left(waiter->admin, waiter->replica);

    waiter_answer(waiter, left == 0, left);
}

static void wait_for(const struct pst_admin_ask *ask, uint16_t replica, pst_ns until)
{
    struct pst_admin_waiter *waiter = calloc(1, sizeof *waiter);

    if (waiter == NULL) {
        pst_reply_error(ask->x, 500, NULL, "out of memory");
        return;
    }
    *waiter = (struct pst_admin_waiter){
        .held = {.x = ask->x, .gone = on_gone},
        .admin = ask->admin,
        .next = ask->admin->waiters,
        .timer = {.fire = on_deadline},
        .replica = replica,
    };
    ask->admin->waiters = waiter;
    pst_exchange_set_user(ask->x, &waiter->held);
    pst_timer_set(ask->admin->view->loop, &waiter->timer, until);
}

/* Answers all who wait for this. Answering takes a waiter out of the list. */
static void answer_waiters(struct pst_admin *admin, uint16_t replica, bool drained, uint32_t left)
{
    struct pst_admin_waiter *next;

    for (struct pst_admin_waiter *waiter = admin->waiters; waiter != NULL; waiter = next) {
        next = waiter->next;
        if (waiter->replica == replica)
            waiter_answer(waiter, drained, left);
    }
}

void pst_admin_replica_drained(struct pst_admin *admin, uint16_t replica, uint32_t left)
{
    answer_waiters(admin, replica, left == 0, left);
}

void pst_admin_drain_changed(struct pst_admin *admin)
{
    struct pst_drain_status status;
    char buffer[256];
    struct pst_line line;

    if (admin == NULL)
        return;
    admin->view->program->drain_status(admin->view->user, &status);
    pst_line_begin(&line, buffer, sizeof buffer);
    pst_line_text(&line, "phase", pst_slice_of(pst_drain_phase_name(status.phase)), 16);
    pst_line_number(&line, "left", status.left);
    pst_admin_publish(admin, "drain", pst_line_end(&line));
    if (status.phase == PST_DRAIN_ENDED)
        answer_waiters(admin, PST_REPLICA_ALL, status.left == 0, status.left);
}

void pst_admin_waiters_end(struct pst_admin *admin)
{
    while (admin->waiters != NULL) {
        struct pst_exchange *x = admin->waiters->held.x;

        waiter_free(admin->waiters);
        pst_reply_error(x, 503, NULL, "the gateway ends");
    }
}

/* ?name=…, or what the configuration says. False: answered with 400. */
static bool read_duration(const struct pst_admin_ask *ask, const char *name, pst_ns *duration)
{
    char text[32], message[128];

    switch (pst_query_find(ask->query, name, text, sizeof text)) {
    case PST_E_AGAIN:
        return true;
    case PST_OK:
        if (pst_config_duration(text, duration) == PST_OK)
            return true;
        break;
    default:
        break;
    }
    (void)snprintf(message, sizeof message, "a duration needs a unit: ?%s=500ms, 15s, 10m", name);
    pst_reply_error(ask->x, 400, NULL, message);
    return false;
}

void pst_admin_drain(const struct pst_admin_ask *ask)
{
    const struct pst_view *view = ask->admin->view;
    pst_ns grace = view->config->drain_grace, deadline = view->config->drain_deadline;
    struct pst_drain_status status;

    if (!read_duration(ask, "grace", &grace) || !read_duration(ask, "deadline", &deadline))
        return;
    if (grace > deadline)
        grace = deadline;
    view->program->drain(view->user, grace, deadline);
    view->program->drain_status(view->user, &status);
    if (status.phase == PST_DRAIN_ENDED)
        answer_left(ask->x, status.left == 0, status.left);
    else
        wait_for(ask, PST_REPLICA_ALL, PST_NEVER); /* the drain has its own deadline */
}

/* An index, a name or a URL. False: answered with 404. */
static bool find_replica(const struct pst_admin_ask *ask, uint16_t *ret_replica)
{
    const struct pst_registry *registry = ask->admin->view->registry;
    char name[PST_ADMIN_NAME_MAX], *end;
    unsigned long index;

    if (!pst_percent_decode(ask->name, name, sizeof name))
        name[0] = '\0';
    if (pst_registry_replica_find(registry, name, ret_replica))
        return true;
    index = strtoul(name, &end, 10);
    if (name[0] >= '0' && name[0] <= '9' && *end == '\0' && index < PST_REPLICAS_MAX &&
        registry->replicas[index].present) {
        *ret_replica = (uint16_t)index;
        return true;
    }
    pst_reply_error(ask->x, 404, NULL,
                    "no such replica: give its index, its name, or its URL percent-encoded");
    return false;
}

void pst_admin_replica_drain(const struct pst_admin_ask *ask)
{
    const struct pst_view *view = ask->admin->view;
    pst_ns now = pst_loop_now(view->loop), deadline;
    struct pst_gate_replica_view before = {.draining = 0};
    uint16_t replica;

    if (!find_replica(ask, &replica))
        return;
    deadline = view->config->scaler.pools[view->registry->replicas[replica].pool].drain_deadline;
    if (!read_duration(ask, "deadline", &deadline))
        return;
    (void)pst_gate_replica_view(pst_drive_gate(view->drive), replica, &before);
    if (!before.draining) {
        struct pst_gate_event event = {.now = now, .kind = PST_EVENT_DRAIN};

        event.u.drain.replica = replica;
        event.u.drain.grace_until = now;
        event.u.drain.until = pst_add_sat(now, deadline);
        pst_drive_event(view->drive, &event);
    }
    if (replica_left(ask->admin, replica) == 0)
        answer_left(ask->x, true, 0);
    else
        wait_for(ask, replica, pst_add_sat(now, deadline));
}

void pst_admin_replica_undrain(const struct pst_admin_ask *ask)
{
    struct pst_gate_event event = {.kind = PST_EVENT_UNDRAIN};
    uint16_t replica;

    if (!find_replica(ask, &replica))
        return;
    event.now = pst_loop_now(ask->admin->view->loop);
    event.u.undrain.replica = replica;
    pst_drive_event(ask->admin->view->drive, &event);
    answer_waiters(ask->admin, replica, false, replica_left(ask->admin, replica));
    pst_reply(ask->x, 200, PST_TYPE_JSON, PST_SLICE("{\"draining\":false}\n"));
}
