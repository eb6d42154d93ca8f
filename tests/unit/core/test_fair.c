/*
 * test_fair.c - two tenants that always want more: each gets its weight's share of the tokens, at any
 * weight that a configuration may give, and whatever their answers tell.
 */
#include "plant.h"

#define SERVICE (100 * PST_MS)

static struct plant plant;

struct row {
    const char *promise;
    struct {
        uint16_t weight;
        uint32_t prompt_bytes;
        bool mute;
    } flow[2];
    uint32_t least_ppm, most_ppm; /* the first one's share of the dispatches */
};

static const struct row rows[] = {
    {"equal weights", {{100, 400, 0}, {100, 400, 0}}, 490000, 510000},
    {"twice the weight", {{200, 400, 0}, {100, 400, 0}}, 650000, 680000},
    {"the least weight", {{1, 400, 0}, {100, 400, 0}}, 9000, 11000},
    {"the greatest weight starves nobody", {{100, 400, 0}, {UINT16_MAX, 400, 0}}, 1000, 2500},
    {"tokens count, not requests", {{100, 1600, 0}, {100, 400, 0}}, 310000, 370000},
    {"a prompt that is not told is not free", {{100, 1600, 1}, {100, 400, 0}}, 310000, 370000},
};

static void each_gets_its_share(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
        struct plant_stream streams[2];
        uint64_t first, both;

        for (uint32_t f = 0; f < 2; f++)
            streams[f] = (struct plant_stream){.backlog = 200,
                                               .end = PST_NEVER,
                                               .class_ = 1,
                                               .flow = f + 1,
                                               .weight = row->flow[f].weight,
                                               .prompt_bytes = row->flow[f].prompt_bytes,
                                               .service = SERVICE,
                                               .sequences = 1};
        config.classes[1].on_full = PST_ON_FULL_WAIT;
        config.classes[1].ttl = 600 * PST_S;
        plant_init(&plant, &config, streams, 2, 4, 23);
        for (uint32_t f = 0; f < 2; f++)
            plant.mute[f] = row->flow[f].mute;
        plant.measure_from = 11 * PST_S;
        plant_run(&plant, 71 * PST_S);
        first = plant.seen[0].dispatched;
        both = first + plant.seen[1].dispatched;
        print_message("%s: %llu of %llu\n", row->promise, (unsigned long long)first,
                      (unsigned long long)both);
        assert_in_range(first * PST_PPM / both, row->least_ppm, row->most_ppm);
        plant_done(&plant);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gets_its_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
