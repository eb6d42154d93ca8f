/* arrivals.c - see arrivals.h. */
#include "sim/arrivals.h"

#include <stdlib.h>

#include "core/num.h"
#include "core/prng.h"
#include "sim/rate.h"

#define GAP_UNIT 1e9 /* laws draw integers: a gap of mean one is drawn in so many parts */

/* Each purpose has a generator of its own, so that a draw more of one leaves the others alone. */
enum purpose {
    PURPOSE_BURST,
    PURPOSE_GAP,
    PURPOSE_CLASS,
    PURPOSE_PROMPT,
    PURPOSE_OUTPUT,
    PURPOSE_SERVICE,
    PURPOSE_COUNT
};

struct source {
    const struct pst_stream *stream;
    pst_ns begin, end; /* of its arrivals, in time of the walk */
    pst_ns next;
    struct pst_prng prng[PURPOSE_COUNT];
    struct pst_law gap;
    struct pst_rate rate;
    struct pst_rate_step step;
    double at; /* of the last arrival, or where the walk through the rate is, ns */
    uint64_t row;
    uint64_t shares; /* sum of class_ppm */
};

struct pst_arrivals {
    const struct pst_scenario *scenario;
    struct source sources[PST_STREAMS_MAX];
    uint8_t order[PST_STREAMS_MAX]; /* a heap of those that go on, by next arrival and index */
    uint32_t count;
};

static uint64_t seed_of(uint64_t seed, uint32_t stream, enum purpose purpose, bool past)
{
    uint64_t number = ((uint64_t)stream * PURPOSE_COUNT + purpose) * 2 + past;

    return pst_mix64(pst_mix64(seed) + (number + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* From where it is, one gap on; stretches without arrivals are passed over. */
static void advance_rate(struct source *source)
{
    double gap = (double)pst_law_draw(&source->gap, &source->prng[PURPOSE_GAP], 0, 0) / GAP_UNIT;

    for (;;) {
        double left = ((double)source->step.until - source->at) * source->step.per_ns;

        if (source->step.per_ns > 0.0 && (source->step.until == PST_NEVER || gap < left)) {
            source->at += gap / source->step.per_ns;
            break;
        }
        if (source->step.until >= source->end) {
            source->at = (double)source->end;
            break;
        }
        gap = gap > left ? gap - left : 0.0;
        source->at = (double)source->step.until;
        source->step = pst_rate_at(&source->rate, source->step.until);
    }
    source->next = pst_to_u64(source->at);
    if (source->next >= source->end)
        source->next = PST_NEVER;
}

static void advance_rows(struct source *source)
{
    const struct pst_stream *stream = source->stream;

    while (source->row < stream->rows_count && stream->rows[source->row].at < source->begin)
        source->row++;
    source->next = source->row < stream->rows_count ? stream->rows[source->row].at : PST_NEVER;
    if (source->next >= source->end)
        source->next = PST_NEVER;
}

static void advance(struct source *source)
{
    if (source->stream->rows_count > 0)
        advance_rows(source);
    else
        advance_rate(source);
}

static bool comes_before(const struct pst_arrivals *a, uint8_t left, uint8_t right)
{
    pst_ns x = a->sources[left].next, y = a->sources[right].next;

    return x != y ? x < y : left < right;
}

static void sift_down(struct pst_arrivals *a, uint32_t hole)
{
    uint8_t moved = a->order[hole];

    for (uint32_t child = 2 * hole + 1; child < a->count; child = 2 * hole + 1) {
        if (child + 1 < a->count && comes_before(a, a->order[child + 1], a->order[child]))
            child++;
        if (!comes_before(a, a->order[child], moved))
            break;
        a->order[hole] = a->order[child];
        hole = child;
    }
    a->order[hole] = moved;
}

static bool rows_are_valid(const struct pst_scenario *scenario, const struct pst_stream *stream)
{
    for (uint64_t i = 0; i < stream->rows_count; i++) {
        const struct pst_arrival_row *row = &stream->rows[i];

        if (i > 0 && row->at < stream->rows[i - 1].at)
            return false;
        if (row->class_ != PST_CLASS_DRAWN && row->class_ >= scenario->gate.classes_count)
            return false;
    }
    return true;
}

static void source_init(struct source *source, const struct pst_scenario *scenario, uint32_t index,
                        uint64_t seed, pst_ns past)
{
    const struct pst_stream *stream = &scenario->streams[index];

    source->stream = stream;
    source->begin = past > 0 ? 0 : stream->begin;
    source->end = past > 0 ? past : pst_min_u64(stream->end, scenario->horizon);
    for (int p = 0; p < PURPOSE_COUNT; p++)
        pst_prng_init(&source->prng[p], seed_of(seed, index, (enum purpose)p, past > 0));
    for (uint32_t c = 0; c < PST_CLASSES_MAX; c++)
        source->shares += stream->class_ppm[c];
    source->next = PST_NEVER;
    if (past > 0 && (stream->rows_count > 0 || stream->begin > 0))
        return; /* it has no past */
    if (stream->rows_count == 0) {
        double mean = pst_law_mean(&stream->gaps);

        source->gap = mean > 0.0 ? pst_law_scaled(&stream->gaps, GAP_UNIT / mean)
                                 : (struct pst_law){.kind = PST_LAW_CONST, .mean = GAP_UNIT};
        pst_rate_init(&source->rate, stream, seed_of(seed, index, PURPOSE_BURST, past > 0), past);
        source->at = (double)source->begin;
        if (source->begin >= source->end)
            return;
        source->step = pst_rate_at(&source->rate, source->begin);
    }
    advance(source);
}

int pst_arrivals_new(const struct pst_scenario *scenario, uint64_t seed, pst_ns past,
                     struct pst_arrivals **ret_arrivals)
{
    struct pst_arrivals *a;

    if (scenario->streams_count > PST_STREAMS_MAX)
        return PST_E_INVALID;
    for (uint32_t s = 0; s < scenario->streams_count; s++) {
        if (!rows_are_valid(scenario, &scenario->streams[s]))
            return PST_E_INVALID;
    }
    a = calloc(1, sizeof *a);
    if (a == NULL)
        return PST_E_NOMEM;
    a->scenario = scenario;
    for (uint32_t s = 0; s < scenario->streams_count; s++) {
        source_init(&a->sources[s], scenario, s, seed, past);
        if (a->sources[s].next != PST_NEVER)
            a->order[a->count++] = (uint8_t)s;
    }
    for (uint32_t i = a->count / 2; i-- > 0;)
        sift_down(a, i);
    *ret_arrivals = a;
    return PST_OK;
}

void pst_arrivals_free(struct pst_arrivals *arrivals)
{
    free(arrivals);
}

pst_ns pst_arrivals_due(const struct pst_arrivals *arrivals)
{
    return arrivals->count == 0 ? PST_NEVER : arrivals->sources[arrivals->order[0]].next;
}

static uint8_t draw_class(struct source *source)
{
    uint64_t at;
    uint8_t c = 0;

    if (source->shares == 0)
        return source->stream->class_;
    at = pst_prng_below(&source->prng[PURPOSE_CLASS], source->shares);
    while (at >= source->stream->class_ppm[c])
        at -= source->stream->class_ppm[c++];
    return c;
}

/* Between the two quantiles around a uniform number, linearly. */
static uint32_t draw_quantile(const struct pst_quantiles *table, struct pst_prng *prng)
{
    double place = pst_prng_unit(prng) * (double)(table->count - 1);
    uint32_t below = (uint32_t)pst_to_u64(place);
    uint32_t above = below + 1 < table->count ? below + 1 : below;
    double low = table->values[below], high = table->values[above];

    return (uint32_t)pst_to_u64(low + (high - low) * (place - (double)below) + 0.5);
}

static uint32_t draw_tokens(uint32_t recorded, const struct pst_quantiles *table,
                            const struct pst_law *law, struct pst_prng *prng)
{
    if (recorded > 0)
        return recorded;
    if (table->count > 0)
        return draw_quantile(table, prng);
    return (uint32_t)pst_min_u64(pst_law_draw(law, prng, 0, 0), UINT32_MAX);
}

/* Slot-time, and how much of it passes before the first token: of an answer in one piece, all. */
static void draw_service(struct source *source, struct pst_arrival *arrival)
{
    const struct pst_law *law = &source->stream->service;

    arrival->service = pst_law_draw(law, &source->prng[PURPOSE_SERVICE], arrival->prompt_tokens,
                                    arrival->output_tokens);
    arrival->first_part =
        law->kind == PST_LAW_TOKENS
            ? pst_law_draw(law, &source->prng[PURPOSE_SERVICE], arrival->prompt_tokens, 0)
            : arrival->service;
}

void pst_arrivals_take(struct pst_arrivals *a, struct pst_arrival *ret_arrival)
{
    static const struct pst_arrival_row drawn = {.class_ = PST_CLASS_DRAWN};
    const struct pst_arrival_row *row = &drawn;
    struct source *source;

    PST_ASSERT(a->count > 0);
    source = &a->sources[a->order[0]];
    if (source->stream->rows_count > 0)
        row = &source->stream->rows[source->row++];
    ret_arrival->at = source->next;
    ret_arrival->stream = a->order[0];
    ret_arrival->flow = source->stream->flow + row->client;
    ret_arrival->class_ = row->class_ == PST_CLASS_DRAWN ? draw_class(source) : row->class_;
    ret_arrival->prompt_tokens =
        draw_tokens(row->prompt_tokens, &source->stream->prompt_table, &source->stream->prompt,
                    &source->prng[PURPOSE_PROMPT]);
    ret_arrival->output_tokens =
        draw_tokens(row->output_tokens, &source->stream->output_table, &source->stream->output,
                    &source->prng[PURPOSE_OUTPUT]);
    if (row->service > 0)
        ret_arrival->service = ret_arrival->first_part = row->service;
    else
        draw_service(source, ret_arrival);

    advance(source);
    if (source->next == PST_NEVER)
        a->order[0] = a->order[--a->count];
    sift_down(a, 0);
}

uint64_t pst_arrivals_bursts(const struct pst_scenario *scenario, uint64_t seed, pst_ns from,
                             pst_ns until)
{
    uint64_t count = 0;

    for (uint32_t s = 0; s < scenario->streams_count; s++) {
        const struct pst_stream *stream = &scenario->streams[s];
        struct pst_rate rate;

        if (stream->rows_count > 0)
            continue;
        pst_rate_init(&rate, stream, seed_of(seed, s, PURPOSE_BURST, false), 0);
        while (rate.burst && rate.burst_begin < pst_min_u64(until, stream->end)) {
            count += rate.burst_begin >= pst_max_u64(from, stream->begin);
            if (rate.burst_end >= until)
                break;
            pst_rate_at(&rate, rate.burst_end);
        }
    }
    return count;
}
