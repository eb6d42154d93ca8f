/* hold.c - see hold.h. */
#include "core/hold.h"

#include "core/num.h"

void pst_hold_begin(struct pst_hold *hold, pst_ns now)
{
    for (uint32_t i = 0; i <= PST_REPLICAS_MAX; i++)
        hold->needed_at[i] = now;
    hold->lowered_at = PST_NEVER;
    hold->doublings = 0;
}

void pst_hold_needs(struct pst_hold *hold, uint32_t replicas, pst_ns now)
{
    PST_ASSERT(replicas <= PST_REPLICAS_MAX);
    hold->needed_at[replicas] = now;
}

static void forget(struct pst_hold *hold, pst_ns now)
{
    while (hold->doublings > 0 && now - hold->doubled_at >= PST_HOLD_FORGET) {
        hold->doublings--;
        hold->doubled_at += PST_HOLD_FORGET;
    }
}

uint32_t pst_hold_most(struct pst_hold *hold, uint32_t least, uint32_t before, pst_ns in_after,
                       pst_ns now)
{
    uint32_t number = before;
    pst_ns length;

    forget(hold, now);
    length = pst_mul_sat(in_after, UINT64_C(1) << hold->doublings);
    while (number > least && pst_sub_sat(now, hold->needed_at[number]) >= length)
        number--;
    return number;
}

void pst_hold_lowered(struct pst_hold *hold, pst_ns now)
{
    hold->lowered_at = now;
}

void pst_hold_raised(struct pst_hold *hold, pst_ns within, pst_ns now)
{
    if (hold->lowered_at == PST_NEVER || now - hold->lowered_at > within)
        return;
    forget(hold, now);
    hold->lowered_at = PST_NEVER;
    hold->doubled_at = now;
    if (hold->doublings < PST_HOLD_DOUBLINGS)
        hold->doublings++;
}
