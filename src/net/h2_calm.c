/* h2_calm.c - see h2_calm.h. */
#include "net/h2_calm.h"

void pst_h2_calm_init(struct pst_h2_calm *calm, uint32_t burst, uint32_t per_second, pst_ns now)
{
    PST_ASSERT(burst > 0 && per_second > 0);
    *calm = (struct pst_h2_calm){burst, burst, per_second, now};
}

void pst_h2_calm_give(struct pst_h2_calm *calm, uint32_t tokens)
{
    calm->tokens = calm->burst - calm->tokens > tokens ? calm->tokens + tokens : calm->burst;
}

bool pst_h2_calm_take(struct pst_h2_calm *calm, pst_ns now)
{
    pst_ns each = PST_S / calm->per_second;
    uint64_t due = (now - calm->at) / each;

    calm->at += due * each;
    pst_h2_calm_give(calm, due > calm->burst ? calm->burst : (uint32_t)due);
    if (calm->tokens == 0)
        return false;
    calm->tokens--;
    return true;
}
