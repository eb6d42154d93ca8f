/* Every fault has its line and column and says what to do; all of them come at once. */
#include <stdio.h>
#include <stdlib.h>

#include "faults.h"

/* Lines 1 to 5 of most rows; what follows is in line 6. */
#define POOL                                                                                       \
    "pools:\n"                                                                                     \
    "  - name: chat\n"                                                                             \
    "    models: [m]\n"                                                                            \
    "    slots: 4\n"                                                                               \
    "    replicas: {static: [\"http://10.0.0.1:8000\"]}\n"
#define KEY "\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\""

/* clang-format off */
static const struct row rows[] = {
    /* not YAML, or not the YAML that is read */
    {"broken YAML", "pools: [\n", E, 2, 1, "not YAML"},
    {"a text is no configuration", "hello\n", E, 1, 1, "a map of keys"},
    {"an empty file lacks its pools", "", E, 1, 1, "`pools` is missing"},
    {"one document", POOL "---\nseed: 1\n", E, 6, 1, "a second document"},
    {"a key twice", POOL "seed: 1\nseed: 2\n", E, 7, 1, "`seed` is given twice; the first is in line 6"},
    {"merge keys", POOL "limits: {<<: {body: 1MiB}}\n", E, 6, 10, "merge keys"},
    {"tags", POOL "seed: !!int 1\n", E, 6, 7, "tags"},
    {"an alias of nothing", POOL "seed: *one\n", E, 6, 7, "an alias of nothing"},
    {"a line break in a text", POOL "access_log: \"a\\nb\"\n", E, 6, 13, "line breaks"},
    {"a list as a key", POOL "? [a]\n: 1\n", E, 6, 3, "a key must be a plain text"},
    {"too deep", POOL "seed: [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]\n", E, 6, 22, "nested too deeply"},

    /* keys */
    {"an unknown key", POOL "wibble: 1\n", E, 6, 1, "unknown key `wibble`"},
    {"a likely key", POOL "lisen: 0.0.0.0:1\n", E, 6, 1, "did you mean `listen`?"},
    {"a likely key, exchanged letters", POOL "limits: {bdoy: 1MiB}\n", E, 6, 10, "did you mean `body`?"},
    {"a likely key of a pool", POOL "    slot: 3\n", E, 6, 5, "unknown key `slot` in pools[]; did you mean `slots`?"},
    {"a missing key", "pools:\n  - {name: a, models: [m], replicas: {static: []}}\n", E, 2, 5, "`slots` is missing"},
    {"a map is wanted", POOL "limits: 3\n", E, 6, 9, "limits: a map is expected"},
    {"an empty section", POOL "limits:\n", E, 6, 8, "nothing is given"},
    {"a list is wanted", POOL "tenants: {a: b}\n", E, 6, 10, "tenants: a list is expected"},
    {"a single value is wanted", POOL "seed: [1]\n", E, 6, 7, "not a single value"},
    {"no value", POOL "seed:\n", E, 6, 6, "no value"},

    /* B101: a number without its unit says nothing */
    {"B101 a duration needs a unit", POOL "drain: {deadline: 600}\n", E, 6, 19, "'600' cannot be read; expected a duration with its unit, as 500ms, 15s, 10m"},
    {"B101 max_wait: 400", POOL "classes: {high: {max_wait: 400}}\n", E, 6, 28, "500ms, 15s, 10m"},
    {"B101 a size needs a unit", POOL "limits: {body: 1048576}\n", E, 6, 16, "a size with its unit, as 512B, 64KiB"},
    {"an unknown unit", POOL "drain: {grace: 3w}\n", E, 6, 16, "'3w' cannot be read"},
    {"a negative duration", POOL "drain: {grace: -3s}\n", E, 6, 16, "'-3s' cannot be read"},
    {"out of range", POOL "    tries: 11\n", E, 6, 12, "'11' is out of range; expected a whole number (1 to 10)"},
    {"just above a duration's range", POOL "    connect_timeout: 60001ms\n", E, 6, 22, "out of range"},
    {"beyond 64 bits", POOL "seed: 18446744073709551616\n", E, 6, 7, "out of range"},

    /* B103: nothing is guessed */
    {"B103 a leading zero", POOL "seed: 07\n", E, 6, 7, "'07' cannot be read; expected a whole number"},
    {"B103 an exponent", POOL "seed: 1e3\n", E, 6, 7, "'1e3' cannot be read"},
    {"B103 no is no boolean", POOL "compat_metrics: no\n", E, 6, 17, "'no' cannot be read; expected true or false"},
    {"B103 on is no boolean", POOL "    affinity: on\n", E, 6, 15, "true or false"},
    {"B103 port 0080", POOL "listen: 127.0.0.1:0080\n", E, 6, 9, "'127.0.0.1:0080' cannot be read"},
    {"B103 port 0080 of a replica", "pools:\n  - name: a\n    models: [m]\n    slots: 1\n    replicas: {static: [\"http://h:0080\"]}\n", E, 5, 25, "'http://h:0080' cannot be read"},
    {"hexadecimal", POOL "seed: 0x10\n", E, 6, 7, "cannot be read"},

    /* addresses, URLs, networks, hashes, paths */
    {"port 0 of a replica", "pools:\n  - name: a\n    models: [m]\n    slots: 1\n    replicas: {static: [\"http://h:0\"]}\n", E, 5, 25, "cannot be read"},
    {"port 65536", POOL "listen: 127.0.0.1:65536\n", E, 6, 9, "out of range"},
    {"a listener's name", POOL "listen: localhost:80\n", E, 6, 9, "an address with its port"},
    {"https", "pools:\n  - name: a\n    models: [m]\n    slots: 1\n    replicas: {static: [\"https://h:1\"]}\n", E, 5, 25, "https:// towards replicas is not spoken"},
    {"a URL with a query", "pools:\n  - name: a\n    models: [m]\n    slots: 1\n    replicas: {static: [\"http://h/?a\"]}\n", E, 5, 25, "cannot be read"},
    {"a URL with a user", "pools:\n  - name: a\n    models: [m]\n    slots: 1\n    replicas: {static: [\"http://u@h/\"]}\n", E, 5, 25, "cannot be read"},
    {"a network with host bits", POOL "trusted_peers: [10.0.0.1/8]\n", E, 6, 17, "a network"},
    {"a network too long", POOL "trusted_peers: [10.0.0.0/33]\n", E, 6, 17, "out of range"},
    {"a short hash", POOL "tenants: [{name: a, key_sha256: abc}]\n", E, 6, 33, "64 hexadecimal digits"},
    {"a path without its slash", POOL "    paths: [v1/score]\n", E, 6, 13, "begins with '/'"},
    {"an unknown engine", POOL "    engine: wllm\n", E, 6, 13, "expected openai, vllm, sglang, tgi, triton, llamacpp"},
    {"an overload status", POOL "overload_status: 500\n", E, 6, 18, "expected 429, 503, 529"},
    {"a currency", POOL "    scaler: {cost_per_hour: 2.5}\n", E, 6, 29, "as 2.5 USD"},
    {"a pool's name", "pools:\n  - {name: a b, models: [m], slots: 1, replicas: {static: []}}\n", E, 2, 12, "a name"},

    /* not to be had */
    {"spill", POOL "classes: {low: {on_full: spill}}\n", E, 6, 26, "`spill` needs a store"},
    {"a secret in the file", POOL "admin_token: hunter2\n", E, 6, 14, "a secret is not written here"},
    {"a secret from nowhere", POOL "admin_token: {env: PST_TEST_NOT_SET}\n", E, 6, 20, "PST_TEST_NOT_SET: is not in the environment"},
    {"a secret from no file", POOL "admin_token: {file: /nonexistent/token}\n", E, 6, 21, "No such file"},
    {"a secret from a folder", POOL "admin_token: {file: /}\n", E, 6, 21, "Is a directory"},

    /* references */
    {"a type's class", POOL "types: {chat: hihg}\n", E, 6, 15, "no class 'hihg'"},
    {"the default class", POOL "default_class: none\n", E, 6, 16, "no class 'none'"},
    {"the default pool", POOL "default_pool: none\n", E, 6, 15, "no pool 'none'"},
    {"a tenant's class", POOL "tenants: [{name: default, max_class: top}]\n", E, 6, 38, "no class 'top'"},
    {"an alias's model", POOL "    aliases: {a: none}\n", E, 6, 18, "no model 'none'"},
    {"a pool twice", POOL "  - {name: chat, models: [n], slots: 1, replicas: {static: []}}\n", E, 6, 12, "already in line 2"},
    {"a model in two pools", POOL "  - {name: b, models: [m], slots: 1, replicas: {static: []}}\n", E, 6, 24, "already served by pool 'chat'"},
    {"a model twice", "pools:\n  - {name: b, models: [m, m], slots: 1, replicas: {static: []}}\n", E, 2, 27, "already in this pool"},
    {"an alias that is a model", POOL "    aliases: {m: m}\n", E, 6, 18, "already in this pool"},
    {"a replica twice", "pools:\n  - {name: b, models: [m], slots: 1, replicas: {static: [\"http://h:1\", \"http://h:1/\"]}}\n", E, 2, 72, "listed twice"},
    {"a tenant twice", POOL "tenants: [{name: default}, {name: default}]\n", E, 6, 35, "listed twice"},
    {"a key of two tenants", POOL "tenants: [{name: default, max_class: low}, {name: a, key_sha256: " KEY "}, {name: b, key_sha256: " KEY "}]\n", E, 6, 157, "the key of tenant 'a' too"},
    {"a tenant without a key", POOL "tenants: [{name: a}]\n", E, 6, 11, "`key_sha256` is missing"},
    {"the default tenant with one", POOL "tenants: [{name: default, key_sha256: " KEY "}]\n", E, 6, 11, "no key_sha256"},

    /* what no single key knows */
    {"a class must say its times", POOL "classes: {gold: {target: 1s}}\n", E, 6, 17, "must say target, max_wait and ttl"},
    {"nine classes", POOL "classes: {a: {}, b: {}, c: {}, d: {}, e: {}, f: {}, g: {}, h: {}, i: {}}\n", E, 6, 10, "9 entries; 1 to 8"},
    {"no classes", POOL "classes: {}\n", E, 6, 10, "0 entries; 1 to 8"},
    {"a class's name", POOL "classes: {a b: {target: 1s, max_wait: 1s, ttl: 1s}}\n", E, 6, 16, "is no name"},
    {"a guard of the first", POOL "classes: {high: {guard: 5%}}\n", E, 6, 25, "the first class"},
    {"too large a guard", POOL "classes: {high: {}, low: {guard: 51%}}\n", E, 6, 34, "out of range"},
    {"short and long", POOL "    lengths: {short: 2048}\n", E, 6, 14, "short must be less than long"},
    {"min and max", POOL "    scaler: {min: 3, max: 2}\n", E, 6, 13, "min is more than max"},
    {"a budget without a price", POOL "    scaler: {budget: {day: 9 USD}}\n", E, 6, 22, "needs `cost_per_hour`"},
    {"two currencies", POOL "    scaler: {cost_per_hour: 1 EUR, budget: {day: 9 USD}}\n", E, 6, 50, "one currency is needed"},
    {"a rule without its number", POOL "    scaler: {rule: qps}\n", E, 6, 20, "rule: qps needs `qps`"},
    {"in_below", POOL "    scaler: {in_below: 2s}\n", E, 6, 13, "in_below must be less"},
    {"kv without its token", POOL "    kv_bytes_max: 1GiB\n", E, 6, 19, "needs `bytes_per_token`"},
    {"more queues than classes", POOL "    fixed: {queues: [1, 2, 3, 4]}\n", E, 6, 21, "more numbers than classes"},
    {"admin off loopback", POOL "admin: 0.0.0.0:9900\n", E, 6, 8, "needs `admin_token"},
    {"one address twice", POOL "metrics: 0.0.0.0:8080\n", E, 6, 10, "the same address"},
    {"body and memory", POOL "limits: {memory: 1MiB}\n", E, 6, 9, "larger than all the memory"},
    {"grace and deadline", POOL "drain: {grace: 10s, deadline: 10s}\n", E, 6, 8, "grace must be less"},
    {"auth without keys", POOL "auth: required\n", E, 6, 7, "no tenant has a key"},

    /* allowed, and unwise */
    {"listed", POOL "    ready: {model: listed}\n", W, 6, 20, "before they can answer"},
    {"none", POOL "    ready: {model: none}\n", W, 6, 20, "a port is open"},
    {"max_wait and ttl", POOL "classes: {high: {max_wait: 31s}}\n", W, 6, 28, "longer than ttl"},
    {"target and max_wait", POOL "classes: {high: {target: 6s}}\n", W, 6, 26, "longer than max_wait"},
    {"the first class waits", POOL "classes: {high: {on_full: wait}}\n", W, 6, 27, "instead of failing fast"},
    {"a lower class has less time", POOL "classes: {high: {}, medium: {max_wait: 4s}}\n", W, 6, 40, "which goes first"},
    {"ttl and the front", POOL "front_idle_timeout: 60s\n    \nclasses: {low: {ttl: 61s, max_wait: 60s}}\n", W, 8, 22, "ttl exceeds front_idle_timeout"},
    {"first_byte and the front", POOL "    first_byte: 61s\nfront_idle_timeout: 60s\n", W, 6, 17, "first_byte exceeds"},
    {"idle and the front", POOL "front_idle_timeout: 90s\n", W, 1, 1, "idle must exceed"},
    {"out_above that cannot be", POOL "    scaler: {out_above: 6s}\nclasses: {high: {}}\n", W, 6, 25, "before the backlog can reach it"},
    {"fixed without its policy", POOL "    fixed: {scope: replica}\n", W, 6, 12, "no effect"},
    {"uvicorn", POOL "    upstream_idle_timeout: 5s\n", W, 6, 28, "after 5s"},
    {"no replicas", "pools:\n  - {name: a, models: [m], slots: 1, replicas: {static: []}}\n", W, 2, 48, "no replicas"},
    {"everyone is trusted", POOL "trusted_peers: [0.0.0.0/0]\n", W, 6, 16, "everyone"},
    {"a drain token alone", POOL "drain_token: {env: PATH}\n", W, 6, 14, "no token at all"},
    {"unlisted keys ask for the top", POOL "tenants: [{name: a, key_sha256: " KEY "}]\n", W, 6, 10, "give tenant `default` a max_class"},
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

static void all_come_at_once_in_order(void **state)
{
    static const char text[] = "seed: x\n"
                               "default_class: none\n"
                               "pools:\n"
                               "  - name: chat\n"
                               "    slots: 0\n"
                               "    wibble: 1\n"
                               "    replicas: {static: [\"https://h\", 3]}\n"
                               "limits: {body: 5}\n";
    static const uint32_t lines[] = {1, 2, 4, 5, 6, 7, 7, 8};
    struct pst_config *config = NULL;
    struct pst_problems problems;

    (void)state;
    assert_int_equal(pst_config_parse("t", text, strlen(text), &config, &problems), PST_E_INVALID);
    assert_null(config);
    assert_int_equal(problems.errors, PST_COUNT_OF(lines));
    assert_int_equal(problems.count, PST_COUNT_OF(lines));
    for (size_t i = 0; i < problems.count; i++)
        assert_int_equal(problems.item[i].line, lines[i]);
    pst_problems_done(&problems);
}

/* B103: in a field that holds a text, whatever is written is that text. */
static void texts_stay_texts(void **state)
{
    static const char *const words[] = {"no", "on", "NO", "07", "1e3", "1.10", "~", "null", "0x1"};
    char text[512];

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(words); i++) {
        struct pst_config *config = NULL;
        struct pst_problems problems;
        snprintf(text, sizeof text,
                 "pools:\n  - {name: a, models: [%s], slots: 1, "
                 "replicas: {static: [\"http://h\"]}}\n"
                 "tenants: [{name: %s, key_sha256: " KEY "}, {name: default, max_class: low}]\n",
                 words[i], words[i]);
        assert_int_equal(pst_config_parse("t", text, strlen(text), &config, &problems), PST_OK);
        assert_string_equal(config->pools[0].models[0].name, words[i]);
        assert_string_equal(config->tenants[1].name, words[i]);
        pst_problems_done(&problems);
        pst_config_free(config);
    }
}

/* A file that grows when its aliases are followed is refused while it is small. */
static void aliases_do_not_multiply(void **state)
{
    char text[8192];
    size_t used = 0;
    struct pst_config *config = NULL;
    struct pst_problems problems;

    (void)state;
    used += (size_t)snprintf(text, sizeof text, "l0: &l0 [x]\n");
    for (unsigned i = 1; i < 12; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "l%u: &l%u [*l%u, *l%u, *l%u, *l%u, *l%u, *l%u, *l%u]\n", i, i,
                                 i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    assert_int_equal(pst_config_parse("t", text, used, &config, &problems), PST_E_INVALID);
    assert_non_null(strstr(problems.item[problems.count - 1].message, "too many aliases"));
    pst_problems_done(&problems);
}

static void anchors_may_be_used(void **state)
{
    static const char text[] =
        "pools:\n"
        "  - {name: a, models: [m], slots: 1, ready: &r {interval: 7s}, "
        "replicas: {static: [\"http://h:1\"]}}\n"
        "  - {name: b, models: [n], slots: 1, ready: *r, replicas: {static: [\"http://h:2\"]}}\n";
    struct pst_config *config = NULL;
    struct pst_problems problems;

    (void)state;
    assert_int_equal(pst_config_parse("t", text, strlen(text), &config, &problems), PST_OK);
    assert_int_equal(config->gate.pools[1].probe_interval, 7 * PST_S);
    assert_int_equal(config->default_pool, PST_POOL_NONE);
    pst_problems_done(&problems);
    pst_config_free(config);
}

static void a_long_list_of_problems_ends(void **state)
{
    static char text[65536];
    size_t used = 0;
    struct pst_config *config = NULL;
    struct pst_problems problems;

    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "unknown%u: 1\n", i);
    assert_int_equal(pst_config_parse("t", text, used, &config, &problems), PST_E_INVALID);
    assert_true(problems.errors > 1000);
    assert_true(problems.count < 300);
    assert_non_null(strstr(problems.item[problems.count - 1].message, "more problems"));
    pst_problems_done(&problems);
}

static void a_file_too_large_is_refused(void **state)
{
    const size_t len = (1u << 20) + 1;
    char *text = malloc(len);
    struct pst_config *config = NULL;
    struct pst_problems problems;

    (void)state;
    assert_non_null(text);
    memset(text, '#', len);
    assert_int_equal(pst_config_parse("t", text, len, &config, &problems), PST_E_INVALID);
    assert_non_null(strstr(problems.item[0].message, "1 MiB"));
    pst_problems_done(&problems);
    free(text);
}

static void a_file_that_is_not_there(void **state)
{
    struct pst_config *config = NULL;
    struct pst_problems problems;

    (void)state;
    assert_int_equal(pst_config_read("/nonexistent/penstock.yaml", &config, &problems),
                     PST_E_SYSTEM);
    assert_int_equal(problems.errors, 1);
    pst_problems_done(&problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_has_its_place),
        cmocka_unit_test(all_come_at_once_in_order),
        cmocka_unit_test(texts_stay_texts),
        cmocka_unit_test(aliases_do_not_multiply),
        cmocka_unit_test(anchors_may_be_used),
        cmocka_unit_test(a_long_list_of_problems_ends),
        cmocka_unit_test(a_file_too_large_is_refused),
        cmocka_unit_test(a_file_that_is_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
