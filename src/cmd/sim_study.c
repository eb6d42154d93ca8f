/* sim_study.c - `penstock sim FILE`: reads, runs, tells. */
#include "cmd/sim.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/scenario_open.h"
#include "cmd/sim_recording.h"
#include "cmd/study.h"

static int say(const char *path, const char *what)
{
    fprintf(stderr, "penstock sim: %s: %s\n", path, what);
    return PST_EXIT_USAGE;
}

static uint32_t threads_of(const struct pst_sim_options *options)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (options->jobs > 0)
        return (uint32_t)options->jobs;
    return cores > 0 ? (uint32_t)cores : 1;
}

/* What was there goes only now that there is something new; a device has nothing to cut off. */
static bool is_emptied(FILE *file)
{
    return ftruncate(fileno(file), 0) == 0 || errno == EINVAL;
}

static int write_html(const struct pst_study *study, const char *path, FILE *file)
{
    struct pst_text text = {0};
    bool whole;

    pst_study_html(study, &text);
    whole = !text.broken && is_emptied(file) && fwrite(text.at, 1, text.len, file) == text.len;
    if (fclose(file) != 0 || !whole) {
        say(path, text.broken ? "out of memory" : strerror(errno));
        whole = false;
    }
    pst_text_done(&text);
    return whole ? PST_EXIT_OK : PST_EXIT_FAILED;
}

static int tell(const struct pst_study *study, const struct pst_sim_options *options, FILE *page)
{
    struct pst_text text = {0};
    int code = page != NULL ? write_html(study, options->html, page) : PST_EXIT_OK;
    uint32_t judged;

    if (options->json)
        pst_study_json(study, &text);
    else
        pst_study_text(study, &text);
    if (text.broken) {
        say(study->path, "out of memory");
        code = PST_EXIT_FAILED;
    } else {
        fwrite(text.at, 1, text.len, stdout);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        say("standard output", strerror(errno));
        code = PST_EXIT_FAILED;
    }
    pst_text_done(&text);
    return pst_study_breaches(study, &judged) > 0 ? PST_EXIT_FAILED : code;
}

/* Of the runs that failed the first says why. */
static int say_failure(const struct pst_study *study, int rc)
{
    for (uint32_t i = 0; i < study->runs_count; i++) {
        const struct pst_study_run *run = &study->runs[i];
        if (run->rc != PST_E_INVALID)
            continue;
        fprintf(stderr, "penstock sim: %s: %s: %s\n", study->path, run->policy->policy.name,
                run->why);
        return PST_EXIT_USAGE;
    }
    say(study->path, rc == PST_E_SYSTEM ? strerror(errno) : "out of memory");
    return PST_EXIT_FAILED;
}

/* The runs may take minutes, and are given up at once: that is said, and the signal has its way. */
static void give_up(int number)
{
    static const char message[] = "\npenstock sim: interrupted; nothing was written\n";

    (void)!write(STDERR_FILENO, message, sizeof message - 1);
    raise(number);
}

static void catch_interrupt(void)
{
    struct sigaction action = {.sa_handler = give_up, .sa_flags = (int)SA_RESETHAND}, before;

    if (sigaction(SIGINT, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGINT, &action, NULL);
}

static int run_and_tell(struct pst_study *study, const struct pst_sim_options *options)
{
    const char *why, *name;
    FILE *page = NULL;
    size_t len;
    int rc;

    if (pst_study_choose(study, options->compare, &why, &name, &len) != PST_OK) {
        fprintf(stderr, "penstock sim: --compare: '%.*s': %s\n", (int)len, name, why);
        return PST_EXIT_USAGE;
    }
    if (options->html != NULL) {
        page = fopen(options->html, "ae"); /* before the runs: what cannot be written is told now */
        if (page == NULL) {
            say(options->html, strerror(errno));
            return PST_EXIT_FAILED;
        }
    }
    catch_interrupt();
    rc = pst_study_run(study, threads_of(options), isatty(STDERR_FILENO) ? stderr : NULL);
    if (rc == PST_OK)
        return tell(study, options, page);
    if (page != NULL)
        fclose(page);
    return say_failure(study, rc);
}

int pst_sim_cmd_study(const struct pst_sim_options *options)
{
    struct pst_scenario_file *file = NULL;
    struct pst_sim_recordings recordings = {0};
    struct pst_study study = {
        .path = options->file,
        .seeds_count = (uint32_t)options->seeds,
        .timing = options->timing,
    };
    int code = pst_scenario_open("sim", options->file, &file);

    if (code == PST_EXIT_OK) {
        struct pst_scenario *scenario = pst_scenario_of(file);
        const char *which, *why;
        const int rc = pst_sim_recordings_load(&recordings, scenario, &which, &why);

        if (options->seed != PST_SIM_SEED_OWN)
            scenario->seed = options->seed;
        study.scenario = scenario;
        study.seed = scenario->seed;
        code = rc == PST_OK ? run_and_tell(&study, options) : say(which, why);
    }
    pst_study_done(&study);
    pst_sim_recordings_done(&recordings);
    pst_scenario_free(file);
    return code;
}
