/* keeper_child.c - the gateway's process, seen from its keeper; see keeper_room.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "core/num.h"
#include "scale/keeper_room.h"

#define BACKOFF_MIN (100 * PST_MS)
#define BACKOFF_MAX (30 * PST_S)
#define WELL_AFTER  (60 * PST_S) /* it lived so long: its next crash is a first one */
#define OVERDUE     (2 * PST_S)  /* its wire has ended, and it has not */

#define EXIT_FAILED 1
#define FREE_FD     16 /* above all that the child has */

extern char **environ;

/* What a gateway may know of our environment: where libraries and zones are, and how to be examined. */
static const char *const harmless[] = {
    "LANG",
    "LC_ALL",
    "TZ",
    "TZDIR",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "OPENSSL_CONF",
    "RES_OPTIONS",
    "LOCALDOMAIN",
    "ASAN_OPTIONS",
    "LSAN_OPTIONS",
    "UBSAN_OPTIONS",
    "TSAN_OPTIONS",
    "GLIBC_TUNABLES",
    "GCOV_PREFIX",
    "GCOV_PREFIX_STRIP",
    "LLVM_PROFILE_FILE",
};

static bool is_harmless(const char *pair)
{
    for (size_t i = 0; i < PST_COUNT_OF(harmless); i++) {
        size_t len = strlen(harmless[i]);

        if (strncmp(pair, harmless[i], len) == 0 && pair[len] == '=')
            return true;
    }
    return false;
}

/* In the new process, between fork and exec. */
static _Noreturn void become_gateway(const struct pst_keeper *keeper, int wire, int package)
{
    char *argv[] = {(char *)(uintptr_t) "penstock", (char *)(uintptr_t) "run", keeper->config->path,
                    NULL};
    char *env[PST_COUNT_OF(harmless) + 2], variable[4096 + sizeof PST_KEEPER_VARIABLE];
    sigset_t none;
    size_t n = 0;

    /* A group of its own: what a terminal says to ours, the keeper says to it, once. */
    (void)setsid();
    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    wire = fcntl(wire, F_DUPFD, FREE_FD); /* out of the way of one another */
    package = fcntl(package, F_DUPFD, FREE_FD);
    if (wire < 0 || package < 0 || dup2(wire, PST_KEEPER_WIRE) < 0 ||
        dup2(package, PST_KEEPER_PACKAGE) < 0)
        _exit(EXIT_FAILED);
    (void)syscall(SYS_close_range, PST_KEEPER_PACKAGE + 1, ~0U, 0);
    for (char **pair = environ; *pair != NULL && n < PST_COUNT_OF(harmless); pair++)
        if (is_harmless(*pair))
            env[n++] = *pair;
    if ((size_t)snprintf(variable, sizeof variable, PST_KEEPER_VARIABLE "=%s",
                         keeper->config->path) >= sizeof variable)
        _exit(EXIT_FAILED);
    env[n++] = variable;
    env[n] = NULL;
    (void)execve("/proc/self/exe", argv, env);
    pst_say(PST_LOG_ERROR, "the gateway cannot be run: %s", strerror(errno));
    _exit(EXIT_FAILED);
}

static void on_wire_ended(void *user)
{
    struct pst_keeper *keeper = user;

    pst_wire_free(keeper->wire);
    keeper->wire = NULL;
    if (keeper->child != 0 && !keeper->asked)
        pst_timer_set(keeper->loop, &keeper->overdue,
                      pst_add_sat(pst_loop_now(keeper->loop), OVERDUE));
}

/* It neither listens to us nor ends: then it is not the gateway that we know. */
static void on_overdue(struct pst_timer *timer)
{
    struct pst_keeper *keeper =
        (struct pst_keeper *)((char *)timer - offsetof(struct pst_keeper, overdue));

    pst_say(PST_LOG_ERROR, "the gateway (pid %d) does not talk to its keeper: it is killed",
            (int)keeper->child);
    pst_keeper_child_signal(keeper, SIGKILL);
}

static void start_later(struct pst_keeper *keeper)
{
    pst_ns now = pst_loop_now(keeper->loop);

    if (keeper->backoff == 0 || now - keeper->started >= WELL_AFTER)
        keeper->backoff = BACKOFF_MIN;
    else
        keeper->backoff = keeper->backoff > BACKOFF_MAX / 2 ? BACKOFF_MAX : 2 * keeper->backoff;
    pst_timer_set(keeper->loop, &keeper->again, pst_add_sat(now, keeper->backoff));
}

static void on_again(struct pst_timer *timer)
{
    struct pst_keeper *keeper =
        (struct pst_keeper *)((char *)timer - offsetof(struct pst_keeper, again));

    if (pst_keeper_child_start(keeper) != PST_OK)
        start_later(keeper);
}

/*
 * How it ended says what follows. As it was told, or well: the end. By a signal: again. With a failure of
 * its own: the first one could not start, and whoever started us must know; a later one is tried again.
 */
static void judge(struct pst_keeper *keeper, const siginfo_t *info)
{
    bool exited = info->si_code == CLD_EXITED;
    /* Our signal came before it took any: it has served nothing yet, and ends as it was told. */
    bool early =
        !exited && keeper->asked && (info->si_status == SIGTERM || info->si_status == SIGINT);
    int status = exited ? info->si_status : early ? 0 : EXIT_FAILED;

    if (!exited && !early)
        pst_say(PST_LOG_ERROR, "the gateway (pid %d) was ended by signal %d", (int)info->si_pid,
                info->si_status);
    if (keeper->asked || (exited && status == 0))
        pst_keeper_end(keeper, status, true);
    else if (exited && keeper->lives == 1)
        pst_keeper_end(keeper, status, false);
    else
        start_later(keeper);
}

static void on_ended(struct pst_io *io, uint32_t events)
{
    struct pst_keeper *keeper =
        (struct pst_keeper *)((char *)io - offsetof(struct pst_keeper, ended));
    siginfo_t info = {0};

    (void)events;
    PST_ASSERT(waitid(P_PID, (id_t)keeper->child, &info, WEXITED) == 0);
    pst_keeper_child_done(keeper);
    judge(keeper, &info);
}

void pst_keeper_child_done(struct pst_keeper *keeper)
{
    pst_timer_cancel(keeper->loop, &keeper->again);
    pst_timer_cancel(keeper->loop, &keeper->overdue);
    pst_wire_free(keeper->wire);
    keeper->wire = NULL;
    if (keeper->child == 0)
        return;
    pst_io_remove(&keeper->ended);
    close(keeper->ended.fd);
    keeper->child = 0;
}

void pst_keeper_child_signal(struct pst_keeper *keeper, int signal)
{
    if (keeper->child != 0)
        (void)kill(keeper->child, signal); /* not waited for yet: the pid is its own */
}

/* The process runs; from now on it is watched and talked to. */
static int watch(struct pst_keeper *keeper, int wire)
{
    int rc;

    keeper->again.fire = on_again;
    keeper->overdue.fire = on_overdue;
    keeper->ended = (struct pst_io){
        .fd = (int)syscall(SYS_pidfd_open, keeper->child, 0), .events = EPOLLIN, .ready = on_ended};
    if (keeper->ended.fd < 0)
        return PST_E_SYSTEM;
    rc = pst_io_add(keeper->loop, &keeper->ended);
    if (rc != PST_OK)
        return rc;
    return pst_wire_new(keeper->loop, wire, pst_keeper_received, on_wire_ended, keeper,
                        &keeper->wire);
}

int pst_keeper_child_start(struct pst_keeper *keeper)
{
    int wire[2] = {-1, -1}, package = -1;
    int rc = pst_keeper_package(keeper->config, &package);

    if (rc == PST_OK)
        rc = pst_wire_pair(wire);
    if (rc != PST_OK)
        goto fail;
    keeper->child = fork();
    if (keeper->child == 0)
        become_gateway(keeper, wire[1], package);
    rc = PST_E_SYSTEM;
    if (keeper->child < 0) {
        keeper->child = 0;
        goto fail;
    }
    keeper->lives++;
    keeper->started = pst_loop_now(keeper->loop);
    rc = watch(keeper, wire[0]);
    if (rc != PST_OK)
        goto fail;
    close(wire[1]);
    close(package);
    pst_keeper_tell_all(keeper);
    return PST_OK;

fail:
    pst_say(PST_LOG_ERROR, "the gateway cannot be started: %s",
            rc == PST_E_SYSTEM    ? strerror(errno)
            : rc == PST_E_INVALID ? "the configuration shares what is secret by an anchor"
                                  : "out of memory");
    if (keeper->child != 0) {
        (void)kill(keeper->child, SIGKILL);
        (void)waitpid(keeper->child, NULL, 0);
        pst_io_remove(&keeper->ended);
        if (keeper->ended.fd >= 0)
            close(keeper->ended.fd);
        keeper->child = 0;
    }
    for (int i = 0; i < 2; i++)
        if (wire[i] >= 0)
            close(wire[i]);
    if (package >= 0)
        close(package);
    return rc;
}
