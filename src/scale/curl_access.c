/* curl_access.c - see curl.h: a token that is read again when its file changes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scale/curl_call.h"

static void wipe(char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    free(text);
}

void pst_curl_access_done(struct pst_curl_access *access)
{
    wipe(access->token);
    *access = (struct pst_curl_access){0};
}

void pst_curl_access_forget(struct pst_curl_access *access)
{
    wipe(access->token);
    access->token = NULL;
}

/* Without the white space around it; false: nothing is left, or something that is no token's. */
static bool trim(char *text, size_t len)
{
    size_t from = 0;

    while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
        len--;
    while (from < len && strchr(" \t\r\n", text[from]) != NULL)
        from++;
    memmove(text, text + from, len - from);
    text[len - from] = '\0';
    for (const char *at = text; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~')
            return false;
    return len > from && strlen(text) == len - from;
}

/* All of an open file; -1: it cannot be read, or is too long for a token. */
static ssize_t read_all(int fd, char *out, size_t size)
{
    size_t have = 0;
    ssize_t n;

    while (have < size) {
        n = read(fd, out + have, size - have);
        if (n == 0)
            return (ssize_t)have;
        if (n < 0 && errno != EINTR)
            return -1;
        have += n > 0 ? (size_t)n : 0;
    }
    return -1;
}

static int read_token(struct pst_curl_access *access)
{
    char *token = NULL;
    struct stat about;
    ssize_t len;
    int fd = open(access->token_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc = PST_E_INVALID;

    if (fd < 0)
        return PST_E_INVALID;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        goto out;
    token = calloc(1, PST_CURL_TOKEN_MAX + 1);
    if (token == NULL) {
        rc = PST_E_NOMEM;
        goto out;
    }
    len = read_all(fd, token, PST_CURL_TOKEN_MAX);
    if (len < 0 || !trim(token, (size_t)len)) {
        explicit_bzero(token, PST_CURL_TOKEN_MAX);
        free(token);
        goto out;
    }
    wipe(access->token);
    access->token = token;
    access->token_changed = about.st_mtim;
    access->token_inode = about.st_ino;
    rc = PST_OK;
out:
    close(fd);
    return rc;
}

/* A file that cannot be looked at is as good as unchanged: the token may still be. */
static bool has_changed(const struct pst_curl_access *access)
{
    struct stat about;

    return stat(access->token_file, &about) == 0 &&
           (about.st_ino != access->token_inode ||
            about.st_mtim.tv_sec != access->token_changed.tv_sec ||
            about.st_mtim.tv_nsec != access->token_changed.tv_nsec);
}

int pst_curl_access_header(struct pst_curl_access *access, char **ret_header)
{
    int rc;

    *ret_header = NULL;
    if (access->token_file == NULL)
        return PST_OK;
    if (access->token == NULL || has_changed(access)) {
        rc = read_token(access);
        if (rc != PST_OK && access->token == NULL)
            return rc;
    }
    return asprintf(ret_header, "Authorization: Bearer %s", access->token) < 0 ? PST_E_NOMEM
                                                                               : PST_OK;
}
