/* fit.c - see fit.h. */
#include "sim/fit.h"

#include "core/num.h"

#define SHAPE_LEAST  0.1 /* of Weibull, as law.h takes it */
#define SHAPE_MOST   20.0
#define ALPHA_LEAST  1.05 /* of Pareto: below there is hardly a mean */
#define STEPS        50   /* of bisection: to the last bit */
#define ROUNDING     1e-9 /* of sums of logarithms: what varies less does not vary */
#define NEWTON_STEPS 6
#define TERMS_MOST   500
#define TERM_LEAST   1e-12 /* of the sum */
#define CHANCE       0.6   /* of 1 / sqrt(n): such differences between distances are chance */

static double absolute(double x)
{
    return x < 0 ? -x : x;
}

/* ---- sorting: a heap, for no library's order of comparisons is ours ---- */

static void sink(double *values, uint32_t hole, uint32_t count)
{
    const double moved = values[hole];

    for (uint64_t child = 2 * (uint64_t)hole + 1; child < count; child = 2 * child + 1) {
        if (child + 1 < count && values[child + 1] > values[child])
            child++;
        if (values[child] <= moved)
            break;
        values[hole] = values[child];
        hole = (uint32_t)child;
    }
    values[hole] = moved;
}

void pst_fit_sort(double *values, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;)
        sink(values, i, count);
    for (uint32_t left = count; left > 1; left--) {
        const double last = values[left - 1];

        values[left - 1] = values[0];
        values[0] = last;
        sink(values, 0, left - 1);
    }
}

/* ---- functions ---- */

static double ln_gamma(double x)
{
    double below = 1;

    while (x < 10) {
        below *= x;
        x += 1;
    }
    return (x - 0.5) * pst_ln(x) - x + 0.918938533204672742 + 1 / (12 * x) - 1 / (360 * x * x * x) -
           pst_ln(below);
}

/* The first derivative of ln_gamma. */
static double digamma(double x)
{
    double sum = 0;

    while (x < 10) {
        sum -= 1 / x;
        x += 1;
    }
    return sum + pst_ln(x) - 1 / (2 * x) - 1 / (12 * x * x) + 1 / (120 * x * x * x * x);
}

/* … and the second. */
static double trigamma(double x)
{
    double sum = 0;

    while (x < 10) {
        sum += 1 / (x * x);
        x += 1;
    }
    return sum + 1 / x + 1 / (2 * x * x) + 1 / (6 * x * x * x);
}

/* The standard normal distribution, within 1e-7. */
static double normal(double z)
{
    const double t = 1 / (1 + 0.2316419 * absolute(z));
    const double tail =
        0.398942280401433 * pst_exp(-z * z / 2) *
        (t * (0.319381530 +
              t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))));

    return z < 0 ? tail : 1 - tail;
}

/* The Gamma distribution with scale 1, without the factor that both share: a series below … */
static double gamma_below(double shape, double x)
{
    double term = 1 / shape, sum = term;

    for (int n = 1; n < TERMS_MOST && term > sum * TERM_LEAST; n++) {
        term *= x / (shape + n);
        sum += term;
    }
    return sum;
}

/* … and what lies above: a continued fraction, by Lentz's method. */
static double gamma_above(double shape, double x)
{
    double b = x + 1 - shape, c = 1e300, d = 1 / b, fraction = d, ratio = 0;

    for (int n = 1; n < TERMS_MOST && absolute(ratio - 1) > TERM_LEAST; n++) {
        const double a = n * (shape - n);

        b += 2;
        d = 1 / (a * d + b);
        c = b + a / c;
        ratio = c * d;
        fraction *= ratio;
    }
    return fraction;
}

static double gamma_cdf(double shape, double x)
{
    const double factor = pst_exp(shape * pst_ln(x) - x - ln_gamma(shape));

    return x < shape + 1 ? factor * gamma_below(shape, x) : 1 - factor * gamma_above(shape, x);
}

/* The law's scale, so that its mean is what it says: Weibull's. */
static double weibull_scale(const struct pst_law *law)
{
    return law->mean / pst_exp(ln_gamma(1 + 1 / law->shape));
}

static double cdf(const struct pst_law *law, double x)
{
    double scale;

    switch (law->kind) {
    case PST_LAW_EXP:
        return 1 - pst_exp(-x / law->mean);
    case PST_LAW_LOGNORMAL:
        return normal((pst_ln(x / law->mean) + law->spread * law->spread / 2) / law->spread);
    case PST_LAW_PARETO:
        scale = law->mean * (law->shape - 1) / law->shape;
        return x <= scale ? 0 : 1 - pst_pow(scale / x, law->shape);
    case PST_LAW_GAMMA:
        scale = 1 / (law->shape * law->shape);
        return gamma_cdf(scale, x * scale / law->mean);
    case PST_LAW_WEIBULL:
        return 1 - pst_exp(-pst_pow(x / weibull_scale(law), law->shape));
    case PST_LAW_CONST:
    case PST_LAW_UNIFORM:
    case PST_LAW_TOKENS:
    case PST_LAW_KIND_COUNT:
        break;
    }
    PST_ASSERT(!"a law that is fitted");
    return 0;
}

static double distance_to_law(const struct pst_law *law, const double *values, uint32_t count)
{
    double most = 0;

    for (uint32_t i = 0; i < count; i++) {
        const double f = cdf(law, values[i]);
        const double above = absolute((i + 1.0) / count - f),
                     below = absolute(f - (double)i / count);

        most = above > most ? above : most;
        most = below > most ? below : most;
    }
    return most;
}

/* ---- likelihood ---- */

struct sums {
    double n, mean, ln_mean, ln_square; /* of logarithms: mean, and mean of squared deviations */
};

static struct sums sum_up(const double *values, uint32_t count)
{
    struct sums s = {.n = count};

    for (uint32_t i = 0; i < count; i++) {
        s.mean += values[i] / s.n;
        s.ln_mean += pst_ln(values[i]) / s.n;
    }
    for (uint32_t i = 0; i < count; i++) {
        const double off = pst_ln(values[i]) - s.ln_mean;

        s.ln_square += off * off / s.n;
    }
    return s;
}

static void fit_lognormal(const struct sums *s, struct pst_fit *fit)
{
    const double v = s->ln_square;
    const double cv = pst_sqrt(pst_exp(v) - 1);

    fit->exists = v > ROUNDING && cv <= 100;
    if (!fit->exists)
        return;
    fit->law.mean = pst_exp(s->ln_mean + v / 2);
    fit->law.shape = cv;
    fit->law.spread = pst_sqrt(v);
    fit->mean_error = fit->law.mean * pst_sqrt(v / s->n + v * v / (2 * s->n));
    fit->shape_error = v * pst_exp(v) / cv / pst_sqrt(2 * s->n);
}

static void fit_pareto(const struct sums *s, double least, struct pst_fit *fit)
{
    const double sum = s->n * (s->ln_mean - pst_ln(least));
    const double alpha = sum > s->n * ROUNDING ? (s->n - 2) / sum : 0;

    fit->exists = alpha > ALPHA_LEAST;
    if (!fit->exists)
        return;
    fit->law.shape = alpha;
    fit->law.mean = least * alpha / (alpha - 1);
    fit->shape_error = alpha / pst_sqrt(s->n);
    fit->mean_error = least / ((alpha - 1) * (alpha - 1)) * fit->shape_error;
}

/* ln k - digamma(k) = gap, from a start within 1.5 %. */
static double gamma_shape(double gap)
{
    double k = (3 - gap + pst_sqrt((gap - 3) * (gap - 3) + 24 * gap)) / (12 * gap);

    for (int i = 0; i < NEWTON_STEPS; i++)
        k -= (pst_ln(k) - digamma(k) - gap) / (1 / k - trigamma(k));
    return k;
}

static void fit_gamma(const struct sums *s, struct pst_fit *fit)
{
    const double gap = pst_ln(s->mean) - s->ln_mean;
    double k;

    fit->exists = gap > ROUNDING;
    if (!fit->exists)
        return;
    k = gamma_shape(gap);
    fit->law.mean = s->mean;
    fit->law.shape = 1 / pst_sqrt(k);
    fit->mean_error = s->mean / pst_sqrt(k * s->n);
    fit->shape_error = pst_sqrt(k / (s->n * (k * trigamma(k) - 1))) / (2 * k * pst_sqrt(k));
    fit->exists = fit->law.shape <= 100;
}

void pst_fit_moments(const double *values, uint32_t count, struct pst_fit *ret_fit)
{
    struct pst_fit fit = {.law.kind = PST_LAW_GAMMA};
    double mean = 0, square = 0, k;

    *ret_fit = fit;
    if (count < PST_FIT_LEAST)
        return;
    for (uint32_t i = 0; i < count; i++)
        mean += values[i] / count;
    for (uint32_t i = 0; i < count; i++)
        square += (values[i] - mean) * (values[i] - mean) / count;
    fit.law.mean = mean;
    fit.law.shape = pst_sqrt(square) / mean;
    fit.exists = fit.law.shape > 0.01 && fit.law.shape <= 100;
    if (!fit.exists)
        return;
    k = 1 / (fit.law.shape * fit.law.shape);
    fit.mean_error = mean * fit.law.shape / pst_sqrt(count);
    fit.shape_error = pst_sqrt(2 * k * (k + 1) / count) / (2 * k * pst_sqrt(k));
    fit.distance = distance_to_law(&fit.law, values, count);
    *ret_fit = fit;
}

/* What is 0 at the likeliest shape, and rises with it; *ret_power: the mean of (x / mean)^k. */
static double weibull_slope(double k, const double *values, uint32_t count, const struct sums *s,
                            double *ret_power)
{
    double power = 0, weighted = 0;

    for (uint32_t i = 0; i < count; i++) {
        const double l = pst_ln(values[i] / s->mean);
        const double p = pst_exp(k * l);

        power += p;
        weighted += p * l;
    }
    *ret_power = power / s->n;
    return weighted / power - 1 / k - (s->ln_mean - pst_ln(s->mean));
}

static void fit_weibull(const double *values, uint32_t count, const struct sums *s,
                        struct pst_fit *fit)
{
    double low = SHAPE_LEAST, high = SHAPE_MOST, power = 1;

    for (int i = 0; i < STEPS; i++) {
        const double middle = (low + high) / 2;

        if (weibull_slope(middle, values, count, s, &power) > 0)
            high = middle;
        else
            low = middle;
    }
    fit->exists = low > SHAPE_LEAST && high < SHAPE_MOST;
    fit->law.shape = low;
    fit->law.mean = s->mean * pst_pow(power, 1 / low) * pst_exp(ln_gamma(1 + 1 / low));
    fit->shape_error = 0.7797 * low / pst_sqrt(s->n);
    fit->mean_error = 1.0530 * fit->law.mean / low / pst_sqrt(s->n);
}

void pst_fit_law(enum pst_law_kind kind, const double *values, uint32_t count,
                 struct pst_fit *ret_fit)
{
    struct pst_fit fit = {.law.kind = kind};
    struct sums s;

    *ret_fit = fit;
    if (count < PST_FIT_LEAST)
        return;
    PST_ASSERT(values[0] > 0);
    s = sum_up(values, count);
    switch (kind) {
    case PST_LAW_EXP:
        fit.exists = true;
        fit.law.mean = s.mean;
        fit.mean_error = s.mean / pst_sqrt(s.n);
        break;
    case PST_LAW_LOGNORMAL:
        fit_lognormal(&s, &fit);
        break;
    case PST_LAW_PARETO:
        fit_pareto(&s, values[0], &fit);
        break;
    case PST_LAW_GAMMA:
        fit_gamma(&s, &fit);
        break;
    case PST_LAW_WEIBULL:
        fit_weibull(values, count, &s, &fit);
        break;
    case PST_LAW_CONST:
    case PST_LAW_UNIFORM:
    case PST_LAW_TOKENS:
    case PST_LAW_KIND_COUNT:
        PST_ASSERT(!"a law that is fitted");
    }
    if (fit.exists)
        fit.distance = distance_to_law(&fit.law, values, count);
    *ret_fit = fit;
}

bool pst_fit_best(const struct pst_fit fits[PST_LAW_KIND_COUNT], uint32_t count,
                  enum pst_law_kind *ret_kind)
{
    static const enum pst_law_kind simplest_first[] = {PST_LAW_EXP,    PST_LAW_LOGNORMAL,
                                                       PST_LAW_GAMMA,  PST_LAW_WEIBULL,
                                                       PST_LAW_PARETO, PST_LAW_TOKENS};
    double least = 2;
    const double chance = CHANCE / pst_sqrt(count > 0 ? count : 1);

    for (uint32_t k = 0; k < PST_LAW_KIND_COUNT; k++)
        if (fits[k].exists && fits[k].distance < least)
            least = fits[k].distance;
    if (least > 1)
        return false;
    if (fits[PST_LAW_EXP].exists && fits[PST_LAW_EXP].distance <= least + chance)
        least = fits[PST_LAW_EXP].distance;
    for (uint32_t i = 0; i < PST_COUNT_OF(simplest_first); i++) {
        const struct pst_fit *fit = &fits[simplest_first[i]];

        if (fit->exists && fit->distance <= least) {
            *ret_kind = simplest_first[i];
            return true;
        }
    }
    return false;
}
