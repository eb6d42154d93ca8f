/*
 * render.h - the metric cells as Prometheus reads them.
 *
 * Guarantee: one family per name with all its series together; names of pools, classes and replicas come
 * from the registry. Counters by outcome, and those of an unknown pool or class, are listed once they are
 * not zero; all others from the start, so that the first increment is seen as one.
 */
#ifndef PST_OBSERVE_RENDER_H
#define PST_OBSERVE_RENDER_H

#include <stdio.h>

#include "codec/prometheus.h"
#include "observe/view.h"

/* Called twice: once to learn the size, once to write. */
void pst_render_metrics(const struct pst_view *view, struct pst_prometheus_page *page);

/* The aliases, as a list for docs/metrics.md. */
void pst_render_document(FILE *out);

/* Sets the gauges from the gate, the scaler, the registry and the program. */
void pst_gauges_read(const struct pst_view *view);
/*
 * scaler_replicas{kind="desired"}: what was decided; where others keep the number, what they must be told.
 * False: not known, and then there is no such series, so that nobody scales by a number of before.
 */
bool pst_gauges_desired(const struct pst_view *view, uint16_t pool, uint32_t *ret_desired);
/* kind="needed": by the load alone. False: not known, and there is no such series. */
bool pst_gauges_needed(const struct pst_view *view, uint16_t pool, uint32_t *ret_needed);
/* Adds a span of time to the replicas that are there, and to what they cost. */
void pst_gauges_second(const struct pst_view *view, pst_ns span);

const char *pst_render_kind_name(uint8_t kind); /* of enum pst_metric_kind: "desired" … */

#endif
