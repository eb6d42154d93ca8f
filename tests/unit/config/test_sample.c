/* The configuration that the documentation shows is read, and means what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"

static const char sample[] =
    "listen: 0.0.0.0:8080\n"
    "metrics: 0.0.0.0:9901\n"
    "admin: 127.0.0.1:9900\n"
    "classes:                     # in priority order\n"
    "  high:   {target: 100ms, max_wait: 5s,  ttl: 30s, on_full: reject}\n"
    "  medium: {target: 500ms, max_wait: 15s, ttl: 60s, on_full: reject}\n"
    "  low:    {target: 10s,   max_wait: 60s, ttl: 10m, on_full: wait, long: {on_full: reject}}\n"
    "types: {chat: high, analysis: medium, batch-report: low}\n"
    "default_class: medium\n"
    "pools:\n"
    "  - name: chat\n"
    "    engine: vllm\n"
    "    models: [{name: llama-3-70b, weight: 1}]\n"
    "    policy: adaptive\n"
    "    slots: 256\n"
    "    stall: 60s\n"
    "    no_replica_ttl: 5m\n"
    "    lengths: {short: 512, long: 2048, long_share: 0.5}\n"
    "    ready: {path: /health, model: completion}\n"
    "    replicas:\n"
    "      static: [\"http://10.0.0.1:8000\", \"http://10.0.0.2:8000\"]\n"
    "    scaler: {min: 2, max: 12, warm: 1, out_above: 2s, in_below: 500ms, in_after: 1m, "
    "cost_per_hour: 2.5 USD}\n"
    "tenants:\n"
    "  - {name: support, key_sha256: "
    "\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\", max_class: high, "
    "weight: 2}\n"
    "  - {name: default, max_class: medium}\n"
    "limits: {body: 32MiB, memory: 2GiB, head: 64KiB}\n";

static struct pst_config *read_text(const char *text)
{
    struct pst_config *config = NULL;
    struct pst_problems problems;
    const int rc = pst_config_parse("sample.yaml", text, strlen(text), &config, &problems);

    for (size_t i = 0; i < problems.count; i++)
        print_message("%u:%u: %s\n", problems.item[i].line, problems.item[i].column,
                      problems.item[i].message);
    assert_int_equal(rc, PST_OK);
    assert_int_equal(problems.count, 0);
    pst_problems_done(&problems);
    return config;
}

static void sample_says_what_it_means(void **state)
{
    struct pst_config *c = read_text(sample);
    const struct pst_gate_pool *pool = &c->gate.pools[0];

    (void)state;
    assert_string_equal(c->listen, "0.0.0.0:8080");
    assert_string_equal(c->metrics, "0.0.0.0:9901");
    assert_string_equal(c->admin, "127.0.0.1:9900");
    assert_int_equal(c->gate.classes_count, 3);
    assert_string_equal(c->class_names[2], "low");
    assert_int_equal(c->gate.classes[0].target, 100 * PST_MS);
    assert_int_equal(c->gate.classes[1].max_wait, 15 * PST_S);
    assert_int_equal(c->gate.classes[2].ttl, 600 * PST_S);
    assert_int_equal(c->gate.classes[2].on_full, PST_ON_FULL_WAIT);
    assert_int_equal(c->gate.classes[2].on_full_length[PST_LENGTH_LONG], PST_ON_FULL_REJECT);
    assert_int_equal(c->gate.classes[2].on_full_length[PST_LENGTH_SHORT], PST_ON_FULL_INHERIT);
    assert_int_equal(c->default_class, 1);
    assert_int_equal(c->types_count, 4);
    assert_string_equal(c->types[0].name, "other");
    assert_string_equal(c->types[3].name, "batch-report");
    assert_int_equal(c->types[3].class_, 2);

    assert_int_equal(c->pools_count, 1);
    assert_int_equal(c->pools[0].engine, PST_ENGINE_VLLM);
    assert_int_equal(c->pools[0].models_count, 1);
    assert_string_equal(c->pools[0].models[0].name, "llama-3-70b");
    assert_int_equal(c->pools[0].models[0].weight, 100);
    assert_int_equal(c->pools[0].replicas_count, 2);
    assert_string_equal(c->pools[0].replicas[1].host, "10.0.0.2");
    assert_int_equal(c->pools[0].replicas[1].port, 8000);
    assert_string_equal(c->pools[0].replicas[1].base_path, "");
    assert_string_equal(c->pools[0].ready_path, "/health");
    assert_int_equal(c->pools[0].ready, PST_READY_COMPLETION);
    assert_int_equal(pool->policy, PST_POLICY_ADAPTIVE);
    assert_int_equal(pool->slots, 256);
    assert_int_equal(pool->long_share_ppm, PST_PPM / 2);
    assert_int_equal(pool->ready_model, 1);

    assert_int_equal(c->scaler.classes_count, 3);
    assert_int_equal(c->scaler.classes[2].max_wait, 60 * PST_S);
    assert_int_equal(c->scaler.pools[0].max, 12);
    assert_int_equal(c->scaler.pools[0].warm, 1);
    assert_int_equal(c->scaler.pools[0].slots, 256);
    assert_int_equal(c->scaler.pools[0].cost_micro, 2500000);

    assert_int_equal(c->tenants_count, 2);
    assert_string_equal(c->tenants[0].name, "default");
    assert_int_equal(c->tenants[0].max_class, 1);
    assert_int_equal(c->tenants[1].key_sha256[0], 0x9f);
    assert_int_equal(c->tenants[1].weight, 200);
    assert_int_equal(c->body_max, 32u << 20);
    assert_int_equal(c->gate.bytes_max, UINT64_C(2) << 30);
    assert_int_equal(c->head_max, 64u << 10);
    pst_config_free(c);
}

static const char smallest[] = "pools:\n"
                               "  - name: chat\n"
                               "    models: [m]\n"
                               "    slots: 4\n"
                               "    replicas: {static: [\"http://[::1]:8000/prefix/\"]}\n";

static void defaults_are_as_documented(void **state)
{
    struct pst_config *c = read_text(smallest);
    const struct pst_gate_pool *pool = &c->gate.pools[0];

    (void)state;
    assert_string_equal(c->listen, "0.0.0.0:8080");
    assert_null(c->metrics);
    assert_null(c->admin);
    assert_int_equal(c->gate.classes_count, 3);
    assert_string_equal(c->class_names[0], "high");
    assert_int_equal(c->gate.classes[0].max_wait, 5 * PST_S);
    assert_int_equal(c->gate.classes[2].on_full, PST_ON_FULL_WAIT);
    assert_int_equal(c->gate.classes[0].guard_ppm, 0);
    assert_int_equal(c->gate.classes[1].guard_ppm, PST_PPM / 10);
    assert_int_equal(c->gate.classes[2].guard_ppm, PST_PPM / 20);
    assert_int_equal(c->default_class, 1);
    assert_int_equal(c->default_pool, 0);
    assert_int_equal(c->tenants_count, 1);
    assert_int_equal(c->overload_status, 429);
    assert_false(c->auth_required);
    assert_int_equal(c->drain_grace, 10 * PST_S);
    assert_int_equal(c->drain_deadline, 170 * PST_S);
    assert_true(c->idle_timeout >= 75 * PST_S);
    assert_string_equal(c->pools[0].ready_path, "/v1/models");
    assert_string_equal(c->pools[0].replicas[0].host, "::1");
    assert_string_equal(c->pools[0].replicas[0].base_path, "/prefix");
    assert_int_equal(pool->length_short_tokens, 512);
    assert_int_equal(pool->length_long_tokens, 2048);
    assert_int_equal(pool->probe_interval, 5 * PST_S);
    assert_int_equal(pool->probe_fall, 3);
    assert_int_equal(pool->first_byte, 600 * PST_S);
    assert_int_equal(pool->first_byte_stream, 120 * PST_S);
    assert_int_equal(pool->stall, 60 * PST_S);
    assert_int_equal(pool->no_replica_ttl, 300 * PST_S);
    assert_int_equal(pool->retry_budget_ppm, PST_PPM / 10);
    assert_int_equal(pool->tries_max, 3);
    assert_int_equal(pool->fixed_queue[2], 200);
    assert_int_equal(pool->fixed_inflight[0], 8);
    assert_int_equal(pool->fixed_promote_after, 15 * PST_S);
    assert_int_equal(pool->kv_tokens_max, 0);
    pst_config_free(c);
}

static void the_scaler_has_its_defaults(void **state)
{
    struct pst_config *c = read_text(smallest);
    const struct pst_scaler_pool *pool = &c->scaler.pools[0];

    (void)state;
    assert_int_equal(c->scaler.pools_count, 1);
    assert_int_equal(c->scaler.classes_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(c->scaler.classes[i].target, c->gate.classes[i].target);
        assert_int_equal(c->scaler.classes[i].depth_weight, 3 - i);
        assert_int_equal(c->scaler.classes[i].envelope, i < 2);
    }
    assert_int_equal(pool->min, 1);
    assert_int_equal(pool->max, 256);
    assert_int_equal(pool->slots, 4);
    assert_int_equal(pool->rule, PST_RULE_AHEAD);
    assert_int_equal(pool->actuate, 0);
    assert_int_equal(pool->out_above, 2 * PST_S);
    assert_int_equal(pool->in_below, PST_S / 2);
    assert_int_equal(pool->start_time, 120 * PST_S);
    assert_int_equal(pool->drain_deadline, 600 * PST_S);
    assert_int_equal(pool->utilisation_ppm, 850000);
    assert_int_equal(pool->cost_micro, 0);
    pst_config_free(c);
}

/* Port 0 is another port each time, so three listeners may say it. */
static void port_zero_is_the_systems_choice(void **state)
{
    char text[sizeof smallest + 128];
    struct pst_config *c;

    (void)state;
    snprintf(text, sizeof text, "%slisten: 127.0.0.1:0\nmetrics: 127.0.0.1:0\nadmin: 127.0.0.1:0\n",
             smallest);
    c = read_text(text);
    assert_string_equal(c->admin, "127.0.0.1:0");
    pst_config_free(c);
}

/* What a running gateway cannot take over is named; what it can is not. */
static void reload_names_what_needs_a_restart(void **state)
{
    static const struct {
        const char *added, *key;
    } rows[] = {
        {"", NULL},
        {"    stall: 7s\n", NULL},
        {"classes: {high: {ttl: 31s}, medium: {}, low: {}}\n", NULL},
        {"tenants: [{name: default, max_class: low}]\n", NULL},
        {"limits: {memory: 1GiB}\n", NULL},
        {"  - {name: b, models: [n], slots: 1, replicas: {static: [\"http://h\"]}}\n", NULL},
        {"listen: 0.0.0.0:8081\n", "listen"},
        {"metrics: 0.0.0.0:9901\n", "metrics"},
        {"admin: 127.0.0.1:9900\n", "admin"},
        {"classes: {high: {}, low: {}}\n", "classes"},
        {"classes: {medium: {max_wait: 1s}, high: {}, low: {}}\n", "classes"},
        {"    policy: fixed\n", "pools"},
        {"limits: {tickets: 100}\n", "limits.tickets"},
        {"limits: {flows: 100}\n", "limits.flows"},
        {"record: x\n", "record"},
        {"seed: 2\n", "seed"},
    };
    struct pst_config *now = read_text(smallest);

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        char text[sizeof smallest + 128];
        struct pst_config *next;
        const char *keys[PST_CONFIG_RESTART_MAX];
        snprintf(text, sizeof text, "%s%s", smallest, rows[i].added);
        next = read_text(text);
        assert_int_equal(pst_config_needs_restart(now, next, keys), rows[i].key != NULL);
        if (rows[i].key != NULL)
            assert_string_equal(keys[0], rows[i].key);
        pst_config_free(next);
    }
    pst_config_free(now);
}

static void documentation_names_every_key(void **state)
{
    static const char *const keys[] = {"`listen`",       "`max_wait`",      "`kv_bytes_max`",
                                       "`key_sha256`",   "`promote_after`", "`grace`",
                                       "`cost_per_hour`"};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    assert_non_null(out);
    pst_config_document(out);
    assert_int_equal(fclose(out), 0);
    for (size_t i = 0; i < PST_COUNT_OF(keys); i++)
        assert_non_null(strstr(text, keys[i]));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample_says_what_it_means),
        cmocka_unit_test(defaults_are_as_documented),
        cmocka_unit_test(the_scaler_has_its_defaults),
        cmocka_unit_test(port_zero_is_the_systems_choice),
        cmocka_unit_test(reload_names_what_needs_a_restart),
        cmocka_unit_test(documentation_names_every_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
