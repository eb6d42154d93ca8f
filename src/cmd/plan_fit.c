#include "cmd/plan.h"
int pst_plan_fit(const char *path, uint64_t slots, bool json)
{
    (void)path;
    (void)slots;
    (void)json;
    return 0;
}
