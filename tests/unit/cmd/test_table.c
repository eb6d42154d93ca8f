/* Columns line up, whatever stands in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/study_table.h"

#define CELLS 4

struct row {
    const char *promise;
    size_t width;
    bool spare; /* the last column */
    const char *cells[3][CELLS];
    const char *text;
};

static const struct row rows[] = {
    {"names to the left, figures to the right",
     40,
     false,
     {{"a", "1", "22", "3"}, {"long", "4444", "5", "6"}},
     "         x   y  z\na        1  22  3\nlong  4444   5  6\n"},
    {"a spare column that nobody needs is left out",
     40,
     true,
     {{"a", "1", "22", "0"}, {"b", "4", "5", "-"}},
     "   x   y\na  1  22\nb  4   5\n"},
    {"a spare column stays for one figure",
     40,
     true,
     {{"a", "1", "2", "0"}, {"b", "4", "5", "6"}},
     "   x  y  z\na  1  2  0\nb  4  5  6\n"},
    {"a title's row ends where its text does",
     40,
     false,
     {{"group", "", "", ""}, {"  a", "1", "2", "3"}},
     "       x  y  z\ngroup\n  a    1  2  3\n"},
    {"a hole between figures keeps its place",
     40,
     false,
     {{"a", "1", "", "3"}, {"b", "4", "5", "6"}},
     "   x  y  z\na  1     3\nb  4  5  6\n"},
    {"characters count, not bytes",
     40,
     false,
     {{"±", "±1", "2", "3"}, {"b", "444", "5", "6"}},
     "     x  y  z\n±   ±1  2  3\nb  444  5  6\n"},
    {"where it is tight columns come closer",
     22,
     false,
     {{"a-very-long-nam", "1", "2", "3"}},
     "                x y z\na-very-long-nam 1 2 3\n"},
    {"then the name is cut",
     20,
     false,
     {{"a-very-long-name", "1", "2", "3"}},
     "               x y z\na-very-long-n… 1 2 3\n"},
};

static void every_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_table table = {
            .columns = {{"", false}, {"x", false}, {"y", false}, {"z", rows[i].spare}},
            .columns_count = CELLS,
        };
        struct pst_text text = {0};

        for (size_t r = 0; r < PST_COUNT_OF(rows[i].cells) && rows[i].cells[r][0] != NULL; r++) {
            struct pst_table_row *row = pst_table_row(&table);
            for (size_t c = 0; c < CELLS; c++)
                strcpy(row->cells[c], rows[i].cells[r][c]);
        }
        pst_table_print(&table, rows[i].width, &text);
        if (strcmp(text.at, rows[i].text) != 0)
            fail_msg("%s:\n%s", rows[i].promise, text.at);
        pst_text_done(&text);
        pst_table_done(&table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_row)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
