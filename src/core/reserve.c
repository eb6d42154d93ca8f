/* reserve.c - see reserve.h. */
#include "core/reserve.h"

#include "core/num.h"

uint32_t pst_reserve_slots(uint32_t slots, uint64_t used_ppm, pst_ns service, pst_ns patience,
                           double one_in)
{
    uint32_t most = slots / 4;
    double k = slots;
    double a = (double)used_ppm / PST_PPM;
    double need;

    if (used_ppm == 0 || most == 0)
        return 0;
    if (a >= k)
        return most;
    need = (pst_ln(one_in) - (k - a) * (double)patience / (double)service) / pst_ln(k / a);
    return (uint32_t)pst_min_u64(pst_ceil_u64(need), most);
}
