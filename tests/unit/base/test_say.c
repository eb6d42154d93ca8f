/* test_say.c - a message is one line, whatever is quoted in it and however long it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

/* What was said of `quoted`; the length. */
static size_t said(const char *quoted, char *text, size_t size)
{
    int ends[2], stderr_kept = dup(STDERR_FILENO);
    ssize_t len;

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    pst_say(PST_LOG_WARN, "%s", quoted);
    assert_int_equal(dup2(stderr_kept, STDERR_FILENO), STDERR_FILENO);
    len = read(ends[0], text, size - 1);
    assert_true(len > 0);
    text[len] = '\0';
    close(stderr_kept);
    close(ends[0]);
    close(ends[1]);
    return (size_t)len;
}

static void test_one_line(void **state)
{
    static const struct {
        const char *quoted, *line;
    } rows[] = {
        {"plain", "penstock: warn: plain\n"},
        {"", "penstock: warn: \n"},
        {"a\npenstock: info: forged", "penstock: warn: a?penstock: info: forged\n"},
        {"a\r\x1b[2Jb\x7f\t", "penstock: warn: a??[2Jb??\n"},
        {"Stra\xc3\x9f"
         "e",
         "penstock: warn: Stra\xc3\x9f"
         "e\n"},
    };
    char text[2048];

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        (void)said(rows[i].quoted, text, sizeof text);
        assert_string_equal(text, rows[i].line);
    }
}

static void test_long(void **state)
{
    char text[4096], quoted[3000];
    size_t len;

    (void)state;
    memset(quoted, 'x', sizeof quoted - 1);
    quoted[sizeof quoted - 1] = '\0';
    len = said(quoted, text, sizeof text);
    assert_in_range(len, 1000, 1024);
    assert_ptr_equal(strchr(text, '\n'), text + len - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
