/*
 * run_config.c - reading the configuration, at start and again; see run.h.
 *
 * A gateway that has a keeper may not open the file: it asks, and is given the text without what is secret.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cmd/run.h"
#include "scale/keeper.h"

static void say_problem(const char *path, const struct pst_problem *problem)
{
    enum pst_log_level level = problem->level == PST_PROBLEM_ERROR ? PST_LOG_ERROR : PST_LOG_WARN;

    if (problem->line > 0)
        pst_say(level, "%s:%u:%u: %s", path, problem->line, problem->column, problem->message);
    else
        pst_say(level, "%s: %s", path, problem->message);
}

/* Says all; the first error goes into `message` too, with the number of them. */
static void say_problems(const char *path, struct pst_problems *problems, char *message,
                         size_t size)
{
    for (size_t i = problems->count; i-- > 0;) {
        const struct pst_problem *problem = &problems->item[i];

        if (problem->level == PST_PROBLEM_ERROR)
            (void)snprintf(message, size, "%zu error(s); %s:%u:%u: %s", problems->errors, path,
                           problem->line, problem->column, problem->message);
    }
    for (size_t i = 0; i < problems->count; i++)
        say_problem(path, &problems->item[i]);
    pst_problems_done(problems);
}

static int read_saying(const char *path, struct pst_config **ret_config, char *message, size_t size)
{
    struct pst_problems problems;
    int rc = pst_config_read(path, ret_config, &problems);

    if (rc != PST_OK)
        (void)snprintf(message, size, "%s cannot be read", path);
    say_problems(path, &problems, message, size);
    return rc;
}

int pst_run_config_read(const char *path, struct pst_config **ret_config)
{
    char message[PST_OBSERVE_MESSAGE_MAX] = "";
    int rc = read_saying(path, ret_config, message, sizeof message);

    if (rc == PST_E_NOMEM)
        pst_say(PST_LOG_ERROR, "%s: out of memory", path);
    return rc;
}

/* False: a restart is needed, and `message` says for which keys. */
static bool may_replace(const struct pst_config *now, const struct pst_config *next, char *message)
{
    const char *keys[PST_CONFIG_RESTART_MAX];
    size_t count = pst_config_needs_restart(now, next, keys), len = 0;

    for (size_t i = 0; i < count && len < PST_OBSERVE_MESSAGE_MAX; i++)
        len += (size_t)snprintf(message + len, PST_OBSERVE_MESSAGE_MAX - len, "%s`%s`%s",
                                i == 0 ? "" : ", ", keys[i],
                                i + 1 == count ? " changed, which needs a restart" : "");
    return count == 0;
}

static int apply(struct pst_run *run, struct pst_config *next, char *message)
{
    struct pst_config *before = run->config;
    int rc;

    if (!may_replace(before, next, message))
        return PST_E_INVALID;
    rc = pst_drive_reconfigure(run->drive, &next->gate);
    if (rc != PST_OK) {
        (void)snprintf(message, PST_OBSERVE_MESSAGE_MAX, "the new numbers were not taken: %s",
                       rc == PST_E_NOMEM ? "out of memory" : "out of range");
        return rc;
    }
    rc = pst_gateway_reload(run->gateway, next);
    if (rc == PST_OK)
        rc = pst_run_capacity_reload(run, next);
    if (rc != PST_OK) {
        (void)snprintf(message, PST_OBSERVE_MESSAGE_MAX, "the new routes were not taken: %s",
                       rc == PST_E_NOMEM ? "out of memory" : "no room for more replicas");
        /* It may hold half of the new one: back to what worked, before that is freed. */
        (void)pst_run_capacity_reload(run, before);
        (void)pst_gateway_reload(run->gateway, before);
        (void)pst_drive_reconfigure(run->drive, &before->gate);
        return rc;
    }
    run->config = next;
    return PST_OK;
}

/* `next` is taken, or freed: NULL if it could not be read, and `message` says why. */
static int finish(struct pst_run *run, struct pst_config *next, int rc,
                  char message[PST_OBSERVE_MESSAGE_MAX])
{
    struct pst_config *before = run->config;

    if (rc == PST_OK)
        rc = apply(run, next, message);
    if (rc == PST_OK) {
        pst_say(PST_LOG_INFO, "%s: reloaded", next->path);
        pst_observe_reloaded(run->observe, next, NULL);
        pst_config_free(before);
    } else {
        pst_say(PST_LOG_ERROR, "not reloaded, the old configuration stays: %s", message);
        pst_observe_reloaded(run->observe, NULL, message);
        pst_config_free(next);
    }
    return rc;
}

int pst_run_reload(struct pst_run *run, char message[PST_OBSERVE_MESSAGE_MAX])
{
    struct pst_config *next = NULL;
    int rc;

    message[0] = '\0';
    if (run->wire != NULL && pst_run_wire_reload(run))
        return PST_E_AGAIN;
    if (run->wire != NULL) {
        (void)snprintf(message, PST_OBSERVE_MESSAGE_MAX, "nobody is there to read it");
        return finish(run, NULL, PST_E_SYSTEM, message);
    }
    rc = read_saying(run->config->path, &next, message, PST_OBSERVE_MESSAGE_MAX);
    return finish(run, next, rc, message);
}

void pst_run_reloaded(struct pst_run *run, const struct pst_wire_message *answer)
{
    char message[PST_OBSERVE_MESSAGE_MAX] = "";
    struct pst_problems problems;
    struct pst_config *next = NULL;
    int rc = PST_E_INVALID;

    if (answer->ok) {
        rc = pst_keeper_config(answer->fd, run->config->path, &next, &problems);
        if (rc != PST_OK)
            (void)snprintf(message, sizeof message, "what the keeper handed over cannot be read");
        say_problems(run->config->path, &problems, message, sizeof message);
    } else {
        (void)snprintf(message, sizeof message, "%s", answer->u.message);
    }
    (void)finish(run, next, rc, message);
}
