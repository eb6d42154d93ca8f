/* rate.c - see rate.h. */
#include "sim/rate.h"

#include "core/num.h"

/* Where in its cycle of that length the walk is at `at`; cycles are counted from the scenario's time 0. */
static pst_ns phase_of(const struct pst_rate *rate, pst_ns at, pst_ns cycle)
{
    pst_ns before = rate->past % cycle;

    return (at % cycle + cycle - before) % cycle;
}

static void next_burst(struct pst_rate *rate)
{
    const struct pst_stream *stream = rate->stream;
    pst_ns every = stream->burst.every;
    pst_ns lead = (every - rate->past % every) % every; /* of the first cycle, spent already */
    pst_ns begin = pst_mul_sat(rate->burst_index, every);

    begin = pst_add_sat(begin, pst_law_draw(&stream->burst.offset, &rate->prng, 0, 0));
    begin = pst_max_u64(pst_sub_sat(begin, lead), rate->burst_end);
    rate->burst_begin = begin;
    rate->burst_end = pst_add_sat(begin, pst_law_draw(&stream->burst.length, &rate->prng, 0, 0));
    rate->burst_index++;
}

void pst_rate_init(struct pst_rate *rate, const struct pst_stream *stream, uint64_t seed,
                   pst_ns past)
{
    *rate = (struct pst_rate){
        .stream = stream,
        .past = past,
        .burst = stream->burst.every > 0 && stream->burst.per_s > 0.0,
    };
    pst_prng_init(&rate->prng, seed);
    if (rate->burst)
        next_burst(rate);
}

/* How many pieces begin at or before that time. */
static uint32_t pieces_before(const struct pst_stream *stream, pst_ns at)
{
    uint32_t low = 0, high = stream->pieces_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (stream->pieces[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Pieces that come round: before the first of a cycle the last of the one before holds. */
static struct pst_rate_step cycle_at(const struct pst_rate *rate, pst_ns at)
{
    const struct pst_stream *stream = rate->stream;
    pst_ns phase = phase_of(rate, at, stream->period);
    uint32_t begun = pieces_before(stream, phase);
    pst_ns next = begun < stream->pieces_count ? stream->pieces[begun].at : PST_NEVER;

    return (struct pst_rate_step){
        .per_ns = stream->pieces[begun == 0 ? stream->pieces_count - 1 : begun - 1].per_s / 1e9,
        .until = pst_add_sat(at, pst_min_u64(next, stream->period) - phase),
    };
}

/* Pieces that come once; before time 0 the first was there already. */
static struct pst_rate_step once_at(const struct pst_rate *rate, pst_ns at)
{
    const struct pst_stream *stream = rate->stream;
    uint32_t begun = pieces_before(stream, pst_sub_sat(at, rate->past));
    struct pst_rate_step step = {.per_ns = 0.0, .until = PST_NEVER};

    if (at < rate->past && begun == 0)
        begun = 1;
    if (begun > 0)
        step.per_ns = stream->pieces[begun - 1].per_s / 1e9;
    if (begun < stream->pieces_count)
        step.until = pst_add_sat(stream->pieces[begun].at, rate->past);
    return step;
}

struct pst_rate_step pst_rate_at(struct pst_rate *rate, pst_ns at)
{
    const struct pst_stream *stream = rate->stream;
    struct pst_rate_step step = {.per_ns = 0.0, .until = PST_NEVER};

    if (stream->pieces_count > 0)
        step = stream->period > 0 ? cycle_at(rate, at) : once_at(rate, at);
    step.per_ns += stream->per_s / 1e9;
    if (!rate->burst)
        return step;
    while (rate->burst_end <= at)
        next_burst(rate);
    if (at >= rate->burst_begin) {
        step.per_ns += stream->burst.per_s / 1e9;
        step.until = pst_min_u64(step.until, rate->burst_end);
    } else {
        step.until = pst_min_u64(step.until, rate->burst_begin);
    }
    return step;
}
