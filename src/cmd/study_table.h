/*
 * study_table.h - columns of text that line up.
 *
 * Guarantee: every column is as wide as its widest cell; the first is to the left, the others to the
 * right. A column whose every cell is blank (empty, "0", "-") is left out if it is `spare`. No line is wider
 * than `width`, if the first column can be cut for it.
 */
#ifndef PST_CMD_STUDY_TABLE_H
#define PST_CMD_STUDY_TABLE_H

#include "base/text.h"

#define PST_TABLE_COLUMNS_MAX 16
#define PST_TABLE_CELL_MAX    64

struct pst_table_column {
    const char *title;
    bool spare;
};

struct pst_table_row {
    char cells[PST_TABLE_COLUMNS_MAX][PST_TABLE_CELL_MAX];
};

struct pst_table {
    struct pst_table_column columns[PST_TABLE_COLUMNS_MAX];
    size_t columns_count;
    struct pst_table_row *rows;
    size_t rows_count, rows_size;
    bool broken; /* no memory */
};

void pst_table_done(struct pst_table *table); /* takes a zeroed one */
/* A row of empty cells; NULL without memory. Valid until the next one. */
struct pst_table_row *pst_table_row(struct pst_table *table);
void pst_table_print(const struct pst_table *table, size_t width, struct pst_text *text);

#endif
