/* study_table.c - see study_table.h. */
#include "cmd/study_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP       2  /* between columns; 1 where the width is short */
#define FIRST_MIN 12 /* the first column is not cut below */

void pst_table_done(struct pst_table *table)
{
    free(table->rows);
    *table = (struct pst_table){0};
}

struct pst_table_row *pst_table_row(struct pst_table *table)
{
    if (table->rows_count == table->rows_size) {
        const size_t size = table->rows_size == 0 ? 16 : 2 * table->rows_size;
        struct pst_table_row *rows = realloc(table->rows, size * sizeof *rows);
        if (rows == NULL) {
            table->broken = true;
            return NULL;
        }
        table->rows = rows;
        table->rows_size = size;
    }
    return memset(&table->rows[table->rows_count++], 0, sizeof *table->rows);
}

/* Characters, not bytes: continuation bytes of UTF-8 take no place. */
static size_t width_of(const char *text)
{
    size_t width = 0;

    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0u) != 0x80u;
    return width;
}

static bool is_blank(const char *cell)
{
    return cell[0] == '\0' || strcmp(cell, "0") == 0 || strcmp(cell, "-") == 0;
}

/* 0: the column is left out. */
static size_t column_width(const struct pst_table *table, size_t column)
{
    size_t width = width_of(table->columns[column].title);
    bool blank = true;

    for (size_t i = 0; i < table->rows_count; i++) {
        const char *cell = table->rows[i].cells[column];

        blank = blank && is_blank(cell);
        width = width_of(cell) > width ? width_of(cell) : width;
    }
    return blank && table->columns[column].spare ? 0 : width;
}

static void put_spaces(struct pst_text *text, size_t count)
{
    while (count-- > 0)
        pst_text_put(text, " ");
}

/* To the left, cut if it must be. Returns how much of the width is left. */
static size_t put_first(struct pst_text *text, const char *cell, size_t width)
{
    const size_t len = width_of(cell);
    size_t at = 0;

    if (len <= width) {
        pst_text_put(text, cell);
        return width - len;
    }
    for (size_t taken = 0; taken + 1 < width; taken++)
        do
            at++;
        while (((unsigned char)cell[at] & 0xc0u) == 0x80u);
    pst_text_add(text, cell, at);
    pst_text_put(text, "…");
    return 0;
}

static void put_row(const struct pst_table *table, const size_t *widths, size_t gap, size_t row,
                    struct pst_text *text)
{
    size_t owed = 0; /* spaces, written before the next cell: no line ends with one */

    for (size_t c = 0; c < table->columns_count; c++) {
        const char *cell = row == 0 ? table->columns[c].title : table->rows[row - 1].cells[c];

        if (c == 0) {
            owed = put_first(text, cell, widths[0]);
        } else if (widths[c] > 0 && cell[0] == '\0') {
            owed += gap + widths[c];
        } else if (widths[c] > 0) {
            put_spaces(text, owed + gap + widths[c] - width_of(cell));
            pst_text_put(text, cell);
            owed = 0;
        }
    }
    pst_text_put(text, "\n");
}

void pst_table_print(const struct pst_table *table, size_t width, struct pst_text *text)
{
    size_t widths[PST_TABLE_COLUMNS_MAX], others = 0, shown = 0, gap = GAP;

    PST_ASSERT(table->columns_count > 0);
    for (size_t c = 0; c < table->columns_count; c++) {
        widths[c] = column_width(table, c);
        others += c > 0 ? widths[c] : 0;
        shown += c > 0 && widths[c] > 0;
    }
    if (widths[0] + others + shown * gap > width)
        gap = 1;
    others += shown * gap;
    if (widths[0] + others > width)
        widths[0] = others + FIRST_MIN > width ? FIRST_MIN : width - others;
    for (size_t row = 0; row <= table->rows_count; row++)
        put_row(table, widths, gap, row, text);
}
