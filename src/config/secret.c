#include "config/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int take(const char *text, size_t len, struct pst_arena *arena, char **ret_secret,
                const char **ret_fault)
{
    char *copy;

    if (len == 0 || len > PST_SECRET_MAX) {
        *ret_fault = len == 0 ? "is empty" : "is too long";
        return PST_E_INVALID;
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            *ret_fault = "holds what cannot stand in a header";
            return PST_E_INVALID;
        }
    }
    copy = pst_arena_text(arena, text, len);
    if (copy == NULL) {
        *ret_fault = "does not fit in memory";
        return PST_E_NOMEM;
    }
    *ret_secret = copy;
    return PST_OK;
}

int pst_secret_from_env(const char *name, struct pst_arena *arena, char **ret_secret,
                        const char **ret_fault)
{
    const char *value = getenv(name);

    if (value == NULL) {
        *ret_fault = "is not in the environment";
        return PST_E_INVALID;
    }
    return take(value, strlen(value), arena, ret_secret, ret_fault);
}

int pst_secret_from_file(const char *path, struct pst_arena *arena, char **ret_secret,
                         const char **ret_fault)
{
    char buffer[PST_SECRET_MAX + 2];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    ssize_t len = -1;

    if (fd >= 0 && fstat(fd, &st) == 0) {
        if (S_ISREG(st.st_mode))
            len = read(fd, buffer, sizeof buffer);
        else
            errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    }
    if (len < 0)
        *ret_fault = strerror(errno);
    if (fd >= 0)
        close(fd);
    if (len < 0)
        return PST_E_SYSTEM;

    while (len > 0 && (buffer[len - 1] == '\n' || buffer[len - 1] == '\r'))
        len--;
    return take(buffer, (size_t)len, arena, ret_secret, ret_fault);
}
