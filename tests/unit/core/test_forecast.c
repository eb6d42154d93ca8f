/* test_forecast.c - seasons open on evidence and close on misses; models say what they promise. */
#include "harness.h"

#include "core/forecast.h"
#include "core/forecast_ar.h"

#define STEP    (10 * PST_S)
#define HOUR    360 /* steps */
#define STEP_S  10.0
#define HOUR_S  3600.0
#define BASE    37.0
#define ADDED   80.0
#define LEAD    10
#define HOURS   200
#define NO_SAID (-1.0)

/* ------------------------------------------------------------------------- an hour with a burst */

enum when { IN_PHASE, AT_RANDOM, ABSENT };

struct world {
    struct pst_prng prng;
    struct pst_forecast *forecast;
    double said[LEAD + 1]; /* ring: what the path said of the steps to come */
    uint64_t step;
    double noise;
};

/* What a hour came to: the burst's beginning, and what was said beside it. */
struct hour {
    bool said_start;    /* when it began, most of it had been said */
    uint32_t steps_out; /* said, and no burst was there */
    bool opened;
};

static double between(struct world *w, double low, double high)
{
    return low + (high - low) * pst_prng_unit(&w->prng);
}

/* The sum of twelve uniforms: nearly normal, mean 0, deviation 1. */
static double normal(struct world *w)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += pst_prng_unit(&w->prng);
    return sum;
}

static void begin(struct world *w, uint64_t seed, double noise)
{
    memset(w, 0, sizeof *w);
    w->noise = noise;
    for (int i = 0; i <= LEAD; i++)
        w->said[i] = NO_SAID;
    pst_assert_hook = harness_assert_hook;
    pst_prng_init(&w->prng, seed);
    assert_int_equal(pst_forecast_new(STEP, &w->forecast), PST_OK);
    pst_forecast_lead(w->forecast, LEAD);
}

static void end(struct world *w)
{
    pst_forecast_free(w->forecast);
}

/* The part of [from, to) that lies in the step. */
static double overlap(double from, double to, double step_from)
{
    const double low = from > step_from ? from : step_from;
    const double high = to < step_from + STEP_S ? to : step_from + STEP_S;

    return high > low ? high - low : 0;
}

static void step(struct world *w, double rate)
{
    double path[LEAD];
    const bool speaks =
        (pst_forecast_add(w->forecast, rate), pst_forecast_path(w->forecast, LEAD, path));

    w->said[(w->step + LEAD) % (LEAD + 1)] = speaks ? path[LEAD - 1] : NO_SAID;
    w->step++;
}

static struct hour play_hour(struct world *w, enum when when, double jitter_s)
{
    const double start =
        when == IN_PHASE ? 600 + between(w, 0, jitter_s) : between(w, 0, HOUR_S - 160);
    const double stop = start + between(w, 90, 150);
    struct hour hour = {0};

    for (int i = 0; i < HOUR; i++) {
        const double part = when == ABSENT ? 0 : overlap(start, stop, i * STEP_S) / STEP_S;
        const double rate = BASE + w->noise * normal(w) + ADDED * part;
        const double said = w->said[w->step % (LEAD + 1)];

        if (part > 0 && i * STEP_S <= start)
            hour.said_start = said >= BASE + 0.7 * ADDED * part;
        if (part == 0 && said > BASE + 0.3 * ADDED)
            hour.steps_out++;
        step(w, rate > 0 ? rate : 0);
    }
    hour.opened = pst_forecast_is_open(w->forecast, PST_FORECAST_HOUR);
    return hour;
}

static void a_burst_in_phase_opens_its_hour_before_the_third(void **state)
{
    static const struct {
        const char *name;
        double jitter_s, noise;
        uint32_t late_max;     /* of HOURS: starts not foreseen */
        uint32_t out_per_hour; /* steps said in vain, on average */
    } rows[] = {
        {"no jitter, no noise", 0, 0, 0, 7},
        {"20 s of jitter", 20, 0.8, 2, 8},
        {"20 s of jitter, much noise", 20, 6, 2, 8},
        {"30 s of jitter", 30, 0.8, 4, 10},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct world w;
            uint32_t late = 0, out = 0;

            begin(&w, seed, rows[i].noise);
            for (int h = 0; h < HOURS; h++) {
                const struct hour hour = play_hour(&w, IN_PHASE, rows[i].jitter_s);

                late += h >= 2 && !hour.said_start;
                out += hour.steps_out;
                if (hour.opened != (h >= 1))
                    fail_msg("%s, seed %d: hour %d: open %d", rows[i].name, (int)seed, h,
                             hour.opened);
            }
            if (late > rows[i].late_max || out > rows[i].out_per_hour * HOURS)
                fail_msg("%s, seed %d: %u late, %u out", rows[i].name, (int)seed, late, out);
            end(&w);
        }
}

static void bursts_at_random_open_nothing(void **state)
{
    uint32_t open = 0, out = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct world w;

        begin(&w, seed, 0.8);
        for (int h = 0; h < HOURS; h++) {
            const struct hour hour = play_hour(&w, AT_RANDOM, 0);

            open += hour.opened;
            out += hour.steps_out;
        }
        end(&w);
    }
    if (open > 6 || out > 6 * HOURS)
        fail_msg("open in %u hours of %d, %u steps out", open, 6 * HOURS, out);
}

/* c: a burst comes, x: it does not, r: at random; upper case: the hour is open afterwards. */
static void two_misses_close_what_two_bursts_opened(void **state)
{
    static const struct {
        const char *name, *script;
    } rows[] = {
        {"two open it", "cCCC"},
        {"one miss is forgiven", "cCXCCXC"},
        {"two misses close it", "cCCXxxxx"},
        {"two in a row count, not two in all", "cCXCXCXx"},
        {"after that one in phase is not enough", "cCCCCXxccC"},
        {"one at random between is a miss", "cCRCC"},
        {"what never came again says nothing", "cxxxxxxx"},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct world w;

        begin(&w, 11, 0.8);
        for (const char *at = rows[i].script; *at != '\0'; at++) {
            const bool want = *at < 'a';
            const char kind = want ? (char)(*at - 'A' + 'a') : *at;
            const struct hour hour = play_hour(&w,
                                               kind == 'c'   ? IN_PHASE
                                               : kind == 'x' ? ABSENT
                                                             : AT_RANDOM,
                                               20);

            if (hour.opened != want)
                fail_msg("%s: hour %d of %s: open %d", rows[i].name, (int)(at - rows[i].script),
                         rows[i].script, hour.opened);
        }
        end(&w);
    }
}

/* When the bursts end for good, what is said of them ends with the second that did not come. */
static void a_burst_that_stopped_is_not_said_any_more(void **state)
{
    struct world w;
    uint32_t out = 0;

    (void)state;
    begin(&w, 3, 0.8);
    for (int h = 0; h < 12; h++)
        play_hour(&w, IN_PHASE, 20);
    assert_true(play_hour(&w, ABSENT, 0).steps_out > 0);
    assert_true(play_hour(&w, ABSENT, 0).steps_out > 0);
    for (int h = 0; h < 20; h++)
        out += play_hour(&w, ABSENT, 0).steps_out;
    assert_int_equal(out, 0);
    end(&w);
}

/* A burst that comes with a gap over it is neither seen nor missed. */
static void a_gap_is_unknown_and_not_a_miss(void **state)
{
    struct world w;

    (void)state;
    begin(&w, 5, 0.8);
    for (int h = 0; h < 4; h++)
        play_hour(&w, IN_PHASE, 20);
    for (int i = 0; i < 2 * HOUR; i++)
        pst_forecast_gap(w.forecast);
    w.step += 2 * (uint64_t)HOUR;
    assert_true(pst_forecast_is_open(w.forecast, PST_FORECAST_HOUR));
    assert_true(play_hour(&w, IN_PHASE, 20).opened);
    end(&w);
}

/* ------------------------------------------------------------------------------ one model each */

static struct pst_forecast *series(pst_ns length, const char *text)
{
    struct pst_forecast *forecast;

    assert_int_equal(pst_forecast_new(length, &forecast), PST_OK);
    for (; *text != '\0'; text++) {
        if (*text == '-')
            pst_forecast_gap(forecast);
        else
            pst_forecast_add(forecast, *text - '0');
    }
    return forecast;
}

/* Steps of 20 minutes, three an hour; digits are rates, - a gap. What is said of four steps. */
static void models_say_what_they_saw(void **state)
{
    static const struct {
        const char *name;
        enum pst_forecast_model model;
        const char *seen, *said; /* "": nothing */
    } rows[] = {
        {"nothing was seen", PST_FORECAST_PERSISTENCE, "", ""},
        {"the last step", PST_FORECAST_PERSISTENCE, "731", "1111"},
        {"the last that is known", PST_FORECAST_PERSISTENCE, "73--", "3333"},
        {"not older than an hour", PST_FORECAST_PERSISTENCE, "73---", ""},
        {"the hour's largest", PST_FORECAST_HOUR_MAX, "9172", "7777"},
        {"it leaves after an hour", PST_FORECAST_HOUR_MAX, "91723", "7777"},
        {"and then the next", PST_FORECAST_HOUR_MAX, "917231", "3333"},
        {"gaps are not zero", PST_FORECAST_HOUR_MAX, "92--", "2222"},
        {"of gaps alone nothing", PST_FORECAST_HOUR_MAX, "9---", ""},
        {"an hour ago", PST_FORECAST_HOUR, "123", "1231"},
        {"the larger of two hours", PST_FORECAST_HOUR, "143325", "3453"},
        {"not of the third", PST_FORECAST_HOUR, "999143325", "3453"},
        {"a hole has the other hour's", PST_FORECAST_HOUR, "1433-5", "3453"},
        {"or the step before", PST_FORECAST_HOUR, "1-5", "1151"},
        {"the first has the one behind", PST_FORECAST_HOUR, "-35", "3355"},
        {"too little was seen", PST_FORECAST_HOUR, "--5", ""},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_forecast *forecast = series(1200 * PST_S, rows[i].seen);
        double rates[4];
        char said[5] = "";

        if (pst_forecast_says(forecast, rows[i].model, 4, rates))
            for (int h = 0; h < 4; h++)
                said[h] = (char)('0' + (int)rates[h]);
        if (strcmp(said, rows[i].said) != 0)
            fail_msg("%s: '%s' said '%s', want '%s'", rows[i].name, rows[i].seen, said,
                     rows[i].said);
        pst_forecast_free(forecast);
    }
}

static void autoregression_finds_the_weights(void **state)
{
    static const struct {
        const char *name;
        double constant, weight[2], noise, tolerance;
    } rows[] = {
        {"a law of the first order", 20, {0.8, 0}, 1, 0.05},
        {"of the second, with a swing", 40, {1.2, -0.6}, 1, 0.05},
        {"little memory", 70, {0.3, 0}, 4, 0.05},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct world w;
        struct pst_series seen;
        struct pst_ar ar;
        double x = 100, before = 100;

        begin(&w, 7, rows[i].noise);
        assert_int_equal(pst_series_init(&seen, HOUR), PST_OK);
        pst_ar_init(&ar, HOUR);
        for (int n = 0; n < 40000; n++) {
            const double next = rows[i].constant + rows[i].weight[0] * x +
                                rows[i].weight[1] * before + w.noise * normal(&w);

            before = x;
            x = next > 0 ? next : 0;
            pst_series_push(&seen, x);
            pst_ar_add(&ar, &seen);
        }
        pst_ar_solve(&ar);
        assert_true(ar.is_solved);
        for (int k = 0; k < PST_AR_ORDER; k++) {
            const double error = ar.weight[k] - (k < 2 ? rows[i].weight[k] : 0);

            if (error > rows[i].tolerance || error < -rows[i].tolerance)
                fail_msg("%s: weight %d is %f", rows[i].name, k, ar.weight[k]);
        }
        pst_series_done(&seen);
        end(&w);
    }
}

static void constants_and_zeros_have_an_answer(void **state)
{
    static const double levels[] = {0, 1e-3, 37, 1e9, 1e15};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(levels); i++) {
        struct world w;
        double rates[LEAD];

        begin(&w, 1, 0);
        for (int n = 0; n < 2 * HOUR; n++)
            step(&w, levels[i]);
        for (int model = 0; model < PST_FORECAST_MODEL_COUNT; model++) {
            if (!pst_forecast_says(w.forecast, (enum pst_forecast_model)model, LEAD, rates))
                continue;
            for (int h = 0; h < LEAD; h++)
                assert_true(rates[h] >= 0.999 * levels[i] && rates[h] <= 1.001 * levels[i]);
            if (model != PST_FORECAST_PERSISTENCE) /* as good as persistence is not better */
                assert_false(pst_forecast_is_open(w.forecast, (enum pst_forecast_model)model));
        }
        end(&w);
    }
}

/* ------------------------------------------------------------------------------ days and weeks */

#define DAY 144 /* steps of 600 s */

/* Rises and falls by a factor of 4, in straight lines, so that no libm is wanted. */
static double day_rate(uint64_t step, bool weekend)
{
    const double hour = (double)(step % DAY) / 6;
    const double rise = hour < 6 ? 0 : hour < 12 ? (hour - 6) / 6 : hour < 18 ? 1 : (24 - hour) / 6;

    return (100 + 300 * rise) * (weekend ? 0.5 : 1);
}

static double square(double x)
{
    return x * x;
}

static void a_day_that_repeats_opens_the_day_and_no_hour(void **state)
{
    struct world w;
    double rates[6], persistence[6], off = 0, off_persistence = 0;

    (void)state;
    begin(&w, 4, 0);
    pst_forecast_free(w.forecast);
    assert_int_equal(pst_forecast_new(600 * PST_S, &w.forecast), PST_OK);
    pst_forecast_lead(w.forecast, 6);
    for (uint64_t n = 0; n < 7 * DAY; n++) {
        pst_forecast_add(w.forecast, day_rate(n, false) * (1 + 0.03 * normal(&w)));
        if (n < 4 * DAY)
            continue;
        assert_true(pst_forecast_is_open(w.forecast, PST_FORECAST_DAY));
        assert_false(pst_forecast_is_open(w.forecast, PST_FORECAST_HOUR));
        assert_true(pst_forecast_says(w.forecast, PST_FORECAST_DAY, 6, rates));
        assert_true(pst_forecast_says(w.forecast, PST_FORECAST_PERSISTENCE, 6, persistence));
        off += square(rates[5] / day_rate(n + 6, false) - 1);
        off_persistence += square(persistence[5] / day_rate(n + 6, false) - 1);
    }
    assert_true(off < off_persistence / 4);
    end(&w);
}

/* A job of ten minutes a night, and one that ran once in the first. */
static void a_nightly_job_is_said_for_the_third_night(void **state)
{
    enum { NIGHT = 3 * HOUR, LASTS = HOUR / 6, ONCE = 5 * HOUR };
    struct world w;
    double path[1];

    (void)state;
    begin(&w, 9, 1);
    for (int day = 0; day < 4; day++) {
        for (int i = 0; i < 24 * HOUR; i++) {
            const bool on =
                (i >= NIGHT && i < NIGHT + LASTS) || (day == 0 && i >= ONCE && i < ONCE + LASTS);
            const bool speaks = pst_forecast_path(w.forecast, 1, path);

            if (day >= 2 && on)
                assert_true(speaks && path[0] > BASE + 0.7 * ADDED);
            if (day >= 2 && speaks && (i < NIGHT - 2 || i > NIGHT + LASTS + 1))
                assert_true(path[0] < BASE + 0.2 * ADDED);
            step(&w, BASE + w.noise * normal(&w) + (on ? ADDED : 0));
        }
        assert_int_equal(pst_forecast_is_open(w.forecast, PST_FORECAST_DAY), day >= 1);
        assert_false(pst_forecast_is_open(w.forecast, PST_FORECAST_HOUR));
    }
    end(&w);
}

static void a_week_knows_its_weekend(void **state)
{
    struct world w;
    double day[1], week[1];

    (void)state;
    begin(&w, 4, 0);
    pst_forecast_free(w.forecast);
    assert_int_equal(pst_forecast_new(600 * PST_S, &w.forecast), PST_OK);
    for (uint64_t n = 0; n < 19 * DAY + DAY / 2; n++) /* to Saturday noon of the third week */
        pst_forecast_add(w.forecast, day_rate(n, n / DAY % 7 >= 5));
    assert_true(pst_forecast_says(w.forecast, PST_FORECAST_DAY, 1, day));
    assert_true(pst_forecast_says(w.forecast, PST_FORECAST_WEEK, 1, week));
    assert_true(day[0] > 390 && week[0] < 210);
    end(&w);
}

/* ---------------------------------------------------------------------------------- the promise */

static void no_number_is_too_wild(void **state)
{
    static const double wild[] = {-1, -1e300, 1e300, 1e-320, __builtin_inf(), __builtin_nan("")};
    struct world w;
    double path[LEAD];

    (void)state;
    begin(&w, 2, 0.8);
    for (int n = 0; n < 110 * HOUR; n++) {
        const double rate = n % 7 == 3 && n < HOUR ? wild[n / 7 % 6] : BASE + normal(&w);

        pst_forecast_add(w.forecast, rate);
        if (!pst_forecast_path(w.forecast, LEAD, path))
            continue;
        for (int h = 0; h < LEAD; h++)
            assert_true(path[h] >= 0 && path[h] <= 1e16);
    }
    assert_true(pst_forecast_margin(w.forecast) > 0.5 && pst_forecast_margin(w.forecast) < 2);
    end(&w);
}

static uint64_t digest(uint64_t seed)
{
    struct world w;
    uint64_t digest = UINT64_C(0xcbf29ce484222325);

    begin(&w, seed, 2);
    for (int n = 0; n < 40 * HOUR; n++) {
        double path[64];
        uint64_t bits[64];

        if (n % 97 == 5)
            pst_forecast_gap(w.forecast);
        else
            pst_forecast_add(w.forecast, BASE + w.noise * normal(&w));
        if (n % 1000 == 0)
            pst_forecast_lead(w.forecast, 1 + (uint32_t)n / 1000 * 7);
        if (!pst_forecast_path(w.forecast, 64, path))
            continue;
        memcpy(bits, path, sizeof bits);
        for (int h = 0; h < 64; h++)
            digest = (digest ^ bits[h]) * UINT64_C(0x100000001b3);
    }
    end(&w);
    return digest;
}

static void the_same_series_is_told_the_same(void **state)
{
    (void)state;
    assert_true(digest(1) == digest(1));
    assert_true(digest(1) != digest(2));
}

static void steps_divide_an_hour(void **state)
{
    static const struct {
        pst_ns step;
        int want;
    } rows[] = {
        {0, PST_E_INVALID},         {PST_S - 1, PST_E_INVALID},    {PST_S, PST_OK},
        {7 * PST_S, PST_E_INVALID}, {10 * PST_S, PST_OK},          {600 * PST_S, PST_OK},
        {3600 * PST_S, PST_OK},     {3601 * PST_S, PST_E_INVALID}, {7200 * PST_S, PST_E_INVALID},
        {PST_NEVER, PST_E_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_forecast *forecast = NULL;

        assert_int_equal(pst_forecast_new(rows[i].step, &forecast), rows[i].want);
        pst_forecast_free(forecast);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_in_phase_opens_its_hour_before_the_third),
        cmocka_unit_test(bursts_at_random_open_nothing),
        cmocka_unit_test(two_misses_close_what_two_bursts_opened),
        cmocka_unit_test(a_burst_that_stopped_is_not_said_any_more),
        cmocka_unit_test(a_gap_is_unknown_and_not_a_miss),
        cmocka_unit_test(models_say_what_they_saw),
        cmocka_unit_test(autoregression_finds_the_weights),
        cmocka_unit_test(constants_and_zeros_have_an_answer),
        cmocka_unit_test(a_day_that_repeats_opens_the_day_and_no_hour),
        cmocka_unit_test(a_nightly_job_is_said_for_the_third_night),
        cmocka_unit_test(a_week_knows_its_weekend),
        cmocka_unit_test(no_number_is_too_wild),
        cmocka_unit_test(the_same_series_is_told_the_same),
        cmocka_unit_test(steps_divide_an_hour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
