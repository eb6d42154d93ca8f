/* local.c - the source of engines that run on this host; see local.h and source.h. */
#include "scale/local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/rand.h>

#include "base/log.h"
#include "core/num.h"

#define LOOK_EVERY  (500 * PST_MS) /* at logs, and at a file that could not be written */
#define QUOTA_EVERY (2 * PST_S)    /* a signal that is not told again grows stale */
#define SPAWNS_MAX  64             /* a second: a loop of failures is no fork bomb */

static struct pst_local *of(struct pst_source *source)
{
    return (struct pst_local *)(void *)source; /* its first member */
}

const char *pst_local_log_folder(const struct pst_local *local, char folder[PATH_MAX])
{
    if (local->config != NULL && local->config->log != NULL)
        return local->config->log;
    (void)snprintf(folder, PATH_MAX, "%s/log", local->folder);
    return folder;
}

static void send_event(const struct pst_local *local, uint32_t key, struct pst_scaler_event *event)
{
    const struct pst_source_host *host = local->source.host;

    event->now = pst_loop_now(host->loop);
    event->pool = local->source.pool;
    host->event(host->user, key, event);
}

void pst_local_result(struct pst_local *local, uint32_t op, enum pst_result result)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_RESULT};

    event.u.result.action = PST_SCALER_START;
    event.u.result.error = (uint8_t)result;
    event.u.result.op = op;
    send_event(local, 0, &event);
}

/* How many more could be started: when it changed, and before it is stale. */
static void tell_quota(struct pst_local *local)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_SIGNAL};
    pst_ns now = pst_loop_now(local->source.host->loop);
    uint64_t quota;

    if (local->config == NULL)
        return;
    quota = pst_local_places_free(local);
    if (quota == local->quota && now < pst_add_sat(local->quota_at, QUOTA_EVERY))
        return;
    local->quota = quota;
    local->quota_at = now;
    event.u.signal.kind = PST_SIGNAL_QUOTA;
    event.u.signal.value = quota;
    send_event(local, 0, &event);
}

int pst_local_save(struct pst_local *local)
{
    struct pst_state *state = calloc(1, sizeof *state);
    char path[PATH_MAX];
    int rc = PST_E_NOMEM;

    if (state == NULL)
        return PST_E_NOMEM;
    memcpy(state->boot, local->boot, sizeof state->boot);
    memcpy(state->salt, local->salt, sizeof state->salt);
    for (const struct pst_local_engine *e = local->engines; e != NULL; e = e->next)
        state->engines[state->count++] = e->kept;
    PST_ASSERT(pst_state_path(local->folder, local->pool, path, sizeof path));
    if (local->config == NULL && state->count == 0)
        rc = unlink(path) == 0 || errno == ENOENT ? PST_OK : PST_E_SYSTEM;
    else
        rc = pst_state_write(path, state);
    free(state);
    if (rc != PST_OK && !local->unwritten)
        pst_say(PST_LOG_ERROR, "%s cannot be written: %s: nothing is started until it can", path,
                strerror(errno));
    local->unwritten = rc != PST_OK;
    return rc;
}

/* What was to end has ended; what stays, stays. */
static void settle_if_over(struct pst_local *local)
{
    const struct pst_local_engine *e = local->engines;

    while (e != NULL && e->life != PST_LOCAL_ENDING)
        e = e->next;
    if (local->stopped != NULL && e == NULL)
        pst_later(local->source.host->loop, &local->settle);
}

void pst_local_gone(struct pst_local *local, struct pst_local_engine *engine)
{
    struct pst_local_engine **at = &local->engines;
    size_t size;
    char *scratch = pst_loop_scratch(local->source.host->loop, &size);

    while (*at != engine)
        at = &(*at)->next;
    *at = engine->next;
    pst_local_log_look(&engine->log, engine->name, scratch, size); /* its last words */
    pst_local_engine_free(engine);
    (void)pst_local_save(local);
    tell_quota(local);
    settle_if_over(local);
}

static void on_settle(struct pst_later *later)
{
    struct pst_local *local =
        (struct pst_local *)((char *)later - offsetof(struct pst_local, settle));

    local->stopped(local->stopped_user);
}

static bool spawns_too_fast(struct pst_local *local)
{
    pst_ns now = pst_loop_now(local->source.host->loop);

    if (now - local->spawn_second >= PST_S) {
        local->spawn_second = now;
        local->spawned = 0;
    }
    return local->spawned++ >= SPAWNS_MAX;
}

static void start(struct pst_local *local, uint32_t op, bool warm)
{
    int rc = PST_E_AGAIN;

    if (local->config != NULL && local->stopped == NULL && !spawns_too_fast(local))
        rc = pst_local_engine_start(local, op, warm);
    if (rc != PST_OK)
        pst_local_result(local, op, rc == PST_E_FULL ? PST_RESULT_QUOTA : PST_RESULT_FAILED);
    tell_quota(local);
}

static struct pst_local_engine *find(struct pst_local *local, uint32_t key)
{
    struct pst_local_engine *engine = local->engines;

    while (engine != NULL && (engine->key != key || key == 0))
        engine = engine->next;
    return engine;
}

/*
 * By its time, or because fewer are wanted: the action does not say which, and the scaler counts from a
 * moment before us. Who is a second short of start_timeout (of a short one, a tenth) has reached it.
 */
static void say_cancelled(const struct pst_local *local, const struct pst_local_engine *engine)
{
    pst_ns timeout = local->source.host->config->scaler.pools[local->source.pool].start_timeout;
    pst_ns age = pst_loop_now(local->source.host->loop) - engine->since;
    bool late = timeout > 0 && age >= timeout - pst_min_u64(PST_S, timeout / 10);

    if (engine->life == PST_LOCAL_ENDING)
        return;
    if (late)
        pst_say(PST_LOG_INFO,
                "%s (pid %d) is not ready after %.1f s and is not waited for any longer: killed "
                "(start_timeout: %.1f s)",
                engine->name, (int)engine->process.pid, (double)age / PST_S,
                (double)timeout / PST_S);
    else
        pst_say(PST_LOG_INFO, "%s (pid %d) is not wanted any more, %.1f s after its start: killed",
                engine->name, (int)engine->process.pid, (double)age / PST_S);
}

static void act(struct pst_source *source, uint32_t key, const struct pst_scaler_action *action)
{
    struct pst_local *local = of(source);
    struct pst_local_engine *engine = find(local, key);

    switch ((enum pst_scaler_action_kind)action->kind) {
    case PST_SCALER_START:
        start(local, action->u.start.op, action->u.start.warm != 0);
        return;
    case PST_SCALER_PROMOTE:
        if (engine != NULL) {
            engine->kept.warm = false;
            (void)pst_local_save(local);
        }
        return;
    case PST_SCALER_CANCEL:
    case PST_SCALER_REMOVE:
        if (engine != NULL && action->kind == PST_SCALER_CANCEL)
            say_cancelled(local, engine);
        if (engine != NULL) { /* else it has ended meanwhile */
            pst_local_engine_end(engine, action->kind == PST_SCALER_CANCEL);
            (void)pst_local_save(local);
        }
        return;
    case PST_SCALER_MARK: /* who leaves is said by REMOVE */
    case PST_SCALER_DRAIN:
    case PST_SCALER_UNDRAIN:
    case PST_SCALER_DECISION:
    case PST_SCALER_ACTION_COUNT:
        return;
    }
}

static void use_config(struct pst_local *local)
{
    const struct pst_config_pool *pool = &local->source.host->config->pools[local->source.pool];

    local->config = &pool->local;
    local->model = pool->models_count == 0            ? ""
                   : pool->models[0].upstream != NULL ? pool->models[0].upstream
                                                      : pool->models[0].name;
}

static void reload(struct pst_source *source)
{
    struct pst_local *local = of(source);

    if (local->config == NULL)
        return;
    use_config(local);
    tell_quota(local);
}

static void stop(struct pst_source *source, void (*stopped)(void *user), void *user)
{
    struct pst_local *local = of(source);
    bool keeps = local->config != NULL && local->config->keeps;

    local->stopped = stopped;
    local->stopped_user = user;
    for (struct pst_local_engine *e = local->engines; e != NULL; e = e->next) {
        if (keeps && e->life != PST_LOCAL_ENDING)
            pst_say(PST_LOG_INFO, "%s (pid %d) stays, for the next start", e->name,
                    (int)e->process.pid);
        else
            pst_local_engine_end(e, false);
    }
    (void)pst_local_save(local);
    settle_if_over(local);
}

/* Engines run on: the file says which, or stop() has ended them. */
static void free_source(struct pst_source *source)
{
    struct pst_local *local = of(source);

    pst_timer_cancel(source->host->loop, &local->look);
    pst_later_cancel(source->host->loop, &local->begin);
    pst_later_cancel(source->host->loop, &local->settle);
    while (local->engines != NULL) {
        struct pst_local_engine *engine = local->engines;

        local->engines = engine->next;
        pst_local_engine_free(engine);
    }
    free(local->folder);
    free(local->pool);
    free(local);
}

static void on_look(struct pst_timer *timer)
{
    struct pst_local *local =
        (struct pst_local *)((char *)timer - offsetof(struct pst_local, look));
    struct pst_loop *loop = local->source.host->loop;
    size_t size;
    char *scratch = pst_loop_scratch(loop, &size);

    for (struct pst_local_engine *e = local->engines; e != NULL; e = e->next)
        pst_local_log_look(&e->log, e->name, scratch, size);
    if (local->unwritten)
        (void)pst_local_save(local);
    tell_quota(local);
    pst_timer_set(loop, timer, pst_add_sat(pst_loop_now(loop), LOOK_EVERY));
}

/* Not one of ours: put aside for whoever wants to look, and said loudly. Its engines may still run. */
static void put_aside(const char *path)
{
    char aside[PATH_MAX];

    if ((size_t)snprintf(aside, sizeof aside, "%s.broken", path) >= sizeof aside ||
        rename(path, aside) != 0)
        aside[0] = '\0';
    pst_say(PST_LOG_ERROR, "%s is damaged%s%s: engines that it spoke of must be ended by hand",
            path, aside[0] == '\0' ? "" : " and now named ", aside);
}

static void adopt_all(struct pst_local *local, const struct pst_state *state)
{
    bool same_boot = strcmp(state->boot, local->boot) == 0;

    memcpy(local->salt, state->salt, sizeof local->salt);
    for (uint32_t i = 0; i < state->count; i++) {
        const struct pst_state_engine *kept = &state->engines[i];

        if (same_boot && pst_local_engine_adopt(local, kept) == PST_OK)
            pst_say(PST_LOG_INFO, "%s-%u (pid %d, port %u) runs already: taken over", local->pool,
                    kept->number, (int)kept->pid, kept->port);
        else
            pst_say(PST_LOG_INFO, "%s-%u (pid %d) ended while nobody looked", local->pool,
                    kept->number, (int)kept->pid);
    }
}

/* What was there is known before anything is started: no port, GPU or name is given twice. */
static int read_state(struct pst_local *local)
{
    struct pst_state *state = calloc(1, sizeof *state);
    char path[PATH_MAX];
    int rc;

    if (state == NULL)
        return PST_E_NOMEM;
    PST_ASSERT(pst_state_path(local->folder, local->pool, path, sizeof path));
    rc = pst_state_read(path, state);
    if (rc == PST_OK)
        adopt_all(local, state);
    else if (rc == PST_E_SYNTAX)
        put_aside(path);
    else if (rc != PST_E_UNKNOWN)
        pst_say(PST_LOG_ERROR, "%s cannot be read: %s", path, strerror(errno));
    free(state);
    return rc == PST_E_UNKNOWN || rc == PST_E_SYNTAX ? PST_OK : rc;
}

/* In the first turn, when whoever made us is ready to hear of it. */
static void on_begin(struct pst_later *later)
{
    struct pst_local *local =
        (struct pst_local *)((char *)later - offsetof(struct pst_local, begin));
    const struct pst_source_host *host = local->source.host;

    for (struct pst_local_engine *e = local->engines; e != NULL; e = e->next) {
        if (e->life != PST_LOCAL_RUNNING || e->key != 0)
            continue; /* it was started in this turn */
        if (e->kept.stopping || local->config == NULL)
            pst_local_engine_end(e, false);
        else
            pst_local_engine_announce(e);
    }
    (void)pst_local_save(local);
    tell_quota(local);
    if (local->config != NULL)
        host->synced(host->user, local->source.pool);
    pst_timer_set(host->loop, &local->look, pst_add_sat(pst_loop_now(host->loop), LOOK_EVERY));
}

static const struct pst_source_kind kind = {
    .name = "local", .act = act, .reload = reload, .stop = stop, .free = free_source};

static int make(const struct pst_source_host *host, const char *folder, const char *pool,
                struct pst_local **ret_local)
{
    struct pst_local *local = calloc(1, sizeof *local);
    char path[PATH_MAX];
    int rc = PST_E_NOMEM;

    if (local == NULL)
        return PST_E_NOMEM;
    local->source.kind = &kind;
    local->source.host = host;
    local->source.pool = PST_POOL_NONE;
    local->quota = UINT64_MAX;
    local->look.fire = on_look;
    local->begin.run = on_begin;
    local->settle.run = on_settle;
    local->folder = strdup(folder);
    local->pool = strdup(pool);
    if (local->folder == NULL || local->pool == NULL)
        goto fail;
    rc = PST_E_INVALID;
    if (!pst_state_path(folder, pool, path, sizeof path))
        goto fail;
    rc = pst_local_boot(local->boot, sizeof local->boot);
    if (rc == PST_OK && RAND_bytes(local->salt, sizeof local->salt) != 1)
        rc = PST_E_SYSTEM;
    if (rc != PST_OK)
        goto fail;
    *ret_local = local;
    return PST_OK;

fail:
    free_source(&local->source);
    return rc;
}

static int begin(struct pst_local *local, struct pst_source **ret_source)
{
    int rc = read_state(local);

    if (rc != PST_OK) {
        free_source(&local->source);
        return rc;
    }
    pst_later(local->source.host->loop, &local->begin);
    *ret_source = &local->source;
    return PST_OK;
}

int pst_local_new(const struct pst_source_host *host, uint16_t pool, struct pst_source **ret_source)
{
    struct pst_local *local;
    int rc;

    PST_ASSERT(host->config->state != NULL && host->config->pools[pool].local.command != NULL);
    rc = make(host, host->config->state, host->config->pools[pool].name, &local);
    if (rc != PST_OK)
        return rc;
    local->source.pool = pool;
    use_config(local);
    return begin(local, ret_source);
}

int pst_local_orphans_new(const struct pst_source_host *host, const char *folder, const char *pool,
                          struct pst_source **ret_source)
{
    struct pst_local *local;
    int rc = make(host, folder, pool, &local);

    return rc == PST_OK ? begin(local, ret_source) : rc;
}

bool pst_local_is_of(const struct pst_source *source, const char *pool)
{
    return strcmp(((const struct pst_local *)(const void *)source)->pool, pool) == 0;
}
