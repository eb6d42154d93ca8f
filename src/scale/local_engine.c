/* local_engine.c - one engine, from its start to its end; see local.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "core/num.h"
#include "scale/local.h"
#include "scale/local_command.h"

/* Of a pool that is not configured any more. */
#define ORPHAN_STOP_TIMEOUT (30 * PST_S)

extern char **environ;

void pst_local_engine_free(struct pst_local_engine *engine)
{
    pst_io_remove(&engine->ended);
    pst_io_remove(&engine->report);
    pst_timer_cancel(engine->local->source.host->loop, &engine->kill);
    pst_local_process_done(&engine->process);
    pst_local_log_done(&engine->log);
    free(engine);
}

static void tell(struct pst_local_engine *engine, enum pst_replica_state state,
                 enum pst_cause cause)
{
    const struct pst_source *source = &engine->local->source;
    const char *host = engine->local->config->host;
    struct pst_wire_replica replica = {
        .key = engine->key,
        .pool = source->pool,
        .state = (uint8_t)state,
        .cause = (uint8_t)cause,
        .warm = engine->kept.warm,
        .op = engine->op,
        .revision = engine->kept.revision,
    };

    memcpy(replica.name, engine->name, sizeof replica.name);
    (void)snprintf(replica.url, sizeof replica.url,
                   strchr(host, ':') != NULL ? "http://[%s]:%u" : "http://%s:%u", host,
                   engine->kept.port);
    source->host->found(source->host->user, &replica);
}

/* It runs: whether it can answer is the gate's to find out. */
void pst_local_engine_announce(struct pst_local_engine *engine)
{
    const struct pst_source_host *host = engine->local->source.host;

    engine->key = host->next_key(host->user);
    tell(engine, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
}

static void fail_start(struct pst_local_engine *engine, const struct pst_local_failure *failure)
{
    const struct pst_config_local *config = engine->local->config;

    engine->failed = true;
    if (failure != NULL)
        pst_say(PST_LOG_ERROR, "%s cannot be started: %s: %s", engine->name,
                failure->at_directory ? config->directory : config->command[0],
                strerror(failure->error));
    pst_local_result(engine->local, engine->op, PST_RESULT_FAILED);
}

/* The program runs (end of file), or the reason why not. */
static void read_report(struct pst_local_engine *engine)
{
    struct pst_local_failure failure;
    ssize_t got = read(engine->process.report, &failure, sizeof failure);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    pst_io_remove(&engine->report);
    if (engine->life == PST_LOCAL_ENDING)
        return;
    if (got == 0) {
        engine->life = PST_LOCAL_RUNNING;
        pst_local_engine_announce(engine);
    } else {
        fail_start(engine, got == (ssize_t)sizeof failure ? &failure : NULL);
    }
}

static void on_report(struct pst_io *io, uint32_t events)
{
    (void)events;
    read_report(
        (struct pst_local_engine *)((char *)io - offsetof(struct pst_local_engine, report)));
}

static void say_end(const struct pst_local_engine *engine, const struct pst_local_end *end)
{
    enum pst_log_level level = engine->asked ? PST_LOG_INFO : PST_LOG_WARN;
    const char *how = engine->asked ? "ended" : "ended by itself";

    if (!end->known)
        pst_say(level, "%s (pid %d) %s", engine->name, (int)engine->process.pid, how);
    else
        pst_say(level, "%s (pid %d) %s: %s %d", engine->name, (int)engine->process.pid, how,
                end->signalled ? "signal" : "exit status", end->status);
}

static void on_ended(struct pst_io *io, uint32_t events)
{
    struct pst_local_engine *engine =
        (struct pst_local_engine *)((char *)io - offsetof(struct pst_local_engine, ended));
    struct pst_local *local = engine->local;
    struct pst_local_end end;

    (void)events;
    if (engine->life == PST_LOCAL_SPAWNED && !engine->failed)
        read_report(engine); /* both may have come in one turn */
    end = pst_local_reap(&engine->process);
    if (!engine->failed)
        say_end(engine, &end);
    if (engine->key != 0)
        tell(engine, PST_REPLICA_GONE, engine->asked ? PST_CAUSE_REMOVED : PST_CAUSE_CRASH);
    else if (engine->op != 0 && !engine->failed)
        fail_start(engine, NULL);
    pst_local_gone(local, engine);
}

static void on_kill(struct pst_timer *timer)
{
    struct pst_local_engine *engine =
        (struct pst_local_engine *)((char *)timer - offsetof(struct pst_local_engine, kill));

    pst_say(PST_LOG_WARN, "%s (pid %d) did not end in time: killed", engine->name,
            (int)engine->process.pid);
    pst_local_signal(&engine->process, SIGKILL);
}

void pst_local_engine_end(struct pst_local_engine *engine, bool at_once)
{
    struct pst_loop *loop = engine->local->source.host->loop;
    const struct pst_config_local *config = engine->local->config;
    pst_ns timeout = config == NULL ? ORPHAN_STOP_TIMEOUT : config->stop_timeout;

    engine->asked = true;
    if (at_once) {
        pst_timer_cancel(loop, &engine->kill);
        pst_local_signal(&engine->process, SIGKILL);
    } else if (engine->life != PST_LOCAL_ENDING) {
        pst_local_signal(&engine->process, SIGTERM);
        pst_timer_set(loop, &engine->kill, pst_add_sat(pst_loop_now(loop), timeout));
    }
    engine->life = PST_LOCAL_ENDING;
    engine->kept.stopping = true;
}

static struct pst_local_engine *new_engine(struct pst_local *local,
                                           const struct pst_state_engine *kept)
{
    struct pst_local_engine *engine = calloc(1, sizeof *engine);
    char folder[PATH_MAX];

    if (engine == NULL)
        return NULL;
    engine->local = local;
    engine->kept = *kept;
    engine->since = pst_loop_now(local->source.host->loop);
    engine->kill.fire = on_kill;
    engine->ended = (struct pst_io){.fd = -1, .events = EPOLLIN, .ready = on_ended};
    engine->report = (struct pst_io){.fd = -1, .events = EPOLLIN, .ready = on_report};
    engine->process.pidfd = engine->process.go = engine->process.report = -1;
    (void)snprintf(engine->name, sizeof engine->name, "%s-%u", local->pool, kept->number);
    if (pst_local_log_open(&engine->log, pst_local_log_folder(local, folder), engine->name,
                           local->config != NULL && local->config->log == NULL) != PST_OK)
        pst_say(PST_LOG_ERROR, "%s: its log %s cannot be opened: %s", engine->name,
                engine->log.path, strerror(errno));
    return engine;
}

static int watch(struct pst_local_engine *engine)
{
    struct pst_loop *loop = engine->local->source.host->loop;
    int rc;

    engine->ended.fd = engine->process.pidfd;
    rc = pst_io_add(loop, &engine->ended);
    if (rc != PST_OK || engine->process.report < 0)
        return rc;
    engine->report.fd = engine->process.report;
    return pst_io_add(loop, &engine->report);
}

static int spawn(struct pst_local_engine *engine)
{
    const struct pst_local *local = engine->local;
    const struct pst_config *config = local->source.host->config;
    const struct pst_local_inherited inherited = {environ, config->secrets, config->secrets_count};
    const struct pst_local_words words = {
        .name = engine->name,
        .model = local->model,
        .port = engine->kept.port,
        .gpus = engine->kept.gpus,
        .gpus_count = engine->kept.gpus_count,
    };
    struct pst_local_command command = {0};
    struct pst_local_program program;
    int rc = pst_local_command_make(local->config, &words, &inherited, &command), error;

    if (rc != PST_OK)
        return rc;
    program = (struct pst_local_program){
        .argv = command.argv,
        .env = command.env,
        .directory = local->config->directory,
        .output = pst_local_log_output(&engine->log),
    };
    rc = program.output < 0 ? PST_E_SYSTEM : pst_local_spawn(&program, &engine->process);
    error = errno;
    if (program.output >= 0)
        close(program.output);
    pst_local_command_done(&command);
    errno = error;
    return rc;
}

int pst_local_engine_start(struct pst_local *local, uint32_t op, bool warm)
{
    struct pst_state_engine kept;
    struct pst_local_engine *engine;
    int rc = pst_local_place(local, &kept);

    if (rc != PST_OK)
        return rc;
    kept.warm = warm;
    kept.revision = pst_local_revision(local->config, local->salt, sizeof local->salt);
    engine = new_engine(local, &kept);
    if (engine == NULL)
        return PST_E_NOMEM;
    engine->op = op;
    rc = spawn(engine);
    if (rc != PST_OK) {
        pst_say(PST_LOG_ERROR, "%s cannot be started: %s", engine->name,
                rc == PST_E_SYSTEM ? strerror(errno) : "its command is too long for memory");
        pst_local_engine_free(engine);
        return rc;
    }
    engine->kept.pid = engine->process.pid;
    engine->kept.start = engine->process.start;
    engine->next = local->engines;
    local->engines = engine;
    rc = watch(engine);
    if (rc == PST_OK)
        rc = pst_local_save(local); /* before anything of it runs */
    if (rc != PST_OK) {
        pst_local_engine_end(engine, true);
        engine->failed = true; /* the caller answers */
        return rc;
    }
    pst_local_release(&engine->process);
    pst_say(PST_LOG_INFO, "%s started (pid %d, port %u)", engine->name, (int)engine->process.pid,
            engine->kept.port);
    return PST_OK;
}

int pst_local_engine_adopt(struct pst_local *local, const struct pst_state_engine *kept)
{
    struct pst_local_process process;
    struct pst_local_engine *engine;
    int rc = pst_local_adopt(kept->pid, kept->start, &process);

    if (rc != PST_OK)
        return rc;
    engine = new_engine(local, kept);
    if (engine == NULL) {
        pst_local_process_done(&process);
        return PST_E_NOMEM;
    }
    engine->process = process;
    rc = watch(engine);
    if (rc != PST_OK) {
        pst_local_engine_free(engine);
        return rc;
    }
    engine->next = local->engines;
    local->engines = engine;
    engine->life = PST_LOCAL_RUNNING;
    return PST_OK;
}
