/* admin_events.c - changes as they happen, to whoever listens; see admin.h. */
#include <stdlib.h>

#include "observe/admin_room.h"
#include "observe/reply.h"

#define BEHIND_MAX   (UINT32_C(256) << 10) /* bytes a reader may be behind */
#define BEAT_EVERY   (15 * PST_S)          /* a comment, so that proxies keep the connection */
#define REFUSED_EACH PST_S

static void subscriber_free(struct pst_admin_subscriber *subscriber)
{
    struct pst_admin_subscriber **at = &subscriber->admin->subscribers;

    while (*at != subscriber)
        at = &(*at)->next;
    *at = subscriber->next;
    free(subscriber);
}

static void on_gone(struct pst_admin_held *held)
{
    subscriber_free((struct pst_admin_subscriber *)held);
}

static void send_all(struct pst_admin *admin, struct pst_slice bytes)
{
    struct pst_admin_subscriber *next;

    for (struct pst_admin_subscriber *s = admin->subscribers; s != NULL; s = next) {
        struct pst_exchange *x = s->held.x;

        next = s->next;
        if (pst_exchange_pending(x) <= BEHIND_MAX) {
            (void)pst_exchange_write(x, bytes.at, bytes.len);
        } else {
            subscriber_free(s);
            pst_exchange_abort(x);
        }
    }
}

void pst_admin_publish(struct pst_admin *admin, const char *event, struct pst_slice data)
{
    struct pst_text text = {NULL, 0, 0, false};

    if (admin->subscribers == NULL)
        return;
    pst_text_print(&text, "event: %s\ndata: %.*s\n\n", event, (int)data.len, data.at);
    if (!text.broken)
        send_all(admin, pst_slice(text.at, text.len));
    pst_text_done(&text);
}

static void on_beat(struct pst_timer *timer)
{
    struct pst_admin *admin =
        (struct pst_admin *)((char *)timer - offsetof(struct pst_admin, beat_timer));

    if (admin->subscribers == NULL)
        return;
    send_all(admin, PST_SLICE(": still here\n\n"));
    pst_timer_set(admin->view->loop, timer, pst_loop_now(admin->view->loop) + BEAT_EVERY);
}

void pst_admin_events(const struct pst_admin_ask *ask)
{
    static const struct pst_header headers[] = {
        {{"Content-Type", 12}, {"text/event-stream", 17}},
        {{"Cache-Control", 13}, {"no-store", 8}},
    };
    struct pst_admin *admin = ask->admin;
    struct pst_admin_subscriber *subscriber = calloc(1, sizeof *subscriber);
    struct pst_slice hello = PST_SLICE(": events of penstock\n\n");

    if (subscriber == NULL) {
        pst_reply_error(ask->x, 500, NULL, "out of memory");
        return;
    }
    subscriber->held = (struct pst_admin_held){.x = ask->x, .gone = on_gone};
    subscriber->admin = admin;
    subscriber->next = admin->subscribers;
    admin->subscribers = subscriber;
    pst_exchange_set_user(ask->x, &subscriber->held);
    pst_exchange_respond(ask->x, 200, headers, PST_COUNT_OF(headers), PST_LENGTH_UNKNOWN);
    (void)pst_exchange_write(ask->x, hello.at, hello.len);
    if (admin->beat_timer.place == 0) {
        admin->beat_timer.fire = on_beat;
        pst_timer_set(admin->view->loop, &admin->beat_timer,
                      pst_loop_now(admin->view->loop) + BEAT_EVERY);
    }
}

void pst_admin_subscribers_end(struct pst_admin *admin)
{
    pst_timer_cancel(admin->view->loop, &admin->beat_timer);
    pst_timer_cancel(admin->view->loop, &admin->refused_timer);
    while (admin->subscribers != NULL) {
        struct pst_exchange *x = admin->subscribers->held.x;

        subscriber_free(admin->subscribers);
        pst_exchange_end(x);
    }
}

static void publish_state(struct pst_admin *admin, uint16_t replica, uint8_t from, uint8_t to)
{
    const struct pst_registry *registry = admin->view->registry;
    const char *name = registry->replicas[replica].name;
    char buffer[4096];
    struct pst_line line;

    pst_line_begin(&line, buffer, sizeof buffer);
    pst_line_number(&line, "index", replica);
    if (name != NULL) {
        pst_line_text(&line, "pool",
                      pst_slice_of(registry->pools[registry->replicas[replica].pool]), 256);
        pst_line_text(&line, "replica", pst_slice_of(name), 256);
    }
    pst_line_text(&line, "from", pst_slice_of(pst_replica_state_name(from)), 16);
    pst_line_text(&line, "to", pst_slice_of(pst_replica_state_name(to)), 16);
    pst_admin_publish(admin, "replica", pst_line_end(&line));
}

void pst_admin_fleet_action(struct pst_admin *admin, const struct pst_gate_action *action)
{
    if (admin == NULL)
        return;
    if (action->kind == PST_ACTION_STATE)
        publish_state(admin, action->u.state.replica, action->u.state.from, action->u.state.to);
    else if (action->kind == PST_ACTION_DRAINED && action->u.drained.replica != PST_REPLICA_ALL)
        pst_admin_replica_drained(admin, action->u.drained.replica,
                                  action->u.drained.complete ? 0 : action->u.drained.left);
}

void pst_admin_decided(struct pst_admin *admin, struct pst_slice line)
{
    if (admin != NULL)
        pst_admin_publish(admin, "decision", line);
}

void pst_admin_reloaded(struct pst_admin *admin, const char *message)
{
    char buffer[2048];
    struct pst_line line;

    if (admin == NULL)
        return;
    pst_line_begin(&line, buffer, sizeof buffer);
    pst_line_bool(&line, "reloaded", message == NULL);
    if (message != NULL)
        pst_line_text(&line, "message", pst_slice_of(message), 300);
    pst_admin_publish(admin, "reload", pst_line_end(&line));
    pst_admin_readers_end(admin, message);
}

static void publish_refused(struct pst_admin *admin, const struct pst_admin_refused *refused)
{
    const struct pst_registry *registry = admin->view->registry;
    char buffer[4096];
    struct pst_line line;

    pst_line_begin(&line, buffer, sizeof buffer);
    if (refused->pool < registry->pools_count)
        pst_line_text(&line, "pool", pst_slice_of(registry->pools[refused->pool]), 256);
    if (refused->class_ < registry->classes_count)
        pst_line_text(&line, "class", pst_slice_of(registry->classes[refused->class_]), 64);
    pst_line_text(&line, "reason", pst_slice_of(refused->reason), 64);
    pst_line_number(&line, "count", refused->count);
    pst_admin_publish(admin, "refused", pst_line_end(&line));
}

static void on_second(struct pst_timer *timer)
{
    struct pst_admin *admin =
        (struct pst_admin *)((char *)timer - offsetof(struct pst_admin, refused_timer));

    for (uint32_t i = 0; i < admin->refused_count; i++)
        publish_refused(admin, &admin->refused[i]);
    admin->refused_count = 0;
}

/* The same refusal again is one more; beyond the table the last row takes all. */
static void note_refused(struct pst_admin *admin, struct pst_admin_refused refused)
{
    uint32_t i = 0;

    while (i < admin->refused_count &&
           (admin->refused[i].pool != refused.pool || admin->refused[i].class_ != refused.class_ ||
            strcmp(admin->refused[i].reason, refused.reason) != 0))
        i++;
    if (i == PST_ADMIN_REFUSED_MAX)
        i--;
    else if (i == admin->refused_count)
        admin->refused[admin->refused_count++] = refused;
    admin->refused[i].count++;
}

void pst_admin_finished(struct pst_admin *admin, const struct pst_access *record)
{
    if (admin == NULL || admin->subscribers == NULL)
        return;
    if (record->outcome != PST_OUTCOME_REFUSED && record->outcome != PST_OUTCOME_EXPIRED)
        return;
    note_refused(admin, (struct pst_admin_refused){
                            .pool = record->pool,
                            .class_ = record->class_,
                            .reason = record->refusal != NULL ? record->refusal
                                                              : pst_reason_name(record->reason),
                        });
    if (admin->refused_timer.place == 0) {
        admin->refused_timer.fire = on_second;
        pst_timer_set(admin->view->loop, &admin->refused_timer,
                      pst_loop_now(admin->view->loop) + REFUSED_EACH);
    }
}
