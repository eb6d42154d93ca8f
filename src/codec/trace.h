/*
 * trace.h - arrivals and lengths recorded elsewhere, line by line.
 *
 * Formats: CSV with a header line; columns by name: arrival_us | arrival_ms | t_s, prompt_tokens,
 * output_tokens, client, rate_per_s, prefix_blocks_seen_before, class, tenant; others are ignored.
 * Guarantee: no allocation, no floating point; a wrong line is an error with its reason.
 */
#ifndef PST_CODEC_TRACE_H
#define PST_CODEC_TRACE_H

#include "pst.h"

#define PST_TRACE_COLUMNS_MAX 32
#define PST_TRACE_NAME_MAX    32

struct pst_trace_row {
    pst_ns arrival;
    uint32_t prompt_tokens;
    uint32_t output_tokens;
    uint32_t client;
    uint32_t prefix_blocks_seen;
    uint64_t rate_micro;             /* requests per second x 10^6, for rate tables */
    char class_[PST_TRACE_NAME_MAX]; /* "" when absent */
    char tenant[PST_TRACE_NAME_MAX];
};

struct pst_trace_format {
    uint8_t columns;
    uint8_t field[PST_TRACE_COLUMNS_MAX]; /* the room's own */
};

/* Reads the header line. PST_E_SYNTAX and *ret_why (English, static) when it cannot be used. */
int pst_trace_header(struct pst_trace_format *format, const char *line, size_t len,
                     const char **ret_why);
int pst_trace_line(const struct pst_trace_format *format, const char *line, size_t len,
                   struct pst_trace_row *ret_row, const char **ret_why);

/* What every row will say: when, which client's it is, how many there are a second. */
bool pst_trace_has_times(const struct pst_trace_format *format);
bool pst_trace_has_clients(const struct pst_trace_format *format);
bool pst_trace_has_rates(const struct pst_trace_format *format);

#endif
