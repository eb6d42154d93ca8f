/* test_registry.c - names and indexes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "drive/registry.h"

static void names_keep_their_index(void **state)
{
    static struct pst_registry registry;
    uint16_t first, second, again;

    (void)state;
    pst_registry_init(&registry);
    assert_int_equal(pst_registry_pool(&registry, "chat", &first), PST_OK);
    assert_int_equal(pst_registry_pool(&registry, "embed", &second), PST_OK);
    assert_int_equal(pst_registry_pool(&registry, "chat", &again), PST_OK);
    assert_int_equal(first, again);
    assert_int_not_equal(first, second);
    assert_int_equal(registry.pools_count, 2);
    pst_registry_done(&registry);
}

static void there_is_a_bound_to_each(void **state)
{
    static struct pst_registry registry;
    char name[32];
    uint16_t index;

    (void)state;
    pst_registry_init(&registry);
    for (int i = 0; i < PST_POOLS_MAX; i++) {
        (void)snprintf(name, sizeof name, "pool-%d", i);
        assert_int_equal(pst_registry_pool(&registry, name, &index), PST_OK);
    }
    assert_int_equal(pst_registry_pool(&registry, "one more", &index), PST_E_FULL);
    assert_int_equal(pst_registry_pool(&registry, "pool-3", &index), PST_OK);
    for (int i = 0; i < PST_CLASSES_MAX; i++)
        assert_int_equal(pst_registry_class(&registry, "c"), PST_OK);
    assert_int_equal(pst_registry_class(&registry, "c"), PST_E_FULL);
    for (int i = 0; i < PST_REPLICAS_MAX; i++) {
        (void)snprintf(name, sizeof name, "http://10.0.0.1:%d", i + 1);
        assert_int_equal(pst_registry_replica_add(&registry, 0, name, 0, &index), PST_OK);
    }
    assert_int_equal(pst_registry_replica_add(&registry, 0, "http://b:1", 0, &index), PST_E_FULL);
    pst_registry_done(&registry);
}

static void an_index_rests_for_ten_minutes(void **state)
{
    static const struct {
        pst_ns after;
        bool same_index;
    } rows[] = {
        {0, false},
        {600 * PST_S - 1, false},
        {600 * PST_S, true},
    };
    uint16_t gone, index;

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        static struct pst_registry registry;
        uint16_t pool;

        pst_registry_init(&registry);
        assert_int_equal(pst_registry_pool(&registry, "chat", &pool), PST_OK);
        assert_int_equal(pst_registry_replica_add(&registry, pool, "http://a", 0, &gone), PST_OK);
        pst_registry_replica_remove(&registry, gone, 5 * PST_S);
        assert_string_equal(registry.replicas[gone].name, "http://a"); /* still named */
        assert_false(pst_registry_replica_find(&registry, "http://a", &index));
        assert_int_equal(pst_registry_replica_add(&registry, pool, "http://b",
                                                  5 * PST_S + rows[i].after, &index),
                         PST_OK);
        assert_int_equal(index == gone, rows[i].same_index);
        if (!rows[i].same_index)
            assert_true(pst_registry_replica_is_named(&registry, gone, 5 * PST_S + rows[i].after));
        pst_registry_done(&registry);
    }
}

static void who_comes_back_is_who_it_was(void **state)
{
    static struct pst_registry registry;
    uint16_t pool, other, first, index;

    (void)state;
    pst_registry_init(&registry);
    assert_int_equal(pst_registry_pool(&registry, "chat", &pool), PST_OK);
    assert_int_equal(pst_registry_pool(&registry, "embed", &other), PST_OK);
    assert_int_equal(pst_registry_replica_add(&registry, pool, "http://a", 0, &first), PST_OK);
    assert_int_equal(pst_registry_replica_add(&registry, pool, "http://a", 0, &index), PST_OK);
    assert_int_equal(index, first);
    pst_registry_replica_remove(&registry, first, PST_S);
    assert_int_equal(pst_registry_replica_add(&registry, pool, "http://a", 2 * PST_S, &index),
                     PST_OK);
    assert_int_equal(index, first);
    assert_int_equal(pst_registry_replica_add(&registry, other, "http://a", 2 * PST_S, &index),
                     PST_OK);
    assert_int_not_equal(index, first); /* of another pool: another replica */
    pst_registry_done(&registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_keep_their_index),
        cmocka_unit_test(there_is_a_bound_to_each),
        cmocka_unit_test(an_index_rests_for_ten_minutes),
        cmocka_unit_test(who_comes_back_is_who_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
