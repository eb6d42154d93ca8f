/* Options read what they promise, wherever they stand, and refuse the rest once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/options.h"

#define ARGS_MAX 8
#define HELP     (-1)
#define ERROR    (-2)

static struct {
    bool flag;
    const char *text;
    uint64_t number, size;
    double real;
    pst_ns duration;
    struct pst_option_list list;
} got;

static const struct pst_option options[] = {
    {.name = "flag", .kind = PST_OPTION_FLAG, .value = &got.flag, .help = "A flag."},
    {"text", PST_OPTION_TEXT, &got.text, "TEXT", "A text.", 0, 0},
    {"number", PST_OPTION_NUMBER, &got.number, "N", "A number.", 2, 9},
    {"any", PST_OPTION_NUMBER, &got.number, "N", "Any number.", 0, 0},
    {"real", PST_OPTION_REAL, &got.real, "X", "A real.", 0, 0},
    {"duration", PST_OPTION_DURATION, &got.duration, "DURATION", "A duration.", 0, 0},
    {"size", PST_OPTION_SIZE, &got.size, "SIZE", "A size.", 0, 0},
    {"list", PST_OPTION_LIST, &got.list, "ITEM", "Again and again.", 0, 0},
};
static const struct pst_usage usage = {
    .command = "test",
    .operands = "FILE",
    .summary = "Tests - with a dash.",
    .detail = ".a line that begins with a dot",
    .options = options,
    .count = PST_COUNT_OF(options),
};

struct row {
    const char *promise;
    const char *args[ARGS_MAX]; /* behind the command's name */
    int operands;               /* how many are left; HELP, ERROR */
};

static const struct row rows[] = {
    {"nothing", {NULL}, 0},
    {"one operand", {"a", NULL}, 1},
    {"a flag behind its operand", {"a", "--flag", NULL}, 1},
    {"a value in its own argument", {"--text", "t", NULL}, 0},
    {"a value behind an equals sign", {"--text=t", "a", NULL}, 1},
    {"an empty value", {"--text=", NULL}, 0},
    {"a value that looks like an option", {"--text", "--flag", NULL}, 0},
    {"nothing is an option behind --", {"--", "--flag", "-x", NULL}, 2},
    {"a lone dash is an operand", {"-", NULL}, 1},
    {"help", {"--help", NULL}, HELP},
    {"help wins over what follows", {"--help", "--wibble", NULL}, HELP},
    {"an unknown option", {"--wibble", NULL}, ERROR},
    {"the beginning of an option is none", {"--fla", NULL}, ERROR},
    {"an option and more", {"--flags", NULL}, ERROR},
    {"a short option", {"-f", NULL}, ERROR},
    {"a flag takes no value", {"--flag=1", NULL}, ERROR},
    {"a value is missing", {"--text", NULL}, ERROR},
    {"just inside", {"--number", "2", "--number", "9", NULL}, 0},
    {"just below", {"--number", "1", NULL}, ERROR},
    {"just above", {"--number", "10", NULL}, ERROR},
    {"a number with more behind it", {"--any", "3x", NULL}, ERROR},
    {"a negative number", {"--any", "-3", NULL}, ERROR},
    {"a number past 64 bits", {"--any", "18446744073709551616", NULL}, ERROR},
    {"a real", {"--real", "0.5", NULL}, 0},
    {"a negative real", {"--real", "-0.5", NULL}, ERROR},
    {"no infinity", {"--real", "inf", NULL}, ERROR},
    {"no hexadecimal", {"--real", "0x1", NULL}, ERROR},
    {"a duration needs its unit", {"--duration", "400", NULL}, ERROR},
    {"a size needs its unit", {"--size", "64", NULL}, ERROR},
    {"a size of nothing needs none", {"--size", "0", NULL}, 0},
};

/* Operands left, HELP or ERROR; what was read is in `got`. */
static int read_row(const struct row *row)
{
    static char copies[ARGS_MAX + 1][64];
    char *argv[ARGS_MAX + 2] = {copies[0]};
    int argc = 1, rc;

    strcpy(copies[0], "test");
    for (size_t i = 0; i < ARGS_MAX && row->args[i] != NULL; i++, argc++) {
        snprintf(copies[argc], sizeof copies[argc], "%s", row->args[i]);
        argv[argc] = copies[argc];
    }
    memset(&got, 0, sizeof got);
    rc = pst_options_read(&usage, argc, argv);
    return rc < 0 ? rc : argc - rc;
}

static void every_row_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const int rc = read_row(&rows[i]);
        if (rc != rows[i].operands)
            fail_msg("%s: %d instead of %d", rows[i].promise, rc, rows[i].operands);
    }
}

static void values_arrive(void **state)
{
    static const struct row row = {
        "",
        {"--flag", "--real=2", "--duration=15s", "--size=64KiB", "--list=a", "--list=b", NULL},
        0};

    (void)state;
    assert_int_equal(read_row(&row), 0);
    assert_true(got.flag);
    assert_true(got.real >= 2 && got.real <= 2);
    assert_int_equal(got.duration, 15 * PST_S);
    assert_int_equal(got.size, 65536);
    assert_int_equal(got.list.count, 2);
    assert_string_equal(got.list.items[1], "b");
}

static void operands_keep_their_order(void **state)
{
    char a[] = "a", flag[] = "--flag", b[] = "b", name[] = "test";
    char *argv[] = {name, a, flag, b, NULL};

    (void)state;
    assert_int_equal(pst_options_read(&usage, 4, argv), 2);
    assert_string_equal(argv[2], "a");
    assert_string_equal(argv[3], "b");
}

static void the_manual_has_every_row(void **state)
{
    char *text = NULL, name[] = "test";
    char *argv[] = {name, NULL};
    size_t len = 0;
    FILE *page = open_memstream(&text, &len);

    (void)state;
    assert_non_null(page);
    pst_options_divert(page);
    assert_int_equal(pst_options_read(&usage, 1, argv), HELP);
    pst_options_divert(NULL);
    assert_int_equal(fclose(page), 0);
    assert_non_null(strstr(text, "\\fB\\-\\-duration\\fR \\fIDURATION\\fR"));
    assert_non_null(strstr(text, "Tests \\- with a dash."));
    assert_non_null(strstr(text, "\n\\&.a line"));
    free(text);
    assert_int_equal(pst_options_read(&usage, 1, argv), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_holds),
        cmocka_unit_test(values_arrive),
        cmocka_unit_test(operands_keep_their_order),
        cmocka_unit_test(the_manual_has_every_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
