#include "config/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/problems.h"

#define FILE_MAX_BYTES (1u << 20)

static int read_file(int fd, char *buffer, size_t *ret_len)
{
    size_t len = 0;

    while (len <= FILE_MAX_BYTES) {
        const ssize_t got = read(fd, buffer + len, FILE_MAX_BYTES + 1 - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return PST_E_SYSTEM;
        if (got == 0)
            break;
        len += (size_t)got;
    }
    *ret_len = len;
    return PST_OK;
}

int pst_source_read(const char *path, struct pst_problems *problems, char **ret_text,
                    size_t *ret_len)
{
    char *text = malloc(FILE_MAX_BYTES + 1);
    int fd, rc = PST_E_SYSTEM;

    if (text == NULL)
        return PST_E_NOMEM;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        rc = read_file(fd, text, ret_len);
    if (rc != PST_OK)
        pst_problems_add(problems, PST_PROBLEM_ERROR, 0, 0, "%s", strerror(errno));
    if (fd >= 0)
        close(fd);
    if (rc == PST_OK)
        *ret_text = text;
    else
        free(text);
    return rc;
}
