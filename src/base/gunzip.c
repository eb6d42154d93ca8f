#include "base/gunzip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#define PIECE_MIN ((size_t)1 << 16)

/* zlib passes on what is not compressed as it is. */
static int open_file(const char *path, gzFile *ret_file)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;

    if (fd < 0)
        return PST_E_SYSTEM;
    if (fstat(fd, &status) != 0)
        goto fail;
    if (!S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : ENOTSUP;
        goto fail;
    }
    *ret_file = gzdopen(fd, "rb");
    if (*ret_file != NULL)
        return PST_OK;
    close(fd);
    return PST_E_NOMEM;

fail:;
    const int saved = errno;
    close(fd);
    errno = saved;
    return PST_E_SYSTEM;
}

/* Why a read ended: at the end of the file, or for a reason. */
static int reason(gzFile file)
{
    int code;

    (void)gzerror(file, &code);
    switch (code) {
    case Z_OK:
    case Z_STREAM_END:
        return PST_OK;
    case Z_ERRNO:
        return PST_E_SYSTEM;
    case Z_MEM_ERROR:
        return PST_E_NOMEM;
    default: /* Z_DATA_ERROR, Z_BUF_ERROR: zlib's own numbers, not an enum of ours */
        return PST_E_SYNTAX;
    }
}

/* Reads on until there is no more; one byte past the bound tells that there is. */
static int read_all(gzFile file, size_t bytes_max, char **text, size_t *len)
{
    size_t capacity = 0;

    for (;;) {
        int got;
        if (*len == capacity) {
            char *grown;
            capacity = capacity == 0 ? PIECE_MIN : capacity * 2;
            if (capacity > bytes_max)
                capacity = bytes_max + 1;
            grown = realloc(*text, capacity + 1);
            if (grown == NULL)
                return PST_E_NOMEM;
            *text = grown;
        }
        got = gzread(file, *text + *len,
                     capacity - *len < (1u << 30) ? (unsigned)(capacity - *len) : 1u << 30);
        if (got <= 0)
            return reason(file);
        *len += (size_t)got;
        if (*len > bytes_max)
            return PST_E_FULL;
    }
}

int pst_gunzip_read(const char *path, size_t bytes_max, char **ret_text, size_t *ret_len)
{
    gzFile file;
    char *text = NULL;
    size_t len = 0;
    int rc = open_file(path, &file);

    if (rc != PST_OK)
        return rc;
    rc = read_all(file, bytes_max, &text, &len);
    if (rc == PST_OK) {
        text[len] = '\0';
        *ret_text = text;
        *ret_len = len;
        text = NULL;
    }
    free(text);
    (void)gzclose_r(file); /* read whole: nothing that it could say is news */
    return rc;
}
