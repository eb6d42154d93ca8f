/* Where replicas come from, what is known of them and when they are wanted: read, and what is wrong with it. */
#include "core/export.h"
#include "faults.h"

/* Lines 1 to 4; `replicas` is line 5. */
#define POOL(replicas)                                                                             \
    "pools:\n"                                                                                     \
    "  - name: chat\n"                                                                             \
    "    models: [m]\n"                                                                            \
    "    slots: 4\n"                                                                               \
    "    replicas: " replicas "\n"
#define STATIC       POOL("{static: [\"http://10.0.0.1:8000\"]}")
#define LOCAL(more)  POOL("{local: {command: [engine, \"{port}\"], ports: 8100-8103" more "}}")
#define SCALER(keys) STATIC "    scaler: {" keys "}\n"

/* clang-format off */
static const struct row rows[] = {
    /* where they come from */
    {"no source", POOL("{}"), E, 5, 15, "one of static, dns, local and kubernetes is needed"},
    {"two sources", POOL("{static: [], dns: {name: a, port: 1}}"), E, 5, 15, "and no other beside it"},
    {"dns without a port", POOL("{dns: {name: vllm}}"), E, 5, 21, "`port` is missing"},
    {"dns of no name", POOL("{dns: {name: \"a b\", port: 1}}"), E, 5, 28, "a host name or address"},
    {"dns asks a name", POOL("{dns: {name: a, port: 1, server: b}}"), E, 5, 48, "an address with its port"},
    {"local without state", LOCAL(""), E, 5, 23, "needs `state`"},
    {"local without ports", POOL("{local: {command: [\"{port}\"]}}"), E, 5, 23, "`ports` is missing"},
    {"a command without its port", "state: s\n" POOL("{local: {command: [engine], ports: 1-2}}"), E, 6, 33, "it must say {port}"},
    {"ports backwards", "state: s\n" POOL("{local: {command: [\"{port}\"], ports: 9-8}}"), E, 6, 52, "out of range"},
    {"one port", "state: s\n" POOL("{local: {command: [\"{port}\"], ports: 8000}}"), E, 6, 52, "a range of ports, as 8100-8199"},
    {"a gpu twice", "state: s\n" LOCAL(", gpus: [0, 1, 0]"), E, 6, 84, "0 is listed twice"},
    {"too few gpus", "state: s\n" LOCAL(", gpus: [0], gpus_each: 2"), E, 6, 93, "2 for each engine, and there are 1"},
    {"ports of two pools", "state: s\n" LOCAL("") "  - {name: b, models: [n], slots: 1, replicas: {local: {command: [\"{port}\"], ports: 8103-8200}}}\n", E, 7, 85, "pool 'chat' has some of them"},
    {"a GPU of two pools", "state: s\n" LOCAL(", gpus: [0, 1]") "  - {name: b, models: [n], slots: 1, replicas: {local: {command: [\"{port}\"], ports: 8200-8201, gpus: [2, 1]}}}\n", E, 7, 106, "gpus: pool 'chat' has 1"},
    {"a port is no model", "state: s\n" LOCAL("") "    ready: {model: none}\n", E, 7, 20, "listens long before its model answers"},
    {"a variable's name", "state: s\n" LOCAL(", env: {A=B: c}"), E, 6, 76, "'A=B' is no variable's name"},
    {"a variable from nowhere", "state: s\n" LOCAL(", env: {T: {env: PST_TEST_NOT_SET}}"), E, 6, 86, "is not in the environment"},
    {"more than there are places", "state: s\n" LOCAL(", gpus: [0, 1]") "    scaler: {min: 3}\n", E, 7, 13, "places for 2"},
    {"a certificate without its key", POOL("{kubernetes: {selector: a=b, port: 1, cert_file: c}}"), E, 5, 28, "belong together"},
    {"an API server", POOL("{kubernetes: {selector: a=b, port: 1, server: \"ftp://a\"}}"), E, 5, 61, "http:// or https://"},

    /* what is known, and told */
    {"a period", STATIC "    signals: {engine: 5}\n", E, 6, 23, "a duration or off"},
    {"an unknown query", STATIC "    signals: {prometheus: {server: \"http://p:9090\", queries: {gpus: x}}}\n", E, 6, 63, "did you mean `gpu`?"},
    {"a mode", STATIC "    export: {mode: replicas}\n", E, 6, 20, "expected desired, backlog-seconds, weighted-depth, p99-wait"},
    {"keda without an address", STATIC "keda: {cert: a, key: b}\n", E, 6, 7, "`listen` is missing"},
    {"keda's certificate without its key", STATIC "keda: {listen: \"127.0.0.1:1\", cert: a}\n", E, 6, 7, "belong together"},
    {"clients without TLS", STATIC "keda: {listen: \"127.0.0.1:1\", client_ca: a}\n", E, 6, 42, "within TLS only"},
    {"keda where another listens", STATIC "keda: {listen: \"0.0.0.0:8080\"}\n", E, 6, 16, "the same address"},

    /* when they are wanted */
    {"a rule without its end", SCALER("cron: [{from: 0 8 * * *, replicas: 2}]"), E, 6, 21, "`until` is missing"},
    {"an hour that is none", SCALER("cron: [{from: 0 24 * * *, until: 0 1 * * *, replicas: 2}]"), E, 6, 28, "from: '0 24 * * *': an hour is 0 to 23, at '24 * * *'"},
    {"four fields", SCALER("cron: [{from: 0 8 * *, until: 0 1 * * *, replicas: 2}]"), E, 6, 28, "five fields are needed"},
    {"a day that never comes", SCALER("cron: [{from: 0 0 30 2 *, until: 0 1 * * *, replicas: 2}]"), E, 6, 28, "it never comes"},
    {"a zone of nowhere", SCALER("zone: Europe/Atlantis"), E, 6, 20, "zone: this machine knows no such time zone"},
    {"a folder is no zone", SCALER("zone: Europe"), E, 6, 20, "Is a directory"},
    {"no date", SCALER("holidays: [2026-02-29]"), E, 6, 25, "out of range; expected a date"},
    {"a date of its own", SCALER("holidays: [25.12.2026]"), E, 6, 25, "a date, as 2026-12-25"},
    {"a path is no zone", SCALER("zone: ../../etc/passwd"), E, 6, 20, "a time zone, as Europe/Berlin"},
    {"a profile needs its folder", SCALER("profile: history"), E, 6, 23, "needs `state`"},
    {"a profile needs its server", SCALER("profile: prometheus"), E, 6, 23, "needs `signals.prometheus.server`"},
    {"a query of nobody", "state: s\n" SCALER("profile: {from: history, query: x}"), E, 7, 46, "is of `from: prometheus`"},

    /* allowed, and unwise */
    {"slots that do not divide", "gateways: 3\n" STATIC, W, 5, 12, "4 slots among 3 gateways: 1 of each replica stay unused"},
    {"fewer slots than gateways", "gateways: 5\n" STATIC, W, 5, 12, "more than there are"},
    {"more than there are places", "state: s\n" LOCAL(", gpus: [0, 1]") "    scaler: {max: 3}\n", W, 7, 19, "places for 2"},
    {"warm, where others start", POOL("{dns: {name: a, port: 1}}") "    scaler: {warm: 1}\nkeda: {listen: \"127.0.0.1:9\"}\n", W, 6, 20, "`local` and `kubernetes` do"},
    {"max fits, and warm does not", "state: s\n" LOCAL(", gpus: [0, 1]") "    scaler: {max: 2, warm: 1}\n", W, 7, 19, "ask for 3 replicas"},
    {"a GPU too many", "state: s\n" LOCAL(", env: {G: '{gpus}'}, gpus: [0, 1, 2], gpus_each: 2"), W, 6, 97, "1 stay unused"},
    {"one replica", SCALER("min: 1, max: 9") "keda: {listen: '127.0.0.1:1'}\n", W, 6, 19, "pays for a replica at night"},
    {"nobody waits so long", SCALER("min: 0, start_time: 6m") "keda: {listen: '127.0.0.1:1'}\n", W, 6, 19, "no_replica_ttl ends before"},
    {"given up too early", SCALER("min: 2, start_time: 15m") "keda: {listen: '127.0.0.1:1'}\n", W, 6, 13, "start_timeout is not longer"},
    {"a rule that does not look ahead", SCALER("min: 2, rule: backlog, in_after: 1m, start_time: 61s") "keda: {listen: '127.0.0.1:1'}\n", W, 6, 47, "in_after is shorter than start_time"},
    {"a short drain", SCALER("min: 2, drain_deadline: 9m") "keda: {listen: '127.0.0.1:1'}\n", W, 6, 38, "drain_deadline is shorter than first_byte"},
    {"a guard without eyes", SCALER("gpu_guard: 90%"), W, 6, 25, "no replica ever leaves"},
    {"eyes that close too long", STATIC "    signals: {dcgm: 'http://d:1/', every: 15s}\n", W, 6, 43, "a value is old before the next comes"},
    {"a token in the open", STATIC "    signals: {prometheus: {server: 'http://p:1', token_file: t}}\n", W, 6, 62, "use https://"},
    {"a tolerance of nobody", STATIC "    export: {tolerance: 5%}\n", W, 6, 25, "no effect with band exact"},
    {"nobody is told", POOL("{kubernetes: {selector: a=b, port: 1}}"), W, 5, 28, "neither `keda` nor `metrics`"},
    {"a rule beyond max", SCALER("max: 3, cron: [{from: 0 8 * * *, until: 0 9 * * *, replicas: 4}]"), W, 6, 75, "asks for 4, and max is 3"},
    {"a rule without an end", SCALER("cron: [{from: 0 8 * * *, until: 0 8 * * *, replicas: 4}]"), W, 6, 46, "all the time"},
};
/* clang-format on */

static int read_row(const char *text, struct pst_problems *problems)
{
    struct pst_config *config = NULL;
    const int rc = pst_config_parse("test.yaml", text, strlen(text), &config, problems);

    pst_config_free(config);
    return rc;
}

static void every_fault_has_its_place(void **state)
{
    (void)state;
    faults_check(rows, PST_COUNT_OF(rows), read_row);
}

static struct pst_config *read_text(const char *text)
{
    struct pst_config *config = NULL;
    struct pst_problems problems;
    const int rc = pst_config_parse("t.yaml", text, strlen(text), &config, &problems);

    for (size_t i = 0; i < problems.count; i++)
        print_message("%u:%u: %s\n", problems.item[i].line, problems.item[i].column,
                      problems.item[i].message);
    assert_int_equal(rc, PST_OK);
    pst_problems_done(&problems);
    return config;
}

static void local_engines_are_read(void **state)
{
    struct pst_config *c =
        read_text("state: /var/lib/penstock\n"
                  "decision_log: '-'\n"
                  "pools:\n"
                  "  - name: chat\n"
                  "    engine: vllm\n"
                  "    models: [m]\n"
                  "    slots: 4\n"
                  "    replicas:\n"
                  "      local:\n"
                  "        command: [vllm, serve, m, --port, '{port}']\n"
                  "        env: {CUDA_VISIBLE_DEVICES: '{gpus}', TOKEN: {env: PATH}, EMPTY: ''}\n"
                  "        ports: 8100-8199\n"
                  "        gpus: [0, 1, 2, 3]\n"
                  "        gpus_each: 2\n"
                  "        on_exit: keep\n"
                  "    warmup: {prompts: [You are helpful., Hello], max_tokens: 2}\n"
                  "    scaler: {min: 0, warm: 1}\n");
    const struct pst_config_local *local = &c->pools[0].local;

    (void)state;
    assert_string_equal(c->state, "/var/lib/penstock");
    assert_string_equal(c->decision_log, "-");
    assert_int_equal(local->command_count, 5);
    assert_string_equal(local->command[4], "{port}");
    assert_int_equal(local->env_count, 3);
    assert_string_equal(local->env[0].name, "CUDA_VISIBLE_DEVICES");
    assert_string_equal(local->env[0].value, "{gpus}");
    assert_non_null(strchr(local->env[1].value, '/'));
    assert_string_equal(local->env[2].value, "");
    assert_string_equal(local->host, "127.0.0.1");
    assert_int_equal(local->port_first, 8100);
    assert_int_equal(local->port_last, 8199);
    assert_int_equal(local->gpus_count, 4);
    assert_int_equal(local->gpus[3], 3);
    assert_int_equal(local->gpus_each, 2);
    assert_true(local->keeps);
    assert_int_equal(local->stop_timeout, 30 * PST_S);
    assert_int_equal(c->pools[0].warmup.prompts_count, 2);
    assert_int_equal(c->pools[0].warmup.max_tokens, 2);
    assert_int_equal(c->pools[0].signals.engine_every, 5 * PST_S);
    assert_true(c->pools[0].signals.nvidia_smi);
    assert_int_equal(c->scaler.pools[0].actuate, PST_ACTUATE_OWN);
    assert_int_equal(c->scaler.pools[0].min, 0);
    assert_int_equal(c->scaler.pools[0].max, 1); /* two places, one of them warm */
    pst_config_free(c);
}

static void what_is_known_and_told_is_read(void **state)
{
    struct pst_config *c = read_text(
        "keda: {listen: '[::]:6000', cert: c.pem, key: k.pem, client_ca: ca.pem}\n"
        "gateways: 3\n"
        "pools:\n"
        "  - name: chat\n"
        "    models: [m]\n"
        "    slots: 96\n"
        "    replicas: {dns: {name: vllm.default.svc, port: 8000, server: '10.0.0.10:53'}}\n"
        "    signals:\n"
        "      engine: off\n"
        "      dcgm: http://dcgm:9400/metrics\n"
        "      prometheus:\n"
        "        server: https://prometheus:9090/prefix\n"
        "        token_file: /token\n"
        "        queries: {quota: vector(3), gpu: avg(x)}\n"
        "    export: {mode: backlog-seconds, band: hold, tolerance: 5%}\n"
        "    scaler:\n"
        "      zone: Europe/Berlin\n"
        "      cron:\n"
        "        - {from: 0 8 * * 1-5, until: 0 18 * * 1-5, replicas: 4}\n"
        "        - {from: 0 0 * * *, until: 0 1 * * *, replicas: 2, zone: America/New_York}\n"
        "      holidays: [2026-12-25]\n"
        "      profile: prometheus\n"
        "      lead: 3m\n");
    const struct pst_config_pool *pool = &c->pools[0];

    (void)state;
    assert_string_equal(c->keda.listen, "[::]:6000");
    assert_string_equal(c->keda.client_ca, "ca.pem");
    assert_int_equal(c->gateways, 3);
    assert_int_equal(c->gate.pools[0].slots, 32);
    assert_int_equal(c->scaler.pools[0].slots, 32);
    assert_int_equal(c->scaler.pools[0].actuate, PST_ACTUATE_NUMBER);
    assert_string_equal(pool->dns.name, "vllm.default.svc");
    assert_int_equal(pool->dns.port, 8000);
    assert_int_equal(pool->dns.every, 2 * PST_S);
    assert_null(pool->local.command);
    assert_null(pool->kubernetes.selector);
    assert_int_equal(pool->signals.engine_every, 0);
    assert_false(pool->signals.nvidia_smi);
    assert_string_equal(pool->signals.prometheus, "https://prometheus:9090/prefix");
    assert_int_equal(pool->signals.queries_count, 2);
    assert_int_equal(pool->signals.queries[0].signal, PST_SIGNAL_GPU);
    assert_int_equal(pool->signals.queries[1].signal, PST_SIGNAL_QUOTA);
    assert_int_equal(pool->export_.mode, PST_EXPORT_BACKLOG_SECONDS);
    assert_int_equal(pool->export_.band, PST_EXPORT_HOLD);
    assert_int_equal(pool->export_.tolerance_ppm, 50000);
    assert_int_equal(pool->prescale.cron_count, 2);
    assert_string_equal(pool->prescale.cron[0].zone, "Europe/Berlin");
    assert_string_equal(pool->prescale.cron[1].zone, "America/New_York");
    assert_int_equal(pool->prescale.cron[1].replicas, 2);
    assert_string_equal(pool->prescale.holidays[0], "2026-12-25");
    assert_int_equal(pool->prescale.profile, PST_PROFILE_PROMETHEUS);
    assert_int_equal(pool->prescale.weeks, 4);
    assert_int_equal(pool->prescale.lead, 180 * PST_S);
    pst_config_free(c);
}

static void who_acts_follows_from_the_source(void **state)
{
    static const struct {
        const char *text;
        uint8_t actuate;
    } cases[] = {
        {STATIC, PST_ACTUATE_NONE},
        {STATIC "keda: {listen: \"127.0.0.1:1\"}\n", PST_ACTUATE_NUMBER},
        {POOL("{dns: {name: a, port: 1}}"), PST_ACTUATE_NONE},
        {POOL("{kubernetes: {selector: a=b, port: 1}}"), PST_ACTUATE_MARKED},
        {"state: s\n" LOCAL(""), PST_ACTUATE_OWN},
        {"state: s\n" LOCAL("") "    scaler: {act: false}\n", PST_ACTUATE_NONE},
        {SCALER("act: false") "keda: {listen: \"127.0.0.1:1\"}\n", PST_ACTUATE_NONE},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(cases); i++) {
        struct pst_config *c = read_text(cases[i].text);

        assert_int_equal(c->scaler.pools[0].actuate, cases[i].actuate);
        pst_config_free(c);
    }
}

static void what_cannot_be_reloaded_is_named(void **state)
{
    static const struct {
        const char *now, *next, *key; /* NULL: nothing */
    } cases[] = {
        {STATIC, STATIC "keda: {listen: \"127.0.0.1:1\"}\n", "keda"},
        {STATIC, "state: s\n" STATIC, "state"},
        {STATIC, "decision_log: d\n" STATIC, "decision_log"},
        {STATIC, POOL("{dns: {name: a, port: 1}}"), "pools[].replicas"},
        {"state: s\n" STATIC,
         "state: s\n" STATIC "  - {name: b, models: [n], slots: 1, replicas: {local: {command: "
         "[e, \"{port}\"], ports: 1-9}}}\n",
         "pools[].replicas"},
        {STATIC,
         STATIC "  - {name: b, models: [n], slots: 1, replicas: {static: [\"http://h\"]}, signals: "
                "{nvidia_smi: true}}\n",
         "pools[].signals"},
        {STATIC, "gateways: 2\n" STATIC, NULL},
        {"state: s\n" LOCAL(""), "state: s\n" LOCAL(", gpus: [0]"), NULL},
        {STATIC, SCALER("act: false, cron: [{from: 0 8 * * *, until: 0 9 * * *, replicas: 1}]"),
         NULL},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(cases); i++) {
        struct pst_config *now = read_text(cases[i].now), *next = read_text(cases[i].next);
        const char *keys[PST_CONFIG_RESTART_MAX];
        const size_t count = pst_config_needs_restart(now, next, keys);

        assert_int_equal(count, cases[i].key != NULL);
        if (count > 0)
            assert_string_equal(keys[0], cases[i].key);
        pst_config_free(now);
        pst_config_free(next);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_has_its_place),
        cmocka_unit_test(local_engines_are_read),
        cmocka_unit_test(what_is_known_and_told_is_read),
        cmocka_unit_test(who_acts_follows_from_the_source),
        cmocka_unit_test(what_cannot_be_reloaded_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
