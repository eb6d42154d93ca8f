/* plan_size.c - `penstock plan`: how many replicas; see plan_size.h. */
#include "cmd/plan_size.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/plan.h"
#include "cmd/scenario_open.h"
#include "cmd/sim_recording.h"
#include "cmd/study.h"

#define MOST         PST_REPLICAS_MAX
#define SIDE_BY_SIDE 2 /* N and N - 1 */
#define CLEAR        "\033[K"
#define FROM_TEXT    "the scenario of the options"

/* One pool's sizing: runs of the gate, by replicas. */
struct sizing {
    struct pst_plan_scene scene;
    struct pst_plan_answer answer;
    struct pst_sim_report *runs[MOST + 1]; /* ours; NULL: not run */
    const char *path;
    const char *why; /* of PST_E_INVALID */
};

/* What goes on before the runs draw their own progress; nothing of it stays. */
static void note(const char *what)
{
    if (isatty(STDERR_FILENO) && *what != '\0')
        fprintf(stderr, "\r" CLEAR "%s …", what);
    else if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r" CLEAR);
    fflush(stderr);
}

/* ---- simulations ---- */

static struct pst_study_policy policy_of(enum pst_scenario_pilot pilot, uint32_t replicas,
                                         uint32_t warm)
{
    struct pst_study_policy policy = {.index = PST_STUDY_EXTERNAL};

    policy.policy.gate = PST_SCENARIO_ADAPTIVE;
    policy.policy.pilot = pilot;
    policy.policy.replicas = replicas;
    policy.policy.warm = warm;
    if (pilot == PST_PILOT_STATIC)
        snprintf(policy.policy.name, sizeof policy.policy.name, "%u replicas", replicas);
    else
        snprintf(policy.policy.name, sizeof policy.policy.name, "ahead, %u warm", warm);
    return policy;
}

/* The study's runs on all cores; reports are the caller's to free. */
static int simulate(struct sizing *s, const struct pst_scenario *scenario, struct pst_study *study,
                    struct pst_sim_report **ret_reports)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int rc;

    study->path = s->path;
    study->scenario = scenario;
    study->seed = s->answer.seed;
    study->seeds_count = 1;
    rc = pst_study_run(study, cores > 0 ? (uint32_t)cores : 1,
                       isatty(STDERR_FILENO) ? stderr : NULL);
    for (uint32_t i = 0; i < study->runs_count; i++) {
        if (study->runs[i].rc == PST_E_INVALID)
            s->why = study->runs[i].why;
        if (rc == PST_OK) {
            ret_reports[i] = study->runs[i].report;
            free(ret_reports[i]->points);
            free(ret_reports[i]->decisions);
            ret_reports[i]->points = NULL;
            ret_reports[i]->decisions = NULL;
            study->runs[i].report = NULL;
        }
    }
    pst_study_done(study);
    return rc;
}

/* So many numbers from `first` on, those that were not run yet, side by side. */
static int run_static(struct sizing *s, uint32_t first, uint32_t count)
{
    struct pst_study study = {0};
    struct pst_sim_report *reports[SIDE_BY_SIDE] = {NULL};
    int rc;

    PST_ASSERT(count <= SIDE_BY_SIDE);
    for (uint32_t n = first; n < first + count; n++)
        if (n > 0 && n <= MOST && s->runs[n] == NULL)
            study.policies[study.policies_count++] = policy_of(PST_PILOT_STATIC, n, UINT32_MAX);
    if (study.policies_count == 0)
        return PST_OK;
    rc = simulate(s, &s->scene.scenario, &study, reports);
    for (uint32_t i = 0; i < SIDE_BY_SIDE && i < study.policies_count && rc == PST_OK; i++)
        s->runs[study.policies[i].policy.replicas] = reports[i];
    return rc;
}

static int try_gate(void *user, uint32_t replicas, bool *ret_passes)
{
    struct sizing *s = user;
    const int rc = run_static(s, replicas, 1);

    if (rc == PST_OK)
        *ret_passes = pst_plan_passes(s->runs[replicas], &s->scene.scenario);
    return rc;
}

/* ---- the steps ---- */

/* Of the classes that the formula holds for, the most that any of them needs; 0: for none. */
static uint32_t by_formula(const struct pst_plan_load *load, const struct pst_scenario *scenario,
                           bool *ret_all)
{
    uint32_t most = 0;

    *ret_all = true;
    for (uint8_t c = 0; c < load->classes_count; c++) {
        uint32_t replicas;

        if (load->own[c].arrived == 0)
            continue;
        if (load->methods[c] != PST_PLAN_FORMULA) {
            *ret_all = false;
            continue;
        }
        replicas = pst_plan_replicas(load, scenario, c, MOST);
        most = most < replicas ? replicas : most;
    }
    return most;
}

/* The gate's own number, from the cheapest guess there is. */
static int search(struct sizing *s)
{
    struct pst_plan_answer *a = &s->answer;
    uint32_t from = a->formula > 0 ? a->formula : s->scene.scenario.scaler.pools[0].max;
    int rc;

    if (a->load.upto[a->load.classes_count - 1].erlangs >
        (double)MOST * s->scene.scenario.gate.pools[0].slots)
        return PST_E_FULL;
    note("trying a plain queue");
    rc = pst_plan_search_queue(&s->scene, &a->load, a->seed, from, MOST, &a->plain, &s->why);
    note("");
    if (rc == PST_OK)
        from = a->plain;
    else if (rc != PST_E_INVALID)
        return rc;
    rc = run_static(s, from - 1, SIDE_BY_SIDE);
    if (rc == PST_OK)
        rc = pst_plan_search(try_gate, s, from, MOST, &a->replicas);
    if (rc != PST_OK)
        return rc;
    a->at = s->runs[a->replicas];
    a->below = s->runs[a->replicas - 1];
    return PST_OK;
}

/* Replicas that the traffic wants between its bursts; where no formula speaks, what it fills. */
static int find_calm(struct sizing *s)
{
    struct pst_plan_scene *calm = malloc(sizeof *calm);
    struct pst_plan_load *load = malloc(sizeof *load);
    int rc = calm == NULL || load == NULL ? PST_E_NOMEM : PST_OK;

    if (rc == PST_OK) {
        pst_plan_scene(&s->scene.scenario, 0, calm);
        pst_plan_calm(calm);
        rc = pst_plan_measure(calm, s->answer.seed, load);
    }
    if (rc == PST_OK) {
        for (uint8_t c = 0; c < load->classes_count; c++) {
            const uint32_t n = pst_plan_replicas(load, &s->scene.scenario, c, MOST);

            s->answer.calm = s->answer.calm < n ? n : s->answer.calm;
        }
        if (s->answer.calm > s->answer.replicas)
            s->answer.calm = s->answer.replicas;
    }
    free(calm);
    free(load);
    return rc;
}

/* The scaler that looks ahead, between calm and full number, with warm replicas and without. */
static int compare_warm(struct sizing *s)
{
    struct pst_plan_answer *a = &s->answer;
    struct pst_sim_report *reports[PST_PLAN_OFFERS] = {NULL};
    struct pst_plan_scene *ready = malloc(sizeof *ready);
    struct pst_study study = {.policies_count = PST_PLAN_OFFERS - 1};
    struct pst_study more = {.policies_count = 1};
    int rc;

    if (ready == NULL)
        return PST_E_NOMEM;
    pst_plan_scene(&s->scene.scenario, 0, ready);
    ready->scenario.scaler.pools[0].min++;
    if (ready->scenario.scaler.pools[0].max < ready->scenario.scaler.pools[0].min)
        ready->scenario.scaler.pools[0].max = ready->scenario.scaler.pools[0].min;
    ready->scenario.pools[0].initial++;
    for (uint32_t w = 0; w < study.policies_count; w++)
        study.policies[w] = policy_of(PST_PILOT_AHEAD, 0, w);
    more.policies[0] = policy_of(PST_PILOT_AHEAD, 0, 0);
    rc = simulate(s, &s->scene.scenario, &study, reports);
    if (rc == PST_OK)
        rc = simulate(s, &ready->scenario, &more, &reports[PST_PLAN_OFFERS - 1]);
    if (rc == PST_OK) {
        for (uint32_t i = 0; i < PST_PLAN_OFFERS; i++)
            pst_plan_offer(reports[i], &s->scene.scenario, i + 1 < PST_PLAN_OFFERS ? i : 0,
                           i == 0 ? NULL : &a->offers[0], &a->offers[i]);
        a->offers_count = PST_PLAN_OFFERS;
        a->worth = pst_plan_judge(a->offers, PST_PLAN_OFFERS, &a->best);
    }
    for (uint32_t i = 0; i < PST_PLAN_OFFERS; i++)
        free(reports[i]);
    free(ready);
    return rc;
}

/* A file says between which numbers its scaler moves; options do not. */
static void set_bounds(struct sizing *s)
{
    struct pst_scaler_pool *pool = &s->scene.scenario.scaler.pools[0];

    pool->min = s->answer.calm;
    pool->max = s->answer.replicas > pool->min ? s->answer.replicas : pool->min + 1;
    s->scene.scenario.pools[0].initial = pool->min;
}

static int size_pool(struct sizing *s, bool own_bounds)
{
    struct pst_plan_answer *a = &s->answer;
    int rc;

    note("measuring the arrivals");
    rc = pst_plan_measure(&s->scene, a->seed, &a->load);
    note("");
    if (rc != PST_OK) {
        s->why = "recorded requests are out of order, or the measured span is empty";
        return rc;
    }
    a->formula = by_formula(&a->load, &s->scene.scenario, &a->by_formula);
    rc = search(s);
    if (rc == PST_OK)
        rc = find_calm(s);
    if (rc != PST_OK)
        return rc;
    for (uint8_t c = 0; c < a->load.classes_count; c++)
        a->queue[c] = pst_plan_queue_bound(&a->load, &s->scene.scenario, c, a->replicas);
    if (!pst_plan_varies(&s->scene))
        return PST_OK;
    if (own_bounds)
        set_bounds(s);
    return compare_warm(s);
}

/* ---- the command ---- */

static int say_failure(const struct sizing *s, int rc)
{
    const char *what = "out of memory";

    if (rc == PST_E_INVALID)
        what = s->why;
    else if (rc == PST_E_FULL)
        what = "256 replicas are not enough: a target is shorter than chance allows, or too much "
               "comes; look at targets, slots and rates";
    else if (rc == PST_E_SYSTEM)
        what = strerror(errno);
    fprintf(stderr, "penstock plan: %s: %s\n", s->path, what);
    return rc == PST_E_INVALID ? PST_EXIT_USAGE : PST_EXIT_FAILED;
}

static bool has_arrivals(const struct pst_scenario *scenario, uint16_t pool)
{
    for (uint32_t i = 0; i < scenario->streams_count; i++)
        if (scenario->streams[i].pool == pool)
            return true;
    return false;
}

static int plan_pool(const struct pst_plan_options *options, const struct pst_scenario *scenario,
                     uint16_t pool, struct pst_text *text)
{
    struct sizing *s = calloc(1, sizeof *s);
    int rc;

    if (s == NULL) {
        fputs("penstock plan: out of memory\n", stderr);
        return PST_EXIT_FAILED;
    }
    s->path = options->file != NULL ? options->file : FROM_TEXT;
    s->answer.scene = &s->scene;
    s->answer.pool = pool;
    s->answer.seed = options->seed != PST_PLAN_SEED_OWN ? options->seed : scenario->seed;
    pst_plan_scene(scenario, pool, &s->scene);
    rc = size_pool(s, options->file == NULL);
    if (rc == PST_OK && options->json)
        pst_plan_json(&s->answer, text);
    else if (rc == PST_OK)
        pst_plan_text(&s->answer, text);
    rc = rc == PST_OK ? PST_EXIT_OK : say_failure(s, rc);
    for (uint32_t n = 0; n <= MOST; n++)
        free(s->runs[n]);
    free(s);
    return rc;
}

static int plan_pools(const struct pst_plan_options *options, const struct pst_scenario *scenario,
                      struct pst_text *text)
{
    const char *between = "";
    int code = PST_EXIT_OK;

    pst_text_put(text, options->json ? "{\"pools\":[" : "");
    for (uint16_t p = 0; p < scenario->gate.pools_count && code == PST_EXIT_OK; p++) {
        if (!has_arrivals(scenario, p))
            continue;
        pst_text_put(text, between);
        code = plan_pool(options, scenario, p, text);
        between = options->json ? "," : "\n";
    }
    pst_text_put(text, options->json ? "]}\n" : "");
    return code;
}

/* The file, or the options as one; with `show` that is all. */
static int open_scenario(const struct pst_plan_options *options,
                         struct pst_scenario_file **ret_file)
{
    struct pst_text text = {0};
    int code = PST_EXIT_USAGE;

    if (options->file != NULL)
        return pst_scenario_open("plan", options->file, ret_file);
    if (pst_plan_draft(options, &text)) {
        code = pst_scenario_open_text("plan", FROM_TEXT, text.at, text.len, ret_file);
        if (code == PST_EXIT_OK && options->show)
            fwrite(text.at, 1, text.len, stdout);
    }
    pst_text_done(&text);
    return code;
}

int pst_plan_size(const struct pst_plan_options *options)
{
    struct pst_scenario_file *file = NULL;
    struct pst_sim_recordings recordings = {0};
    struct pst_text text = {0};
    int code = open_scenario(options, &file);

    if (code == PST_EXIT_OK && !options->show) {
        struct pst_scenario *scenario = pst_scenario_of(file);
        const char *which, *why;

        if (pst_sim_recordings_load(&recordings, scenario, &which, &why) != PST_OK) {
            fprintf(stderr, "penstock plan: %s: %s\n", which, why);
            code = PST_EXIT_USAGE;
        } else {
            if (options->file != NULL && options->horizon > 0 &&
                options->horizon < scenario->horizon)
                scenario->horizon = options->horizon;
            code = plan_pools(options, scenario, &text);
        }
    }
    if (code == PST_EXIT_OK && text.broken)
        code = PST_EXIT_FAILED;
    if (code == PST_EXIT_OK && text.len > 0)
        fwrite(text.at, 1, text.len, stdout);
    if (fflush(stdout) != 0)
        code = PST_EXIT_FAILED;
    pst_text_done(&text);
    pst_sim_recordings_done(&recordings);
    pst_scenario_free(file);
    return code;
}
