/* retry.c - see retry.h. */
#include "core/retry.h"

#include "core/num.h"

#define STEP (5 * PST_S)

static void move(struct pst_retry *retry, pst_ns now)
{
    uint64_t steps = pst_sub_sat(now, retry->step_since) / STEP;

    retry->step_since += steps * STEP;
    for (uint64_t i = 0; i < pst_min_u64(steps, PST_RETRY_STEPS); i++) {
        retry->step = (retry->step + 1) % PST_RETRY_STEPS;
        retry->dispatches -= retry->dispatches_in[retry->step];
        retry->retries -= retry->retries_in[retry->step];
        retry->dispatches_in[retry->step] = 0;
        retry->retries_in[retry->step] = 0;
    }
}

void pst_retry_dispatched(struct pst_retry *retry, pst_ns now)
{
    move(retry, now);
    retry->dispatches_in[retry->step]++;
    retry->dispatches++;
}

bool pst_retry_spend(struct pst_retry *retry, uint32_t share_ppm, uint32_t floor, pst_ns now)
{
    move(retry, now);
    if (retry->retries >= pst_max_u64(floor, pst_muldiv(retry->dispatches, share_ppm, PST_PPM)))
        return false;
    retry->retries_in[retry->step]++;
    retry->retries++;
    return true;
}

void pst_retry_refund(struct pst_retry *retry, pst_ns now)
{
    move(retry, now);
    /* Spent up to a second ago: in this step or the one before. */
    for (uint32_t back = 0; back < 2; back++) {
        uint32_t step = (retry->step + PST_RETRY_STEPS - back) % PST_RETRY_STEPS;

        if (retry->retries_in[step] > 0) {
            retry->retries_in[step]--;
            retry->retries--;
            return;
        }
    }
}
