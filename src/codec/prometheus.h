/*
 * prometheus.h - the text format in which metrics are offered.
 *
 * Why: the page is written from counters on every scrape; it must work without allocation.
 *
 * Guarantee: what is written is accepted by the format's own checker when families are opened once and
 * samples follow theirs. Numbers are written from integers, exactly.
 * Source: Prometheus text exposition format 0.0.4.
 */
#ifndef PST_CODEC_PROMETHEUS_H
#define PST_CODEC_PROMETHEUS_H

#include "pst.h"

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

#endif
