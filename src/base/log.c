/* log.c - see log.h. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A pipe that polls writable takes this much without blocking. */
#define PIPE_BYTES      ((size_t)4096)
#define FIRST_BYTES     ((size_t)16 * 1024)
#define DROP_NOTE_BYTES 64
#define LOG_PERMISSIONS 0640

struct pst_log {
    char *path; /* NULL: stderr, which is shared with others and so stays in blocking mode */
    int fd;
    char *lines;
    size_t at, len, size, bytes_max;
    uint64_t dropped, dropped_unsaid;
};

static int open_path(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, LOG_PERMISSIONS);
}

int pst_log_new(const char *path, size_t bytes_max, struct pst_log **ret_log)
{
    struct pst_log *log;
    int rc = PST_E_NOMEM;

    log = calloc(1, sizeof *log);
    if (log == NULL)
        return PST_E_NOMEM;
    log->bytes_max = bytes_max;
    log->fd = STDERR_FILENO;
    if (path != NULL && strcmp(path, "-") != 0) {
        log->path = strdup(path);
        if (log->path == NULL)
            goto fail;
        log->fd = open_path(path);
        if (log->fd < 0) {
            rc = PST_E_SYSTEM;
            goto fail;
        }
    }
    *ret_log = log;
    return PST_OK;

fail:
    free(log->path);
    free(log);
    return rc;
}

void pst_log_free(struct pst_log *log)
{
    if (log == NULL)
        return;
    pst_log_flush(log);
    if (log->path != NULL)
        close(log->fd);
    free(log->path);
    free(log->lines);
    free(log);
}

/* Makes place for `need` bytes behind the waiting ones. */
static bool reserve(struct pst_log *log, size_t need)
{
    size_t waiting = log->len - log->at, size = log->size == 0 ? FIRST_BYTES : log->size;
    char *bigger;

    if (waiting + need > log->bytes_max)
        return false;
    if (log->len + need <= log->size)
        return true;
    if (log->at > 0) {
        memmove(log->lines, log->lines + log->at, waiting);
        log->at = 0;
        log->len = waiting;
    }
    while (size < waiting + need)
        size *= 2;
    if (size == log->size)
        return true;
    bigger = realloc(log->lines, size);
    if (bigger == NULL)
        return false;
    log->lines = bigger;
    log->size = size;
    return true;
}

int pst_log_line(struct pst_log *log, const char *line, size_t len)
{
    char note[DROP_NOTE_BYTES];
    size_t note_len = 0;

    if (log->dropped_unsaid > 0)
        note_len = (size_t)snprintf(note, sizeof note, "{\"dropped_lines\":%llu}\n",
                                    (unsigned long long)log->dropped_unsaid);
    if (!reserve(log, note_len + len + 1)) {
        log->dropped++;
        log->dropped_unsaid++;
        return PST_E_FULL;
    }
    memcpy(log->lines + log->len, note, note_len);
    log->len += note_len;
    log->dropped_unsaid = 0;
    memcpy(log->lines + log->len, line, len);
    log->len += len;
    log->lines[log->len++] = '\n';
    return PST_OK;
}

void pst_log_flush(struct pst_log *log)
{
    while (log->at < log->len) {
        size_t n = log->len - log->at;
        ssize_t written;

        if (log->path == NULL) {
            struct pollfd p = {.fd = log->fd, .events = POLLOUT};

            if (poll(&p, 1, 0) != 1 || (p.revents & POLLOUT) == 0)
                return;
            if (n > PIPE_BYTES)
                n = PIPE_BYTES;
        }
        written = write(log->fd, log->lines + log->at, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return; /* kept; what does not fit later is counted */
        log->at += (size_t)written;
    }
    log->at = log->len = 0;
}

int pst_log_reopen(struct pst_log *log)
{
    int fd;

    if (log->path == NULL)
        return PST_OK;
    pst_log_flush(log);
    fd = open_path(log->path);
    if (fd < 0)
        return PST_E_SYSTEM;
    close(log->fd);
    log->fd = fd;
    return PST_OK;
}

uint64_t pst_log_dropped(const struct pst_log *log)
{
    return log->dropped;
}
