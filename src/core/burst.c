/* burst.c - see burst.h. */
#include "core/burst.h"

#define FAST_S    10   /* the mean that begins and ends a burst */
#define EDGE_S    3    /* the shorter one that dates its end */
#define PRESENT_S 30   /* the mean that is its rate */
#define LEARN_S   50   /* until then the calm rate is not known */
#define LEVEL_S   1800 /* a burst that lasts longer is none */

static double follow(double mean, double value, double samples)
{
    return mean + (value - mean) / samples;
}

/* How far the 10 s mean of 10 s ago was from the calm rate; none of it may be of a burst. */
static void deviation_add(struct pst_burst *b, const struct pst_window *window, double samples)
{
    double distance = pst_window_mean_ago(window, FAST_S, FAST_S) - pst_burst_calm(b);

    if (b->quiet_s > 2 * FAST_S)
        b->deviation = follow(b->deviation, distance < 0 ? -distance : distance, samples);
}

/* What is refused counts for as long as it goes on, and is forgotten soon after. */
static void refused_add(struct pst_burst *b, const struct pst_burst_config *config,
                        const struct pst_window *refusals, double samples)
{
    bool goes_on = pst_window_mean_ago(refusals, FAST_S, PRESENT_S) > 0;

    if (!goes_on && config->refused_s < b->seconds)
        samples = config->refused_s > 0 ? config->refused_s : 1;
    b->refused = follow(b->refused, pst_window_mean_ago(refusals, FAST_S, 1), samples);
}

/* The second of 10 s ago was outside bursts. */
static void calm_add(struct pst_burst *b, const struct pst_burst_config *config,
                     const struct pst_window *window, const struct pst_window *refusals)
{
    double rate = pst_window_mean_ago(window, FAST_S, 1);

    if (!pst_window_knows(window, FAST_S))
        return;
    b->seconds = b->seconds < config->memory_s ? b->seconds + 1 : config->memory_s;
    deviation_add(b, window, b->seconds);
    b->admitted = follow(b->admitted, rate - pst_window_mean_ago(refusals, FAST_S, 1), b->seconds);
    refused_add(b, config, refusals, b->seconds);
}

static double rise_of(const struct pst_burst *b, const struct pst_burst_config *config)
{
    double rise = pst_burst_calm(b);

    if (rise < 4 * b->deviation)
        rise = 4 * b->deviation;
    return rise < config->floor ? config->floor : rise;
}

static bool is_in_doubt(const struct pst_burst *b)
{
    return b->sum < b->ceiling * b->age_s;
}

static void begin(struct pst_burst *b, double fast)
{
    b->doubt = pst_burst_calm(b);
    b->ceiling = b->doubt + b->rise;
    b->sum = fast;
    b->age_s = b->busy_s = 1;
}

static void end(struct pst_burst *b)
{
    if (is_in_doubt(b)) {
        b->admitted = b->doubt - b->refused;
    } else {
        b->lengths_s[b->next] = b->busy_s;
        b->next = (b->next + 1) % PST_BURST_KEPT;
        b->learned += b->learned < PST_BURST_KEPT;
    }
    b->age_s = 0;
}

/* It lasts: it is what comes now. */
static void settle(struct pst_burst *b, const struct pst_window *window)
{
    b->admitted = pst_window_mean(window, PST_WINDOW_SECONDS);
    b->refused = 0;
    b->age_s = 0;
}

/* One second of a burst. */
static void burst_add(struct pst_burst *b, const struct pst_window *window, double fast)
{
    double high = b->doubt + b->rise / 2;

    b->age_s++;
    b->sum += fast;
    if (pst_window_mean(window, EDGE_S) >= high)
        b->busy_s = b->age_s;
    if (is_in_doubt(b))
        b->doubt = follow(b->doubt, fast < b->ceiling ? fast : b->ceiling, b->seconds);
    if (fast < high)
        end(b);
    else if (b->age_s > LEVEL_S)
        settle(b, window);
}

void pst_burst_add(struct pst_burst *b, const struct pst_burst_config *config,
                   const struct pst_window *window, const struct pst_window *refusals)
{
    double fast = pst_window_mean(window, FAST_S);

    PST_ASSERT(config->memory_s > 0);
    if (pst_burst_is_on(b)) {
        b->quiet_s = 0;
        burst_add(b, window, fast);
        return;
    }
    b->rise = rise_of(b, config);
    if (b->seconds >= LEARN_S && fast > pst_burst_calm(b) + b->rise) {
        begin(b, fast);
        return;
    }
    if (b->quiet_s < UINT32_MAX)
        b->quiet_s++;
    if (b->quiet_s > FAST_S)
        calm_add(b, config, window, refusals);
}

double pst_burst_calm(const struct pst_burst *b)
{
    return pst_burst_is_on(b) && is_in_doubt(b) ? b->doubt : b->admitted + b->refused;
}

double pst_burst_present(const struct pst_burst *b, const struct pst_window *window)
{
    uint32_t seconds = b->age_s;

    if (!pst_burst_is_on(b))
        return pst_burst_calm(b);
    if (seconds < EDGE_S)
        seconds = EDGE_S;
    return pst_window_mean(window, seconds < PRESENT_S ? seconds : PRESENT_S);
}

double pst_burst_remaining_s(const struct pst_burst *b)
{
    double sum = 0;
    uint32_t longer = 0;

    for (uint32_t i = 0; i < b->learned; i++) {
        if (b->lengths_s[i] > b->age_s) {
            sum += b->lengths_s[i] - b->age_s;
            longer++;
        }
    }
    if (!pst_burst_is_on(b))
        return 0;
    return longer == 0 ? b->age_s : sum / longer;
}
