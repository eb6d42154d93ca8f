/* observe.c - see observe.h. */
#include "observe/observe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "observe/admin.h"
#include "observe/decision.h"
#include "observe/page.h"
#include "observe/render.h"

#define LOG_BYTES_MAX (UINT32_C(4) << 20)

struct pst_observe {
    struct pst_view view;
    struct pst_log *access_log;   /* NULL: none */
    struct pst_log *decision_log; /* NULL: none */
    struct pst_later flush;       /* both logs, at the turn's end */
    pst_ns counted_at;            /* when replicas were counted last; 0: never */
    struct pst_refusals refusals;
    struct pst_page *page;   /* NULL: none */
    struct pst_admin *admin; /* NULL: none */
};

static void on_flush(struct pst_later *later)
{
    struct pst_observe *observe =
        (struct pst_observe *)((char *)later - offsetof(struct pst_observe, flush));

    if (observe->access_log != NULL)
        pst_log_flush(observe->access_log);
    if (observe->decision_log != NULL)
        pst_log_flush(observe->decision_log);
}

static int failed(const char *what, const char *where, int rc)
{
    pst_say(PST_LOG_ERROR, "%s: cannot %s: %s", where, what,
            rc == PST_E_SYSTEM  ? strerror(errno)
            : rc == PST_E_NOMEM ? "out of memory"
                                : "invalid");
    return rc;
}

static int open_all(struct pst_observe *observe, const struct pst_config *config)
{
    int rc;

    if (config->access_log != NULL) {
        rc = pst_log_new(config->access_log, LOG_BYTES_MAX, &observe->access_log);
        if (rc != PST_OK)
            return failed("open the access log", config->access_log, rc);
        observe->view.access_log = observe->access_log;
    }
    if (config->decision_log != NULL) {
        rc = pst_log_new(config->decision_log, LOG_BYTES_MAX, &observe->decision_log);
        if (rc != PST_OK)
            return failed("open the decision log", config->decision_log, rc);
        observe->view.decision_log = observe->decision_log;
    }
    if (config->metrics != NULL) {
        rc = pst_page_new(&observe->view, config->metrics, &observe->page);
        if (rc != PST_OK)
            return failed("listen for metrics", config->metrics, rc);
    }
    if (config->admin != NULL) {
        rc = pst_admin_new(&observe->view, config->admin, &observe->admin);
        if (rc != PST_OK)
            return failed("listen for admin", config->admin, rc);
    }
    return PST_OK;
}

int pst_observe_new(const struct pst_observe_config *config, struct pst_observe **ret_observe)
{
    struct pst_observe *observe = calloc(1, sizeof *observe);
    int rc;

    if (observe == NULL)
        return PST_E_NOMEM;
    observe->flush.run = on_flush;
    observe->view = (struct pst_view){
        .loop = config->loop,
        .drive = config->drive,
        .capacity = config->capacity,
        .registry = config->registry,
        .metrics = config->metrics,
        .config = config->config,
        .version = config->version,
        .program = config->program,
        .user = config->user,
        .refusals = &observe->refusals,
    };
    rc = open_all(observe, config->config);
    if (rc != PST_OK) {
        pst_observe_free(observe);
        return rc;
    }
    *ret_observe = observe;
    return PST_OK;
}

void pst_observe_free(struct pst_observe *observe)
{
    if (observe == NULL)
        return;
    pst_admin_free(observe->admin);
    pst_page_free(observe->page);
    pst_later_cancel(observe->view.loop, &observe->flush);
    if (observe->access_log != NULL)
        pst_log_free(observe->access_log);
    if (observe->decision_log != NULL)
        pst_log_free(observe->decision_log);
    free(observe);
}

uint16_t pst_observe_metrics_port(const struct pst_observe *observe)
{
    return observe->page == NULL ? 0 : pst_page_port(observe->page);
}

uint16_t pst_observe_admin_port(const struct pst_observe *observe)
{
    return observe->admin == NULL ? 0 : pst_admin_port(observe->admin);
}

void pst_observe_finished(struct pst_observe *observe, const struct pst_access *record)
{
    char buffer[PST_ACCESS_LINE_MAX];
    struct pst_slice line;

    pst_access_count(record, &observe->refusals, observe->view.metrics);
    pst_admin_finished(observe->admin, record);
    if (observe->access_log == NULL)
        return;
    line = pst_access_line(record, observe->view.registry, pst_clock_wall_ns(), buffer);
    (void)pst_log_line(observe->access_log, line.at, line.len); /* a drop is counted there */
    pst_later(observe->view.loop, &observe->flush);
}

void pst_observe_fleet_action(struct pst_observe *observe, const struct pst_gate_action *action)
{
    pst_admin_fleet_action(observe->admin, action);
}

void pst_observe_decided(struct pst_observe *observe, const struct pst_capacity_decision *decision)
{
    const struct pst_labels labels = {
        .pool = decision->action.pool,
        .term = decision->action.u.decision.winner,
    };
    char buffer[PST_DECISION_LINE_MAX];
    struct pst_slice line = pst_decision_line(decision, observe->view.registry, buffer);

    pst_metric_add(observe->view.metrics, PST_METRIC_SCALER_DECISIONS, labels, 1);
    pst_admin_decided(observe->admin, line);
    if (observe->decision_log == NULL)
        return;
    (void)pst_log_line(observe->decision_log, line.at, line.len); /* a drop is counted there */
    pst_later(observe->view.loop, &observe->flush);
}

void pst_observe_second(struct pst_observe *observe)
{
    pst_ns now = pst_loop_now(observe->view.loop);

    if (observe->counted_at != 0)
        pst_gauges_second(&observe->view, now - observe->counted_at);
    observe->counted_at = now;
}

void pst_observe_drain_changed(struct pst_observe *observe)
{
    pst_admin_drain_changed(observe->admin);
}

void pst_observe_reloaded(struct pst_observe *observe, const struct pst_config *config,
                          const char *message)
{
    if (message == NULL)
        observe->view.config = config;
    pst_admin_reloaded(observe->admin, message);
}

static void reopen(struct pst_log *log, const char *path, const char *what)
{
    if (log != NULL && pst_log_reopen(log) != PST_OK)
        pst_say(PST_LOG_ERROR, "%s: cannot reopen the %s log: %s", path, what, strerror(errno));
}

void pst_observe_reopen(struct pst_observe *observe)
{
    reopen(observe->access_log, observe->view.config->access_log, "access");
    reopen(observe->decision_log, observe->view.config->decision_log, "decision");
}
