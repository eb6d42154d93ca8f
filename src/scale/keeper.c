/* keeper.c - the first process, from its start to its end; see keeper.h. */
#include "scale/keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "scale/keeper_room.h"
#include "scale/local.h"

#define EXIT_FAILED 1

static bool pool_needs_keeper(const struct pst_config_pool *pool)
{
    return pool->local.command != NULL || pool->kubernetes.selector != NULL ||
           pool->signals.prometheus_token_file != NULL || pool->signals.nvidia_smi;
}

static bool is_local(const struct pst_config *config, const char *name)
{
    for (size_t i = 0; i < config->pools_count; i++)
        if (config->pools[i].local.command != NULL && strcmp(config->pools[i].name, name) == 0)
            return true;
    return false;
}

struct orphan_search {
    struct pst_keeper *keeper; /* NULL: one is enough */
    const struct pst_config *config;
    bool any;
};

static bool on_state_file(void *user, const char *pool)
{
    struct orphan_search *search = user;
    struct pst_keeper *keeper = search->keeper;
    struct pst_source *source;

    if (is_local(search->config, pool))
        return true;
    search->any = true;
    if (keeper == NULL || keeper->orphans_count == PST_KEEPER_ORPHANS_MAX)
        return false;
    pst_say(PST_LOG_INFO, "%s is no pool of local engines any more: those that run are ended",
            pool);
    if (pst_local_orphans_new(&keeper->host, search->config->state, pool, &source) == PST_OK)
        keeper->orphans[keeper->orphans_count++] = source;
    return true;
}

static bool find_orphans(struct pst_keeper *keeper, const struct pst_config *config)
{
    struct orphan_search search = {.keeper = keeper, .config = config};

    if (config->state != NULL)
        pst_state_pools(config->state, on_state_file, &search);
    return search.any;
}

bool pst_keeper_is_needed(const struct pst_config *config)
{
    for (size_t i = 0; i < config->pools_count; i++)
        if (pool_needs_keeper(&config->pools[i]))
            return true;
    return find_orphans(NULL, config);
}

/* The pool is back: its file, and what still ends, are its own source's from now on. */
static void forget_orphan(struct pst_keeper *keeper, const char *pool)
{
    for (size_t i = 0; i < keeper->orphans_count; i++) {
        struct pst_source *source = keeper->orphans[i];

        if (!pst_local_is_of(source, pool))
            continue;
        keeper->orphans[i] = keeper->orphans[--keeper->orphans_count];
        source->kind->free(source);
        return;
    }
}

int pst_keeper_sources(struct pst_keeper *keeper)
{
    int rc = PST_OK;

    for (uint16_t p = 0; p < keeper->config->pools_count && rc == PST_OK; p++) {
        const struct pst_config_pool *pool = &keeper->config->pools[p];
        struct pst_source **source = &keeper->pools[p].source;

        if (*source != NULL)
            continue;
        if (pool->local.command != NULL) {
            forget_orphan(keeper, pool->name);
            rc = pst_local_new(&keeper->host, p, source);
        } else if (pool->kubernetes.selector != NULL) {
            rc = pst_kube_new(&keeper->host, p, source);
        }
        if (rc != PST_OK)
            pst_say(PST_LOG_ERROR, "pool %s: its replicas cannot be found: %s", pool->name,
                    rc == PST_E_SYSTEM ? strerror(errno) : "out of memory or range");
    }
    return rc;
}

static struct pst_source **each_source(struct pst_keeper *keeper, size_t i)
{
    return i < PST_POOLS_MAX ? &keeper->pools[i].source : &keeper->orphans[i - PST_POOLS_MAX];
}

static void on_stopped(void *user)
{
    struct pst_keeper *keeper = user;

    if (--keeper->to_stop == 0)
        pst_loop_stop(keeper->loop);
}

void pst_keeper_end(struct pst_keeper *keeper, int status, bool stops)
{
    size_t count = PST_POOLS_MAX + keeper->orphans_count;

    PST_ASSERT(!keeper->ending);
    keeper->ending = true;
    keeper->status = status;
    keeper->to_stop = 1; /* us, so that no source that stops at once ends it early */
    for (size_t i = 0; i < count && stops; i++) {
        struct pst_source *source = *each_source(keeper, i);

        if (source == NULL)
            continue;
        keeper->to_stop++;
        source->kind->stop(source, on_stopped, keeper);
    }
    on_stopped(keeper);
}

static void on_end_signal(struct pst_keeper *keeper, int signal)
{
    bool again = keeper->asked;

    keeper->asked = true;
    if (keeper->child != 0) {
        pst_keeper_child_signal(keeper, signal);
        return;
    }
    if (!keeper->ending) {
        pst_keeper_child_done(keeper); /* it was about to be started again */
        pst_keeper_end(keeper, 0, true);
    } else if (again) {
        pst_say(PST_LOG_WARN, "another signal: engines that have not ended are left behind");
        keeper->status = EXIT_FAILED;
        pst_loop_stop(keeper->loop);
    }
}

static void on_signal(void *user, int signal)
{
    struct pst_keeper *keeper = user;

    if (signal == SIGTERM || signal == SIGINT)
        on_end_signal(keeper, signal);
    else
        pst_keeper_child_signal(keeper, signal);
}

static int lock_state(struct pst_keeper *keeper)
{
    const char *folder = keeper->config->state;
    int rc = folder == NULL ? PST_OK : pst_state_lock(folder, &keeper->lock);

    if (rc == PST_E_FULL)
        pst_say(PST_LOG_ERROR, "%s: another penstock uses this folder of state", folder);
    else if (rc != PST_OK)
        pst_say(PST_LOG_ERROR, "%s: cannot be used as folder of state: %s", folder,
                strerror(errno));
    return rc;
}

static int begin(struct pst_keeper *keeper)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    int rc = lock_state(keeper);

    if (rc == PST_OK)
        rc = pst_loop_new(&keeper->loop);
    if (rc == PST_OK)
        rc = pst_loop_signals(keeper->loop, signals, PST_COUNT_OF(signals), on_signal, keeper);
    if (rc != PST_OK)
        return rc;
    pst_keeper_tell_init(keeper);
    rc = pst_keeper_sources(keeper);
    if (rc != PST_OK)
        return rc;
    (void)find_orphans(keeper, keeper->config);
    rc = pst_measure_new(&keeper->measure_host, &keeper->measure);
    return rc == PST_OK ? pst_keeper_child_start(keeper) : rc;
}

static void tear_down(struct pst_keeper *keeper)
{
    if (keeper->loop != NULL) {
        pst_keeper_child_done(keeper);
        for (size_t i = 0; i < PST_POOLS_MAX + keeper->orphans_count; i++) {
            struct pst_source *source = *each_source(keeper, i);

            if (source != NULL)
                source->kind->free(source);
        }
        pst_measure_free(keeper->measure);
        pst_loop_free(keeper->loop);
    }
    if (keeper->lock >= 0)
        close(keeper->lock);
    free(keeper->replicas);
    pst_config_free(keeper->config);
    free(keeper);
}

int pst_keeper_run(struct pst_config *config)
{
    struct pst_keeper *keeper = calloc(1, sizeof *keeper);
    int status = EXIT_FAILED;

    PST_ASSERT(!pst_keeper_is_child());
    if (keeper == NULL) {
        pst_config_free(config);
        return status;
    }
    keeper->config = config;
    keeper->lock = -1;
    /* No core, no debugger, and no other process of our user looks into it. */
    if (prctl(PR_SET_DUMPABLE, 0) != 0)
        pst_say(PST_LOG_WARN, "this process cannot be shut off from others: %s", strerror(errno));
    if (begin(keeper) == PST_OK && pst_loop_run(keeper->loop) == PST_OK)
        status = keeper->status;
    tear_down(keeper);
    return status;
}
