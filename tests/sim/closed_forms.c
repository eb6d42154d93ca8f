/*
 * closed_forms.c - the simulator against queueing theory, through the gate itself.
 *
 *   closed_forms [--quick] [--plain] [--part I/N] [NAME]
 *
 * One line per form and load: what theory says, what was measured, the half-width of its 95 % confidence
 * interval, and whether they agree: within 3 %, or three half-widths if those are more. A full run has 4
 * million arrivals or more per line, as many as make the half-width 2 % at most. --quick: 300,000; then
 * only the agreement is judged. --plain: the plain queue instead of the gate. --part: every N-th form.
 * Exit 1 when a line fails.
 *
 * The gate is told to get out of the way by configuration alone: on_full wait, deadlines and ttl of a
 * year, no guard share, one flow, one length, no affinity, no slow start.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/queue.h"
#include "sim/sim.h"

#define MEAN_S     0.1 /* service */
#define YEAR       (UINT64_C(365) * 24 * 3600 * PST_S)
#define CLASSES    3
#define BOUND      0.03
#define HALF_MAX   0.02
#define MILLION    1000000u
#define QUICK      300000u
#define FULL_LEAST (4 * MILLION)

/* Shares of the arrivals when there are three classes. */
static const double shares[CLASSES] = {0.2, 0.3, 0.5};

enum theory { ERLANG_C, CROMMELIN, POLLACZEK, COBHAM };

struct form {
    const char *name;
    uint32_t replicas, slots;
    enum theory theory;
    const char *service;
    double cv;            /* of the service */
    uint32_t millions[2]; /* arrivals of a full run, at both loads */
};

static const double loads[2] = {0.7, 0.9};

static const struct form forms[] = {
    {"M/M/8, one replica", 1, 8, ERLANG_C, "exp:100ms", 1, {6, 24}},
    {"M/M/8, eight replicas", 8, 1, ERLANG_C, "exp:100ms", 1, {6, 24}},
    {"M/D/8", 1, 8, CROMMELIN, "const:100ms", 0, {5, 8}},
    {"M/G/1 lognormal", 1, 1, POLLACZEK, "lognormal:1.5:100ms", 1.5, {5, 20}},
    {"M/G/1 Pareto 4.5", 1, 1, POLLACZEK, "pareto:4.5:100ms", 0.2981423969999719683, {5, 8}},
    {"M/G/1 three classes", 1, 1, COBHAM, "lognormal:1.5:100ms", 1.5, {5, 20}},
    {"M/M/8 three classes", 1, 8, COBHAM, "exp:100ms", 1, {5, 14}},
};

/* ------------------------------------------------------------------ theory, seconds */

/* That an arrival has to wait: Erlang's C by the recursion of his B. */
static double erlang_c(uint32_t servers, double rho)
{
    double offered = servers * rho, b = 1;

    for (uint32_t k = 1; k <= servers; k++)
        b = offered * b / (k + offered * b);
    return b / (1 - rho * (1 - b));
}

/* P(N >= n) of a Poisson variable with that mean, summed from its largest term down. */
static double poisson_tail(double mean, uint32_t n)
{
    double term = exp(n * log(mean) - mean - lgamma(n + 1.0)), sum = 0;

    for (uint32_t k = n; term > sum * 1e-17; k++) {
        sum += term;
        term *= mean / (k + 1);
    }
    return sum;
}

/*
 * Mean wait of M/D/c: D sum_i { P(N_i >= ic) - P(N_i >= ic + 1) / rho }, N_i Poisson with mean i c rho.
 * Source: Crommelin, "Delay probability formulae when the holding times are constant" (1932).
 */
static double crommelin(uint32_t servers, double rho)
{
    double sum = 0, part;
    uint32_t i = 0;

    do {
        double mean = ++i * servers * rho;

        part = poisson_tail(mean, i * servers) - poisson_tail(mean, i * servers + 1) / rho;
        sum += part;
    } while (i < 10 || part > sum * 1e-12);
    return MEAN_S * sum;
}

/* Mean time until a server is free for an arrival that must not be overtaken. */
static double head_wait(const struct form *form, double rho)
{
    uint32_t servers = form->replicas * form->slots;

    if (servers == 1) /* Pollaczek and Khinchine: lambda E[S^2] / 2 */
        return rho * MEAN_S * (1 + form->cv * form->cv) / 2;
    return erlang_c(servers, rho) * MEAN_S / servers;
}

/*
 * Mean wait of a class where the higher go first and nobody is interrupted: the head's wait over the
 * capacity that the classes above leave, and that it leaves with them. Source: Cobham, "Priority
 * assignment in waiting line problems" (1954).
 */
static double cobham(const struct form *form, double rho, uint32_t class_)
{
    double above = 0;

    for (uint32_t c = 0; c < class_; c++)
        above += shares[c] * rho;
    return head_wait(form, rho) / (1 - above) / (1 - above - shares[class_] * rho);
}

static double expected_mean(const struct form *form, double rho, uint32_t class_)
{
    switch (form->theory) {
    case ERLANG_C:
    case POLLACZEK:
        return head_wait(form, rho) / (1 - rho);
    case CROMMELIN:
        return crommelin(form->replicas * form->slots, rho);
    case COBHAM:
        return cobham(form, rho, class_);
    }
    return 0;
}

/* P(wait > t) = C exp(-c mu (1 - rho) t). */
static double expected_p99(const struct form *form, double rho)
{
    uint32_t servers = form->replicas * form->slots;

    return log(erlang_c(servers, rho) / 0.01) * MEAN_S / (servers * (1 - rho));
}

/* ------------------------------------------------------------------ the experiment */

static struct pst_law law_of(const char *text)
{
    const char *why = NULL;
    struct pst_law law;

    if (pst_law_read(text, strlen(text), PST_LAW_DURATION, &law, &why) != PST_OK) {
        fprintf(stderr, "%s: %s\n", text, why);
        exit(2);
    }
    return law;
}

static void set_gate(struct pst_gate_config *gate, const struct form *form, uint32_t classes)
{
    gate->seed = 1;
    gate->bytes_max = UINT64_C(1) << 60;
    gate->body_max = 1 << 20;
    gate->tickets_max = 1 << 18;
    gate->flows_max = 64;
    gate->replicas_max = 16;
    gate->classes_count = classes;
    gate->pools_count = 1;
    for (uint32_t c = 0; c < classes; c++) {
        gate->classes[c] = (struct pst_gate_class){
            .target = YEAR,
            .max_wait = YEAR,
            .ttl = YEAR,
            .on_full = PST_ON_FULL_WAIT,
            .on_full_length = {PST_ON_FULL_INHERIT, PST_ON_FULL_INHERIT, PST_ON_FULL_INHERIT},
        };
    }
    gate->pools[0] = (struct pst_gate_pool){
        .policy = PST_POLICY_ADAPTIVE,
        .slots = form->slots,
        .length_short_tokens = UINT32_MAX,
        .length_long_tokens = UINT32_MAX,
        .long_share_ppm = PST_PPM,
        .tries_max = 3,
        .stall = YEAR,
        .no_replica_ttl = YEAR,
        .probe_interval = 5 * PST_S,
        .probe_timeout = 5 * PST_S,
        .probe_rise = 1,
        .probe_fall = 3,
    };
}

static void set_scaler(struct pst_scaler_config *scaler, const struct form *form, uint32_t classes)
{
    scaler->seed = 1;
    scaler->classes_count = classes;
    scaler->pools_count = 1;
    scaler->replicas_max = 16;
    for (uint32_t c = 0; c < classes; c++)
        scaler->classes[c] = (struct pst_scaler_class){.target = YEAR, .max_wait = YEAR};
    scaler->pools[0] = (struct pst_scaler_pool){
        .min = form->replicas,
        .max = form->replicas,
        .slots = form->slots,
        .rule = PST_RULE_STATIC,
        .actuate = PST_ACTUATE_OWN,
        .start_time = PST_S,
        .drain_deadline = PST_S,
        .stale_after = 60 * PST_S,
    };
}

static void set_scenario(struct pst_scenario *scenario, struct pst_stream streams[CLASSES],
                         const struct form *form, double rho, double arrivals)
{
    uint32_t classes = form->theory == COBHAM ? CLASSES : 1;
    double per_s = rho * form->replicas * form->slots / MEAN_S;

    memset(scenario, 0, sizeof *scenario);
    memset(streams, 0, CLASSES * sizeof *streams);
    scenario->cut = (pst_ns)(0.05 * arrivals / per_s) * PST_S;
    scenario->horizon = scenario->cut + (pst_ns)(arrivals / per_s) * PST_S;
    set_gate(&scenario->gate, form, classes);
    set_scaler(&scenario->scaler, form, classes);
    scenario->pools[0].initial = form->replicas;
    scenario->pools[0].cold = law_of("const:1s");
    scenario->pools[0].promote = law_of("const:1s");
    scenario->pools[0].stop = law_of("const:1s");
    for (uint32_t c = 0; c < classes; c++) {
        streams[c].class_ = (uint8_t)c;
        streams[c].flow = 1;
        streams[c].weight = 100;
        streams[c].sequences = 1;
        streams[c].per_s = classes > 1 ? per_s * shares[c] : per_s;
        streams[c].gaps = law_of("exp:1s");
        streams[c].service = law_of(form->service);
        streams[c].prompt = (struct pst_law){.kind = PST_LAW_CONST, .mean = 100};
        streams[c].output = (struct pst_law){.kind = PST_LAW_CONST, .mean = 100};
        streams[c].end = PST_NEVER;
    }
    scenario->streams = streams;
    scenario->streams_count = classes;
}

static int run(const struct pst_scenario *scenario, bool plain, struct pst_sim_report *report)
{
    struct pst_scenario_policy policy = {
        .name = "closed form",
        .gate = plain ? PST_SCENARIO_NONE : PST_SCENARIO_ADAPTIVE,
        .pilot = PST_PILOT_STATIC,
        .warm = UINT32_MAX,
    };
    struct pst_sim *sim = NULL;
    const char *why = NULL;
    int rc;

    if (plain)
        rc = pst_queue_run(scenario, &policy, 1, report, &why);
    else
        rc = pst_sim_new(scenario, &policy, 1, &sim, &why);
    if (sim != NULL) {
        do
            rc = pst_sim_run(sim, PST_NEVER);
        while (rc == PST_OK);
        if (rc == PST_E_FULL) {
            *report = *pst_sim_report(sim);
            rc = PST_OK;
        }
        pst_sim_free(sim);
    }
    if (rc != PST_OK)
        fprintf(stderr, "%d: %s\n", rc, why == NULL ? "?" : why);
    return rc;
}

/* ------------------------------------------------------------------ the verdict */

struct verdicts {
    bool quick;
    uint32_t passed, failed;
};

static void judge(struct verdicts *verdicts, const struct form *form, double rho, const char *what,
                  const struct pst_sim_report *report, const struct pst_scenario *scenario,
                  uint8_t class_, enum pst_measure measure, double expected)
{
    double measured = 0, half = 0, error, bound;
    bool passed;

    passed = pst_report_value(report, scenario, class_, measure, &measured) &&
             pst_report_half_width(report, class_, measure, &half);
    measured /= 1e9 * expected;
    half /= 1e9 * expected;
    error = measured - 1;
    bound = fmax(BOUND, 3 * half);
    passed = passed && fabs(error) <= bound && (verdicts->quick || half <= HALF_MAX);
    *(passed ? &verdicts->passed : &verdicts->failed) += 1;
    printf("%-22s rho %.1f  %-12s expected %9.3f ms  measured %9.3f ms  %+6.2f %%  half-width "
           "%5.2f %%  %s\n",
           form->name, rho, what, expected * 1e3, measured * expected * 1e3, error * 100,
           half * 100, passed ? "ok" : "FAILED");
    fflush(stdout);
}

/* Everybody was served, and there were enough of them. */
static bool is_whole(const struct pst_sim_report *report, bool quick)
{
    uint64_t arrived = 0, done = 0;

    for (uint32_t c = 0; c < CLASSES; c++) {
        arrived += report->classes[c].arrived;
        done += report->classes[c].outcomes[PST_OUTCOME_DONE];
    }
    return arrived == done && arrived >= (quick ? QUICK / 2 : FULL_LEAST);
}

static void try_form(struct verdicts *verdicts, const struct form *form, int load, bool plain)
{
    static const char *const names[CLASSES] = {"mean, first", "mean, second", "mean, third"};
    static struct pst_scenario scenario;
    static struct pst_sim_report report;
    struct pst_stream streams[CLASSES];
    double rho = loads[load];

    set_scenario(&scenario, streams, form, rho,
                 verdicts->quick ? QUICK : form->millions[load] * (double)MILLION);
    if (run(&scenario, plain, &report) != PST_OK || !is_whole(&report, verdicts->quick)) {
        printf("%-22s rho %.1f  FAILED: not all that came were served\n", form->name, rho);
        verdicts->failed++;
        return;
    }
    for (uint8_t c = 0; c < scenario.gate.classes_count; c++)
        judge(verdicts, form, rho, form->theory == COBHAM ? names[c] : "mean", &report, &scenario,
              c, PST_MEASURE_WAIT_MEAN, expected_mean(form, rho, c));
    if (form->theory == ERLANG_C)
        judge(verdicts, form, rho, "P99", &report, &scenario, 0, PST_MEASURE_WAIT_P99,
              expected_p99(form, rho));
}

static void on_assert(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, condition);
}

int main(int argc, char **argv)
{
    struct verdicts verdicts = {0};
    const char *name = NULL;
    unsigned part = 0, parts = 1;
    bool plain = false;

    pst_assert_hook = on_assert;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            verdicts.quick = true;
        else if (strcmp(argv[i], "--plain") == 0)
            plain = true;
        else if (strcmp(argv[i], "--part") == 0 && i + 1 < argc &&
                 sscanf(argv[i + 1], "%u/%u", &part, &parts) == 2 && part > 0 && part <= parts)
            i++, part--;
        else if (argv[i][0] != '-' && name == NULL)
            name = argv[i];
        else
            return fprintf(stderr, "closed_forms [--quick] [--plain] [--part I/N] [NAME]\n"), 2;
    }
    for (uint32_t f = 0; f < 2 * PST_COUNT_OF(forms); f++)
        if ((f / 2 + f) % parts == part && /* loads alternate, so that parts take alike */
            (name == NULL || strcmp(name, forms[f / 2].name) == 0))
            try_form(&verdicts, &forms[f / 2], f % 2, plain);
    printf("%u passed, %u failed\n", verdicts.passed, verdicts.failed);
    return verdicts.failed > 0 || verdicts.passed == 0;
}
