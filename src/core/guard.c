/* guard.c - see guard.h. */
#include "core/guard.h"

#include "core/num.h"

#define OVERTAKE_PART 10 /* of the share, earned from late work of class 0 */

static int64_t share_of(pst_ns work, uint32_t ppm)
{
    return (int64_t)pst_min_u64(pst_muldiv(work, ppm, PST_PPM), INT64_MAX / 4);
}

static void earn(int64_t *account, int64_t amount, int64_t most)
{
    *account += amount;
    if (*account > most)
        *account = most;
}

/* Down to a debt of what was spent, never deeper than the most that could be saved. */
static void spend(int64_t *account, pst_ns work, int64_t deepest)
{
    *account -= (int64_t)pst_min_u64(work, INT64_MAX / 4);
    if (*account < -deepest)
        *account = -deepest;
}

void pst_guard_dispatched(struct pst_guard *guard, const struct pst_gate_class *classes,
                          uint32_t classes_count, uint8_t class_, pst_ns work, bool late,
                          uint32_t slots)
{
    for (uint32_t c = 1; c < classes_count; c++) {
        uint32_t ppm = classes[c].guard_ppm;
        int64_t second = share_of(pst_mul_sat(slots, PST_S), ppm);

        if (class_ != 0)
            earn(&guard->credit[c], share_of(work, ppm), second);
        else if (late)
            earn(&guard->overtake[c], share_of(work, ppm) / OVERTAKE_PART, second);
        if (class_ ==
            c) /* beyond one ticket there is no debt: what the class got freely is forgotten */
            spend(&guard->credit[c], work, (int64_t)pst_min_u64(work, INT64_MAX / 4));
    }
}

void pst_guard_overtook(struct pst_guard *guard, uint8_t class_, pst_ns work)
{
    guard->overtake[class_] -= (int64_t)pst_min_u64(work, INT64_MAX / 4);
}
