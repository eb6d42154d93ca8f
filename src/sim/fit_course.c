/* fit_course.c - see fit_course.h. */
#include "sim/fit_course.h"

#include "core/num.h"

#define DAY             (24 * 3600 * PST_S)
#define HOUR            (3600 * PST_S)
#define ENOUGH          10.0 /* requests in a window, on average */
#define BURST_TIME_MOST 0.4
#define CHANCE_INDEX    4.0  /* of dispersion: hours that differ less are alike … */
#define CHANCE_RIPPLE   0.1  /* … and so are those that differ by less than this part */
#define CLEARLY         1.25 /* times what stands out must be passed by, on average */
#define PERIOD_RIPPLE   0.25
#define BURST           0x80000000u /* a window's mark */

void pst_fit_course_init(struct pst_fit_course *course)
{
    course->width = PST_S;
    course->count = 0;
}

static void halve(struct pst_fit_course *course)
{
    const uint32_t count = (course->count + 1) / 2;

    for (uint32_t i = 0; i < count; i++) {
        course->at[i] = course->at[2 * i];
        if (2 * i + 1 < course->count)
            course->at[i] += course->at[2 * i + 1];
    }
    course->count = count;
    course->width *= 2;
}

static void extend(struct pst_fit_course *course, uint32_t count)
{
    while (course->count < count)
        course->at[course->count++] = 0;
}

void pst_fit_course_add(struct pst_fit_course *course, pst_ns since)
{
    while (since / course->width >= PST_FIT_WINDOWS) {
        extend(course, PST_FIT_WINDOWS);
        halve(course);
    }
    extend(course, (uint32_t)(since / course->width) + 1);
    course->at[since / course->width]++;
}

static bool is_burst(const struct pst_fit_course *course, uint32_t window)
{
    return (course->at[window] & BURST) != 0;
}

static double count_of(const struct pst_fit_course *course, uint32_t window)
{
    return (double)(course->at[window] & ~BURST);
}

/* ---- bursts ---- */

/* Which windows are compared: those of one hour of day, where there is more than a day; else all. */
static uint32_t peers_of(const struct pst_fit_course *course, pst_ns origin, pst_ns span,
                         uint32_t window)
{
    return span > DAY ? (uint32_t)((origin + window * course->width) % DAY / HOUR) : 0;
}

/* What a window must have to stand out among its peers: chance alone does not come there. */
static double threshold_of(const struct pst_fit_course *course, pst_ns origin, pst_ns span,
                           uint32_t peers, double dispersion, double *scratch)
{
    double median, threshold;
    uint32_t count = 0;

    for (uint32_t i = 0; i < course->count; i++)
        if (peers_of(course, origin, span, i) == peers)
            scratch[count++] = course->at[i];
    if (count == 0)
        return 0;
    pst_fit_sort(scratch, count);
    median = scratch[count / 2];
    threshold = median + 5 * pst_sqrt((median + 1) * (dispersion > 1 ? dispersion : 1));
    return threshold < 2 * median ? 2 * median : threshold;
}

/* Marks windows that stand out, and single ones between two of them; false: none do so clearly. */
static bool mark_bursts(struct pst_fit_course *course, pst_ns origin, pst_ns span,
                        double dispersion, double *scratch)
{
    double thresholds[PST_FIT_PIECES], requests = 0, needed = 0;
    uint32_t marked = 0;

    for (uint32_t h = 0; h < PST_FIT_PIECES; h++)
        thresholds[h] = threshold_of(course, origin, span, h, dispersion, scratch);
    for (uint32_t i = 0; i < course->count; i++) {
        const double threshold = thresholds[peers_of(course, origin, span, i)];

        if (course->at[i] <= threshold)
            continue;
        requests += course->at[i];
        needed += threshold;
        course->at[i] |= BURST;
    }
    for (uint32_t i = 1; i + 1 < course->count; i++)
        if (is_burst(course, i - 1) && is_burst(course, i + 1))
            course->at[i] |= BURST;
    for (uint32_t i = 0; i < course->count; i++)
        marked += is_burst(course, i);
    return requests > CLEARLY * needed && marked <= BURST_TIME_MOST * course->count;
}

static void unmark(struct pst_fit_course *course)
{
    for (uint32_t i = 0; i < course->count; i++)
        course->at[i] &= ~BURST;
}

/* What runs of marked windows have in common. */
struct runs {
    uint32_t count;
    double first, last; /* beginnings, ns */
    double gap_square;  /* between beginnings, sum of squares */
    double length_from, length_to, length;
    double requests;
};

static struct runs collect(const struct pst_fit_course *course)
{
    struct runs runs = {.length_from = 1e300};

    for (uint32_t i = 0; i < course->count; i++) {
        const double begin = (double)i * (double)course->width;
        const uint32_t from = i;
        double length;

        if (!is_burst(course, i))
            continue;
        for (; i < course->count && is_burst(course, i); i++)
            runs.requests += count_of(course, i);
        length = (double)(i - from) * (double)course->width;
        if (runs.count == 0)
            runs.first = begin;
        else
            runs.gap_square += (begin - runs.last) * (begin - runs.last);
        runs.last = begin;
        runs.length += length;
        runs.length_from = length < runs.length_from ? length : runs.length_from;
        runs.length_to = length > runs.length_to ? length : runs.length_to;
        runs.count++;
    }
    return runs;
}

/* Where in its span each run begins: the least and the largest. */
static void offsets(const struct pst_fit_course *course, double every, double first,
                    double *ret_from, double *ret_to)
{
    double from = 1e300, to = 0;
    const double lead = first - every * (double)pst_to_u64(first / every);

    for (uint32_t i = 0; i < course->count; i++) {
        double begin = (double)i * (double)course->width, turn;

        if (!is_burst(course, i) || (i > 0 && is_burst(course, i - 1)))
            continue;
        turn = (double)pst_to_u64((begin - first) / every + 0.5);
        begin = lead + (begin - first - turn * every);
        from = begin < from ? begin : from;
        to = begin > to ? begin : to;
    }
    *ret_from = from < 0 ? 0 : from;
    *ret_to = to < *ret_from ? *ret_from : to;
}

static void describe(const struct pst_fit_course *course, const struct runs *runs,
                     double calm_per_s, double span, struct pst_fit_burst *burst)
{
    const double gaps = runs->count - 1, mean = (runs->last - runs->first) / gaps;
    const double variance = runs->gap_square / gaps - mean * mean;
    double every = mean, from = 0, to = 0;

    burst->count = runs->count;
    burst->periodic = gaps >= 2 && variance < PERIOD_RIPPLE * PERIOD_RIPPLE * mean * mean;
    if (burst->periodic) {
        offsets(course, every, runs->first, &from, &to);
    } else {
        every = span / runs->count;
        to = every > runs->length_to ? every - runs->length_to : 0;
    }
    burst->every = pst_to_u64(every);
    burst->offset_from = pst_to_u64(from);
    burst->offset_to = pst_to_u64(to);
    burst->length_from = pst_to_u64(runs->length_from);
    burst->length_to = pst_to_u64(runs->length_to);
    burst->per_s = runs->requests / (runs->length / PST_S) - calm_per_s;
}

static void find_bursts(struct pst_fit_course *course, pst_ns origin, pst_ns span, double *scratch,
                        struct pst_fit_found *found)
{
    const bool clear = mark_bursts(course, origin, span, found->dispersion, scratch);
    struct runs runs = collect(course);
    double calm, calm_per_s;

    if (runs.count < 2 || !clear) {
        unmark(course);
        return;
    }
    calm = (double)span - runs.length;
    calm_per_s = calm > 0 ? ((double)found->arrived - runs.requests) / (calm / PST_S) : 0;
    describe(course, &runs, calm_per_s, (double)span, &found->burst);
}

/* ---- rates ---- */

/* The windows of one hour of day, or of one part of the span. */
struct part {
    double requests, windows;
};

static uint32_t part_of(const struct pst_fit_course *course, pst_ns origin, pst_ns period,
                        pst_ns span, pst_ns since)
{
    const pst_ns middle = since - since % course->width + course->width / 2;

    if (period > 0)
        return (uint32_t)((origin + middle) % period / HOUR);
    return (uint32_t)pst_min_u64(pst_muldiv(middle, PST_FIT_PIECES, span), PST_FIT_PIECES - 1);
}

/* Do they differ by more than chance, and by more than anybody would mind? */
static bool differ(const struct part parts[PST_FIT_PIECES], double rate, double dispersion)
{
    double square = 0, index = 0, count = 0;

    for (int i = 0; i < PST_FIT_PIECES; i++) {
        const double expected = rate * parts[i].windows;
        const double off = parts[i].requests - expected;

        if (expected <= 0)
            continue;
        count++;
        index += off * off / expected;
        square += off * off / (expected * expected);
    }
    return count > 2 && index / (count - 1) > CHANCE_INDEX * (dispersion > 1 ? dispersion : 1) &&
           square / (count - 1) > CHANCE_RIPPLE * CHANCE_RIPPLE;
}

static void find_rates(const struct pst_fit_course *course, pst_ns origin, pst_ns span,
                       struct pst_fit_found *found)
{
    struct part parts[PST_FIT_PIECES] = {{0, 0}}, all = {0, 0};
    const double windows_per_s = PST_S / (double)course->width;
    const pst_ns period = span > DAY ? DAY : 0;

    for (uint32_t i = 0; i < course->count; i++) {
        struct part *part = &parts[part_of(course, origin, period, span, i * course->width)];

        if (is_burst(course, i))
            continue;
        part->requests += count_of(course, i);
        part->windows++;
        all.requests += count_of(course, i);
        all.windows++;
    }
    found->pieces_count = 1;
    found->period = 0;
    found->pieces[0] = (struct pst_rate_piece){
        0, all.windows > 0 ? all.requests / all.windows * windows_per_s : 0};
    if (all.windows == 0 || !differ(parts, all.requests / all.windows, found->dispersion))
        return;
    found->pieces_count = PST_FIT_PIECES;
    found->period = period;
    for (uint32_t i = 0; i < PST_FIT_PIECES; i++) {
        const struct part *part = parts[i].windows > 0 ? &parts[i] : &all;

        found->pieces[i].at = period > 0 ? i * HOUR : pst_muldiv(span, i, PST_FIT_PIECES);
        found->pieces[i].per_s = part->requests / part->windows * windows_per_s;
    }
}

void pst_fit_course_read(struct pst_fit_course *course, pst_ns origin, pst_ns span, double *scratch,
                         struct pst_fit_found *found)
{
    /* windows before the end of the log; the last one may be cut off */
    while (span / course->width >= PST_FIT_WINDOWS)
        halve(course);
    extend(course, (uint32_t)(span / course->width));
    if (course->count > 1 && course->count > span / course->width)
        course->count--;
    while (course->count >= 4 * PST_FIT_PIECES &&
           found->per_s * ((double)course->width / PST_S) < ENOUGH)
        halve(course);
    find_bursts(course, origin, span, scratch, found);
    find_rates(course, origin, span, found);
}

double pst_fit_course_rate(const struct pst_fit_course *course, pst_ns origin,
                           const struct pst_fit_found *found, pst_ns since)
{
    const uint64_t window = since / course->width;
    uint32_t piece = 0;

    if (window >= course->count)
        return -1;
    for (uint64_t i = window > 0 ? window - 1 : 0; i <= window + 1 && i < course->count; i++)
        if (is_burst(course, (uint32_t)i))
            return -1;
    if (found->pieces_count == 1)
        return found->pieces[0].per_s;
    if (found->period > 0)
        return found->pieces[(origin + since) % found->period / HOUR].per_s;
    while (piece + 1 < found->pieces_count && found->pieces[piece + 1].at <= since)
        piece++;
    return found->pieces[piece].per_s;
}
