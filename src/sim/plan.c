/* plan.c - see plan.h: what arrives, measured, and what the formulas make of it. */
#include "sim/plan.h"

#include "core/num.h"
#include "core/staff.h"
#include "sim/arrivals.h"
#include "sim/seed.h"

#define EXCEEDED       0.01 /* share of a class that may wait longer than its target */
#define WINDOWS_MIN    6    /* a dispersion of fewer windows says nothing */
#define INDEX_MAX      4.0  /* Allen-Cunneen is not asked beyond: dispersion.h */
#define RIPPLE_MAX     0.1  /* counts that vary less are no burst, however large they are */
#define SERVICE_CV_MAX 3.0  /* two moments say little of a tail beyond */
#define ROUNDING       1e-9 /* of sums of squares */
#define SHORT_WINDOW_S 10.0

static const uint32_t scales_s[PST_PLAN_SCALES] = {1, 10, 60, 600};

const char *pst_plan_method_name(enum pst_plan_method method)
{
    static const char *const names[PST_PLAN_METHOD_COUNT] = {
        "formula", "bursts", "waves", "heavy-tail", "spread", "sequences", "engine"};

    PST_ASSERT(method < PST_PLAN_METHOD_COUNT);
    return names[method];
}

/* ---- one pool ---- */

void pst_plan_scene(const struct pst_scenario *scenario, uint16_t pool,
                    struct pst_plan_scene *ret_scene)
{
    struct pst_scenario *of = &ret_scene->scenario;

    PST_ASSERT(pool < scenario->gate.pools_count);
    *of = *scenario;
    of->gate.pools_count = of->scaler.pools_count = 1;
    of->gate.pools[0] = scenario->gate.pools[pool];
    of->scaler.pools[0] = scenario->scaler.pools[pool];
    of->pools[0] = scenario->pools[pool];
    of->faults_count = 0;
    of->expectations_count = 0;
    of->streams = ret_scene->streams;
    of->streams_count = 0;
    for (uint32_t s = 0; s < scenario->streams_count; s++) {
        if (scenario->streams[s].pool != pool)
            continue;
        ret_scene->streams[of->streams_count] = scenario->streams[s];
        ret_scene->streams[of->streams_count++].pool = 0;
    }
}

void pst_plan_calm(struct pst_plan_scene *scene)
{
    for (uint32_t s = 0; s < scene->scenario.streams_count; s++)
        scene->streams[s].burst.every = 0;
}

bool pst_plan_varies(const struct pst_plan_scene *scene)
{
    for (uint32_t s = 0; s < scene->scenario.streams_count; s++) {
        const struct pst_stream *stream = &scene->streams[s];

        if (stream->rows_count > 0 || stream->pieces_count > 1 ||
            (stream->burst.every > 0 && stream->burst.per_s > 0))
            return true;
    }
    return false;
}

/* ---- measuring ---- */

/* Counts in windows of one length. */
struct counts {
    uint64_t window; /* the current one, from the cut */
    double running;
    double windows, sum, square;
    double last, steps; /* the window before; sum of squared differences */
};

struct meter {
    uint64_t arrived;
    double service, square; /* sums, s and s^2 */
    double work, prompt;
    struct counts scales[PST_PLAN_SCALES];
};

static void take_window(struct counts *counts, double count)
{
    counts->sum += count;
    counts->square += count * count;
    if (counts->windows > 0)
        counts->steps += (count - counts->last) * (count - counts->last);
    counts->windows++;
    counts->last = count;
}

/* Windows before this one are over; those without arrivals count too. */
static void close_windows(struct counts *counts, uint64_t window)
{
    if (window <= counts->window)
        return;
    take_window(counts, counts->running);
    if (window > counts->window + 1) {
        take_window(counts, 0);
        counts->windows += (double)(window - counts->window - 2); /* all of them empty */
    }
    counts->running = 0;
    counts->window = window;
}

/* The same from successive differences alone: a slow drift of the rate is not taken for variance. */
static double short_index_of(const struct counts *counts)
{
    if (counts->windows < WINDOWS_MIN || counts->sum <= 0)
        return 1;
    return counts->steps / (counts->windows - 1) / 2 / (counts->sum / counts->windows);
}

/* Variance ÷ mean of the counts; 1 where there are too few. *ret_ripple: deviation ÷ mean. */
static double index_of(const struct counts *counts, double *ret_ripple)
{
    double mean, variance;

    *ret_ripple = 0;
    if (counts->windows < WINDOWS_MIN || counts->sum <= 0)
        return 1;
    mean = counts->sum / counts->windows;
    variance = (counts->square - counts->windows * mean * mean) / (counts->windows - 1);
    if (variance <= 0)
        return 0;
    *ret_ripple = pst_sqrt(variance) / mean;
    return variance / mean;
}

/* The moments of a stream's service law, where it has closed ones. */
struct moments {
    bool closed;
    double mean_s, square_s2;
};

static struct moments moments_of(const struct pst_stream *stream)
{
    double mean = pst_law_mean(&stream->service) / PST_S, cv = pst_law_cv(&stream->service);
    bool recorded = stream->rows_count > 0 && stream->rows[0].service > 0;

    return (struct moments){
        .closed = stream->service.kind != PST_LAW_TOKENS && !recorded,
        .mean_s = mean,
        .square_s2 = mean * mean * (1 + cv * cv),
    };
}

static void count_arrival(struct meter *meter, const struct pst_arrival *arrival,
                          const struct moments *moments, uint16_t sequences, pst_ns since)
{
    double service = moments->closed ? moments->mean_s : (double)arrival->service / PST_S;

    meter->arrived++;
    meter->service += service;
    meter->square += moments->closed ? moments->square_s2 : service * service;
    meter->work += service * sequences;
    meter->prompt += arrival->prompt_tokens;
    for (int i = 0; i < PST_PLAN_SCALES; i++) {
        close_windows(&meter->scales[i], since / (scales_s[i] * PST_S));
        meter->scales[i].running++;
    }
}

static void read_meter(struct meter *meter, pst_ns span, struct pst_plan_stream *ret_stream)
{
    double count = (double)meter->arrived, seconds = (double)span / PST_S;
    struct pst_plan_stream stream = {
        .arrived = meter->arrived, .per_s = count / seconds, .dispersion = 1, .irregularity = 1};

    if (meter->arrived > 0) {
        double mean = meter->service / count;
        double spread = meter->square / count - mean * mean;

        stream.erlangs = meter->work / seconds;
        stream.service_s = mean;
        if (mean > 0 && spread > ROUNDING * mean * mean)
            stream.service_cv = pst_sqrt(spread) / mean;
        stream.prompt_tokens = meter->prompt / count;
    }
    for (int i = 0; i < PST_PLAN_SCALES; i++) {
        double ripple, index, short_index;

        close_windows(&meter->scales[i], span / (scales_s[i] * PST_S));
        short_index = short_index_of(&meter->scales[i]);
        index = index_of(&meter->scales[i], &ripple);
        if (scales_s[i] <= SHORT_WINDOW_S && (i == 0 || short_index > stream.dispersion))
            stream.dispersion = short_index;
        if ((i == 0 || index > stream.irregularity) && ripple > RIPPLE_MAX) {
            stream.irregularity = index;
            stream.window_s = scales_s[i];
        }
    }
    *ret_stream = stream;
}

static bool takes_several(const struct pst_plan_scene *scene)
{
    for (uint32_t s = 0; s < scene->scenario.streams_count; s++)
        if (scene->streams[s].sequences > 1)
            return true;
    return false;
}

static enum pst_plan_method method_of(const struct pst_plan_scene *scene,
                                      const struct pst_plan_stream *stream)
{
    if (scene->scenario.pools[0].token_mode)
        return PST_PLAN_ENGINE;
    if (takes_several(scene))
        return PST_PLAN_SEQUENCES;
    if (stream->irregularity > INDEX_MAX)
        return stream->dispersion > INDEX_MAX || stream->window_s < scales_s[PST_PLAN_SCALES - 1]
                   ? PST_PLAN_BURSTS
                   : PST_PLAN_WAVES;
    if (stream->service_cv > 1e300)
        return PST_PLAN_HEAVY_TAIL;
    if (stream->service_cv > SERVICE_CV_MAX)
        return PST_PLAN_SPREAD;
    return PST_PLAN_FORMULA;
}

static void walk(const struct pst_plan_scene *scene, struct pst_arrivals *arrivals,
                 struct meter own[PST_CLASSES_MAX], struct meter upto[PST_CLASSES_MAX])
{
    const struct pst_scenario *scenario = &scene->scenario;
    struct moments moments[PST_STREAMS_MAX];

    for (uint32_t s = 0; s < scenario->streams_count; s++)
        moments[s] = moments_of(&scene->streams[s]);
    while (pst_arrivals_due(arrivals) != PST_NEVER) {
        struct pst_arrival a;

        pst_arrivals_take(arrivals, &a);
        if (a.at < scenario->cut)
            continue;
        count_arrival(&own[a.class_], &a, &moments[a.stream], scene->streams[a.stream].sequences,
                      a.at - scenario->cut);
        for (uint32_t c = a.class_; c < scenario->gate.classes_count; c++)
            count_arrival(&upto[c], &a, &moments[a.stream], scene->streams[a.stream].sequences,
                          a.at - scenario->cut);
    }
}

int pst_plan_measure(const struct pst_plan_scene *scene, uint64_t seed,
                     struct pst_plan_load *ret_load)
{
    const struct pst_scenario *scenario = &scene->scenario;
    struct meter own[PST_CLASSES_MAX] = {0}, upto[PST_CLASSES_MAX] = {0};
    const pst_ns span = pst_sub_sat(scenario->horizon, scenario->cut);
    struct pst_plan_load load = {.classes_count = scenario->gate.classes_count,
                                 .span_s = (double)span / PST_S};
    struct pst_arrivals *arrivals;
    int rc;

    if (span == 0)
        return PST_E_INVALID;
    rc = pst_arrivals_new(scenario, pst_seed_of(seed, PST_SEED_ARRIVALS), 0, &arrivals);
    if (rc != PST_OK)
        return rc;
    walk(scene, arrivals, own, upto);
    pst_arrivals_free(arrivals);
    for (uint32_t c = 0; c < load.classes_count; c++) {
        read_meter(&own[c], span, &load.own[c]);
        read_meter(&upto[c], span, &load.upto[c]);
        load.methods[c] = method_of(scene, &load.upto[c]);
    }
    *ret_load = load;
    return PST_OK;
}

/* ---- formulas ---- */

static struct pst_staff_load staff_load(const struct pst_plan_stream *stream)
{
    return (struct pst_staff_load){
        .erlangs = stream->erlangs,
        .service_s = stream->service_s,
        .variability = (stream->dispersion + stream->service_cv * stream->service_cv) / 2,
    };
}

double pst_plan_wait_p99(const struct pst_plan_load *load, uint8_t class_, uint32_t slots)
{
    struct pst_staff_load staff = staff_load(&load->upto[class_]);

    return load->upto[class_].arrived == 0 ? 0 : pst_staff_wait_exceeded(&staff, slots, EXCEEDED);
}

uint32_t pst_plan_replicas(const struct pst_plan_load *load, const struct pst_scenario *scenario,
                           uint8_t class_, uint32_t most)
{
    struct pst_staff_load staff = staff_load(&load->upto[class_]);
    const uint32_t slots = scenario->gate.pools[0].slots;
    const uint64_t servers = pst_min_u64(pst_mul_sat(slots, most), UINT32_MAX);
    uint32_t least;

    if (!(staff.variability < 1e300)) /* a formula that wants a variance has none: the load alone */
        staff.variability = 1;
    least = pst_staff_servers(&staff, (double)scenario->gate.classes[class_].target / PST_S,
                              EXCEEDED, (uint32_t)servers);
    return (uint32_t)pst_max_u64(1, (least + slots - 1) / slots);
}

uint64_t pst_plan_queue_bound(const struct pst_plan_load *load, const struct pst_scenario *scenario,
                              uint8_t class_, uint32_t replicas)
{
    const struct pst_plan_stream *own = &load->own[class_];
    double left = (double)replicas * scenario->gate.pools[0].slots;

    if (class_ > 0)
        left -= load->upto[class_ - 1].erlangs;
    if (own->service_s <= 0 || left <= 0)
        return 0;
    return pst_to_u64(left / own->service_s * (double)scenario->gate.classes[class_].max_wait /
                      PST_S);
}
