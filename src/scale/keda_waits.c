/* keda_waits.c - see keda_waits.h. */
#include "scale/keda_waits.h"

#include <string.h>

static void read_cells(struct pst_keda_waits *waits, const struct pst_metrics *metrics)
{
    uint32_t cells = pst_metric_cells(metrics, PST_METRIC_QUEUE_WAIT);

    memset(waits->now, 0, sizeof waits->now);
    for (uint32_t cell = 0; cell < cells; cell++) {
        const struct pst_labels labels = pst_metric_labels(metrics, PST_METRIC_QUEUE_WAIT, cell);
        const struct pst_metric_histogram *from =
            pst_metric_histogram(metrics, PST_METRIC_QUEUE_WAIT, cell);

        if (from == NULL || labels.pool >= PST_POOLS_MAX || labels.class_ >= PST_CLASSES_MAX)
            continue;
        for (int b = 0; b <= PST_METRIC_BOUNDS; b++)
            waits->now[labels.pool][labels.class_].buckets[b] += (uint32_t)from->buckets[b];
    }
}

void pst_keda_waits_note(struct pst_keda_waits *waits, const struct pst_metrics *metrics,
                         pst_ns now)
{
    read_cells(waits, metrics);
    if (waits->kept > 0 && now - waits->turned < PST_KEDA_WAITS_STEP)
        return;
    memcpy(waits->past[waits->next], waits->now, sizeof waits->now);
    waits->next = (waits->next + 1) % PST_KEDA_WAITS_KEPT;
    if (waits->kept < PST_KEDA_WAITS_KEPT)
        waits->kept++;
    waits->turned = now;
}

/* What lies `rank` of `count` into bucket `b`, ms. */
static uint64_t within(int b, uint64_t rank, uint64_t count)
{
    uint64_t low = b == 0 ? 0 : pst_metric_bounds[b - 1] / PST_MS;

    if (b == PST_METRIC_BOUNDS)
        return low;
    return low + (pst_metric_bounds[b] / PST_MS - low) * rank / count;
}

uint64_t pst_keda_waits_p99_ms(const struct pst_keda_waits *waits, uint16_t pool, uint8_t class_,
                               uint32_t queued, pst_ns oldest)
{
    uint32_t first = waits->kept < PST_KEDA_WAITS_KEPT ? 0 : waits->next;
    const uint32_t *now = waits->now[pool][class_].buckets;
    const uint32_t *then = waits->past[first][pool][class_].buckets;
    uint64_t count = 0, rank, p99_ms = UINT64_MAX, oldest_ms = oldest / PST_MS;

    for (int b = 0; b <= PST_METRIC_BOUNDS; b++)
        count += now[b] - then[b];
    rank = (count * 99 + 99) / 100;
    for (int b = 0; b <= PST_METRIC_BOUNDS && rank > 0; b++) {
        uint32_t here = now[b] - then[b];

        if (rank <= here) {
            p99_ms = within(b, rank, here);
            break;
        }
        rank -= here;
    }
    if (queued > 0 && (uint64_t)queued * 99 >= count && (count == 0 || oldest_ms > p99_ms))
        return oldest_ms;
    return p99_ms;
}
