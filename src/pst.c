/* pst.c - see pst.h. */
#include "pst.h"

void (*pst_assert_hook)(const char *condition, const char *file, int line);

_Noreturn void pst_assert_failed(const char *condition, const char *file, int line)
{
    if (pst_assert_hook != NULL)
        pst_assert_hook(condition, file, line);
    __builtin_trap();
}
