/*
 * measure.h - what others measure of our pools: asked for again and again, judged, and told as SIGNAL events.
 *
 *   Prometheus (a query for each signal) ─┐
 *   DCGM exporter ────────────────────────┼─► SIGNAL { value, age }      of GPU: the first of them
 *   nvidia-smi ───────────────────────────┘                              that is configured
 *   Prometheus (a day of the past at a time) ─► past()
 *
 * Why: they need tokens and start programs, so they live in the process that keeps credentials; where there
 * is none, because nothing needs one, in the only process. What engines say of themselves is not here: those
 * are answers of engines as all others, and the gateway asks for them (gateway/scrape.c).
 *
 * Guarantee: an answer that is empty, NaN, late, broken, of several values or none is told as nothing: what
 * was told last grows old in whoever was told, and after `stale_after` it holds. It is never zero. A Prometheus
 * that has lost a target without a mark may say its last value for another 90 s (LOOKBACK_MIN). One
 * question at a time to each source, bounded in time and size. That a source fails is said once, and once
 * that it answers again. Not thread-safe: one owner.
 */
#ifndef PST_SCALE_MEASURE_H
#define PST_SCALE_MEASURE_H

#include "config/config.h"
#include "net/loop.h"
#include "scale/measure_query.h"

struct pst_measure;

struct pst_measure_host {
    struct pst_loop *loop;
    const struct pst_config *config; /* replaced by reload */
    void *user;
    void (*tell)(void *user, const struct pst_scaler_event *event);
    void (*past)(void *user,
                 const struct pst_wire_day *day); /* of `profile: prometheus`, oldest first */
    /* Is this pod one of the pool's? NULL: pods are not known here. */
    bool (*has_pod)(void *user, uint16_t pool, const char *pod);
};

/* `host` lives as long. PST_OK, PST_E_NOMEM or PST_E_SYSTEM. */
int pst_measure_new(const struct pst_measure_host *host, struct pst_measure **ret_measure);
void pst_measure_reload(struct pst_measure *measure); /* the host has another configuration */
void pst_measure_free(struct pst_measure *measure);   /* takes NULL */

#endif
