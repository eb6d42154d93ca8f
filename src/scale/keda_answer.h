/*
 * keda_answer.h - one message of KEDA's in, one message or a status out; no sockets.
 *
 * Guarantee: whatever the bytes are, the answer is a message or a status with its reason; memory for a
 * request is one fixed arena. Depends on the world as it is now, and of it GetMetricSpec on the
 * configuration alone.
 *
 * Old clients read only the integers. Targets are rounded down to at least 1 and values up, by the ratio
 * that the floats have: they never ask for fewer replicas than the others would.
 */
#ifndef PST_SCALE_KEDA_ANSWER_H
#define PST_SCALE_KEDA_ANSWER_H

#include "base/slice.h"
#include "net/rpc.h"
#include "scale/keda_ask.h"
#include "scale/keda_look.h"

#define PST_KEDA_REQUEST_MAX 16384
#define PST_KEDA_ANSWER_MAX  256

struct pst_keda_answer {
    enum pst_rpc_status status;
    char why[PST_KEDA_WHY_MAX]; /* unless OK */
    uint8_t bytes[PST_KEDA_ANSWER_MAX];
    size_t len;
};

void pst_keda_is_active(const struct pst_keda_world *world, struct pst_slice request, pst_ns now,
                        struct pst_keda_answer *answer);
void pst_keda_metric_spec(const struct pst_keda_world *world, struct pst_slice request,
                          struct pst_keda_answer *answer);
void pst_keda_metrics(const struct pst_keda_world *world, struct pst_slice request, pst_ns now,
                      struct pst_keda_answer *answer);
/* Which pool a stream is about; false: the answer says what is wrong. */
bool pst_keda_stream_pool(const struct pst_keda_world *world, struct pst_slice request,
                          struct pst_keda_answer *answer, uint16_t *ret_pool);
/* The message of IsActive and of its stream. */
void pst_keda_answer_active(bool active, struct pst_keda_answer *answer);

#endif
