/*
 * line.h - one JSON object in a fixed buffer.
 *
 * Why: an access line is written for every request: no allocation, and a stranger's bytes in it must
 * neither break the line nor the reader.
 *
 * Guarantee: the result is one valid JSON object on one line: control characters are escaped, bytes
 * that are not UTF-8 become U+FFFD, each text is cut at the length asked for, at a character. What does
 * not fit any more is left out whole, field by field.
 */
#ifndef PST_OBSERVE_LINE_H
#define PST_OBSERVE_LINE_H

#include "base/slice.h"

struct pst_line {
    char *at;
    size_t len, size;
};

void pst_line_begin(struct pst_line *line, char *buffer, size_t size); /* size >= 3 */
void pst_line_text(struct pst_line *line, const char *name, struct pst_slice value, size_t max);
void pst_line_number(struct pst_line *line, const char *name, uint64_t value);
void pst_line_bool(struct pst_line *line, const char *name, bool value);
/* An object or array that is JSON already. */
void pst_line_json(struct pst_line *line, const char *name, struct pst_slice json);
/* Milliseconds with three decimals. */
void pst_line_ms(struct pst_line *line, const char *name, pst_ns value);
/* "2026-11-29T17:35:03.123Z" */
void pst_line_time(struct pst_line *line, const char *name, uint64_t wall_ns);
struct pst_slice pst_line_end(struct pst_line *line);

#endif
