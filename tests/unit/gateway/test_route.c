/* Which paths are open, and the escapes in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/route.h"

static struct pst_config config_with_a_path(void)
{
    static char score[] = "/score", *paths[] = {score};
    static struct pst_config_pool pools[2];

    pools[1].paths = paths;
    pools[1].paths_count = 1;
    return (struct pst_config){.pools = pools, .pools_count = 2};
}

static void test_open_paths(void **state)
{
    static const struct {
        const char *target;
        bool open;
        uint16_t pool;
        const char *model;
    } rows[] = {
        {"/v1/chat/completions", true, PST_POOL_NONE, ""},
        {"/v1/chat/completions?api-version=1", true, PST_POOL_NONE, ""},
        {"/v1/chat/completions/", false, 0, ""},
        {"/v1/chat%2Fcompletions", false, 0, ""},
        {"/V1/chat/completions", false, 0, ""},
        {"//v1/chat/completions", false, 0, ""},
        {"/v1/chat/../chat/completions", false, 0, ""},
        {"/v1/messages", true, PST_POOL_NONE, ""},
        {"/v2/models/meta-llama%2FLlama-3/infer?x=%2f", true, PST_POOL_NONE,
         "meta-llama%2FLlama-3"},
        {"/v2/models//infer", false, 0, ""},
        {"/score", true, 1, ""},
        {"/load_lora_adapter", false, 0, ""},
        {"/metrics", false, 0, ""},
        {"/", false, 0, ""},
        {"*", false, 0, ""},
    };
    struct pst_config config = config_with_a_path();

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_route_match match;
        bool open = pst_route_find(&config, pst_slice_of(rows[i].target), &match);

        if (open != rows[i].open)
            fail_msg("%s: open %d", rows[i].target, open);
        if (!open)
            continue;
        if (match.pool != rows[i].pool ||
            !pst_slice_equal(match.model, pst_slice_of(rows[i].model)))
            fail_msg("%s: pool %u, model %.*s", rows[i].target, match.pool, (int)match.model.len,
                     match.model.at);
    }
}

static void test_models_path(void **state)
{
    static const struct {
        const char *target;
        bool is;
        const char *id;
    } rows[] = {
        {"/v1/models", true, ""},
        {"/v1/models?limit=2", true, ""},
        {"/v1/models/meta-llama%2FLlama-3", true, "meta-llama%2FLlama-3"},
        {"/v1/models/meta-llama/Llama-3", true, "meta-llama/Llama-3"},
        {"/v1/models/", false, ""},
        {"/v1/modelsx", false, ""},
        {"/v1/model", false, ""},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_slice id = {NULL, 0};
        bool is = pst_route_is_models(pst_slice_of(rows[i].target), &id);

        if (is != rows[i].is || (is && !pst_slice_equal(id, pst_slice_of(rows[i].id))))
            fail_msg("%s: %d, id %.*s", rows[i].target, is, (int)id.len, id.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_paths),
        cmocka_unit_test(test_models_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
