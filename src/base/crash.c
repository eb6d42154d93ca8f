/* crash.c - see crash.h. */
#include "base/crash.h"

#include <stdio.h>
#include <unistd.h>

static void print_assertion(const char *condition, const char *file, int line)
{
    char text[512];
    int len = snprintf(text, sizeof text, "penstock: assertion failed: %s (%s:%d)\n", condition,
                       file, line);

    if (len > (int)sizeof text - 1)
        len = (int)sizeof text - 1;
    if (len > 0 && write(STDERR_FILENO, text, (size_t)len) < 0)
        return; /* nothing left to tell it to */
}

void pst_crash_install(void)
{
    pst_assert_hook = print_assertion;
}
