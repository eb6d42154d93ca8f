/* local_process.c - see local_process.h. */
#include "scale/local_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIELD_START 22 /* of /proc/<pid>/stat */

/* Since 5.3 and 5.9; the C library of Debian 12 has wrappers for few of these. */
static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static ssize_t read_small(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len;

    if (fd < 0)
        return -1;
    len = read(fd, text, size - 1);
    close(fd);
    if (len >= 0)
        text[len] = '\0';
    return len;
}

int pst_local_boot(char *boot, size_t size)
{
    ssize_t len = read_small("/proc/sys/kernel/random/boot_id", boot, size);

    if (len <= 0)
        return PST_E_SYSTEM;
    boot[strcspn(boot, "\n")] = '\0';
    return PST_OK;
}

/* PST_E_UNKNOWN: no such process, or it has ended and waits for its parent. */
static int start_of(pid_t pid, uint64_t *ret_start)
{
    char path[64], text[1024], *at;
    int field;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_small(path, text, sizeof text) <= 0)
        return PST_E_UNKNOWN;
    at = strrchr(text, ')'); /* the name before it may hold anything */
    if (at == NULL || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
        return PST_E_UNKNOWN;
    for (field = 2; field < FIELD_START && at != NULL; field++)
        at = strchr(at + 1, ' ');
    if (at == NULL)
        return PST_E_UNKNOWN;
    *ret_start = strtoull(at + 1, NULL, 10);
    return PST_OK;
}

static _Noreturn void give_up(int report, bool at_directory)
{
    struct pst_local_failure failure = {.at_directory = at_directory, .error = errno};

    _exit(write(report, &failure, sizeof failure) == sizeof failure ? 127 : 126);
}

/* In the child. Signals and descriptors as a program expects to find them; then it waits for the word. */
static _Noreturn void become(const struct pst_local_program *program, int go, int report)
{
    sigset_t none;
    char word;
    ssize_t got;
    int null;

    (void)setsid();
    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    do
        got = read(go, &word, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(0); /* nobody knows of us */
    null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(program->output, STDOUT_FILENO) < 0 ||
        dup2(program->output, STDERR_FILENO) < 0)
        give_up(report, false);
    if (program->directory != NULL && chdir(program->directory) != 0)
        give_up(report, true);
    (void)syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */);
    (void)execvpe(program->argv[0], program->argv, program->env);
    give_up(report, false);
}

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

/* A descriptor between 0 and 2 would be lost in the child. */
static int make_pipe(int pair[2])
{
    if (pipe2(pair, O_CLOEXEC) != 0) {
        pair[0] = pair[1] = -1;
        return PST_E_SYSTEM;
    }
    PST_ASSERT(pair[0] > STDERR_FILENO && pair[1] > STDERR_FILENO);
    return PST_OK;
}

int pst_local_spawn(const struct pst_local_program *program, struct pst_local_process *ret_process)
{
    struct pst_local_process p = {.pidfd = -1, .go = -1, .report = -1, .child = true};
    int go[2] = {-1, -1}, report[2] = {-1, -1}, error;

    if (make_pipe(go) != PST_OK || make_pipe(report) != PST_OK)
        goto fail;
    (void)fcntl(report[0], F_SETFL, O_NONBLOCK);
    p.pid = fork();
    if (p.pid < 0)
        goto fail;
    if (p.pid == 0) {
        close(go[1]);
        close(report[0]);
        become(program, go[0], report[1]);
    }
    p.pidfd = open_pidfd(p.pid);
    if (p.pidfd < 0 || start_of(p.pid, &p.start) != PST_OK)
        goto fail;
    close(go[0]);
    close(report[1]);
    p.go = go[1];
    p.report = report[0];
    *ret_process = p;
    return PST_OK;

fail:
    error = errno;
    close_pair(go); /* a child that waits reads its end */
    close_pair(report);
    if (p.pid > 0)
        (void)waitpid(p.pid, NULL, 0);
    if (p.pidfd >= 0)
        close(p.pidfd);
    errno = error;
    return PST_E_SYSTEM;
}

void pst_local_release(struct pst_local_process *process)
{
    (void)!write(process->go, "g", 1); /* if it was killed meanwhile, its pidfd says so */
    close(process->go);
    process->go = -1;
}

int pst_local_adopt(pid_t pid, uint64_t start, struct pst_local_process *ret_process)
{
    uint64_t there;
    int pidfd = open_pidfd(pid);

    if (pidfd < 0)
        return PST_E_UNKNOWN;
    /* The descriptor first: whoever has the pid now, it is him that both speak of. */
    if (start_of(pid, &there) != PST_OK || there != start) {
        close(pidfd);
        return PST_E_UNKNOWN;
    }
    *ret_process = (struct pst_local_process){
        .pid = pid, .start = start, .pidfd = pidfd, .go = -1, .report = -1};
    return PST_OK;
}

void pst_local_signal(const struct pst_local_process *process, int signal)
{
    PST_ASSERT(process->pid > 1);
    /* Before its setsid() there is no such group; it waits for the word then, and is alone. */
    if (kill(-process->pid, signal) != 0)
        (void)syscall(SYS_pidfd_send_signal, process->pidfd, signal, NULL, 0);
}

struct pst_local_end pst_local_reap(struct pst_local_process *process)
{
    struct pst_local_end end = {0};
    siginfo_t info = {0};

    /* Workers that outlive their engine would keep its GPU. A zombie keeps the group's number ours. */
    (void)kill(-process->pid, SIGKILL);
    if (process->child && waitid(P_PID, (id_t)process->pid, &info, WEXITED) == 0) {
        end.known = true;
        end.signalled = info.si_code != CLD_EXITED;
        end.status = info.si_status;
    }
    return end;
}

void pst_local_process_done(struct pst_local_process *process)
{
    int *const fds[] = {&process->pidfd, &process->go, &process->report};

    for (size_t i = 0; i < PST_COUNT_OF(fds); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}
