/*
 * prometheus.h - the text format in which metrics are offered and scraped.
 *
 * Why: the page is written from counters on every scrape and read from engines on every poll; both must
 * work without allocation, and a stranger's page must not be able to stop us.
 *
 * Guarantee: what is written is accepted by the format's own checker when families are opened once and
 * samples follow theirs. Numbers are written from integers, exactly. A line that cannot be read is
 * reported as wrong and harms no other.
 * Source: Prometheus text exposition format 0.0.4.
 */
#ifndef PST_CODEC_PROMETHEUS_H
#define PST_CODEC_PROMETHEUS_H

#include "pst.h"

/* Writing */

/* Goes on counting when the buffer is full: needed > size says how much larger it must be. */
struct pst_prometheus_page {
    char *at;
    size_t size;
    size_t needed;
};

enum pst_prometheus_type {
    PST_PROMETHEUS_COUNTER,
    PST_PROMETHEUS_GAUGE,
    PST_PROMETHEUS_HISTOGRAM,
    PST_PROMETHEUS_UNTYPED,
    PST_PROMETHEUS_TYPE_COUNT
};

struct pst_prometheus_label {
    const char *name;
    const char *value; /* any UTF-8; escaped on the way */
};

struct pst_prometheus_labels {
    const struct pst_prometheus_label *label;
    size_t count;
};

/* buffer may be NULL with size 0: to ask what is needed. */
void pst_prometheus_init(struct pst_prometheus_page *page, char *buffer, size_t size);

/* Opens a family: its HELP and TYPE lines. */
void pst_prometheus_family(struct pst_prometheus_page *page, const char *name,
                           enum pst_prometheus_type type, const char *help);

void pst_prometheus_integer(struct pst_prometheus_page *page, const char *name,
                            struct pst_prometheus_labels labels, uint64_t value);
/* value x 10^-decimals: 9 decimals write nanoseconds as seconds, 6 parts per million as a ratio. */
void pst_prometheus_fixed(struct pst_prometheus_page *page, const char *name,
                          struct pst_prometheus_labels labels, int64_t value, uint8_t decimals);
/* A value that is not known. */
void pst_prometheus_unknown(struct pst_prometheus_page *page, const char *name,
                            struct pst_prometheus_labels labels);

struct pst_prometheus_histogram {
    const uint64_t *bounds; /* upper, ascending, x 10^-decimals; +Inf is added */
    const uint64_t *counts; /* per bucket, not cumulative; one more than bounds: the rest */
    size_t bounds_count;
    uint64_t sum; /* x 10^-decimals */
    uint8_t decimals;
};

/* The _bucket, _sum and _count lines of one label set. */
void pst_prometheus_histogram(struct pst_prometheus_page *page, const char *name,
                              struct pst_prometheus_labels labels,
                              const struct pst_prometheus_histogram *histogram);

/* Reading */

enum pst_prometheus_line {
    PST_PROMETHEUS_LINE_SAMPLE,
    PST_PROMETHEUS_LINE_NOTHING, /* blank or a comment */
    PST_PROMETHEUS_LINE_WRONG,
    PST_PROMETHEUS_LINE_COUNT
};

/* Views into the line. */
struct pst_prometheus_sample {
    const char *name;
    size_t name_len;
    const char *labels; /* between the braces, as written */
    size_t labels_len;
    double value; /* NaN and the infinities too */
};

/* *ret_sample is written with PST_PROMETHEUS_LINE_SAMPLE only. */
enum pst_prometheus_line pst_prometheus_read_line(const char *line, size_t len,
                                                  struct pst_prometheus_sample *ret_sample);

/*
 * The next sample of a page; moves *text and *len past it. False at the end. Wrong lines are skipped
 * and counted in *wrong_lines.
 */
bool pst_prometheus_read(const char **text, size_t *len, struct pst_prometheus_sample *ret_sample,
                         uint32_t *wrong_lines);

bool pst_prometheus_is(const struct pst_prometheus_sample *sample, const char *name);

/*
 * The value of a label, unescaped and terminated. PST_E_INVALID: not there; PST_E_FULL: does not fit,
 * terminator included.
 */
int pst_prometheus_label(const struct pst_prometheus_sample *sample, const char *name, char *buffer,
                         size_t size);

#endif
