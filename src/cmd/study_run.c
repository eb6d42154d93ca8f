/* study_run.c - the runs of a study, side by side; see study.h. */
#include "cmd/study.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmd/study_progress.h"
#include "sim/queue.h"
#include "sim/sim.h"

#define SLICES     200 /* of the horizon, between two tellings of how far it is */
#define DRAW_EVERY (200 * PST_MS)

/*
 * Runs share nothing but the scenario, which nobody writes. Who takes which run is chance; what a run
 * gives is not.
 */
struct crew {
    struct pst_study *study;
    struct pst_study_lane *lanes;
    pthread_t *threads;
    uint32_t threads_count;
    atomic_uint next;   /* run to take */
    atomic_uint hired;  /* lanes taken */
    atomic_bool failed; /* one of them: the others are not worth their time */
    pthread_mutex_t lock;
    pthread_cond_t finished; /* `running` became less */
    uint32_t running;
};

/* A report's own copy: the simulator's memory is given back run by run. */
static struct pst_sim_report *report_copy(const struct pst_sim_report *from, bool course)
{
    struct pst_sim_report *to = malloc(sizeof *to);

    if (to == NULL)
        return NULL;
    *to = *from;
    to->points = NULL;
    to->decisions = NULL;
    if (!course) {
        to->points_count = to->decisions_count = 0;
        return to;
    }
    to->points = calloc(from->points_count + 1, sizeof *to->points);
    to->decisions = calloc(from->decisions_count + 1, sizeof *to->decisions);
    if (to->points == NULL || to->decisions == NULL) {
        free(to->points);
        free(to->decisions);
        free(to);
        return NULL;
    }
    memcpy(to->points, from->points, from->points_count * sizeof *to->points);
    memcpy(to->decisions, from->decisions, from->decisions_count * sizeof *to->decisions);
    return to;
}

/* `gate: none`: the plain queue, at once. */
static int run_queue(const struct crew *crew, struct pst_study_run *run)
{
    int rc;

    run->report = calloc(1, sizeof *run->report);
    if (run->report == NULL)
        return PST_E_NOMEM;
    rc = pst_queue_run(crew->study->scenario, &run->policy->policy, run->seed, run->report,
                       &run->why);
    if (rc != PST_OK) {
        free(run->report);
        run->report = NULL;
    }
    return rc;
}

static int run_sim(struct crew *crew, struct pst_study_lane *lane, struct pst_study_run *run)
{
    const struct pst_scenario *scenario = crew->study->scenario;
    const pst_ns slice = scenario->horizon / SLICES + 1;
    struct pst_sim *sim = NULL;
    pst_ns until = 0; /* not its own time, which stands where nothing happens */
    int rc = pst_sim_new(scenario, &run->policy->policy, run->seed, &sim, &run->why);

    while (rc == PST_OK && !atomic_load(&crew->failed)) {
        until += slice;
        rc = pst_sim_run(sim, until);
        atomic_store(&lane->now, pst_sim_now(sim));
        atomic_store(&lane->arrivals, pst_sim_report(sim)->arrivals_total);
    }
    if (rc == PST_E_FULL) { /* it is over */
        run->report = report_copy(pst_sim_report(sim), run->seed == crew->study->seed);
        rc = run->report == NULL ? PST_E_NOMEM : PST_OK;
    }
    pst_sim_free(sim);
    return rc;
}

static void *work(void *user)
{
    struct crew *crew = user;
    struct pst_study *study = crew->study;
    struct pst_study_lane *lane = &crew->lanes[atomic_fetch_add(&crew->hired, 1)];
    uint32_t i;

    while (!atomic_load(&crew->failed) &&
           (i = atomic_fetch_add(&crew->next, 1)) < study->runs_count) {
        struct pst_study_run *run = &study->runs[i];
        const pst_ns begin = pst_clock_now();

        atomic_store(&lane->now, 0);
        atomic_store(&lane->arrivals, 0);
        atomic_store(&lane->begin, begin);
        atomic_store(&lane->run, i);
        run->rc = run->policy->policy.gate == PST_SCENARIO_NONE ? run_queue(crew, run)
                                                                : run_sim(crew, lane, run);
        run->elapsed = pst_clock_now() - begin;
        if (run->rc != PST_OK)
            atomic_store(&crew->failed, true);
        atomic_store(&lane->run, PST_STUDY_LANE_IDLE);
        atomic_fetch_add(&lane->done, 1);
    }
    pthread_mutex_lock(&crew->lock);
    crew->running--;
    pthread_cond_signal(&crew->finished);
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* Until all have finished; draws how far they are. */
static void wait_for(struct crew *crew, FILE *progress)
{
    struct pst_study_progress drawn = {0};

    pthread_mutex_lock(&crew->lock);
    while (crew->running > 0) {
        const uint64_t wake = pst_clock_wall_ns() + DRAW_EVERY;
        const struct timespec until = {(time_t)(wake / PST_S), (long)(wake % PST_S)};

        pthread_cond_timedwait(&crew->finished, &crew->lock, &until);
        if (progress != NULL)
            pst_study_progress_draw(&drawn, crew->study, crew->lanes, crew->threads_count,
                                    progress);
    }
    pthread_mutex_unlock(&crew->lock);
    if (progress != NULL)
        pst_study_progress_clear(&drawn, progress);
}

/* PST_OK, or the first run's that failed. */
static int first_failure(const struct pst_study *study)
{
    for (uint32_t i = 0; i < study->runs_count; i++)
        if (study->runs[i].rc != PST_OK)
            return study->runs[i].rc;
    return PST_OK;
}

/* All runs of all policies, none of them done. */
static int lay_out(struct pst_study *study)
{
    study->runs_count = study->policies_count * study->seeds_count;
    study->runs = calloc(study->runs_count, sizeof *study->runs);
    if (study->runs == NULL)
        return PST_E_NOMEM;
    for (uint32_t i = 0; i < study->runs_count; i++) {
        study->runs[i].policy = &study->policies[i / study->seeds_count];
        study->runs[i].seed = study->seed + i % study->seeds_count;
    }
    return PST_OK;
}

/* Fewer threads than wanted do it as well; PST_E_SYSTEM if there is none. */
static int hire(struct crew *crew, uint32_t wanted)
{
    int error = 0;

    pthread_mutex_lock(&crew->lock); /* nobody is done before all are counted */
    while (crew->threads_count < wanted && error == 0) {
        error = pthread_create(&crew->threads[crew->threads_count], NULL, work, crew);
        if (error == 0) {
            crew->threads_count++;
            crew->running++;
        }
    }
    pthread_mutex_unlock(&crew->lock);
    errno = error;
    return crew->threads_count > 0 ? PST_OK : PST_E_SYSTEM;
}

int pst_study_run(struct pst_study *study, uint32_t threads, FILE *progress)
{
    struct crew crew = {
        .study = study, .lock = PTHREAD_MUTEX_INITIALIZER, .finished = PTHREAD_COND_INITIALIZER};
    int rc = lay_out(study);

    if (rc != PST_OK)
        return rc;
    threads = threads < study->runs_count ? threads : study->runs_count;
    PST_ASSERT(threads > 0);
    crew.lanes = calloc(threads, sizeof *crew.lanes);
    crew.threads = calloc(threads, sizeof *crew.threads);
    if (crew.lanes == NULL || crew.threads == NULL) {
        rc = PST_E_NOMEM;
        goto done;
    }
    for (uint32_t i = 0; i < threads; i++)
        atomic_store(&crew.lanes[i].run, PST_STUDY_LANE_IDLE);
    rc = hire(&crew, threads);
    if (rc != PST_OK)
        goto done;
    wait_for(&crew, progress);
    for (uint32_t i = 0; i < crew.threads_count; i++)
        pthread_join(crew.threads[i], NULL);
    rc = first_failure(study);
done:
    free(crew.lanes);
    free(crew.threads);
    return rc;
}

void pst_study_done(struct pst_study *study)
{
    for (uint32_t i = 0; i < study->runs_count && study->runs != NULL; i++) {
        struct pst_sim_report *report = study->runs[i].report;

        if (report == NULL)
            continue;
        free(report->points);
        free(report->decisions);
        free(report);
    }
    free(study->runs);
    study->runs = NULL;
    study->runs_count = 0;
}
