#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/percent.h"

static const struct row {
    const char *from;
    const char *to; /* NULL: refused */
} rows[] = {
    {"", ""},
    {"meta-llama%2FLlama-3", "meta-llama/Llama-3"},
    {"%41%4a", "AJ"},
    {"a+b", "a+b"},
    {"a%", NULL},
    {"a%4", NULL},
    {"a%zz", NULL},
    {"a%00b", NULL},
    {"a%2G", NULL},
    {"1234567890123456789", "1234567890123456789"},
    {"12345678901234567890", NULL}, /* no room for the NUL */
};

static void decodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        char text[20];
        bool ok = pst_percent_decode(pst_slice_of(rows[i].from), text, sizeof text);

        if (ok != (rows[i].to != NULL) || (ok && strcmp(text, rows[i].to) != 0))
            fail_msg("%s: %s", rows[i].from, ok ? text : "refused");
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(decodes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
