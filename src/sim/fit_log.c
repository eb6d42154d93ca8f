/* fit_log.c - see fit_log.h: what comes in is kept in fixed memory, and read in the end. */
#include "sim/fit_log.h"

#include <stdlib.h>
#include <string.h>

#include "core/dispersion.h"
#include "core/num.h"
#include "sim/fit_course.h"

#define SAMPLES     8192
#define CLOCK       PST_MS /* of a log's line */
#define RESOLVED    10.0   /* gaps of so many of its ticks are told apart */
#define POISSON_LOW 0.75   /* an index of dispersion this near to one is chance */
#define POISSON_TOP 1.35
#define CV_MISSED   0.1
#define EVEN        0.02 /* a service time that varies less is constant */

struct gap {
    pst_ns since; /* the log's beginning: where it begins */
    pst_ns length;
};

struct pst_fit_log {
    pst_ns last; /* arrival */
    struct pst_prng prng;
    uint64_t arrived, served;
    double gap_sum, gap_square;
    struct pst_dispersion dispersion;
    uint64_t second; /* the current one, from the origin */
    double in_second;
    double service_sum, service_square;
    struct gap gaps[SAMPLES];
    struct pst_fit_job jobs[SAMPLES];
    struct pst_fit_course course;
    double scratch[PST_FIT_WINDOWS + 2 * SAMPLES];
};

int pst_fit_log_new(uint64_t seed, struct pst_fit_log **ret_log)
{
    struct pst_fit_log *log = calloc(1, sizeof *log);

    if (log == NULL)
        return PST_E_NOMEM;
    pst_prng_init(&log->prng, seed);
    pst_fit_course_init(&log->course);
    *ret_log = log;
    return PST_OK;
}

void pst_fit_log_free(struct pst_fit_log *log)
{
    free(log);
}

/* Where the n-th of a stream goes in its sample, from 1 on; SAMPLES: nowhere. */
static uint32_t place_of(struct pst_fit_log *log, uint64_t n)
{
    const uint64_t place = n <= SAMPLES ? n - 1 : pst_prng_below(&log->prng, n);

    return place < SAMPLES ? (uint32_t)place : SAMPLES;
}

static void advance_to(struct pst_fit_log *log, uint64_t second)
{
    for (; log->second < second; log->second++) {
        pst_dispersion_add(&log->dispersion, log->in_second);
        log->in_second = 0;
    }
}

void pst_fit_log_arrived(struct pst_fit_log *log, pst_ns since)
{
    const pst_ns length = pst_sub_sat(since, log->last);
    uint32_t place;

    pst_fit_course_add(&log->course, since);
    advance_to(log, since / PST_S);
    log->in_second++;
    if (log->arrived++ > 0) {
        log->gap_sum += (double)length;
        log->gap_square += (double)length * (double)length;
        place = place_of(log, log->arrived - 1);
        if (place < SAMPLES)
            log->gaps[place] = (struct gap){log->last, length};
    }
    log->last = pst_max_u64(since, log->last);
}

void pst_fit_log_served(struct pst_fit_log *log, pst_ns service, uint32_t prompt_tokens,
                        uint32_t output_tokens)
{
    uint32_t place;

    log->served++;
    log->service_sum += (double)service;
    log->service_square += (double)service * (double)service;
    place = place_of(log, log->served);
    if (place < SAMPLES)
        log->jobs[place] = (struct pst_fit_job){(double)service, prompt_tokens, output_tokens};
}

/* ---- reading ---- */

static double cv_of(double sum, double square, double count)
{
    const double mean = sum / count, variance = square / count - mean * mean;

    return mean > 0 && variance > 0 ? pst_sqrt(variance) / mean : 0;
}

/* Gaps too short for the clock still show in the counts. */
static void take_counts(struct pst_fit_found *found)
{
    struct pst_fit *fit = &found->gaps[PST_LAW_GAMMA];

    found->by_counts = true;
    found->gap_kind = PST_LAW_EXP;
    for (int k = 0; k < PST_LAW_KIND_COUNT; k++)
        found->gaps[k] = (struct pst_fit){0};
    if (found->dispersion >= POISSON_LOW && found->dispersion <= POISSON_TOP)
        return;
    found->gap_kind = PST_LAW_GAMMA;
    fit->law =
        (struct pst_law){.kind = PST_LAW_GAMMA, .mean = 1, .shape = pst_sqrt(found->dispersion)};
}

/* Queues go by the coefficient of variation: a law that misses it is none, however near it lies. */
static enum pst_law_kind choose_gaps(const struct pst_fit fits[PST_LAW_KIND_COUNT], uint32_t count)
{
    struct pst_fit candidates[PST_LAW_KIND_COUNT];
    enum pst_law_kind kind = PST_LAW_EXP;

    memcpy(candidates, fits, sizeof candidates);
    if (fits[PST_LAW_WEIBULL].exists && fits[PST_LAW_GAMMA].exists) {
        const double seen = fits[PST_LAW_GAMMA].law.shape;
        const double said = pst_law_cv(&fits[PST_LAW_WEIBULL].law);

        candidates[PST_LAW_WEIBULL].exists =
            said < (1 + CV_MISSED) * seen && said > (1 - CV_MISSED) * seen;
    }
    (void)pst_fit_best(candidates, count, &kind);
    return kind;
}

/* Each gap times the rate of its moment. */
static void read_gaps(struct pst_fit_log *log, pst_ns origin, struct pst_fit_found *found)
{
    const uint32_t sampled = (uint32_t)pst_min_u64(pst_sub_sat(log->arrived, 1), SAMPLES);
    double *values = log->scratch;
    uint32_t count = 0;

    found->gap_cv =
        sampled > 0 ? cv_of(log->gap_sum, log->gap_square, (double)(log->arrived - 1)) : 0;
    for (uint32_t i = 0; i < sampled; i++) {
        const struct gap *gap = &log->gaps[i];
        const double rate = pst_fit_course_rate(&log->course, origin, found, gap->since);
        const double length = (double)pst_max_u64(gap->length, PST_US);

        if (rate > 0)
            values[count++] = length * rate / PST_S;
    }
    found->gaps_sampled = count;
    pst_fit_sort(values, count);
    pst_fit_law(PST_LAW_EXP, values, count, &found->gaps[PST_LAW_EXP]);
    pst_fit_moments(values, count, &found->gaps[PST_LAW_GAMMA]);
    pst_fit_law(PST_LAW_WEIBULL, values, count, &found->gaps[PST_LAW_WEIBULL]);
    found->gap_kind = choose_gaps(found->gaps, count);
    if (found->per_s * RESOLVED * (double)CLOCK > PST_S)
        take_counts(found);
}

/* Counts that hardly vary are one number; others are near enough to one of two laws. */
static void read_tokens(struct pst_fit_log *log, bool output, uint32_t sampled,
                        struct pst_fit *ret_fit)
{
    double *values = log->scratch, sum = 0, square = 0;
    struct pst_fit fits[PST_LAW_KIND_COUNT] = {{0}};
    enum pst_law_kind kind;
    uint32_t count = 0;

    for (uint32_t i = 0; i < sampled; i++) {
        const double tokens = output ? log->jobs[i].output_tokens : log->jobs[i].prompt_tokens;

        if (tokens <= 0)
            continue;
        values[count++] = tokens;
        sum += tokens;
        square += tokens * tokens;
    }
    *ret_fit = (struct pst_fit){0};
    if (count == 0)
        return;
    pst_fit_sort(values, count);
    if (cv_of(sum, square, count) > EVEN) {
        pst_fit_law(PST_LAW_EXP, values, count, &fits[PST_LAW_EXP]);
        pst_fit_law(PST_LAW_LOGNORMAL, values, count, &fits[PST_LAW_LOGNORMAL]);
    }
    if (pst_fit_best(fits, count, &kind))
        *ret_fit = fits[kind];
    else
        *ret_fit =
            (struct pst_fit){.exists = true, .law = {.kind = PST_LAW_CONST, .mean = sum / count}};
}

static void read_service(struct pst_fit_log *log, struct pst_fit_found *found)
{
    static const enum pst_law_kind kinds[] = {PST_LAW_EXP, PST_LAW_LOGNORMAL, PST_LAW_PARETO,
                                              PST_LAW_GAMMA, PST_LAW_WEIBULL};
    const uint32_t count = (uint32_t)pst_min_u64(log->served, SAMPLES);
    double *values = log->scratch;

    found->has_service = count > 0;
    found->service_sampled = count;
    found->service_kind = PST_LAW_CONST;
    if (count == 0)
        return;
    found->service_mean = log->service_sum / (double)log->served;
    found->service_cv = cv_of(log->service_sum, log->service_square, (double)log->served);
    read_tokens(log, false, count, &found->prompt);
    read_tokens(log, true, count, &found->output);
    pst_fit_tokens(log->jobs, count, log->scratch, &found->service[PST_LAW_TOKENS]);
    for (uint32_t i = 0; i < count; i++)
        values[i] = log->jobs[i].service > 1 ? log->jobs[i].service : 1;
    pst_fit_sort(values, count);
    for (size_t k = 0; k < PST_COUNT_OF(kinds); k++)
        pst_fit_law(kinds[k], values, count, &found->service[kinds[k]]);
    if (found->service_cv <= EVEN || !pst_fit_best(found->service, count, &found->service_kind))
        found->service_kind = PST_LAW_CONST;
}

void pst_fit_log_read(struct pst_fit_log *log, pst_ns origin, pst_ns span,
                      struct pst_fit_found *ret_found)
{
    struct pst_fit_found found = {.arrived = log->arrived, .served = log->served};

    span = pst_max_u64(span, PST_S);
    found.per_s = (double)log->arrived / ((double)span / PST_S);
    advance_to(log, span / PST_S);
    found.dispersion = pst_dispersion_index(&log->dispersion);
    pst_fit_course_read(&log->course, origin, span, log->scratch, &found);
    read_gaps(log, origin, &found);
    read_service(log, &found);
    *ret_found = found;
}
