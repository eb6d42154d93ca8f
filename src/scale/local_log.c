/* local_log.c - see local_log.h. */
#include "scale/local_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "core/num.h"

#define FOLDER_MODE 0750
#define FILE_MODE   0640

int pst_local_log_open(struct pst_local_log *log, const char *folder, const char *name, bool says)
{
    struct stat st;

    *log = (struct pst_local_log){.fd = -1, .says = says, .bytes_max = PST_LOCAL_LOG_BYTES};
    if (mkdir(folder, FOLDER_MODE) != 0 && errno != EEXIST)
        return PST_E_SYSTEM;
    if ((size_t)snprintf(log->path, sizeof log->path, "%s/%s.log", folder, name) >=
        sizeof log->path) {
        errno = ENAMETOOLONG;
        return PST_E_SYSTEM;
    }
    log->fd = open(log->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    if (log->fd < 0)
        return PST_E_SYSTEM;
    if (fstat(log->fd, &st) == 0)
        log->at = (uint64_t)st.st_size;
    return PST_OK;
}

int pst_local_log_output(const struct pst_local_log *log)
{
    return open(log->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
}

/* Lines of strangers: what is not printable is a question mark. */
static void say_line(struct pst_local_log *log, const char *name, unsigned *said,
                     unsigned *left_out)
{
    if (log->len == 0)
        return;
    for (size_t i = 0; i < log->len; i++)
        if ((unsigned char)log->line[i] < ' ' || log->line[i] == 0x7f)
            log->line[i] = log->line[i] == '\t' ? ' ' : '?';
    if (*said < PST_LOCAL_LOG_LINES) {
        pst_say(PST_LOG_INFO, "%s: %.*s", name, (int)log->len, log->line);
        ++*said;
    } else {
        ++*left_out;
    }
    log->len = 0;
}

static void say_new(struct pst_local_log *log, const char *name, char *scratch, size_t size,
                    uint64_t end)
{
    unsigned said = 0, left_out = 0;
    bool skipped = end - log->at > size;
    ssize_t got;

    if (skipped) { /* the newest lines are of most use */
        log->at = end - size;
        log->len = 0;
    }
    got = pread(log->fd, scratch, size, (off_t)log->at);
    for (ssize_t i = 0; i < got; i++) {
        if (scratch[i] == '\n')
            say_line(log, name, &said, &left_out);
        else if (log->len < sizeof log->line)
            log->line[log->len++] = scratch[i]; /* the rest of a long line is in the file */
    }
    if (got > 0)
        log->at += (uint64_t)got;
    if (skipped || left_out > 0)
        pst_say(PST_LOG_INFO, "%s: it prints much; the rest is in %s", name, log->path);
}

/* The name with a suffix; false: too long. */
static bool beside(const struct pst_local_log *log, const char *suffix, char path[PATH_MAX])
{
    return (size_t)snprintf(path, PATH_MAX, "%s%s", log->path, suffix) < PATH_MAX;
}

/* More than a bound was printed since the last look: then the oldest part is lost, and we wait for no disk. */
static void rotate(struct pst_local_log *log, uint64_t end)
{
    char first[PATH_MAX], second[PATH_MAX];
    off_t at = (off_t)pst_sub_sat(end, 2 * log->bytes_max);
    ssize_t sent;
    int out;

    if (!beside(log, ".1", first) || !beside(log, ".2", second))
        return;
    (void)rename(first, second);
    out = open(first, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    if (out >= 0) {
        do
            sent = sendfile(out, log->fd, &at, (size_t)(end - (uint64_t)at));
        while (sent > 0);
        close(out);
    }
    /* Also where the copy failed, as on a full disk: the bound comes first. */
    if (ftruncate(log->fd, 0) == 0)
        log->at = 0;
}

void pst_local_log_look(struct pst_local_log *log, const char *name, char *scratch, size_t size)
{
    struct stat st;

    if (log->fd < 0 || fstat(log->fd, &st) != 0)
        return;
    if ((uint64_t)st.st_size < log->at)
        log->at = 0; /* somebody else emptied it */
    if (log->says && (uint64_t)st.st_size > log->at)
        say_new(log, name, scratch, size, (uint64_t)st.st_size);
    if ((uint64_t)st.st_size > log->bytes_max)
        rotate(log, (uint64_t)st.st_size);
}

void pst_local_log_done(struct pst_local_log *log)
{
    if (log->fd >= 0)
        close(log->fd);
    log->fd = -1;
}
