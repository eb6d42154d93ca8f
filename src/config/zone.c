/* zone.c - see zone.h. */
#include "config/zone.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/scalar.h"

#define FOLDER "/usr/share/zoneinfo"

static bool is_utc(const char *name)
{
    return name == NULL || strcmp(name, "UTC") == 0 || strcmp(name, "Etc/UTC") == 0;
}

/* PST_E_FULL: more than a zone's file may have. */
static int read_whole(int fd, uint8_t *bytes, size_t size, size_t *ret_len)
{
    struct stat st;
    size_t len = 0;

    if (fstat(fd, &st) < 0)
        return PST_E_SYSTEM;
    if (!S_ISREG(st.st_mode)) {
        errno = EISDIR;
        return PST_E_SYSTEM;
    }
    while (len < size) {
        const ssize_t n = read(fd, bytes + len, size - len);

        if (n < 0)
            return PST_E_SYSTEM;
        if (n == 0) {
            *ret_len = len;
            return PST_OK;
        }
        len += (size_t)n;
    }
    return PST_E_FULL;
}

static int read_file(const char *path, struct pst_tzif *ret_zone, const char **ret_fault)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    uint8_t bytes[PST_TZIF_BYTES_MAX];
    size_t len;
    int rc;

    if (fd < 0) {
        *ret_fault = errno == ENOENT || errno == ENOTDIR
                         ? "this machine knows no such time zone (package tzdata)"
                         : strerror(errno);
        return errno == ENOENT || errno == ENOTDIR ? PST_E_INVALID : PST_E_SYSTEM;
    }
    rc = read_whole(fd, bytes, sizeof bytes, &len);
    if (rc == PST_E_SYSTEM)
        *ret_fault = strerror(errno);
    close(fd);
    if (rc == PST_E_SYSTEM)
        return rc;
    if (rc != PST_OK || pst_tzif_parse(bytes, len, ret_zone) != PST_OK) {
        *ret_fault = "its file is no time zone's";
        return PST_E_SYNTAX;
    }
    return PST_OK;
}

int pst_zone_read(const char *name, struct pst_tzif *ret_zone, const char **ret_fault)
{
    const char *folder = getenv("TZDIR");
    char path[4096];

    if (is_utc(name)) {
        memset(ret_zone, 0, sizeof *ret_zone);
        return PST_OK;
    }
    if (!pst_scalar_is_zone(name) ||
        snprintf(path, sizeof path, "%s/%s", folder != NULL && folder[0] != '\0' ? folder : FOLDER,
                 name) >= (int)sizeof path) {
        *ret_fault = "is no name of a time zone";
        return PST_E_INVALID;
    }
    return read_file(path, ret_zone, ret_fault);
}
