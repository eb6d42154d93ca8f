/* What a scenario says is what the simulator gets; what is wrong with it is told with its place. */
#include <stdlib.h>

#include "config/scenario.h"
#include "faults.h"

static struct pst_scenario_file *read_text(const char *text)
{
    struct pst_scenario_file *file = NULL;
    struct pst_problems problems;
    const int rc = pst_scenario_parse("test.yaml", text, strlen(text), &file, &problems);

    for (size_t i = 0; i < problems.count; i++)
        print_message("%u:%u: %s\n", problems.item[i].line, problems.item[i].column,
                      problems.item[i].message);
    assert_int_equal(rc, PST_OK);
    assert_int_equal(problems.count, 0);
    pst_problems_done(&problems);
    return file;
}

static const char sample[] =
    "name: sample\n"
    "seed: 7\n"
    "horizon: 8h\n"
    "cut: 2h\n"
    "history: 1d\n"
    "classes:\n"
    "  high: {target: 20ms, max_wait: 5s, ttl: 30s}\n"
    "  low: {target: 60s, max_wait: 300s, ttl: 1h, envelope: true}\n"
    "types: {report: low}\n"
    "pools:\n"
    "  - name: chat\n"
    "    slots: 14\n"
    "    scaler: {min: 4, max: 12, warm: 1, rule: backlog, start_time: 3m, utilisation: 80%, "
    "qps: 90/m, cost_per_hour: 2.5 USD, budget: {hour: 30 USD, day: 500.25 USD}}\n"
    "    life: {cold: \"uniform:80s:120s\", slow: {share: 5%, factor: 3}, mtbf: 10h}\n"
    "  - name: batch\n"
    "    slots: 2\n"
    "    life: {initial: 1, engine: {iteration_base: 10ms, kv_blocks: 100}}\n"
    "arrivals:\n"
    "  chat: {class: high, pool: chat, rate: 200/s, service: \"pareto:2.5:100ms\", tenant: a}\n"
    "  report:\n"
    "    class: low\n"
    "    pool: chat\n"
    "    type: report\n"
    "    tenant: a\n"
    "    rate: {constant: 30/m, pieces: [{at: 0s, rate: 1/s}, {at: 6h, rate: 2/s}], period: 24h}\n"
    "    burst: {every: 1h, offset: \"uniform:600s:620s\", length: 90s, rate: 800/s}\n"
    "    gaps: gamma:2\n"
    "    prompt: lognormal:1:900\n"
    "    service: \"tokens:0ms:0.2ms:30ms\"\n"
    "    from: 10m\n"
    "    until: 4h\n"
    "    ttl: 90s\n"
    "    retries: 3\n"
    "    retry_after: 2s\n"
    "  mixed: {shares: {high: 30%, low: 0.7}, pool: batch, rate: [{at: 1h, rate: 60/h}], weight: "
    "2, "
    "sequences: 4, output: 64}\n"
    "faults:\n"
    "  - {kill: 2, at: 30m, pool: chat}\n"
    "  - {quota: 6, at: 1h, until: 2h, pool: batch}\n"
    "  - {outage: true, at: 3h, pool: chat}\n"
    "  - {slow: 1, at: 4h, until: 5h, factor: 2.5, pool: chat}\n"
    "policies:\n"
    "  fifo+hpa: {gate: fifo, pilot: hpa-occupancy, target: 70%}\n"
    "  kpa: {gate: fixed, pilot: kpa, target: 12.5, actuator: keda, warm: 0}\n"
    "  ahead-6s: {max_wait: {low: 6s}}\n"
    "  still: {pilot: static, replicas: 9}\n"
    "expect:\n"
    "  ahead-6s:\n"
    "    - high wait_p99 <= 20ms\n"
    "    - low attainment > 99.9%\n"
    "    - refused == 0\n"
    "    - replica_hours <= 95% of fifo+hpa\n"
    "    - high ttft_p95 < 110% of kpa\n"
    "  kpa: [cost >= 0.5]\n";

static void the_whole_has_its_times(void **state)
{
    struct pst_scenario_file *file = read_text(sample);
    const struct pst_scenario *s = pst_scenario_of(file);

    (void)state;
    assert_string_equal(s->name, "sample");
    assert_int_equal(s->seed, 7);
    assert_int_equal(s->horizon, 8 * 3600 * PST_S);
    assert_int_equal(s->cut, 2 * 3600 * PST_S);
    assert_int_equal(s->history, 24 * 3600 * PST_S);
    assert_string_equal(s->class_names[1], "low");
    assert_int_equal(s->gate.classes_count, 2);
    assert_int_equal(s->gate.classes[0].target, 20 * PST_MS);
    pst_scenario_free(file);
}

static void pools_have_their_scaler_and_their_life(void **state)
{
    struct pst_scenario_file *file = read_text(sample);
    const struct pst_scenario *s = pst_scenario_of(file);
    const struct pst_scaler_pool *scaler = &s->scaler.pools[0];
    const struct pst_scenario_pool *chat = &s->pools[0], *batch = &s->pools[1];

    (void)state;
    assert_int_equal(s->scaler.classes_count, 2);
    assert_int_equal(s->scaler.classes[0].depth_weight, 3);
    assert_int_equal(s->scaler.classes[1].depth_weight, 2);
    assert_int_equal(s->scaler.classes[0].envelope, 1);
    assert_int_equal(s->scaler.classes[1].envelope, 1); /* said; else the last has none */
    assert_int_equal(s->scaler.classes[1].max_wait, 300 * PST_S);
    assert_int_equal(s->scaler.pools_count, 2);
    assert_int_equal(scaler->min, 4);
    assert_int_equal(scaler->max, 12);
    assert_int_equal(scaler->warm, 1);
    assert_int_equal(scaler->slots, 14);
    assert_int_equal(scaler->rule, PST_RULE_BACKLOG);
    assert_int_equal(scaler->actuate, PST_ACTUATE_OWN);
    assert_int_equal(scaler->start_time, 180 * PST_S);
    assert_int_equal(scaler->warm_time, 5 * PST_S);
    assert_int_equal(scaler->start_timeout, 900 * PST_S);
    assert_int_equal(scaler->rotate, 1800 * PST_S);
    assert_int_equal(scaler->stale_after, 15 * PST_S);
    assert_int_equal(scaler->utilisation_ppm, 800000);
    assert_int_equal(scaler->inflight_guard_ppm, 800000);
    assert_int_equal(scaler->gpu_guard_ppm, 0);
    assert_int_equal(scaler->qps_milli, 1500);
    assert_int_equal(scaler->cost_micro, 2500000);
    assert_int_equal(scaler->budget_hour_micro, 30000000);
    assert_int_equal(scaler->budget_day_micro, 500250000);

    assert_int_equal(chat->initial, 4); /* scaler.min */
    assert_int_equal(chat->cold.kind, PST_LAW_UNIFORM);
    assert_true(pst_law_mean(&chat->cold) == 100e9);
    assert_true(pst_law_mean(&chat->promote) == 5e9);
    assert_true(pst_law_mean(&chat->stop) == 0);
    assert_int_equal(chat->slow_ppm, 50000);
    assert_true(chat->slow_factor == 3.0);
    assert_int_equal(chat->mtbf, 36000 * PST_S);
    assert_false(chat->token_mode);
    assert_int_equal(batch->initial, 1);
    assert_true(batch->token_mode);
    assert_int_equal(batch->engine.mode, PST_ENGINE_TOKEN);
    assert_int_equal(batch->engine.slots, 2);
    assert_int_equal(batch->engine.iteration_base, 10 * PST_MS);
    assert_int_equal(batch->engine.iteration_min, 5 * PST_MS);
    assert_int_equal(batch->engine.kv_blocks, 100);
    assert_true(pst_law_mean(&batch->cold) == 120e9); /* scaler.start_time */
    pst_scenario_free(file);
}

static void streams_say_when_and_what(void **state)
{
    struct pst_scenario_file *file = read_text(sample);
    const struct pst_scenario *s = pst_scenario_of(file);
    const struct pst_stream *chat = &s->streams[0], *report = &s->streams[1];
    const struct pst_stream *mixed = &s->streams[2];

    (void)state;
    assert_int_equal(s->streams_count, 3);
    assert_string_equal(chat->name, "chat");
    assert_true(chat->per_s == 200.0);
    assert_int_equal(chat->service.kind, PST_LAW_PARETO);
    assert_int_equal(chat->gaps.kind, PST_LAW_EXP);
    assert_int_equal(chat->end, PST_NEVER);
    assert_int_equal(chat->burst.every, 0);
    assert_int_equal(chat->weight, 100);
    assert_int_equal(chat->flow, report->flow); /* one tenant */

    assert_int_equal(report->class_, 1);
    assert_int_equal(report->type, 1);
    assert_true(report->per_s == 0.5);
    assert_int_equal(report->pieces_count, 2);
    assert_int_equal(report->pieces[1].at, 6 * 3600 * PST_S);
    assert_true(report->pieces[1].per_s == 2.0);
    assert_int_equal(report->period, 24 * 3600 * PST_S);
    assert_int_equal(report->burst.every, 3600 * PST_S);
    assert_true(pst_law_mean(&report->burst.offset) == 610e9);
    assert_true(pst_law_mean(&report->burst.length) == 90e9);
    assert_true(report->burst.per_s == 800.0);
    assert_int_equal(report->gaps.kind, PST_LAW_GAMMA);
    assert_true(report->gaps.shape == 2.0 && report->gaps.mean == 1.0);
    assert_int_equal(report->prompt.kind, PST_LAW_LOGNORMAL);
    assert_int_equal(report->service.kind, PST_LAW_TOKENS);
    assert_int_equal(report->begin, 600 * PST_S);
    assert_int_equal(report->end, 4 * 3600 * PST_S);
    assert_int_equal(report->ttl_ms, 90000);
    assert_int_equal(report->retries_max, 3);
    assert_int_equal(report->retry_after, 2 * PST_S);

    assert_int_equal(mixed->pool, 1);
    assert_int_equal(mixed->class_ppm[0], 300000);
    assert_int_equal(mixed->class_ppm[1], 700000);
    assert_int_equal(mixed->pieces_count, 1);
    assert_true(mixed->pieces[0].per_s == 60.0 / 3600.0);
    assert_int_equal(mixed->weight, 200);
    assert_int_equal(mixed->sequences, 4);
    assert_true(mixed->output.mean == 64.0);
    assert_int_not_equal(mixed->flow, chat->flow);
    pst_scenario_free(file);
}

static void faults_and_policies(void **state)
{
    struct pst_scenario_file *file = read_text(sample);
    const struct pst_scenario *s = pst_scenario_of(file);

    (void)state;
    assert_int_equal(s->faults_count, 4);
    assert_int_equal(s->faults[0].kind, PST_FAULT_KILL);
    assert_int_equal(s->faults[0].count, 2);
    assert_int_equal(s->faults[0].at, 1800 * PST_S);
    assert_int_equal(s->faults[1].kind, PST_FAULT_QUOTA);
    assert_int_equal(s->faults[1].pool, 1);
    assert_int_equal(s->faults[1].until, 7200 * PST_S);
    assert_int_equal(s->faults[2].kind, PST_FAULT_OUTAGE);
    assert_int_equal(s->faults[2].until, PST_NEVER);
    assert_int_equal(s->faults[3].kind, PST_FAULT_SLOW);
    assert_true(s->faults[3].factor == 2.5);

    assert_int_equal(s->policies_count, 4);
    assert_string_equal(s->policies[0].name, "fifo+hpa");
    assert_int_equal(s->policies[0].gate, PST_SCENARIO_FIFO);
    assert_int_equal(s->policies[0].pilot, PST_PILOT_HPA_OCCUPANCY);
    assert_int_equal(s->policies[0].target, 700000);
    assert_int_equal(s->policies[0].warm, UINT32_MAX);
    assert_int_equal(s->policies[1].gate, PST_SCENARIO_FIXED);
    assert_int_equal(s->policies[1].actuator, PST_ACTUATOR_KEDA);
    assert_int_equal(s->policies[1].target, 12500);
    assert_int_equal(s->policies[1].warm, 0);
    assert_int_equal(s->policies[2].gate, PST_SCENARIO_ADAPTIVE);
    assert_int_equal(s->policies[2].pilot, PST_PILOT_AHEAD);
    assert_int_equal(s->policies[2].max_wait[0], 0);
    assert_int_equal(s->policies[2].max_wait[1], 6 * PST_S);
    assert_int_equal(s->policies[3].replicas, 9);
    pst_scenario_free(file);
}

static void expectations(void **state)
{
    static const struct {
        uint32_t line, policy;
        uint8_t class_;
        enum pst_measure measure;
        enum pst_comparison comparison;
        double bound;
        uint32_t relative_to;
        const char *text;
    } rows[] = {
        {48, 2, 0, PST_MEASURE_WAIT_P99, PST_AT_MOST, 20e6, UINT32_MAX, "high wait_p99 <= 20ms"},
        {49, 2, 1, PST_MEASURE_ATTAINMENT, PST_ABOVE, 999000, UINT32_MAX, "low attainment > 99.9%"},
        {50, 2, PST_CLASS_DRAWN, PST_MEASURE_REFUSED, PST_EQUAL, 0, UINT32_MAX, "refused == 0"},
        {51, 2, PST_CLASS_DRAWN, PST_MEASURE_REPLICA_HOURS, PST_AT_MOST, 0.95, 0,
         "replica_hours <= 95% of fifo+hpa"},
        {52, 2, 0, PST_MEASURE_TTFT_P95, PST_BELOW, 1.1, 1, "high ttft_p95 < 110% of kpa"},
        {53, 1, PST_CLASS_DRAWN, PST_MEASURE_COST, PST_AT_LEAST, 0.5, UINT32_MAX, "cost >= 0.5"},
    };
    struct pst_scenario_file *file = read_text(sample);
    const struct pst_scenario *s = pst_scenario_of(file);

    (void)state;
    assert_int_equal(s->expectations_count, PST_COUNT_OF(rows));
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct pst_expectation *e = &s->expectations[i];
        assert_int_equal(e->line, rows[i].line);
        assert_int_equal(e->policy, rows[i].policy);
        assert_int_equal(e->class_, rows[i].class_);
        assert_int_equal(e->measure, rows[i].measure);
        assert_int_equal(e->comparison, rows[i].comparison);
        assert_true(e->bound == rows[i].bound);
        assert_int_equal(e->relative_to, rows[i].relative_to);
        assert_string_equal(e->text, rows[i].text);
    }
    pst_scenario_free(file);
}

/* A configuration becomes a scenario by what is added to it; what concerns sockets has no effect. */
static void a_configuration_may_be_whole(void **state)
{
    static const char text[] =
        "listen: 0.0.0.0:8080\n"
        "admin: 0.0.0.0:9900\n"
        "admin_token: {env: PENSTOCK_NOT_SET}\n"
        "pools:\n"
        "  - name: chat\n"
        "    engine: vllm\n"
        "    models: [llama-3-70b]\n"
        "    slots: 256\n"
        "    policy: fixed\n"
        "    upstream_auth: {env: PENSTOCK_NOT_SET}\n"
        "    replicas: {static: [\"http://10.0.0.1:8000\"]}\n"
        "    scaler: {rule: depth}\n"
        "horizon: 1h\n"
        "arrivals:\n"
        "  all: {shares: {high: 20%, medium: 30%, low: 50%}, rate: 1/s, service: 1s}\n";
    struct pst_scenario_file *file = read_text(text);
    const struct pst_scenario *s = pst_scenario_of(file);

    (void)state;
    assert_string_equal(s->name, "test"); /* the file's */
    assert_int_equal(s->policies_count, 1);
    assert_string_equal(s->policies[0].name, "configured");
    assert_int_equal(s->policies[0].gate, PST_SCENARIO_FIXED);
    assert_int_equal(s->policies[0].pilot, PST_PILOT_DEPTH);
    pst_scenario_free(file);
}

/* Lines 1 to 4 of most rows; what follows is in line 5. */
#define BASE                                                                                       \
    "horizon: 1h\n"                                                                                \
    "classes: {high: {}}\n"                                                                        \
    "pools: [{name: chat, slots: 4}]\n"                                                            \
    "arrivals: {a: {class: high, rate: 1/s, service: 1s}}\n"
/* The same with the stream's keys in line 4, from column 16 on. */
#define STREAM(keys)                                                                               \
    "horizon: 1h\nclasses: {high: {}}\npools: [{name: chat, slots: 4}]\n"                          \
    "arrivals: {a: {" keys "}}\n"

/* clang-format off */
static const struct row rows[] = {
    {"broken YAML", "arrivals: [\n", E, 2, 1, "not YAML"},
    {"keys have neighbours", BASE "polices: {a: {}}\n", E, 5, 1, "did you mean `policies`?"},
    {"a configuration's keys too", BASE "limts: {}\n", E, 5, 1, "did you mean `limits`?"},
    {"a pool's keys, own and extended", "horizon: 1h\npools: [{name: a, slot: 3, lief: {}}]\narrivals: {}\n", E, 2, 19, "did you mean `slots`?"},
    {"and those of a scenario", "horizon: 1h\npools: [{name: a, slot: 3, lief: {}}]\narrivals: {}\n", E, 2, 28, "did you mean `life`?"},
    {"slots are required", "horizon: 1h\npools: [{name: a}]\narrivals: {}\n", E, 2, 9, "`slots` is missing"},
    {"streams are", "horizon: 1h\npools: [{name: a, slots: 1}]\narrivals: {}\n", E, 3, 11, "arrivals: 0 entries"},
    {"a horizon is needed without a trace", "pools: [{name: a, slots: 1}]\narrivals: {a: {rate: 1/s, service: 1s, class: low}}\n", E, 1, 1, "`horizon` is missing"},
    {"a byte order mark is no part of a key", "\xef\xbb\xbf" BASE "nmae: x\n", E, 5, 1, "did you mean `name`?"},
    {"cut before horizon", BASE "cut: 1h\n", E, 5, 6, "cut: must be before the horizon"},

    /* streams */
    {"class", STREAM("rate: 1/s, service: 1s"), E, 4, 15, "`class` is missing"},
    {"class and shares", STREAM("class: high, shares: {high: 1}, rate: 1/s, service: 1s"), E, 4, 23, "one is enough"},
    {"unknown class", STREAM("class: hihg, rate: 1/s, service: 1s"), E, 4, 23, "there is no class 'hihg'; did you mean `high`?"},
    {"unknown class in shares", STREAM("shares: {hi: 100%}, rate: 1/s, service: 1s"), E, 4, 29, "there is no class 'hi'"},
    {"shares are whole", STREAM("shares: {high: 90%}, rate: 1/s, service: 1s"), E, 4, 24, "together they are 90%"},
    {"unknown pool", STREAM("class: high, pool: caht, rate: 1/s, service: 1s"), E, 4, 35, "no pool 'caht'; did you mean `chat`?"},
    {"which pool", "horizon: 1h\npools: [{name: a, slots: 1}, {name: b, slots: 1}]\narrivals: {a: {class: low, rate: 1/s, service: 1s}}\n", E, 3, 15, "`pool` is missing: there are 2"},
    {"unknown type", STREAM("class: high, type: x, rate: 1/s, service: 1s"), E, 4, 35, "no type 'x'"},
    {"service", STREAM("class: high, rate: 1/s"), E, 4, 15, "`service` is missing"},
    {"a source", STREAM("class: high, service: 1s"), E, 4, 15, "when do its requests come?"},
    {"one source", STREAM("trace: none.csv, rate: 1/s, service: 1s"), E, 4, 39, "recorded arrivals have no rate"},
    {"one recording", STREAM("trace: none.csv, recording: x, service: 1s"), E, 4, 44, "beside `trace`"},
    {"a rate has its unit", STREAM("class: high, rate: 200, service: 1s"), E, 4, 35, "arrivals.*.rate: '200' cannot be read; expected a rate, as 200/s, 12/m, 30/h"},
    {"a law says what is wrong", STREAM("class: high, rate: 1/s, service: \"exp:100\""), E, 4, 49, "service: a duration needs a unit"},
    {"a form has no mean", STREAM("class: high, rate: 1/s, service: 1s, gaps: exp:1s"), E, 4, 59, "gaps: "},
    {"pieces ascend", STREAM("class: high, service: 1s, rate: [{at: 1s, rate: 1/s}, {at: 1s, rate: 2/s}]"), E, 4, 48, "piece 2"},
    {"pieces in their period", STREAM("class: high, service: 1s, rate: {pieces: [{at: 0s, rate: 1/s}, {at: 2h, rate: 1/s}], period: 2h}"), E, 4, 109, "period: must be longer"},
    {"a burst has a length", STREAM("class: high, service: 1s, burst: {every: 1h, rate: 1/s}"), E, 4, 49, "`length` is missing in arrivals.*.burst"},
    {"until after from", STREAM("class: high, rate: 1/s, service: 1s, from: 2m, until: 1m"), E, 4, 70, "until: is not after `from`"},
    {"a trace that is not there", STREAM("trace: none.csv, service: 1s"), E, 4, 23, "none.csv: No such file"},
    {"a table that is not there", STREAM("class: high, rate: 1/s, service: 1s, prompt: {table: none.csv}"), E, 4, 69, "none.csv: No such file"},
    {"long names", "horizon: 1h\npools: [{name: a, slots: 1}]\narrivals: {a23456789012345678901234567890123456789012345678: {class: low, rate: 1/s, service: 1s}}\n", E, 3, 62, "at most 47 characters"},

    /* pools */
    {"min and max", "horizon: 1h\npools: [{name: a, slots: 1, scaler: {min: 3, max: 2}}]\narrivals: {}\n", E, 2, 37, "min is more than max"},
    {"initial and max", "horizon: 1h\npools: [{name: a, slots: 1, scaler: {max: 2}, life: {initial: 3}}]\narrivals: {}\n", E, 2, 63, "initial: 3 replicas, and scaler.max is 2"},
    {"a budget has a price", "horizon: 1h\npools: [{name: a, slots: 1, scaler: {budget: {hour: 3 USD}}}]\narrivals: {}\n", E, 2, 46, "budget: needs `cost_per_hour`"},
    {"one currency", "horizon: 1h\npools: [{name: a, slots: 1, scaler: {cost_per_hour: 1 EUR, budget: {day: 3 USD}}}]\narrivals: {}\n", E, 2, 74, "USD, where another amount is in EUR"},
    {"rule qps", "horizon: 1h\npools: [{name: a, slots: 1, scaler: {rule: qps}}]\narrivals: {}\n", E, 2, 44, "rule: qps needs `qps`"},

    /* faults */
    {"a fault is something", BASE "faults: [{at: 1m}]\n", E, 5, 10, "what goes wrong? One of kill"},
    {"one thing", BASE "faults: [{kill: 1, quota: 2, at: 1m}]\n", E, 5, 10, "one thing at a time"},
    {"a kill does not last", BASE "faults: [{kill: 1, at: 1m, until: 2m}]\n", E, 5, 35, "kill happens at once"},
    {"an outage is on", BASE "faults: [{outage: false, at: 1m}]\n", E, 5, 19, "true is expected"},
    {"a span", BASE "faults: [{hang: 1, at: 1m, until: 1m}]\n", E, 5, 35, "is not after `at`"},
    {"a factor", BASE "faults: [{hang: 1, at: 1m, factor: 2}]\n", E, 5, 36, "is of `slow` only"},
    {"when", BASE "faults: [{hang: 1}]\n", E, 5, 10, "`at` is missing"},

    /* policies */
    {"a gate", BASE "policies: {a: {gate: fifoo}}\n", E, 5, 22, "expected adaptive, fixed, fifo, none"},
    {"a share", BASE "policies: {a: {pilot: hpa-occupancy, target: 8}}\n", E, 5, 46, "a share of the slots is expected, as 70%"},
    {"a number", BASE "policies: {a: {pilot: kpa, target: 70%}}\n", E, 5, 36, "a number for each replica"},
    {"no target", BASE "policies: {a: {pilot: ahead, target: 7}}\n", E, 5, 38, "takes no target"},
    {"nothing is no target", BASE "policies: {a: {pilot: apa, target: 0}}\n", E, 5, 36, "a number for each replica"},
    {"replicas of static", BASE "policies: {a: {pilot: ahead, replicas: 7}}\n", E, 5, 40, "is of the pilot `static`"},
    {"qps from somewhere", BASE "policies: {a: {pilot: qps}}\n", E, 5, 15, "pilot qps needs a `target`"},
    {"a class of max_wait", BASE "policies: {a: {max_wait: {low: 1s}}}\n", E, 5, 32, "there is no class 'low'"},
    {"names have no blanks", BASE "policies: {\"a b\": {}}\n", E, 5, 19, "without blanks and commas"},

    /* expectations: at their line */
    {"an unknown policy", BASE "policies: {ahead: {}}\nexpect:\n  aheda: [refused == 0]\n", E, 7, 3, "no policy 'aheda'; did you mean `ahead`?"},
    {"an unknown metric", BASE "policies: {a: {}}\nexpect:\n  a:\n    - wait_p9 <= 1s\n", E, 8, 7, "'wait_p9' is no class and no metric; did you mean `wait_p95`?"},
    {"a class alone", BASE "policies: {a: {}}\nexpect:\n  a:\n    - high\n", E, 8, 7, "a metric is missing behind 'high'"},
    {"of a class", BASE "policies: {a: {}}\nexpect:\n  a:\n    - high wait_p9 <= 1s\n", E, 8, 7, "'wait_p9' is no metric; did you mean"},
    {"an unknown class", BASE "policies: {a: {}}\nexpect:\n  a:\n    - hgih wait_p99 <= 1s\n", E, 8, 7, "no class 'hgih'; did you mean `high`?"},
    {"of the whole", BASE "policies: {a: {}}\nexpect:\n  a:\n    - high replica_hours <= 1\n", E, 8, 7, "is of the whole, not of a class"},
    {"a comparison", BASE "policies: {a: {}}\nexpect: {a: [refused = 0]}\n", E, 6, 14, "in place of '='"},
    {"a comparison at all", BASE "policies: {a: {}}\nexpect: {a: [refused]}\n", E, 6, 14, "is expected at the end"},
    {"a value", BASE "policies: {a: {}}\nexpect: {a: [refused ==]}\n", E, 6, 14, "a value is missing"},
    {"its unit", BASE "policies: {a: {}}\nexpect: {a: [wait_p99 <= 20]}\n", E, 6, 14, "'20': a duration with its unit"},
    {"a share in expect", BASE "policies: {a: {}}\nexpect: {a: [attainment <= 200%]}\n", E, 6, 14, "a share, as 99.9%"},
    {"of whom", BASE "policies: {a: {}}\nexpect: {a: [cost <= 95% of b]}\n", E, 6, 14, "no policy 'b'"},
    {"not of itself", BASE "policies: {a: {}}\nexpect: {a: [cost <= 95% of a]}\n", E, 6, 14, "not compared with itself"},
    {"a percentage", BASE "policies: {a: {}, b: {}}\nexpect: {a: [cost <= 95 of b]}\n", E, 6, 14, "a percentage is expected before `of`"},
    {"no more", BASE "policies: {a: {}, b: {}}\nexpect: {a: [cost <= 95 USD]}\n", E, 6, 14, "'USD' is not expected"},
    {"an empty line", BASE "policies: {a: {}}\nexpect: {a: [\" \"]}\n", E, 6, 14, "the line is empty"},
    {"too many words", BASE "policies: {a: {}}\nexpect: {a: [a b c d e f g h i]}\n", E, 6, 14, "too long"},
    {"a list of lines", BASE "policies: {a: {}}\nexpect: {a: refused == 0}\n", E, 6, 13, "a list is expected"},

    /* allowed, and unwise */
    {"an unused class", "horizon: 1h\nclasses:\n  high: {}\n  low: {}\npools: [{name: a, slots: 1}]\narrivals: {a: {class: high, rate: 1/s, service: 1s}}\n", W, 4, 8, "class low: no stream uses it"},
    {"an unused pool", "horizon: 1h\nclasses: {high: {}}\npools:\n  - {name: a, slots: 1}\n  - {name: b, slots: 1}\narrivals: {a: {class: high, pool: a, rate: 1/s, service: 1s}}\n", W, 5, 5, "pool b: no stream goes there"},
    {"a late stream", STREAM("class: high, rate: 1/s, service: 1s, from: 2h"), W, 4, 59, "begins behind the horizon"},
    {"a late fault", BASE "faults: [{kill: 1, at: 2h}]\n", W, 5, 24, "begins behind the horizon"},
    {"a free cost", BASE "policies: {a: {}}\nexpect: {a: [cost <= 5]}\n", W, 6, 1, "cost is 0 without"},
    {"waits past ttl", BASE "policies: {a: {max_wait: {high: 31s}}}\n", W, 5, 26, "can only expire"},
    {"cron without a day", "horizon: 1h\nclasses: {high: {}}\npools: [{name: a, slots: 1, scaler: {cron: [{from: 0 8 * * *, until: 0 9 * * *, replicas: 2}]}}]\narrivals: {a: {class: high, rate: 1/s, service: 1s}}\n", W, 3, 37, "a scenario has no time of day"},
    {"few at first", "horizon: 1h\nclasses: {high: {}}\npools: [{name: a, slots: 1, scaler: {min: 2}, life: {initial: 1}}]\narrivals: {a: {class: high, rate: 1/s, service: 1s}}\n", W, 3, 63, "fewer replicas at the beginning"},
};
/* clang-format on */

static int read_row(const char *text, struct pst_problems *problems)
{
    struct pst_scenario_file *file = NULL;
    const int rc = pst_scenario_parse("test.yaml", text, strlen(text), &file, problems);

    pst_scenario_free(file);
    return rc;
}

static void every_fault_has_its_place(void **state)
{
    (void)state;
    faults_check(rows, PST_COUNT_OF(rows), read_row);
}

static void policies_by_their_parts(void **state)
{
    static const struct {
        const char *text;
        bool reads;
        enum pst_scenario_gate gate;
        enum pst_scenario_pilot pilot;
        enum pst_scenario_actuator actuator;
        uint64_t target;
    } parts[] = {
        {"fifo+hpa-occupancy:70%@direct", true, PST_SCENARIO_FIFO, PST_PILOT_HPA_OCCUPANCY,
         PST_ACTUATOR_DIRECT, 700000},
        {"adaptive+ahead", true, PST_SCENARIO_ADAPTIVE, PST_PILOT_AHEAD, PST_ACTUATOR_DIRECT, 0},
        {"none+kpa:8@hpa", true, PST_SCENARIO_NONE, PST_PILOT_KPA, PST_ACTUATOR_HPA, 8000},
        {"fixed+apa@keda", true, PST_SCENARIO_FIXED, PST_PILOT_APA, PST_ACTUATOR_KEDA, 0},
        {"adaptive", false, 0, 0, 0, 0},
        {"lifo+ahead", false, 0, 0, 0, 0},
        {"fifo+head", false, 0, 0, 0, 0},
        {"fifo+kpa:70%", false, 0, 0, 0, 0},
        {"fifo+kpa@", false, 0, 0, 0, 0},
        {"fifo+kpa:", false, 0, 0, 0, 0},
        {"adaptive+ahead:3", false, 0, 0, 0, 0},
        {"", false, 0, 0, 0, 0},
        {"adaptive+hpa-inflight:1234567890123456789012345678", false, 0, 0, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(parts); i++) {
        struct pst_scenario_policy policy = {.target = 77};
        const char *why = NULL;
        const int rc = pst_scenario_policy_read(parts[i].text, &policy, &why);
        assert_int_equal(rc, parts[i].reads ? PST_OK : PST_E_SYNTAX);
        if (!parts[i].reads) {
            assert_true(why != NULL && why[0] != '\0');
            assert_int_equal(policy.target, 77);
            continue;
        }
        assert_string_equal(policy.name, parts[i].text);
        assert_int_equal(policy.gate, parts[i].gate);
        assert_int_equal(policy.pilot, parts[i].pilot);
        assert_int_equal(policy.actuator, parts[i].actuator);
        assert_int_equal(policy.target, parts[i].target);
        assert_int_equal(policy.warm, UINT32_MAX);
    }
}

static void a_scenario_is_known_by_its_arrivals(void **state)
{
    static const struct {
        const char *text;
        bool is;
    } looks[] = {
        {"arrivals: {}", true},
        {"seed: 1\n\"arrivals\" : {}", true},
        {"seed: 1\n", false},
        {"pools:\n  arrivals: {}\n", false},
        {"# arrivals: {}\n", false},
        {"arrivals", false},
        {"", false},
        {"arrivals_x: 1\n", false},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(looks); i++)
        assert_int_equal(pst_scenario_is(looks[i].text, strlen(looks[i].text)), looks[i].is);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_has_its_times),
        cmocka_unit_test(pools_have_their_scaler_and_their_life),
        cmocka_unit_test(streams_say_when_and_what),
        cmocka_unit_test(faults_and_policies),
        cmocka_unit_test(expectations),
        cmocka_unit_test(a_configuration_may_be_whole),
        cmocka_unit_test(every_fault_has_its_place),
        cmocka_unit_test(policies_by_their_parts),
        cmocka_unit_test(a_scenario_is_known_by_its_arrivals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
