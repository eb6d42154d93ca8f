#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/escape.h"

static const struct row {
    const char *name, *from, *to;
    size_t len;
} rows[] = {
    {"ascii", "a b", "a b", 3},
    {"quotes and backslashes", "\"\\", "\\\"\\\\", 2},
    {"control characters", "\r\n\t\x01\x7f", "\\u000d\\u000a\\u0009\\u0001\\u007f", 5},
    {"NUL", "a\0b", "a\\u0000b", 3},
    {"two, three and four bytes", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
     "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9},
    {"a byte that begins nothing", "\xff.\x80", "\\ufffd.\\ufffd", 3},
    {"cut inside a character", "\xe2\x82", "\\ufffd\\ufffd", 2},
    {"longer than needed", "\xc0\xaf\xe0\x80\xaf", "\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd", 5},
    {"a surrogate", "\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd", 3},
    {"beyond Unicode", "\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd", 4},
};

static void escapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_slice left = {rows[i].from, rows[i].len};
        char out[128];
        size_t len = 0;

        while (left.len > 0) {
            struct pst_escaped next = pst_escape(left);

            assert_in_range(next.taken, 1, left.len);
            memcpy(out + len, next.at, next.len);
            len += next.len;
            left = pst_slice(left.at + next.taken, left.len - next.taken);
        }
        out[len] = '\0';
        if (strcmp(out, rows[i].to) != 0)
            fail_msg("%s: %s", rows[i].name, out);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(escapes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
