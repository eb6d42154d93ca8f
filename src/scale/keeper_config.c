/* keeper_config.c - the configuration, read again and handed on without its secrets; see keeper_room.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "config/public.h"
#include "scale/keeper_room.h"

#define SEALS       (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
#define PACKAGE_MAX ((off_t)8 << 20)

static int write_all(int fd, const char *at, size_t len)
{
    while (len > 0) {
        ssize_t written = write(fd, at, len);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return PST_E_SYSTEM;
        at += written;
        len -= (size_t)written;
    }
    return PST_OK;
}

int pst_keeper_package(const struct pst_config *config, int *ret_fd)
{
    struct pst_text package = {0};
    int rc = pst_config_public(config, &package), fd;

    if (rc != PST_OK)
        return rc;
    fd = memfd_create("configuration", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    rc = fd < 0 ? PST_E_SYSTEM : write_all(fd, package.at, package.len);
    if (rc == PST_OK && fcntl(fd, F_ADD_SEALS, SEALS) != 0)
        rc = PST_E_SYSTEM;
    explicit_bzero(package.at, package.len);
    pst_text_done(&package);
    if (rc == PST_OK)
        *ret_fd = fd;
    else if (fd >= 0)
        close(fd);
    return rc;
}

/* The whole of it, which cannot change any more; NULL with errno. */
static char *read_sealed(int fd, size_t *ret_len)
{
    struct stat st;
    char *text;
    ssize_t got;

    if (fcntl(fd, F_GET_SEALS) != SEALS || fstat(fd, &st) != 0 || st.st_size > PACKAGE_MAX) {
        errno = EINVAL;
        return NULL;
    }
    text = malloc((size_t)st.st_size + 1);
    if (text == NULL)
        return NULL;
    got = pread(fd, text, (size_t)st.st_size, 0); /* memory: never in parts */
    if (got != st.st_size) {
        free(text);
        errno = EIO;
        return NULL;
    }
    *ret_len = (size_t)got;
    return text;
}

int pst_keeper_config(int fd, const char *path, struct pst_config **ret_config,
                      struct pst_problems *problems)
{
    size_t len;
    char *package = read_sealed(fd, &len);
    int rc;

    close(fd);
    *problems = (struct pst_problems){0};
    if (package == NULL)
        return errno == ENOMEM ? PST_E_NOMEM : PST_E_SYSTEM;
    rc = pst_config_parse_public(path, package, len, ret_config, problems);
    explicit_bzero(package, len);
    free(package);
    return rc;
}

/* Errors are said here; warnings by the gateway, which sees the same text. The first goes into `message`. */
static void say_errors(const char *path, const struct pst_problems *problems, char *message,
                       size_t size)
{
    bool first = true;

    for (size_t i = 0; i < problems->count; i++) {
        const struct pst_problem *problem = &problems->item[i];

        if (problem->level != PST_PROBLEM_ERROR)
            continue;
        pst_say(PST_LOG_ERROR, "%s:%u:%u: %s", path, problem->line, problem->column,
                problem->message);
        if (first)
            (void)snprintf(message, size, "%zu error(s); %s:%u:%u: %s", problems->errors, path,
                           problem->line, problem->column, problem->message);
        first = false;
    }
}

static bool may_replace(const struct pst_config *now, const struct pst_config *next, char *message,
                        size_t size)
{
    const char *keys[PST_CONFIG_RESTART_MAX];
    size_t count = pst_config_needs_restart(now, next, keys), len = 0;

    for (size_t i = 0; i < count && len < size; i++)
        len += (size_t)snprintf(message + len, size - len, "%s`%s`%s", i == 0 ? "" : ", ", keys[i],
                                i + 1 == count ? " changed, which needs a restart" : "");
    return count == 0;
}

/* A configuration that may replace ours, and its package. Else what is wrong is in `message`. */
static int read_again(const struct pst_config *now, struct pst_config **ret_config, int *ret_fd,
                      char *message, size_t size)
{
    struct pst_config *next = NULL;
    struct pst_problems problems;
    int rc = pst_config_read(now->path, &next, &problems);

    (void)snprintf(message, size, "%s cannot be read", now->path);
    say_errors(now->path, &problems, message, size);
    pst_problems_done(&problems);
    if (rc != PST_OK)
        return rc;
    rc = PST_E_INVALID;
    if (!may_replace(now, next, message, size))
        goto fail;
    rc = pst_keeper_package(next, ret_fd);
    if (rc != PST_OK) {
        (void)snprintf(message, size, "it cannot be handed on: %s",
                       rc == PST_E_SYSTEM ? strerror(errno) : "what is secret is shared");
        goto fail;
    }
    *ret_config = next;
    return PST_OK;

fail:
    pst_config_free(next);
    return rc;
}

void pst_keeper_reload(struct pst_keeper *keeper)
{
    struct pst_wire_message answer = {.kind = PST_WIRE_CONFIG, .fd = -1};
    struct pst_config *before = keeper->config, *next = NULL;
    int rc = read_again(before, &next, &answer.fd, answer.u.message, sizeof answer.u.message);

    answer.ok = rc == PST_OK;
    if (answer.ok)
        answer.u.message[0] = '\0';
    (void)pst_wire_send(keeper->wire, &answer);
    if (!answer.ok)
        return;
    close(answer.fd);
    keeper->config = next;
    keeper->host.config = next;
    keeper->measure_host.config = next;
    pst_measure_reload(keeper->measure);
    for (size_t i = 0; i < before->pools_count; i++)
        if (keeper->pools[i].source != NULL)
            keeper->pools[i].source->kind->reload(keeper->pools[i].source);
    if (pst_keeper_sources(keeper) != PST_OK)
        pst_say(PST_LOG_ERROR, "replicas of a new pool cannot be found: restart");
    pst_config_free(before);
}
