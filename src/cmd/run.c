/* run.c - `penstock run`: the rooms, built in order, wired, and run until a signal; see run.h. */
#include "cmd/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "scale/keeper.h"

static void on_request_action(void *user, const struct pst_gate_action *action)
{
    struct pst_run *run = user;

    pst_gateway_request_action(run->gateway, action);
}

static void say_state(const struct pst_run *run, const struct pst_gate_action *action)
{
    const char *name = run->registry.replicas[action->u.state.replica].name;
    enum pst_log_level level =
        action->u.state.to == PST_REPLICA_SUSPECT ? PST_LOG_WARN : PST_LOG_INFO;

    pst_say(level, "replica %s: %s, was %s", name != NULL ? name : "?",
            pst_replica_state_name(action->u.state.to),
            pst_replica_state_name(action->u.state.from));
}

static void on_fleet_action(void *user, const struct pst_gate_action *action)
{
    struct pst_run *run = user;

    if (action->kind == PST_ACTION_STATE)
        say_state(run, action);
    pst_gateway_fleet_action(run->gateway, action);
    pst_run_capacity_fleet_action(run, action);
    if (run->observe != NULL)
        pst_observe_fleet_action(run->observe, action);
    if (action->kind == PST_ACTION_DRAINED)
        pst_run_drain_look(run);
}

static void on_settled(void *user, pst_ns deadline)
{
    struct pst_run *run = user;

    pst_timer_set(run->loop, &run->gate_timer, deadline);
}

static void on_gate_timer(struct pst_timer *timer)
{
    struct pst_run *run = (struct pst_run *)((char *)timer - offsetof(struct pst_run, gate_timer));
    const struct pst_gate_event event = {.now = pst_loop_now(run->loop), .kind = PST_EVENT_TIME};

    pst_drive_event(run->drive, &event);
}

static void on_finished(void *user, const struct pst_access *record)
{
    struct pst_run *run = user;

    if (run->observe != NULL)
        pst_observe_finished(run->observe, record);
    pst_run_drain_look(run);
}

static uint32_t program_connections(void *user)
{
    const struct pst_run *run = user;

    return pst_gateway_connections(run->gateway);
}

static void program_drain_status(void *user, struct pst_drain_status *ret_status)
{
    pst_run_drain_status(user, ret_status);
}

static void program_drain(void *user, pst_ns grace, pst_ns deadline)
{
    pst_run_drain_begin(user, grace, deadline);
}

static int program_reload(void *user, char message[PST_OBSERVE_MESSAGE_MAX])
{
    return pst_run_reload(user, message);
}

static void on_signal(void *user, int signal)
{
    struct pst_run *run = user;
    char message[PST_OBSERVE_MESSAGE_MAX];

    switch (signal) {
    case SIGHUP:
        (void)pst_run_reload(run, message);
        return;
    case SIGUSR1:
        pst_observe_reopen(run->observe);
        return;
    default:
        break;
    }
    if (run->drain.exits) {
        pst_say(PST_LOG_WARN, "a second signal: ends at once");
        run->exit_code = PST_EXIT_FAILED;
        pst_loop_stop(run->loop);
        return;
    }
    pst_run_drain_exit(run);
}

static const char *why(int rc)
{
    switch (rc) {
    case PST_E_SYSTEM:
        return strerror(errno);
    case PST_E_NOMEM:
        return "out of memory";
    case PST_E_FULL:
        return "there is no room for more";
    default:
        return "the configuration's numbers are out of range";
    }
}

static int failed(const char *what, int rc)
{
    pst_say(PST_LOG_ERROR, "cannot %s: %s", what, why(rc));
    return rc;
}

static int build_policy(struct pst_run *run)
{
    const struct pst_metric_sizes sizes = pst_access_sizes();
    int rc = pst_loop_new(&run->loop);

    if (rc != PST_OK)
        return failed("start the event loop", rc);
    rc = pst_metrics_new(&sizes, &run->metrics);
    if (rc != PST_OK)
        return failed("make the metrics", rc);
    rc = pst_drive_new(&run->config->gate, &run->drive);
    if (rc != PST_OK)
        return failed("make the gate", rc);
    rc = run->config->record == NULL ? PST_OK : pst_drive_record(run->drive, run->config->record);
    if (rc != PST_OK)
        return failed("record", rc);
    rc = pst_run_capacity_new(run);
    return rc == PST_OK ? PST_OK : failed("make the scaler", rc);
}

static int build_surfaces(struct pst_run *run)
{
    static const struct pst_view_program program = {
        .connections = program_connections,
        .drain_status = program_drain_status,
        .drain = program_drain,
        .reload = program_reload,
    };
    const struct pst_gateway_config gateway = {
        .loop = run->loop,
        .drive = run->drive,
        .registry = &run->registry,
        .metrics = run->metrics,
        .config = run->config,
        .finished = on_finished,
        .user = run,
    };
    const struct pst_observe_config observe = {
        .loop = run->loop,
        .drive = run->drive,
        .capacity = run->capacity,
        .registry = &run->registry,
        .metrics = run->metrics,
        .config = run->config,
        .version = PST_VERSION,
        .program = &program,
        .user = run,
    };
    int rc = pst_gateway_new(&gateway, &run->gateway);

    if (rc != PST_OK) {
        pst_say(PST_LOG_ERROR, "%s: cannot listen for requests: %s", run->config->listen, why(rc));
        return rc;
    }
    return pst_observe_new(&observe, &run->observe); /* says what went wrong */
}

static int build(struct pst_run *run, int wire)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    const struct pst_drive_handlers handlers = {
        .user = run,
        .request = on_request_action,
        .fleet = on_fleet_action,
        .settled = on_settled,
    };
    int rc = build_policy(run);

    if (rc == PST_OK)
        rc = build_surfaces(run);
    if (rc != PST_OK)
        return rc;
    rc = pst_loop_signals(run->loop, signals, PST_COUNT_OF(signals), on_signal, run);
    if (rc != PST_OK)
        return failed("watch signals", rc);
    run->gate_timer.fire = on_gate_timer;
    pst_run_drain_init(run);
    pst_drive_handlers(run->drive, &handlers); /* everybody who acts is there */
    rc = wire < 0 ? PST_OK : pst_run_wire_new(run, wire);
    if (rc != PST_OK)
        return failed("talk to the keeper", rc);
    rc = pst_gateway_start(run->gateway);
    if (rc != PST_OK)
        return failed("take up the replicas", rc);
    rc = pst_run_capacity_begin(run);
    return rc == PST_OK ? PST_OK : failed("count replicas", rc);
}

/* Takes half-built ones. */
static void tear_down(struct pst_run *run)
{
    if (run->observe != NULL)
        pst_observe_free(run->observe);
    run->observe = NULL; /* requests that end below are cut off, and not worth a line */
    if (run->gateway != NULL)
        pst_gateway_free(run->gateway);
    pst_run_capacity_free(run);
    pst_drive_free(run->drive);
    pst_metrics_free(run->metrics);
    if (run->loop != NULL)
        pst_loop_free(run->loop);
    pst_registry_done(&run->registry);
    pst_config_free(run->config);
}

/* "127.0.0.1:0" and the port that was given: tests and people want to know which. */
static void say_listener(const char *address, uint16_t port, const char *purpose)
{
    const char *colon = address == NULL ? NULL : strrchr(address, ':');

    if (colon != NULL && port != 0)
        pst_say(PST_LOG_INFO, "listening on %.*s:%u for %s", (int)(colon - address), address, port,
                purpose);
}

static void serve(struct pst_run *run)
{
    const struct pst_config *config = run->config;

    say_listener(config->listen, pst_gateway_port(run->gateway), "requests");
    say_listener(config->metrics, pst_observe_metrics_port(run->observe), "metrics");
    say_listener(config->admin, pst_observe_admin_port(run->observe), "admin");
    if (run->keda != NULL)
        say_listener(config->keda.listen, pst_keda_port(run->keda), "KEDA");
    if (pst_loop_run(run->loop) != PST_OK)
        run->exit_code = PST_EXIT_FAILED;
}

static const struct pst_usage usage_without_options = {
    .command = "run",
    .operands = "FILE",
    .summary = "The gateway: priorities in front of inference engines.",
    .detail =
        "Reads the configuration FILE, listens, and runs until a signal.\n\n"
        "SIGTERM, SIGINT  drain: readiness is taken away, requests are served for `drain.grace`, "
        "then\n"
        "                 refused; exits 0 when nothing is queued or in flight, 1 at the "
        "deadline.\n"
        "                 A second one ends at once, with 1.\n"
        "SIGHUP           reads FILE again; a faulty one is refused and said.\n"
        "SIGUSR1          opens the access and decision logs again, after rotation.\n\n"
        "Exit status: 0 drained; 1 failed, or requests were cut off; 2 usage or configuration.",
};

/* The process that serves. Takes over the configuration, and the keeper's wire if there is one. */
static int serve_with(struct pst_config *config, int wire)
{
    struct pst_run *run = calloc(1, sizeof *run);
    int exit_code = PST_EXIT_FAILED;

    if (run == NULL) {
        pst_config_free(config);
        return exit_code;
    }
    run->config = config;
    pst_registry_init(&run->registry);
    (void)pst_fd_limit_raise();
    if (build(run, wire) == PST_OK) {
        serve(run);
        exit_code = run->exit_code;
    }
    tear_down(run);
    free(run);
    return exit_code;
}

int pst_cmd_run(int argc, char **argv)
{
    const char *path = NULL;
    const struct pst_option options[] = {
        {.name = "config",
         .kind = PST_OPTION_TEXT,
         .value = &path,
         .argument = "FILE",
         .help = "The configuration; the same as FILE without the option."},
    };
    struct pst_usage usage = usage_without_options;
    struct pst_config *config;
    int first, wire;

    usage.options = options;
    usage.count = PST_COUNT_OF(options);
    first = pst_options_read(&usage, argc, argv);
    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (argc - first + (path != NULL) != 1) {
        fputs("penstock run: one configuration FILE is expected\n", stderr);
        return PST_EXIT_USAGE;
    }
    if (path == NULL)
        path = argv[first];
    if (pst_keeper_is_child())
        return pst_keeper_enter(&config, &wire) == PST_OK ? serve_with(config, wire)
                                                          : PST_EXIT_FAILED;
    if (pst_run_config_read(path, &config) != PST_OK)
        return PST_EXIT_USAGE;
    return pst_keeper_is_needed(config) ? pst_keeper_run(config) : serve_with(config, -1);
}
