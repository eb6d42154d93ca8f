#include "model/law.h"

#include <string.h>

#include "core/num.h"

#define INFINITE       __builtin_inf()
#define HALF_LN_TWO_PI 0.918938533204672741780329736406

struct reader {
    const char *at, *end;
    enum pst_law_unit unit;
    const char *why;
};

static const struct {
    const char *name;
    enum pst_law_kind kind;
} names[] = {
    {"const", PST_LAW_CONST},   {"uniform", PST_LAW_UNIFORM}, {"exp", PST_LAW_EXP},
    {"poisson", PST_LAW_EXP},   {"gamma", PST_LAW_GAMMA},     {"lognormal", PST_LAW_LOGNORMAL},
    {"pareto", PST_LAW_PARETO}, {"tokens", PST_LAW_TOKENS},   {"weibull", PST_LAW_WEIBULL},
};

static const struct {
    const char *name;
    double ns;
} units[] = {
    {"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9},
};

static bool read_digits(struct reader *r, double *value, double *place)
{
    const char *start = r->at;

    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        *value = *value * 10.0 + (double)(*r->at - '0');
        *place *= 10.0;
    }
    return r->at > start && r->at - start <= 18;
}

/* Digits with one optional fraction. No sign, no exponent: none is needed, and none can be misread. */
static bool read_number(struct reader *r, double *ret_value)
{
    double value = 0.0, place = 1.0;

    if (!read_digits(r, &value, &place)) {
        r->why = "a number is missing or too long";
        return false;
    }
    if (r->at < r->end && *r->at == '.') {
        r->at++;
        place = 1.0;
        if (!read_digits(r, &value, &place)) {
            r->why = "digits must follow the decimal point";
            return false;
        }
        value /= place;
    }
    *ret_value = value;
    return true;
}

static bool read_value(struct reader *r, double *ret_value)
{
    double value;
    size_t len = 0;

    if (!read_number(r, &value))
        return false;
    while (r->at + len < r->end && r->at[len] != ':')
        len++;
    if (r->unit == PST_LAW_NUMBER) {
        r->why = "a count has no unit";
        *ret_value = value;
        return len == 0;
    }
    for (size_t i = 0; i < PST_COUNT_OF(units); i++) {
        if (strlen(units[i].name) == len && memcmp(units[i].name, r->at, len) == 0) {
            r->at += len;
            *ret_value = value * units[i].ns;
            return true;
        }
    }
    r->why = "a duration needs a unit: ns, us, ms, s, m or h";
    return false;
}

static bool read_colon(struct reader *r)
{
    r->why = "a parameter is missing";
    if (r->at == r->end || *r->at != ':')
        return false;
    r->at++;
    return true;
}

static bool read_two(struct reader *r, bool first_is_value, double *ret_first, double *ret_second)
{
    return (first_is_value ? read_value(r, ret_first) : read_number(r, ret_first)) &&
           read_colon(r) && read_value(r, ret_second);
}

static bool read_parameters(struct reader *r, struct pst_law *law)
{
    double low, high;

    switch (law->kind) {
    case PST_LAW_CONST:
    case PST_LAW_EXP:
        return read_value(r, &law->mean);
    case PST_LAW_UNIFORM:
        if (!read_two(r, true, &low, &high))
            return false;
        r->why = "the second bound is below the first";
        law->mean = (low + high) / 2.0;
        law->shape = (high - low) / 2.0;
        return high >= low;
    case PST_LAW_GAMMA:
    case PST_LAW_LOGNORMAL:
        if (!read_two(r, false, &law->shape, &law->mean))
            return false;
        r->why = "the coefficient of variation must be above 0 and at most 100";
        law->spread = pst_sqrt(pst_ln(1.0 + law->shape * law->shape));
        return law->shape > 0.0 && law->shape <= 100.0;
    case PST_LAW_WEIBULL:
        if (!read_two(r, false, &law->shape, &law->mean))
            return false;
        r->why = "the shape must be from 0.1 to 100";
        return law->shape >= 0.1 && law->shape <= 100.0;
    case PST_LAW_PARETO:
        if (!read_two(r, false, &law->shape, &law->mean))
            return false;
        r->why = "alpha must be above 1, or there is no mean";
        return law->shape > 1.0;
    case PST_LAW_TOKENS:
        return read_two(r, true, &law->mean, &law->per_prompt) && read_colon(r) &&
               read_value(r, &law->per_output);
    case PST_LAW_KIND_COUNT:
        break;
    }
    PST_ASSERT(false);
    return false;
}

static bool read_kind(struct reader *r, struct pst_law *law)
{
    const char *colon = memchr(r->at, ':', (size_t)(r->end - r->at));

    if (r->at < r->end && *r->at >= '0' && *r->at <= '9') {
        law->kind = PST_LAW_CONST;
        return true;
    }
    r->why = "not a law: const, uniform, exp, gamma, weibull, lognormal, pareto or tokens";
    if (colon == NULL)
        return false;
    for (size_t i = 0; i < PST_COUNT_OF(names); i++) {
        size_t len = strlen(names[i].name);

        if ((size_t)(colon - r->at) == len && memcmp(names[i].name, r->at, len) == 0) {
            law->kind = names[i].kind;
            r->at = colon + 1;
            return true;
        }
    }
    return false;
}

int pst_law_read(const char *text, size_t len, enum pst_law_unit unit, struct pst_law *ret_law,
                 const char **ret_why)
{
    struct reader r = {.at = text, .end = text + len, .unit = unit};
    struct pst_law law = {0};

    if (!read_kind(&r, &law) || !read_parameters(&r, &law)) {
        *ret_why = r.why;
        return PST_E_SYNTAX;
    }
    if (r.at != r.end) {
        *ret_why = "there is text behind the last parameter";
        return PST_E_SYNTAX;
    }
    *ret_law = law;
    return PST_OK;
}

/* In (0, 1]: a logarithm of it is finite. */
static double unit_above_zero(struct pst_prng *prng)
{
    return 1.0 - pst_prng_unit(prng);
}

/* Ratio of uniforms: two quadratic forms enclose the region so closely that a logarithm is rare. */
double pst_law_normal(struct pst_prng *prng)
{
    for (;;) {
        double u = unit_above_zero(prng);
        double v = 1.7156 * (pst_prng_unit(prng) - 0.5);
        double x = u - 0.449871;
        double y = (v < 0.0 ? -v : v) + 0.386595;
        double q = x * x + y * (0.19600 * y - 0.25472 * x);

        if (q < 0.27597)
            return v / u;
        if (q <= 0.27846 && v * v <= -4.0 * pst_ln(u) * u * u)
            return v / u;
    }
}

/* Gamma with that shape and scale 1. Below shape 1 by the boost: gamma(k + 1) x U^(1/k). */
static double draw_gamma(double shape, struct pst_prng *prng)
{
    double boost = 1.0, d, c;

    if (shape < 1.0) {
        boost = pst_pow(unit_above_zero(prng), 1.0 / shape);
        shape += 1.0;
    }
    d = shape - 1.0 / 3.0;
    c = 1.0 / pst_sqrt(9.0 * d);
    for (;;) {
        double x = pst_law_normal(prng);
        double v = 1.0 + c * x;

        if (v <= 0.0)
            continue;
        v = v * v * v;
        if (pst_ln(unit_above_zero(prng)) < 0.5 * x * x + d - d * v + d * pst_ln(v))
            return boost * d * v;
    }
}

/* The logarithm of the gamma function, for x >= 1: by its series, far enough from 0. */
static double ln_gamma(double x)
{
    double below = 1.0; /* the factors by which x was raised */

    while (x < 10.0) {
        below *= x;
        x += 1.0;
    }
    return (x - 0.5) * pst_ln(x) - x + HALF_LN_TWO_PI + 1.0 / (12.0 * x) -
           1.0 / (360.0 * x * x * x) + 1.0 / (1260.0 * x * x * x * x * x) - pst_ln(below);
}

/* What the mean is of a Weibull law with scale 1; its n-th moment takes n / shape. */
static double weibull_moment(double n, double shape)
{
    return pst_exp(ln_gamma(1.0 + n / shape));
}

static double draw_lognormal(const struct pst_law *law, struct pst_prng *prng)
{
    PST_ASSERT(law->spread > 0.0);
    return law->mean * pst_exp(law->spread * (pst_law_normal(prng) - law->spread / 2.0));
}

static double draw(const struct pst_law *law, struct pst_prng *prng, double prompt, double output)
{
    double shape;

    switch (law->kind) {
    case PST_LAW_CONST:
        return law->mean;
    case PST_LAW_UNIFORM:
        return law->mean + law->shape * (2.0 * pst_prng_unit(prng) - 1.0);
    case PST_LAW_EXP:
        return -law->mean * pst_ln(unit_above_zero(prng));
    case PST_LAW_GAMMA:
        shape = 1.0 / (law->shape * law->shape);
        return law->mean / shape * draw_gamma(shape, prng);
    case PST_LAW_WEIBULL:
        return law->mean / weibull_moment(1.0, law->shape) *
               pst_pow(-pst_ln(unit_above_zero(prng)), 1.0 / law->shape);
    case PST_LAW_LOGNORMAL:
        return draw_lognormal(law, prng);
    case PST_LAW_PARETO:
        return law->mean * (law->shape - 1.0) / law->shape *
               pst_pow(unit_above_zero(prng), -1.0 / law->shape);
    case PST_LAW_TOKENS:
        return law->mean + law->per_prompt * prompt + law->per_output * output;
    case PST_LAW_KIND_COUNT:
        break;
    }
    PST_ASSERT(false);
    return 0.0;
}

uint64_t pst_law_draw(const struct pst_law *law, struct pst_prng *prng, uint32_t prompt_tokens,
                      uint32_t output_tokens)
{
    /* To the nearest integer: cutting would take half a token off every mean. */
    return pst_to_u64(draw(law, prng, prompt_tokens, output_tokens) + 0.5);
}

double pst_law_mean(const struct pst_law *law)
{
    return law->mean;
}

double pst_law_cv(const struct pst_law *law)
{
    double mean;

    switch (law->kind) {
    case PST_LAW_CONST:
    case PST_LAW_TOKENS:
        return 0.0;
    case PST_LAW_UNIFORM:
        return law->mean > 0.0 ? law->shape / law->mean / pst_sqrt(3.0) : 0.0;
    case PST_LAW_EXP:
        return 1.0;
    case PST_LAW_GAMMA:
    case PST_LAW_LOGNORMAL:
        return law->shape;
    case PST_LAW_WEIBULL:
        mean = weibull_moment(1.0, law->shape);
        return pst_sqrt(weibull_moment(2.0, law->shape) / (mean * mean) - 1.0);
    case PST_LAW_PARETO:
        return law->shape > 2.0 ? 1.0 / pst_sqrt(law->shape * (law->shape - 2.0)) : INFINITE;
    case PST_LAW_KIND_COUNT:
        break;
    }
    PST_ASSERT(false);
    return 0.0;
}

struct pst_law pst_law_scaled(const struct pst_law *law, double factor)
{
    struct pst_law scaled = *law;

    PST_ASSERT(factor > 0.0);
    scaled.mean *= factor;
    scaled.per_prompt *= factor;
    scaled.per_output *= factor;
    if (law->kind == PST_LAW_UNIFORM)
        scaled.shape *= factor;
    return scaled;
}
