/*
 * When streams are told: `true` at once and again while nobody came, `false` after a time of known idleness.
 * A row is a course: "a" active without a replica, "r" active with one, "i" idle, "u" not known, each for a
 * step of half a second; what was said in a step follows as T or F in `said`, "." is nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scale/keda_push.h"

#define STEP (500 * PST_MS)

struct row {
    const char *promise;
    pst_ns hold;
    const char *course, *said;
};

static const struct row rows[] = {
    {"nothing is known, nothing is said", 5 * PST_S, "uuuuuuuuuuuu", "............"},
    {"true at once", 5 * PST_S, "uar", ".T."},
    {"true again after 1, 2, 4 s while nobody came", 5 * PST_S, "aaaaaaaaaaaaaaaaaaaa",
     "T.T...T.......T....."},
    {"a replica ends it", 5 * PST_S, "aaarrrrrrrrrr", "T.T.........."},
    {"it went: true at once, and from 1 s again", 5 * PST_S, "aaarrraaa", "T.T...T.T"},
    {"B079 true, false, true within 2 s: no false", 5 * PST_S, "riir", "T..."},
    {"B079 also where in_after is nothing", 0, "riir", "T..."},
    {"false just when the hold is over", 5 * PST_S, "riiiiiiiiiiiiii", "T..........F..."},
    {"a longer hold", 6 * PST_S, "riiiiiiiiiiiiii", "T............F."},
    {"idle from the start: said once", 5 * PST_S, "iiiiiiiiiiiiii", "..........F..."},
    {"what is not known counts from anew", 5 * PST_S, "riiiiiuiiiiiiiiiiii", "T................F."},
    {"work in between counts from anew", 5 * PST_S, "riiiiiriiiiiiiiiiii", "T................F."},
    {"true after false at once", 5 * PST_S, "iiiiiiiiiiia", "..........FT"},
    {"not known after false says nothing", 5 * PST_S, "iiiiiiiiiiiuuuuuuuuuuuuiiiiiiiiiiii",
     "..........F........................"},
};

static struct pst_keda_push_input input_of(char c, pst_ns hold)
{
    return (struct pst_keda_push_input){
        .known = c != 'u',
        .active = c == 'a' || c == 'r',
        .staffed = c == 'r' || c == 'i',
        .hold = hold,
    };
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        struct pst_keda_push push = {0};

        assert_int_equal(strlen(row->course), strlen(row->said));
        for (size_t s = 0; row->course[s] != '\0'; s++) {
            const struct pst_keda_push_input input = input_of(row->course[s], row->hold);
            char seen;

            seen = ".TF"[pst_keda_push_step(&push, &input, 7 * PST_S + s * STEP)];
            if (seen != row->said[s])
                fail_msg("%s: step %zu says %c", row->promise, s, seen);
        }
    }
}

/* Whoever comes later hears the last word, but no `false` that is not known to hold. */
static void test_first(void **state)
{
    static const struct row firsts[] = {
        {"nothing is known, nothing is said", 0, "uuiiiiiiiiiii", "............F"},
        {"true stays until false", 0, "rriiiiiiiiii", "TTTTTTTTTTTT"},
        {"true stays while nothing is known", 0, "auuu", "TTTT"},
        {"false is none while nothing is known", 0, "iiiiiiiiiiiuuuiir", "..........F...FFT"},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(firsts); i++) {
        struct pst_keda_push push = {0};

        for (size_t s = 0; firsts[i].course[s] != '\0'; s++) {
            const struct pst_keda_push_input input = input_of(firsts[i].course[s], firsts[i].hold);

            (void)pst_keda_push_step(&push, &input, 7 * PST_S + s * STEP);
            if (".TF"[pst_keda_push_first(&push)] != firsts[i].said[s])
                fail_msg("%s: step %zu", firsts[i].promise, s);
        }
    }
}

/* For an hour without a replica: often enough to be heard, seldom enough to cost nothing. */
static void test_back_off(void **state)
{
    const struct pst_keda_push_input input = {.known = true, .active = true};
    struct pst_keda_push push = {0};
    pst_ns last = 0, longest = 0;
    uint32_t said = 0;

    (void)state;
    for (pst_ns now = 0; now < 3600 * PST_S; now += STEP) {
        if (pst_keda_push_step(&push, &input, now) == PST_KEDA_SAY_NOTHING)
            continue;
        longest = now - last > longest ? now - last : longest;
        last = now;
        said++;
    }
    assert_int_equal(longest, PST_KEDA_PUSH_AGAIN_MOST);
    assert_in_range(said, 120, 126);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_first),
        cmocka_unit_test(test_back_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
