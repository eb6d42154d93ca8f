/* say.c - the program's own messages; see log.h. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"

static const char *const level_names[PST_LOG_LEVEL_COUNT] = {
    [PST_LOG_ERROR] = "error",
    [PST_LOG_WARN] = "warn",
    [PST_LOG_INFO] = "info",
};

/* One message is one line, and moves no cursor, whatever strangers' words are quoted in it. */
static void tame(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

void pst_say(enum pst_log_level level, const char *format, ...)
{
    char text[1024];
    va_list args;
    int prefix, len;

    prefix = snprintf(text, sizeof text, "penstock: %s: ", level_names[level]);
    va_start(args, format);
    len = vsnprintf(text + prefix, sizeof text - (size_t)prefix - 1, format, args);
    va_end(args);
    if (len < 0)
        return;
    len += prefix;
    if (len > (int)sizeof text - 2)
        len = (int)sizeof text - 2;
    tame(text);
    text[len++] = '\n';
    if (write(STDERR_FILENO, text, (size_t)len) < 0)
        return; /* nowhere to complain */
}
