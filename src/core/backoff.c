/* backoff.c - see backoff.h. */
#include "core/backoff.h"

#include "core/num.h"

void pst_backoff_failed(struct pst_backoff *backoff, pst_ns asked_at, bool quota, pst_ns now)
{
    if (backoff->wait != 0 && asked_at <= backoff->failed_at)
        return; /* asked for before the last failure taught anything */
    backoff->wait =
        backoff->wait == 0 ? PST_BACKOFF_FIRST : pst_min_u64(2 * backoff->wait, PST_BACKOFF_MAX);
    backoff->until = pst_add_sat(now, backoff->wait);
    backoff->failed_at = now;
    backoff->wall = quota;
}

void pst_backoff_created(struct pst_backoff *backoff)
{
    if (backoff->wall)
        pst_backoff_succeeded(backoff);
}

void pst_backoff_succeeded(struct pst_backoff *backoff)
{
    *backoff = (struct pst_backoff){0};
}

uint32_t pst_backoff_allows(const struct pst_backoff *backoff, uint32_t trying, pst_ns now)
{
    if (backoff->wait == 0)
        return UINT32_MAX;
    return now < backoff->until || trying > 0 ? 0 : 1;
}
