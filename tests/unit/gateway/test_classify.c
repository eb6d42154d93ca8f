/* Who asks and how urgent it is: keys, clamps, trusted peers, other gateways' header names. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/sha.h>

#include "gateway/classify.h"

/* key "k-support" and "k-bulk" by their SHA-256. */
static const char text[] =
    "listen: 127.0.0.1:0\n"
    "types: {chat: high, batch-report: low}\n"
    "default_class: medium\n"
    "trusted_peers: [10.0.0.0/8, '::1/128']\n"
    "compat_headers: [llm-d, gateway, smg]\n"
    "pools:\n"
    "  - name: p\n"
    "    engine: vllm\n"
    "    models: [{name: m, weight: 1}]\n"
    "    slots: 4\n"
    "    replicas: {static: ['http://127.0.0.1:1']}\n"
    "tenants:\n"
    "  - {name: support, key_sha256: "
    "'dbd3ab0ec0ef6e4dcd3ba5f3b2a2f0d5b2bb1d0d9a0f6f8ce2b1cb4d5b2c9b2a', max_class: high}\n"
    "  - {name: default, max_class: medium}\n";

static struct pst_config *config;
static uint16_t support, fallback;

static int read_config(void **state)
{
    struct pst_problems problems = {0};

    (void)state;
    if (pst_config_parse("test.yaml", text, sizeof text - 1, &config, &problems) != PST_OK) {
        for (size_t i = 0; i < problems.count; i++)
            printf("%u:%u: %s\n", problems.item[i].line, problems.item[i].column,
                   problems.item[i].message);
        return -1;
    }
    pst_problems_done(&problems);
    for (size_t i = 0; i < config->tenants_count; i++) {
        if (strcmp(config->tenants[i].name, "support") == 0)
            support = (uint16_t)i;
        else
            fallback = (uint16_t)i;
    }
    SHA256((const unsigned char *)"k-support", 9, config->tenants[support].key_sha256);
    return 0;
}

static int free_config(void **state)
{
    (void)state;
    pst_config_free(config);
    return 0;
}

struct row {
    const char *promise;
    const char *peer;
    const char *headers[8]; /* name, value, … */
    bool anthropic;
    bool support;
    uint8_t class_; /* 0 high, 1 medium, 2 low */
    bool labelled;
};

static const struct row rows[] = {
    {"nothing said: the default class", "127.0.0.1", {0}, false, false, 1, false},
    {"a stranger's high is clamped", "127.0.0.1", {"x-priority", "high"}, false, false, 1, true},
    {"a stranger may go lower", "127.0.0.1", {"x-priority", "low"}, false, false, 2, true},
    {"a key opens high",
     "127.0.0.1",
     {"authorization", "Bearer k-support", "x-priority", "high"},
     false,
     true,
     0,
     true},
    {"the scheme's case does not matter",
     "127.0.0.1",
     {"authorization", "bEARER k-support", "x-priority", "HIGH"},
     false,
     true,
     0,
     true},
    {"an unknown key is the default tenant",
     "127.0.0.1",
     {"authorization", "Bearer nope", "x-priority", "high"},
     false,
     false,
     1,
     true},
    {"x-api-key on the messages path",
     "127.0.0.1",
     {"x-api-key", "k-support", "x-priority", "high"},
     true,
     true,
     0,
     true},
    {"x-api-key elsewhere is nothing",
     "127.0.0.1",
     {"x-api-key", "k-support", "x-priority", "high"},
     false,
     false,
     1,
     true},
    {"an unknown priority is unlabelled",
     "127.0.0.1",
     {"x-priority", "urgent"},
     false,
     false,
     1,
     false},
    {"a type has its class",
     "127.0.0.1",
     {"x-request-type", "batch-report"},
     false,
     false,
     2,
     true},
    {"a priority beats the type",
     "127.0.0.1",
     {"x-request-type", "batch-report", "x-priority", "medium"},
     false,
     false,
     1,
     true},
    {"X-Tenant from a stranger is nothing",
     "127.0.0.1",
     {"x-tenant", "support", "x-priority", "high"},
     false,
     false,
     1,
     true},
    {"X-Tenant from a trusted peer counts",
     "10.1.2.3",
     {"x-tenant", "support", "x-priority", "high"},
     false,
     true,
     0,
     true},
    {"… over IPv6 too", "::1", {"x-tenant", "support", "x-priority", "high"}, false, true, 0, true},
    {"llm-d's name for it",
     "127.0.0.1",
     {"x-llm-d-inference-objective", "low"},
     false,
     false,
     2,
     true},
    {"ours before others'",
     "127.0.0.1",
     {"x-llm-d-inference-objective", "low", "x-priority", "medium"},
     false,
     false,
     1,
     true},
    {"a first token within 10 s: low aims at that",
     "127.0.0.1",
     {"x-llm-d-slo-ttft-ms", "10000"},
     false,
     false,
     2,
     true},
    {"within 9,999 ms: low does not",
     "127.0.0.1",
     {"x-llm-d-slo-ttft-ms", "9999"},
     false,
     false,
     1,
     true},
    {"sooner than any aim: the first class, clamped",
     "127.0.0.1",
     {"x-llm-d-slo-ttft-ms", "1"},
     false,
     false,
     1,
     true},
    {"no number of milliseconds is no label",
     "127.0.0.1",
     {"x-llm-d-slo-ttft-ms", "soon"},
     false,
     false,
     1,
     false},
    {"a priority before a promise",
     "127.0.0.1",
     {"x-llm-d-slo-ttft-ms", "1", "x-priority", "low"},
     false,
     false,
     2,
     true},
    {"the gateway API's name for it",
     "127.0.0.1",
     {"x-gateway-inference-objective", "low"},
     false,
     false,
     2,
     true},
    {"SMG's bulk is the last class",
     "127.0.0.1",
     {"x-smg-priority", "bulk"},
     false,
     false,
     2,
     true},
};

static void test_classify(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
        struct sockaddr_in v4 = {.sin_family = AF_INET};
        const struct sockaddr *peer = (const void *)&v4;
        struct pst_header headers[4];
        struct pst_head head = {.headers = headers};
        struct pst_claim claim;

        if (inet_pton(AF_INET, rows[i].peer, &v4.sin_addr) != 1) {
            assert_int_equal(inet_pton(AF_INET6, rows[i].peer, &v6.sin6_addr), 1);
            peer = (const void *)&v6;
        }
        for (; rows[i].headers[2 * head.count] != NULL; head.count++)
            headers[head.count] =
                (struct pst_header){pst_slice_of(rows[i].headers[2 * head.count]),
                                    pst_slice_of(rows[i].headers[2 * head.count + 1])};
        assert_true(pst_classify(config, &head, rows[i].anthropic, peer, &claim));
        if (claim.tenant != (rows[i].support ? support : fallback) ||
            claim.class_ != rows[i].class_ || claim.labelled != rows[i].labelled)
            fail_msg("%s: tenant %u, class %u, labelled %d", rows[i].promise, claim.tenant,
                     claim.class_, claim.labelled);
    }
}

static void test_auth_required(void **state)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct pst_header header = {PST_SLICE("authorization"), PST_SLICE("Bearer k-support")};
    struct pst_head with_key = {.headers = &header, .count = 1}, without = {.count = 0};
    struct pst_claim claim;

    (void)state;
    config->auth_required = true;
    assert_true(pst_classify(config, &with_key, false, (const void *)&v4, &claim));
    assert_false(pst_classify(config, &without, false, (const void *)&v4, &claim));
    config->auth_required = false;
}

static void test_ttl_under_others_names(void **state)
{
    static const struct {
        const char *name, *value;
        uint32_t ttl_ms;
    } asked[] = {
        {"x-llm-d-inference-ttl", "300ms", 300},
        {"x-gateway-inference-ttl", "2s", 2000},
        {"x-gateway-inference-ttl", "2", 0}, /* without a unit it says nothing */
    };
    struct sockaddr_in v4 = {.sin_family = AF_INET};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(asked); i++) {
        struct pst_header header = {pst_slice_of(asked[i].name), pst_slice_of(asked[i].value)};
        struct pst_head head = {.headers = &header, .count = 1};
        struct pst_claim claim;

        assert_true(pst_classify(config, &head, false, (const void *)&v4, &claim));
        assert_int_equal(claim.ttl_ms, asked[i].ttl_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classify),
        cmocka_unit_test(test_auth_required),
        cmocka_unit_test(test_ttl_under_others_names),
    };

    return cmocka_run_group_tests(tests, read_config, free_config);
}
