/* What a trigger's metadata asks for: every key, every mistake told by its key, stable names. */
#include "keda_room.h"

static const char two_pools[] = TOP POOL("Chat.v2", "export: {mode: p99-wait, tolerance: 0.2}")
    POOL("code", "export: {band: hold}");
static const char one_pool[] = TOP POOL("chat", "");

struct row {
    const char *promise;
    const char *config;
    const char *metadata;
    const char *expected; /* "pool mode band ppm name", or the beginning of what is wrong */
};

static const struct row rows[] = {
    {"the only pool need not be named", one_pool, "", "0 desired 0 100000 penstock-chat-desired"},
    {"nor named twice alike", one_pool, "pool=chat", "0 desired 0 100000 penstock-chat-desired"},
    {"the configuration says what the trigger does not", two_pools, "pool=Chat.v2",
     "0 p99-wait 0 200000 penstock-chat-v2-p99-wait"},
    {"the trigger says it last", two_pools,
     "pool=Chat.v2;metric=weighted-depth;band=overshoot;tolerance=5%",
     "0 weighted-depth 1 50000 penstock-chat-v2-weighted-depth"},
    {"each pool has its own", two_pools, "pool=code;metric=backlog-seconds",
     "1 backlog-seconds 2 100000 penstock-code-backlog-seconds"},
    {"a tolerance of nothing", two_pools, "pool=code;tolerance=0",
     "1 desired 2 0 penstock-code-desired"},
    {"KEDA's own keys are let pass", two_pools,
     "pool=code;scalerAddress=x:1;enableTLS=true;unsafeSsl=false;tlsCertFile=/a;caCert=b",
     "1 desired 2 100000 penstock-code-desired"},
    {"KEDA's keys of today", two_pools, "pool=code;tlsClientCert=a;tlsClientKey=b",
     "1 desired 2 100000 penstock-code-desired"},
    {"a value from the environment", two_pools, "poolFromEnv=code;caCertFromEnv=b",
     "1 desired 2 100000 penstock-code-desired"},
    {"the last of two values", two_pools, "pool=nobody;pool=code",
     "1 desired 2 100000 penstock-code-desired"},

    {"a pool is missing", two_pools, "metric=desired", "metadata key 'pool' is missing"},
    {"an empty pool is missing", two_pools, "pool=", "metadata key 'pool' is missing"},
    {"an empty pool is no pool, even of one", one_pool, "pool=", "metadata key 'pool' is missing"},
    {"an unknown pool", two_pools, "pool=chat", "metadata key 'pool': there is no pool 'chat'"},
    {"an unknown metric", two_pools, "pool=code;metric=qps", "metadata key 'metric': 'qps'"},
    {"a metric in another case", two_pools, "pool=code;metric=Desired",
     "metadata key 'metric': 'Desired'"},
    {"an unknown band", two_pools, "pool=code;band=wide", "metadata key 'band': 'wide'"},
    {"no number", two_pools, "pool=code;tolerance=ten", "metadata key 'tolerance': 'ten'"},
    {"an empty number", two_pools, "pool=code;tolerance=", "metadata key 'tolerance': ''"},
    {"only a sign", two_pools, "pool=code;tolerance=%", "metadata key 'tolerance': '%'"},
    {"not a number", two_pools, "pool=code;tolerance=nan", "metadata key 'tolerance': 'nan'"},
    {"less than nothing", two_pools, "pool=code;tolerance=-0.1", "metadata key 'tolerance'"},
    {"more than all", two_pools, "pool=code;tolerance=101%", "metadata key 'tolerance'"},
    {"10 is no share", two_pools, "pool=code;tolerance=10", "metadata key 'tolerance'"},
    {"a typing error in a key", two_pools, "pol=code", "metadata key 'pol' is not known"},
    {"keys have one case", two_pools, "pool=code;Metric=desired",
     "metadata key 'Metric' is not known"},
    {"an empty key", two_pools, "pool=code;=x", "metadata key '' is not known"},
    {"the suffix alone", two_pools, "pool=code;FromEnv=x", "metadata key 'FromEnv' is not known"},
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        struct pst_config *config = configured(row->config);
        char seen[PST_KEDA_WHY_MAX + PST_KEDA_NAME_MAX], name[PST_KEDA_NAME_MAX];
        struct pst_keda_ask ask;
        struct trigger t;

        trigger(&t, row->metadata);
        if (pst_keda_ask_read(config, &t.ref, &ask, seen) == PST_OK) {
            pst_keda_ask_name(config, &ask, name);
            (void)snprintf(seen, sizeof seen, "%u %s %u %u %s", ask.pool,
                           pst_export_mode_name((enum pst_export_mode)ask.export_.mode),
                           ask.export_.band, ask.export_.tolerance_ppm, name);
            assert_int_equal(ask.export_.gateways, 1);
        }
        if (strncmp(seen, row->expected, strlen(row->expected)) != 0)
            fail_msg("%s: '%s' gives '%s'", row->promise, row->metadata, seen);
        pst_config_free(config);
    }
}

/* However long the strangers' texts are, the reason ends within its room. */
static void test_long_texts(void **state)
{
    struct pst_config *config = configured(two_pools);
    char long_[4096], why[PST_KEDA_WHY_MAX];
    struct pst_keda_ask ask;
    struct trigger t;

    (void)state;
    memset(long_, 'x', sizeof long_ - 1);
    long_[sizeof long_ - 1] = '\0';
    static const char *const keys[] = {"pool", "metric", "band", "tolerance"};
    for (size_t i = 0; i < PST_COUNT_OF(keys); i++) {
        trigger(&t, "pool=code;x=y");
        t.entries[1].key = (char *)(uintptr_t)keys[i];
        t.entries[1].value = long_;
        assert_int_equal(pst_keda_ask_read(config, &t.ref, &ask, why), PST_E_INVALID);
        assert_non_null(strstr(why, keys[i]));
    }
    trigger(&t, "pool=code;x=y");
    t.entries[1].key = long_;
    assert_int_equal(pst_keda_ask_read(config, &t.ref, &ask, why), PST_E_INVALID);
    assert_true(strlen(why) < sizeof why);
    pst_config_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_long_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
