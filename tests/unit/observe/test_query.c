/* test_query.c - targets, parameters, percent-encoding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "observe/query.h"

static void a_target_has_a_path_and_parameters(void **state)
{
    static const struct {
        const char *target, *path, *query;
    } rows[] = {
        {"/drain", "/drain", ""},
        {"/drain?", "/drain", ""},
        {"/drain?a=b?c", "/drain", "a=b?c"},
        {"", "", ""},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_slice path, query;

        pst_target_split(pst_slice_of(rows[i].target), &path, &query);
        assert_true(pst_slice_equal(path, pst_slice_of(rows[i].path)));
        assert_true(pst_slice_equal(query, pst_slice_of(rows[i].query)));
    }
}

static void parameters_are_found_and_decoded(void **state)
{
    static const struct {
        const char *query, *name;
        int rc;
        const char *value;
    } rows[] = {
        {"deadline=5s", "deadline", PST_OK, "5s"},
        {"grace=1s&deadline=5s", "deadline", PST_OK, "5s"},
        {"xdeadline=5s", "deadline", PST_E_AGAIN, ""},
        {"deadline", "deadline", PST_E_AGAIN, ""},
        {"deadline=", "deadline", PST_OK, ""},
        {"pool=a%20b%2Fc", "pool", PST_OK, "a b/c"},
        {"pool=a%2", "pool", PST_E_SYNTAX, NULL},
        {"pool=a%zz", "pool", PST_E_SYNTAX, NULL},
        {"pool=a%00b", "pool", PST_E_SYNTAX, NULL},
        {"pool=0123456789abcdef", "pool", PST_E_SYNTAX, NULL}, /* no room for the NUL */
        {"pool=0123456789abcde", "pool", PST_OK, "0123456789abcde"},
        {"&&pool=x&", "pool", PST_OK, "x"},
        {"", "pool", PST_E_AGAIN, ""},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        char text[16];
        int rc = pst_query_find(pst_slice_of(rows[i].query), rows[i].name, text, sizeof text);

        if (rc != rows[i].rc)
            fail_msg("%s: %d", rows[i].query, rc);
        if (rows[i].value != NULL)
            assert_string_equal(text, rows[i].value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_has_a_path_and_parameters),
        cmocka_unit_test(parameters_are_found_and_decoded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
