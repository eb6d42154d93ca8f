/*
 * keda.h - KEDA's external scaler: a pool's decision, asked for by gRPC and pushed when work first waits.
 *
 * Why: on Kubernetes an HPA keeps the number of replicas, and KEDA feeds it. What it is told is the
 * scaler's own number, so that nothing is decided twice; and at zero replicas the first ticket must not
 * wait for a polling interval.
 *
 *   IsActive        keda_look.h -> core/export.h     StreamIsActive   keda_push.h
 *   GetMetricSpec   configuration alone              GetMetrics       keda_look.h -> core/export.h
 *
 * Which pool and how is in the trigger's metadata (keda_ask.h). What is not known is UNAVAILABLE, never 0
 * or false: KEDA and the HPA hold then. A stream hears nothing meanwhile: ended, it would only be asked for
 * again and again.
 *
 * Guarantee: every call is answered in the turn in which it came, from what is known then: exactly one
 * value, integer and float. A pool that wakes is pushed `true` in the same turn. Certificates are read
 * again when their files change. Bounded: calls, streams, connections, bytes of a message. Not thread-safe.
 *
 * The owner's part: decided() from the capacity's handler of that name; wake() at a gate's WAKE, after
 * pst_capacity_fleet_action(); drain() when the gateway's drain begins; reload() with every new
 * configuration, before the old one is freed; free() before the loop, the drive and the capacity.
 */
#ifndef PST_SCALE_KEDA_H
#define PST_SCALE_KEDA_H

#include "base/metric.h"
#include "config/config.h"
#include "drive/capacity.h"
#include "net/rpc.h"

struct pst_keda;

/* All borrowed. */
struct pst_keda_config {
    struct pst_loop *loop;
    const struct pst_config *config; /* keda.listen is set */
    const struct pst_capacity *capacity;
    const struct pst_drive *drive;
    struct pst_metrics *metrics; /* waits are read there, and the scaler's own figures written */
};

/* Listens. What goes wrong is said in the log. */
int pst_keda_new(const struct pst_keda_config *config, struct pst_keda **ret_keda);
void pst_keda_free(struct pst_keda *keda); /* takes NULL */
uint16_t pst_keda_port(const struct pst_keda *keda);

/* A first ticket waits at a pool without a replica. */
void pst_keda_wake(struct pst_keda *keda, uint16_t pool);
/* A pool was decided anew. */
void pst_keda_decided(struct pst_keda *keda, uint16_t pool);
void pst_keda_reload(struct pst_keda *keda, const struct pst_config *config);
/* Streams end well, what comes now is refused: whoever asks goes to another gateway, or holds. */
void pst_keda_drain(struct pst_keda *keda);
void pst_keda_figures(const struct pst_keda *keda, struct pst_rpc_figures *ret_figures);

#endif
