/* Who comes: the rate and the form of every kind of stream, and what is common to all policies. */
#include <math.h>

#include "core/num.h"
#include "scene.h"
#include "sim/arrivals.h"

#define HOUR (3600 * PST_S)

struct seen {
    uint64_t count;
    double gap_mean, gap_cv; /* s */
    uint64_t per_class[PST_CLASSES_MAX];
    double prompt_mean, output_mean, service_mean;
    pst_ns first, last;
};

static struct seen watch(const struct pst_scenario *scenario, uint64_t seed, pst_ns past)
{
    struct pst_arrivals *arrivals;
    struct pst_arrival who;
    struct seen seen = {0};
    double sum = 0, squares = 0;

    assert_int_equal(pst_arrivals_new(scenario, seed, past, &arrivals), PST_OK);
    while (pst_arrivals_due(arrivals) != PST_NEVER) {
        pst_ns at = pst_arrivals_due(arrivals);

        pst_arrivals_take(arrivals, &who);
        assert_true(who.at == at && at >= seen.last);
        if (seen.count == 0) {
            seen.first = at;
        } else {
            double gap = (double)(at - seen.last) / 1e9;

            sum += gap;
            squares += gap * gap;
        }
        seen.last = at;
        seen.count++;
        seen.per_class[who.class_]++;
        seen.prompt_mean += who.prompt_tokens;
        seen.output_mean += who.output_tokens;
        seen.service_mean += (double)who.service / 1e9;
    }
    pst_arrivals_free(arrivals);
    if (seen.count > 1) {
        double n = (double)seen.count - 1;

        seen.gap_mean = sum / n;
        seen.gap_cv = pst_sqrt(squares / n - sum / n * (sum / n)) / seen.gap_mean;
        seen.prompt_mean /= (double)seen.count;
        seen.output_mean /= (double)seen.count;
        seen.service_mean /= (double)seen.count;
    }
    return seen;
}

static bool is_near(double value, double wanted, double share)
{
    return fabs(value - wanted) <= share * wanted;
}

/* Only the form of the law of gaps counts; the rate is the stream's. */
static const struct {
    const char *gaps;
    double per_s, cv;
} renewal[] = {
    {"exp:1", 50, 1},
    {"const:7", 50, 0},
    {"gamma:2:1", 50, 2},
    {"gamma:0.5:3", 50, .5},
    {"weibull:0.7:1", 50, 1.462},
    {"lognormal:1.5:1", 50, 1.5},
    {"uniform:0:2", 50, .57735},
};

static void gaps_have_the_rate_and_the_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(renewal); i++) {
        struct scene scene;
        struct seen seen;

        scene_init(&scene, 2 * HOUR);
        scene_stream(&scene, 0, renewal[i].per_s, "1s")->gaps =
            scene_law(renewal[i].gaps, PST_LAW_NUMBER);
        seen = watch(&scene.scenario, 5, 0);
        if (!is_near(seen.gap_mean, 1 / renewal[i].per_s, 0.02) ||
            fabs(seen.gap_cv - renewal[i].cv) > 0.03 * renewal[i].cv + 1e-6)
            fail_msg("%s: gap %g, cv %g", renewal[i].gaps, seen.gap_mean, seen.gap_cv);
    }
}

static uint64_t count_between(const struct pst_scenario *scenario, pst_ns from, pst_ns until,
                              pst_ns past)
{
    struct pst_arrivals *arrivals;
    struct pst_arrival who;
    uint64_t count = 0;

    assert_int_equal(pst_arrivals_new(scenario, 5, past, &arrivals), PST_OK);
    while (pst_arrivals_due(arrivals) < until) {
        pst_arrivals_take(arrivals, &who);
        count += who.at >= from;
    }
    pst_arrivals_free(arrivals);
    return count;
}

/* The sum of constant part and pieces, in each span by itself. */
static void pieces_change_the_rate(void **state)
{
    static const struct pst_rate_piece pieces[] = {
        {0, 10}, {HOUR, 100}, {2 * HOUR, 0}, {3 * HOUR, 30}};
    static const struct {
        pst_ns period, from, until;
        double per_s;
    } rows[] = {
        {0, 0, HOUR, 15},
        {0, HOUR, 2 * HOUR, 105},
        {0, 2 * HOUR, 3 * HOUR, 5},
        {0, 3 * HOUR, 6 * HOUR, 35}, /* the last one stays */
        {4 * HOUR, 4 * HOUR, 5 * HOUR, 15},
        {4 * HOUR, 5 * HOUR, 6 * HOUR, 105},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        double expected = rows[i].per_s * (double)(rows[i].until - rows[i].from) / 1e9;
        struct pst_stream *stream;
        struct scene scene;
        double count;

        scene_init(&scene, 6 * HOUR);
        stream = scene_stream(&scene, 0, 5, "1s");
        stream->pieces = pieces;
        stream->pieces_count = PST_COUNT_OF(pieces);
        stream->period = rows[i].period;
        count = (double)count_between(&scene.scenario, rows[i].from, rows[i].until, 0);
        if (fabs(count - expected) > 4 * pst_sqrt(expected))
            fail_msg("row %zu: %g, not %g", i, count, expected);
    }
}

/* A silent stretch is passed over, and a stream that is always silent brings nobody. */
static void silence_brings_nobody(void **state)
{
    static const struct pst_rate_piece pieces[] = {{0, 0}, {HOUR, 10}};
    struct pst_stream *stream;
    struct scene scene;
    struct seen seen;

    (void)state;
    scene_init(&scene, 2 * HOUR);
    stream = scene_stream(&scene, 0, 0, "1s");
    assert_int_equal(watch(&scene.scenario, 1, 0).count, 0);
    stream->pieces = pieces;
    stream->pieces_count = 2;
    seen = watch(&scene.scenario, 1, 0);
    assert_true(seen.first >= HOUR);
    assert_true(is_near((double)seen.count, 36000, 0.02));
}

static void bursts_come_once_in_each_span(void **state)
{
    struct pst_stream *stream;
    struct scene scene;
    uint64_t inside;

    (void)state;
    scene_init(&scene, 8 * HOUR);
    stream = scene_stream(&scene, 2, 1, "1s");
    stream->burst.every = HOUR;
    stream->burst.offset = scene_time("uniform:10m:20m");
    stream->burst.length = scene_time("uniform:90s:150s");
    stream->burst.per_s = 100;
    inside = count_between(&scene.scenario, 0, 8 * HOUR, 0);
    /* 8 h at 1 per second, and 8 bursts of 120 s on average. */
    assert_true(inside > 28800 + 8 * 90 * 100 && inside < 28800 + 8 * 150 * 100);
    for (pst_ns hour = 0; hour < 8; hour++) {
        uint64_t calm =
            count_between(&scene.scenario, hour * HOUR + 23 * 60 * PST_S, (hour + 1) * HOUR, 0);

        assert_true(calm < 2220 + 4 * 47);
    }
    assert_int_equal(pst_arrivals_bursts(&scene.scenario, 5, 0, 8 * HOUR), 8);
    assert_int_equal(pst_arrivals_bursts(&scene.scenario, 5, 2 * HOUR, 8 * HOUR), 6);
    assert_int_equal(pst_arrivals_bursts(&scene.scenario, 5, 0, HOUR / 10), 0);
}

static void classes_are_drawn_by_share(void **state)
{
    struct scene scene;
    struct seen seen;
    struct pst_stream *stream;

    (void)state;
    scene_init(&scene, 2 * HOUR);
    stream = scene_stream(&scene, 1, 50, "1s");
    stream->class_ppm[0] = 300000;
    stream->class_ppm[1] = 400000;
    stream->class_ppm[2] = 300000;
    seen = watch(&scene.scenario, 1, 0);
    assert_true(is_near((double)seen.per_class[0], 0.3 * (double)seen.count, 0.02));
    assert_true(is_near((double)seen.per_class[1], 0.4 * (double)seen.count, 0.02));
    assert_true(is_near((double)seen.per_class[2], 0.3 * (double)seen.count, 0.02));
}

static void tables_are_inverted(void **state)
{
    static const uint32_t values[] = {0, 100, 1000};
    struct scene scene;
    struct seen seen;
    struct pst_stream *stream;

    (void)state;
    scene_init(&scene, 2 * HOUR);
    stream = scene_stream(&scene, 0, 50, "tokens:20ms:1ms:10ms");
    stream->prompt_table = (struct pst_quantiles){values, 3};
    seen = watch(&scene.scenario, 1, 0);
    /* Half of them evenly in 0 … 100, half in 100 … 1000. */
    assert_true(is_near(seen.prompt_mean, 300, 0.02));
    assert_true(is_near(seen.service_mean, 0.02 + 0.3 + 0.5, 0.02));
}

static void rows_come_as_recorded(void **state)
{
    static const struct pst_arrival_row rows[] = {
        {.at = PST_S, .prompt_tokens = 7, .output_tokens = 9, .client = 3, .class_ = 2},
        {.at = PST_S, .prompt_tokens = 1, .class_ = PST_CLASS_DRAWN, .service = 5 * PST_S},
        {.at = 90 * PST_S, .prompt_tokens = 1, .class_ = 0},
    };
    struct pst_arrivals *arrivals;
    struct pst_arrival who;
    struct pst_stream *stream;
    struct scene scene;

    (void)state;
    scene_init(&scene, 60 * PST_S);
    stream = scene_stream(&scene, 1, 0, "tokens:0ms:1ms:10ms");
    stream->flow = 40;
    stream->rows = rows;
    stream->rows_count = 3;
    assert_int_equal(pst_arrivals_new(&scene.scenario, 1, 0, &arrivals), PST_OK);
    assert_true(pst_arrivals_due(arrivals) == PST_S);
    pst_arrivals_take(arrivals, &who);
    assert_int_equal(who.class_, 2);
    assert_int_equal(who.flow, 43);
    assert_int_equal(who.prompt_tokens, 7);
    assert_int_equal(who.output_tokens, 9);
    assert_true(who.service == 97 * PST_MS && who.first_part == 7 * PST_MS);
    assert_true(pst_arrivals_due(arrivals) == PST_S);
    pst_arrivals_take(arrivals, &who);
    assert_int_equal(who.class_, 1);
    assert_int_equal(who.output_tokens, 50); /* not recorded: by the law */
    assert_true(who.service == 5 * PST_S && who.first_part == 5 * PST_S);
    assert_true(pst_arrivals_due(arrivals) == PST_NEVER); /* the third is past the horizon */
    pst_arrivals_free(arrivals);
}

static void rows_out_of_order_are_refused(void **state)
{
    static const struct pst_arrival_row rows[] = {{.at = 2 * PST_S}, {.at = PST_S}};
    struct pst_arrivals *arrivals = NULL;
    struct pst_stream *stream;
    struct scene scene;

    (void)state;
    scene_init(&scene, 60 * PST_S);
    stream = scene_stream(&scene, 1, 0, "1s");
    stream->rows = rows;
    stream->rows_count = 2;
    assert_int_equal(pst_arrivals_new(&scene.scenario, 1, 0, &arrivals), PST_E_INVALID);
    assert_null(arrivals);
}

/* Each purpose has its own generator: a stream more, or another law, leaves the rest alone. */
static void draws_do_not_disturb_one_another(void **state)
{
    struct pst_arrivals *a, *b;
    struct pst_arrival x, y;
    struct scene one, two;

    (void)state;
    scene_init(&one, 600 * PST_S);
    scene_stream(&one, 0, 20, "exp:100ms");
    scene_init(&two, 600 * PST_S);
    scene_stream(&two, 0, 20, "exp:100ms")->prompt = scene_law("lognormal:1:100", PST_LAW_NUMBER);
    two.streams[0].class_ppm[0] = 1;
    two.streams[0].class_ppm[1] = 1;
    scene_stream(&two, 1, 20, "exp:1s");
    assert_int_equal(pst_arrivals_new(&one.scenario, 9, 0, &a), PST_OK);
    assert_int_equal(pst_arrivals_new(&two.scenario, 9, 0, &b), PST_OK);
    while (pst_arrivals_due(a) != PST_NEVER) {
        pst_arrivals_take(a, &x);
        do
            pst_arrivals_take(b, &y);
        while (y.stream != 0);
        assert_true(x.at == y.at && x.service == y.service);
        assert_int_equal(x.output_tokens, y.output_tokens);
    }
    pst_arrivals_free(a);
    pst_arrivals_free(b);
}

/* The past has the same laws at the same time of the cycle, and other draws. */
static void the_past_is_alike_and_not_the_same(void **state)
{
    static const struct pst_rate_piece pieces[] = {{0, 0}, {HOUR, 40}};
    struct pst_stream *stream;
    struct scene scene;
    uint64_t quiet, busy;

    (void)state;
    scene_init(&scene, 4 * HOUR);
    stream = scene_stream(&scene, 0, 1, "1s");
    stream->pieces = pieces;
    stream->pieces_count = 2;
    stream->period = 2 * HOUR;
    /* 3 h of past begin in the middle of a cycle: busy, quiet, busy. */
    busy = count_between(&scene.scenario, 0, HOUR, 3 * HOUR);
    quiet = count_between(&scene.scenario, HOUR, 2 * HOUR, 3 * HOUR);
    assert_true(is_near((double)busy, 41 * 3600, 0.02));
    assert_true(quiet > 3300 && quiet < 3900);
    assert_true(quiet != count_between(&scene.scenario, 0, HOUR, 0));
    assert_true(watch(&scene.scenario, 5, 3 * HOUR).last < 3 * HOUR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_have_the_rate_and_the_form),
        cmocka_unit_test(pieces_change_the_rate),
        cmocka_unit_test(silence_brings_nobody),
        cmocka_unit_test(bursts_come_once_in_each_span),
        cmocka_unit_test(classes_are_drawn_by_share),
        cmocka_unit_test(tables_are_inverted),
        cmocka_unit_test(rows_come_as_recorded),
        cmocka_unit_test(rows_out_of_order_are_refused),
        cmocka_unit_test(draws_do_not_disturb_one_another),
        cmocka_unit_test(the_past_is_alike_and_not_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
