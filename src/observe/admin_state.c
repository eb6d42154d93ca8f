/* admin_state.c - GET /state: everything the gateway knows, as JSON; see admin.h. */
#include <cjson/cJSON.h>

#include "observe/admin_room.h"
#include "observe/decision.h"
#include "observe/reply.h"

/* Seconds, null where there is no number. */
static void add_seconds(cJSON *object, const char *name, pst_ns ns)
{
    if (ns == PST_NEVER)
        (void)cJSON_AddNullToObject(object, name);
    else
        (void)cJSON_AddNumberToObject(object, name, (double)ns / (double)PST_S);
}

static void add_class(const struct pst_view *view, cJSON *list, uint16_t pool, uint8_t class_)
{
    struct pst_gate_class_view now;
    cJSON *object = cJSON_CreateObject(), *queued;

    pst_gate_class_view(pst_drive_gate(view->drive), pool, class_, pst_loop_now(view->loop), &now);
    (void)cJSON_AddItemToArray(list, object);
    (void)cJSON_AddStringToObject(object, "name", view->registry->classes[class_]);
    queued = cJSON_AddObjectToObject(object, "queued");
    for (int length = 0; length < PST_LENGTH_COUNT; length++)
        (void)cJSON_AddNumberToObject(queued, pst_length_name(length), now.queued[length]);
    (void)cJSON_AddNumberToObject(object, "inflight", now.inflight);
    (void)cJSON_AddNumberToObject(object, "queued_bytes", (double)now.queued_bytes);
    (void)cJSON_AddNumberToObject(object, "queued_tokens", (double)now.queued_tokens);
    add_seconds(object, "backlog_seconds", now.backlog);
    add_seconds(object, "oldest_seconds", now.oldest);
    add_seconds(object, "predicted_wait_seconds", now.predicted_wait);
    (void)cJSON_AddNumberToObject(object, "reserved_slots", now.reserved_slots);
}

static void add_pool(const struct pst_view *view, cJSON *list, uint16_t pool)
{
    struct pst_gate_pool_view now;
    cJSON *object = cJSON_CreateObject(), *part;

    pst_gate_pool_view(pst_drive_gate(view->drive), pool, &now);
    (void)cJSON_AddItemToArray(list, object);
    (void)cJSON_AddStringToObject(object, "name", view->registry->pools[pool]);
    (void)cJSON_AddNumberToObject(object, "slots", now.slots);
    (void)cJSON_AddNumberToObject(object, "inflight", now.inflight);
    (void)cJSON_AddNumberToObject(object, "waiting_no_replica", now.waiting_no_replica);
    part = cJSON_AddObjectToObject(object, "replicas");
    for (int state = 0; state < PST_REPLICA_STATE_COUNT; state++)
        (void)cJSON_AddNumberToObject(part, pst_replica_state_name(state), now.replicas[state]);
    part = cJSON_AddArrayToObject(object, "classes");
    for (uint8_t class_ = 0; class_ < view->registry->classes_count; class_++)
        add_class(view, part, pool, class_);
}

/* What there should be, and why; nothing before the first decision. */
static void add_capacity(const struct pst_view *view, cJSON *list, uint16_t pool)
{
    char buffer[PST_DECISION_LINE_MAX];
    struct pst_capacity_decision last;
    struct pst_slice line;

    if (!pst_decision_last(view, pool, &last))
        return;
    line = pst_decision_line(&last, view->registry, buffer);
    (void)cJSON_AddItemToArray(list, cJSON_ParseWithLength(line.at, line.len));
}

static void add_replica(const struct pst_view *view, cJSON *list, uint16_t replica)
{
    const struct pst_registry_replica *named = &view->registry->replicas[replica];
    struct pst_gate_replica_view now = {.state = PST_REPLICA_GONE};
    cJSON *object = cJSON_CreateObject();

    (void)pst_gate_replica_view(pst_drive_gate(view->drive), replica, &now);
    (void)cJSON_AddItemToArray(list, object);
    (void)cJSON_AddNumberToObject(object, "index", replica);
    (void)cJSON_AddStringToObject(object, "name", named->name);
    (void)cJSON_AddStringToObject(object, "url", named->url == NULL ? "" : named->url);
    (void)cJSON_AddStringToObject(object, "pool", view->registry->pools[named->pool]);
    (void)cJSON_AddStringToObject(object, "state", pst_replica_state_name(now.state));
    (void)cJSON_AddBoolToObject(object, "draining", now.draining);
    (void)cJSON_AddNumberToObject(object, "slots", now.slots);
    (void)cJSON_AddNumberToObject(object, "inflight", now.inflight);
    (void)cJSON_AddNumberToObject(object, "revision", now.revision);
    (void)cJSON_AddNumberToObject(object, "dispatched", (double)now.dispatched);
    (void)cJSON_AddNumberToObject(object, "failures", (double)now.failures);
}

static void add_counters(const struct pst_view *view, cJSON *root)
{
    struct pst_gate_counters now;
    cJSON *object = cJSON_AddObjectToObject(root, "counters");

    pst_gate_counters(pst_drive_gate(view->drive), &now);
    (void)cJSON_AddNumberToObject(object, "offered", (double)now.offered);
    (void)cJSON_AddNumberToObject(object, "finished", (double)now.finished);
    (void)cJSON_AddNumberToObject(object, "dispatched", (double)now.dispatched);
    (void)cJSON_AddNumberToObject(object, "retried", (double)now.retried);
    (void)cJSON_AddNumberToObject(object, "guard_dispatched", (double)now.guard_dispatched);
    (void)cJSON_AddNumberToObject(object, "stale_events", (double)now.stale_events);
    (void)cJSON_AddNumberToObject(object, "bytes_held", (double)now.bytes_held);
    (void)cJSON_AddNumberToObject(object, "tickets", now.tickets);
    (void)cJSON_AddNumberToObject(object, "connections", view->program->connections(view->user));
}

static void add_drain(const struct pst_view *view, cJSON *root)
{
    struct pst_drain_status status;
    cJSON *object = cJSON_AddObjectToObject(root, "drain");
    pst_ns now = pst_loop_now(view->loop);

    view->program->drain_status(view->user, &status);
    (void)cJSON_AddStringToObject(object, "phase", pst_drain_phase_name(status.phase));
    if (status.phase == PST_DRAIN_SERVING)
        return;
    (void)cJSON_AddNumberToObject(object, "left", status.left);
    add_seconds(object, "deadline_in_seconds", status.until > now ? status.until - now : 0);
}

void pst_admin_state(const struct pst_admin_ask *ask)
{
    const struct pst_view *view = ask->admin->view;
    cJSON *root = cJSON_CreateObject(), *list;
    char *text;

    (void)cJSON_AddStringToObject(root, "version", view->version);
    list = cJSON_AddArrayToObject(root, "pools");
    for (uint16_t pool = 0; pool < view->registry->pools_count; pool++)
        add_pool(view, list, pool);
    list = cJSON_AddArrayToObject(root, "capacity");
    for (uint16_t pool = 0; pool < view->registry->pools_count; pool++)
        add_capacity(view, list, pool);
    list = cJSON_AddArrayToObject(root, "replicas");
    for (uint16_t replica = 0; replica < PST_REPLICAS_MAX; replica++)
        if (view->registry->replicas[replica].present)
            add_replica(view, list, replica);
    add_counters(view, root);
    add_drain(view, root);
    text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    if (text == NULL)
        pst_reply_error(ask->x, 500, NULL, "out of memory");
    else
        pst_reply(ask->x, 200, PST_TYPE_JSON, pst_slice_of(text));
    cJSON_free(text);
}
