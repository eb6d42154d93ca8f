#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rehearse/engine_fault.h"
#include "rehearse/load_mix.h"

static const struct {
    const char *text;
    int fault; /* -1: refused */
    uint32_t ppm;
    uint64_t argument;
    const char *why;
} faults[] = {
    {"hang", PST_FAULT_HANG, 1000000, 0, NULL},
    {"hang@0.1", PST_FAULT_HANG, 100000, 0, NULL},
    {"hang@1", PST_FAULT_HANG, 1000000, 0, NULL},
    {"stall-after=20", PST_FAULT_STALL_AFTER, 1000000, 20, NULL},
    {"stall-after=20@0.5", PST_FAULT_STALL_AFTER, 500000, 20, NULL},
    {"reset-after", PST_FAULT_RESET_AFTER, 1000000, 1, NULL},
    {"slow-drip", PST_FAULT_SLOW_DRIP, 1000000, 10 * PST_MS, NULL},
    {"slow-drip=3ms", PST_FAULT_SLOW_DRIP, 1000000, 3 * PST_MS, NULL},
    {"nan-metrics", PST_FAULT_NAN_METRICS, 1000000, 0, NULL},
    {"crash-on=a=b", PST_FAULT_CRASH_ON, 1000000, 0, NULL},
    {"", -1, 0, 0, "no fault"},
    {"hangs", -1, 0, 0, "no fault"},
    {"hang=1", -1, 0, 0, "no argument"},
    {"hang@0", -1, 0, 0, "probability"},
    {"hang@1.5", -1, 0, 0, "probability"},
    {"hang@", -1, 0, 0, "probability"},
    {"stall-after", -1, 0, 0, "needs an argument"},
    {"stall-after=0", -1, 0, 0, "from 1"},
    {"stall-after=x", -1, 0, 0, "tokens"},
    {"slow-drip=3", -1, 0, 0, "unit"},
    {"crash-on", -1, 0, 0, "needs an argument"},
    {"crash-on=", -1, 0, 0, "mark"},
};

static void faults_are_read_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(faults); i++) {
        struct pst_engine_faults set = {0}, before = {0};
        const char *why = NULL;
        int rc = pst_engine_fault_set(&set, faults[i].text, &why);

        if (faults[i].fault < 0) {
            if (rc != PST_E_SYNTAX || why == NULL || strstr(why, faults[i].why) == NULL)
                fail_msg("'%s': rc %d, %s", faults[i].text, rc, why ? why : "no reason");
            assert_memory_equal(&set, &before, sizeof set);
            continue;
        }
        if (rc != PST_OK)
            fail_msg("'%s': %s", faults[i].text, why);
        assert_int_equal(set.ppm[faults[i].fault], faults[i].ppm);
        assert_int_equal(set.argument[faults[i].fault], faults[i].argument);
    }
}

static void a_probability_is_kept(void **state)
{
    struct pst_engine_faults set = {0};
    struct pst_prng prng;
    const char *why;
    int hits = 0;

    (void)state;
    pst_prng_init(&prng, 1);
    assert_int_equal(pst_engine_fault_set(&set, "full@0.25", &why), PST_OK);
    for (int i = 0; i < 10000; i++)
        hits += pst_engine_fault_hits(&set, PST_FAULT_FULL, &prng);
    assert_in_range(hits, 2300, 2700);
    assert_int_equal(pst_engine_fault_clear(&set, "full"), PST_OK);
    assert_false(pst_engine_fault_hits(&set, PST_FAULT_FULL, &prng));
    assert_int_equal(pst_engine_fault_clear(&set, "fool"), PST_E_INVALID);
}

static void every_fault_has_a_name_and_a_line(void **state)
{
    (void)state;
    for (int i = 0; i < PST_FAULT_COUNT; i++) {
        assert_non_null(pst_engine_fault_name((enum pst_engine_fault)i));
        assert_non_null(pst_engine_fault_help((enum pst_engine_fault)i));
    }
}

static const struct {
    const char *text;
    const char *why; /* NULL: it is read */
} mixes[] = {
    {"class=high,rate=200,arrivals=poisson,prompt=64,output=16,stream=1,tenant=KEY", NULL},
    {"rate=0.5,arrivals=gamma:2,prompt=lognormal:1:512,path=/v1/messages,model=m,type=chat", NULL},
    {"rate", "KEY=VALUE"},
    {"speed=3", "the keys are"},
    {"rate=fast", "a number"},
    {"stream=yes", "0 or 1"},
    {"class=a b", "printable"},
    {"path=/admin", "the path is none"},
    {"arrivals=gamma", "missing"},
    {"arrivals=uniform:1", "arrivals are"},
    {"prompt=10ms", "no unit"},
};

static void mixes_are_read_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(mixes); i++) {
        struct pst_load_traffic traffic;
        const char *why = NULL;
        int rc = pst_load_mix_read(mixes[i].text, &traffic, &why);

        if (mixes[i].why == NULL && rc != PST_OK)
            fail_msg("'%s': %s", mixes[i].text, why);
        if (mixes[i].why != NULL &&
            (rc != PST_E_SYNTAX || why == NULL || strstr(why, mixes[i].why) == NULL))
            fail_msg("'%s': rc %d, %s", mixes[i].text, rc, why ? why : "no reason");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_read_or_refused),
        cmocka_unit_test(a_probability_is_kept),
        cmocka_unit_test(every_fault_has_a_name_and_a_line),
        cmocka_unit_test(mixes_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
