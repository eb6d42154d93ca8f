/* What an engine says of its load, as a limit; of its counter, as motion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/hearsay.h"
#include "core/num.h"

#define BEGAN  (1000 * PST_S)
#define PERIOD (5 * PST_S)
#define SLOTS  64
#define NO     UINT32_MAX /* not said */

/*
 * Every 5 s a sample, in words:
 *   10:8+2/95=48   of ours 10 since the one before; 8 run, 2 wait, 95 % of its cache; limit 48
 *   10.4:…         of ours at most 10, at least 4
 *   -              not said; no limit
 *   =.             says nothing of the limit
 *   ~12 z26        the next is 12 s old; comes 26 s late
 */
static const struct row {
    const char *promise;
    uint32_t whole;
    const char *says;
} rows[] = {
    {"what runs is ours", SLOTS, "10:10+0/20=- 10:10+0/20=-"},
    {"less than ours runs", SLOTS, "10:4+0/20=- 10:4+0/20=-"},
    {"the first word of others counts", SLOTS, "0:24+0/20=40 0:24+0/20=40"},
    {"others later: at their second", SLOTS, "8:8+0/0=- 8:28+0/0=- 8:28+0/0=44"},
    {"one sample alone is noise", SLOTS, "8:8+0/0=- 8:28+0/0=- 8:8+0/0=- 8:28+0/0=-"},
    {"the less of two", SLOTS, "8:8+0/0=- 8:28+0/0=- 8:12+0/0=60 8:28+0/0=60"},
    {"others leave: at their second absence", SLOTS,
     "0:24+0/0=40 0:24+0/0=40 0:0+0/0=46 0:0+0/0=-"},
    {"some of them leave", SLOTS, "0:24+0/0=40 0:16+0/0=40 0:16+0/0=48 0:8+0/0=48 0:8+0/0=56"},
    {"others as ours change: what was believed is kept", SLOTS,
     "0:24+0/0=40 40.0:64+0/0=40 40.30:58+0/0=40 40.30:60+0/0=40"},
    {"others who may be there, and then need not", SLOTS,
     "0:64+0/0=1 64.1:65+0/0=1 64.1:33+0/0=16 64.1:33+0/0=31"},
    {"ours rise as others leave: a quarter with every sample", SLOTS,
     "0:32+0/0=32 32.0:32+0/0=40 40.0:40+0/0=46 46.40:46+0/0=51 51.46:51+0/0=55"},
    {"all are others: one slot", SLOTS, "0:64+0/0=1 0:64+0/0=1"},
    {"more than all are others: one", SLOTS, "0:99+0/0=1 0:99+9/99=1"},
    {"others that wait inside it are there, too", SLOTS, "0:20+4/20=40"},
    {"ours of a moment ago may still be in it", SLOTS, "30:30+0/0=- 0:30+0/0=- 0:30+0/0=-"},
    {"… for 18 s and a sample", SLOTS,
     "30:30+0/0=- 0:30+0/0=- 0:30+0/0=- 0:30+0/0=- 0:30+0/0=- 0:30+0/0=34"},
    {"an old sample: what we had then", SLOTS, "0:0+0/0=- 0:0+0/0=- ~4 0:20+0/0=- ~8 30:20+0/0=44"},
    {"it says nothing of what runs", SLOTS, "0:-+5/99=. 0:-+-/-=."},
    {"it says what runs alone", SLOTS, "0:24+-/-=40 0:24+-/-=40"},
    {"twice the same sample is one", SLOTS, "8:8+0/0=- 8:28+0/0=- ~5 8:28+0/0=."},
    {"silence: what was learned is gone", SLOTS,
     "0:24+0/0=40 0:24+0/0=40 z26 0:24+0/0=- 0:24+0/0=40"},
    {"others have their part of the slots", 128,
     "0:64+0/0=64 0:64+0/0=64 0:100+0/0=64 0:100+0/0=28"},
    {"one waits, and passes through", SLOTS, "64:63+1/50=- 64:63+1/50=- 64:63+1/50=-"},
    {"some wait: one sample", SLOTS, "64:32+32/99=- 64:64+0/50=- 64:32+32/99=-"},
    {"cache full: half-way to what runs", SLOTS,
     "64:32+32/99=- 64:32+32/99=48 48:32+16/99=40 40:32+8/99=36 36:32+4/99=36"},
    {"cache full, slots not", SLOTS, "40:20+20/95=- 40:20+20/95=42"},
    {"cache not full, nor slots: no fault of theirs", SLOTS, "40:20+20/50=- 40:20+20/50=-"},
    {"cache at 89 %", SLOTS, "40:20+20/89=- 40:20+20/89=-"},
    {"cache at 90 %", SLOTS, "40:20+20/90=- 40:20+20/90=42"},
    {"cache not said, slots full", SLOTS, "64:32+32/-=- 64:32+32/-=48"},
    {"cache not full, slots full: it has fewer", SLOTS, "64:32+32/40=- 64:32+32/40=48"},
    {"up again by 1/32", SLOTS, "64:32+32/99=- 64:32+32/99=48 48:40+0/50=50 50:50+0/50=52"},
    {"not while the cache is full", SLOTS, "64:32+32/99=- 64:32+32/99=48 48:48+0/95=48"},
    {"not while one waits", SLOTS, "64:32+32/99=- 64:32+32/99=48 48:47+1/50=48"},
    {"not while it does not say", SLOTS, "64:32+32/99=- 64:32+32/99=48 48:47+-/50=48"},
    {"to the whole, and no further", SLOTS,
     "64:56+8/99=- 64:56+8/99=60 60:60+0/50=62 62:60+0/50=- 64:60+0/50=-"},
    {"it can run nothing: one slot", SLOTS,
     "2:0+2/99=- 2:0+2/99=32 2:0+2/99=16 2:0+2/99=8 2:0+2/99=4 2:0+2/99=2 2:0+2/99=1 2:0+2/99=1"},
    {"others take part of what it can run", SLOTS, "20:20+0/50=- 20:32+8/99=- 20:32+8/99=28"},
};

/* A number, or UINT32_MAX for "-". */
static uint32_t number(const char **at)
{
    uint32_t n = 0;

    if (**at == '-') {
        (*at)++;
        return UINT32_MAX;
    }
    assert_in_range(**at, '0', '9');
    while (**at >= '0' && **at <= '9')
        n = 10 * n + (uint32_t)(*(*at)++ - '0');
    return n;
}

static uint32_t after(const char **at, char sign)
{
    assert_int_equal(*(*at)++, sign);
    return number(at);
}

struct engine {
    struct pst_hearsay hearsay;
    pst_ns now;
    uint32_t may; /* slots that we may use */
};

static void say(struct engine *e, const char *word, uint32_t whole, uint32_t age_s)
{
    struct pst_hearsay_ours ours = {.slots = e->may, .whole = whole};
    struct pst_hearsay_sample sample = {.at = e->now - age_s * PST_S, .tokens = UINT64_MAX};
    const char *at = word;
    uint32_t limit = 0;
    bool says;

    ours.most = ours.least = number(&at);
    if (*at == '.')
        ours.least = after(&at, '.');
    sample.running = after(&at, ':');
    sample.waiting = after(&at, '+');
    sample.kv_ppm = after(&at, '/');
    if (sample.kv_ppm != UINT32_MAX)
        sample.kv_ppm *= 10000;
    assert_int_equal(*at++, '=');
    says = pst_hearsay_load(&e->hearsay, &sample, &ours, e->now, &limit);
    assert_true(says == (*at != '.'));
    if (!says)
        return;
    if (limit != number(&at))
        fail_msg("%s: the limit is %u", word, limit);
    e->may = (uint32_t)pst_min_u64(SLOTS, limit);
}

static void every_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct engine e = {.now = BEGAN, .may = SLOTS};
        uint32_t age_s = 0;
        char words[400], *left = words;

        print_message("%s\n", rows[i].promise);
        snprintf(words, sizeof words, "%s", rows[i].says);
        pst_hearsay_init(&e.hearsay, 0, e.now);
        for (char *word; (word = strtok_r(left, " ", &left)) != NULL;) {
            if (word[0] == '~') {
                age_s = (uint32_t)atoi(word + 1);
            } else if (word[0] == 'z') {
                e.now += (pst_ns)atoi(word + 1) * PST_S;
            } else {
                e.now += PERIOD;
                say(&e, word, rows[i].whole, age_s);
                age_s = 0;
            }
        }
    }
}

/* Whatever it says, and however late: between 1 and the whole, or nothing. */
static void never_out_of_bounds(void **state)
{
    static const uint32_t numbers[] = {0, 1, 7, 64, 65, 1000, UINT32_MAX - 1, UINT32_MAX};
    struct pst_hearsay h;
    pst_ns now = BEGAN;
    uint64_t dice = 1;

    (void)state;
    pst_hearsay_init(&h, 0, now);
    for (uint32_t i = 0; i < 200000; i++) {
        struct pst_hearsay_sample sample;
        struct pst_hearsay_ours ours = {.slots = SLOTS, .whole = i % 1000 < 500 ? SLOTS : 1};
        uint32_t limit = UINT32_MAX;

        dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        now += (dice >> 60) * PST_S;
        ours.most = numbers[dice >> 57 & 7] % (SLOTS + 1);
        sample.at = now - (dice >> 52 & 31) * PST_S;
        sample.running = numbers[dice >> 49 & 7];
        sample.waiting = numbers[dice >> 46 & 7];
        sample.kv_ppm = numbers[dice >> 43 & 7];
        sample.tokens = dice >> 40 & 7;
        pst_hearsay_motion(&h, &sample);
        if (pst_hearsay_load(&h, &sample, &ours, now, &limit) && limit != UINT32_MAX)
            assert_in_range(limit, 1, ours.whole);
    }
}

static void motion(void **state)
{
    static const struct {
        const char *promise;
        uint64_t before, tokens;
        uint32_t ran, running;
        enum pst_hearsay_motion motion;
    } counts[] = {
        {"it grew", 5, 6, 1, 1, PST_HEARSAY_MOVES},
        {"it grew, and nothing runs now", 5, 6, 1, 0, PST_HEARSAY_MOVES},
        {"it did not, and work runs", 5, 5, 1, 1, PST_HEARSAY_STILL},
        {"… nothing runs", 5, 5, 1, 0, PST_HEARSAY_UNKNOWN},
        {"… nothing ran", 5, 5, 0, 1, PST_HEARSAY_UNKNOWN},
        {"… it does not say what runs", 5, 5, NO, NO, PST_HEARSAY_UNKNOWN},
        {"it fell: another life", 5, 0, 1, 1, PST_HEARSAY_RESTARTED},
        {"it fell by one", 5, 4, 1, 1, PST_HEARSAY_RESTARTED},
        {"it is not said", 5, UINT64_MAX, 1, 1, PST_HEARSAY_UNKNOWN},
        {"it was not said", UINT64_MAX, 5, 1, 1, PST_HEARSAY_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(counts); i++) {
        struct pst_hearsay h;
        struct pst_hearsay_sample sample = {.at = BEGAN,
                                            .running = counts[i].ran,
                                            .waiting = NO,
                                            .kv_ppm = NO,
                                            .tokens = counts[i].before};

        print_message("%s\n", counts[i].promise);
        pst_hearsay_init(&h, 0, BEGAN);
        assert_int_equal(pst_hearsay_motion(&h, &sample), PST_HEARSAY_UNKNOWN);
        sample.tokens = counts[i].tokens;
        sample.running = counts[i].running;
        sample.at += PERIOD;
        assert_int_equal(pst_hearsay_motion(&h, &sample), counts[i].motion);
    }
}

/* Another life runs as much as it is given, until it says otherwise twice. */
static void a_restart_forgets(void **state)
{
    struct pst_hearsay h;
    struct pst_hearsay_sample sample = {
        .at = BEGAN, .running = 32, .waiting = 32, .kv_ppm = 990000, .tokens = 5000};
    struct pst_hearsay_ours ours = {.most = 64, .slots = 64, .whole = 64};
    uint32_t limit = 0;

    (void)state;
    pst_hearsay_init(&h, 0, BEGAN);
    for (uint32_t i = 0; i < 2; i++) {
        sample.at += PERIOD;
        pst_hearsay_motion(&h, &sample);
        assert_true(pst_hearsay_load(&h, &sample, &ours, sample.at, &limit));
    }
    assert_int_equal(limit, 48);
    sample.at += PERIOD;
    sample.tokens = 100;
    assert_int_equal(pst_hearsay_motion(&h, &sample), PST_HEARSAY_RESTARTED);
    assert_true(pst_hearsay_load(&h, &sample, &ours, sample.at, &limit));
    assert_int_equal(limit, UINT32_MAX);
}

/* One of two gateways of one engine, with more to do than either may: it holds what it may. */
struct sharer {
    struct pst_hearsay hearsay;
    uint32_t may, held;
};

static void share(struct sharer *s, uint32_t holds, uint32_t total, pst_ns now)
{
    struct pst_hearsay_sample sample = {.at = now, .running = total, .tokens = UINT64_MAX};
    struct pst_hearsay_ours ours = {.most = (uint32_t)pst_max_u64(holds, s->held),
                                    .least = (uint32_t)pst_min_u64(holds, s->held),
                                    .slots = s->may,
                                    .whole = 4};
    uint32_t limit;

    s->held = holds;
    if (pst_hearsay_load(&s->hearsay, &sample, &ours, now, &limit))
        s->may = limit < 4 ? limit : 4;
}

/*
 * The old one drains what it has, beside the new one: four slots are not eight, also after a moment in which
 * the old one held less than it might, and the new one took that. And when it is gone, all four are used.
 */
static void two_gateways_take_no_turns(void **state)
{
    struct sharer old = {.may = 4, .held = 4}, new = {.may = 4};
    uint32_t most = 0, above = 0;

    (void)state;
    pst_hearsay_init(&old.hearsay, 4, BEGAN);
    pst_hearsay_init(&new.hearsay, 0, BEGAN);
    for (uint32_t second = 1; second <= 120; second++) {
        pst_ns now = BEGAN + second * PST_S;
        uint32_t old_holds = second < 60 ? old.may : 0;
        uint32_t new_holds = second > 1 ? new.may : 0; /* it has heard of the engine then */
        uint32_t total;

        if (second >= 20 && second < 23)
            old_holds = 1;
        total = old_holds + new_holds;
        most = (uint32_t)pst_max_u64(most, total);
        above += total > 5;
        share(&old, old_holds, total, now);
        share(&new, new_holds, total, now);
    }
    print_message("at most %u, more than 5 for %u s\n", most, above);
    assert_in_range(most, 4, 6);
    assert_in_range(above, 0, 2);
    assert_int_equal(new.may, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row),
        cmocka_unit_test(never_out_of_bounds),
        cmocka_unit_test(motion),
        cmocka_unit_test(a_restart_forgets),
        cmocka_unit_test(two_gateways_take_no_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
