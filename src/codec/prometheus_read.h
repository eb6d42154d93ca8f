/*
 * prometheus_read.h - the samples of somebody else's metrics page, one by one.
 *
 * Why: engines and exporters say what they know in this format; what is wanted of a page of megabytes are
 * a few numbers, so nothing is stored.
 *
 * Guarantee: reads text format 0.0.4 and what OpenMetrics adds to its lines (exemplars, fractional
 * timestamps). A page that breaks the format ends in PST_E_SYNTAX at that line, and so does one whose last
 * line has no end: it was cut. Nothing is allocated; what is returned points into the page.
 * Source: Prometheus text exposition format 0.0.4; OpenMetrics 1.0.
 */
#ifndef PST_CODEC_PROMETHEUS_READ_H
#define PST_CODEC_PROMETHEUS_READ_H

#include "codec/decimal.h"

struct pst_prometheus_reader {
    const char *at;
    const char *end;
};

struct pst_prometheus_sample {
    const char *name;
    size_t name_len;
    const char *labels; /* between the braces */
    size_t labels_len;
    bool is_finite; /* neither NaN nor an infinity: `value` is what it says */
    struct pst_decimal value;
};

/* PST_OK: the next sample. PST_E_UNKNOWN: there are no more. PST_E_SYNTAX: the page breaks the format. */
int pst_prometheus_next(struct pst_prometheus_reader *reader,
                        struct pst_prometheus_sample *ret_sample);

bool pst_prometheus_is(const struct pst_prometheus_sample *sample, const char *name);
/* Whether it has this label, unescaped and with NUL in `value`; one that does not fit it has not. */
bool pst_prometheus_label_of(const struct pst_prometheus_sample *sample, const char *label,
                             char *value, size_t size);

#endif
