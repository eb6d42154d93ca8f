/* measure_smi.c - see measure_smi.h. */
#include "scale/measure_smi.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "scale/measure_gpu.h"

#define LIMIT         (10 * PST_S)
#define MISSING_AGAIN (600 * PST_S)

extern char **environ;

static struct pst_measure_smi *of(void *member, size_t offset)
{
    return (struct pst_measure_smi *)(void *)((char *)member - offset);
}

#define OF(member, field) of((member), offsetof(struct pst_measure_smi, field))

/* All that there is to read now. */
static void read_output(struct pst_measure_smi *smi)
{
    ssize_t got;

    do {
        size_t room = PST_MEASURE_SMI_BYTES - smi->len;

        if (room == 0)
            return; /* more than any list: its reader will see that it is none */
        got = read(smi->output.fd, smi->list + smi->len, room);
        smi->len += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    if (got == 0)
        pst_io_remove(&smi->output);
}

static void on_output(struct pst_io *io, uint32_t events)
{
    struct pst_measure_smi *smi = OF(io, output);

    (void)events;
    read_output(smi);
    if (smi->len == PST_MEASURE_SMI_BYTES)
        pst_io_remove(&smi->output);
}

static void release(struct pst_measure_smi *smi)
{
    pst_timer_cancel(smi->loop, &smi->limit);
    pst_io_remove(&smi->output);
    pst_io_remove(&smi->ended);
    close(smi->output.fd);
    pst_local_process_done(&smi->process);
    smi->runs = false;
}

/* It did not even begin; there is no such program, as a rule. */
static bool is_missing(const struct pst_measure_smi *smi)
{
    struct pst_local_failure failure;

    return read(smi->process.report, &failure, sizeof failure) == sizeof failure;
}

static void on_ended(struct pst_io *io, uint32_t events)
{
    struct pst_measure_smi *smi = OF(io, ended);
    bool missing = is_missing(smi);
    struct pst_local_end end = pst_local_reap(&smi->process);

    (void)events;
    read_output(smi);
    release(smi);
    smi->list[smi->len] = '\0';
    if (missing)
        smi->missing_until = pst_loop_now(smi->loop) + MISSING_AGAIN;
    if (missing)
        smi->done(smi->user, NULL, 0, "nvidia-smi is not installed");
    else if (!end.known || end.signalled || end.status != 0)
        smi->done(smi->user, NULL, 0, "nvidia-smi failed");
    else
        smi->done(smi->user, smi->list, smi->len, NULL);
}

static void on_limit(struct pst_timer *timer)
{
    pst_local_signal(&OF(timer, limit)->process,
                     SIGKILL); /* its end follows, when the driver lets go */
}

static int spawn(struct pst_measure_smi *smi, int output)
{
    static char name[] = "nvidia-smi", query[] = "--query-gpu=" PST_MEASURE_GPU_QUERY,
                form[] = "--format=csv,noheader,nounits";
    char *const argv[] = {name, query, form, NULL};
    const struct pst_local_program program = {.argv = argv, .env = environ, .output = output};

    return pst_local_spawn(&program, &smi->process);
}

static int begin(struct pst_measure_smi *smi)
{
    int pipes[2], rc;

    if (pipe2(pipes, O_CLOEXEC) != 0)
        return PST_E_SYSTEM;
    (void)fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    rc = spawn(smi, pipes[1]);
    close(pipes[1]);
    if (rc != PST_OK) {
        close(pipes[0]);
        return rc;
    }
    smi->runs = true;
    smi->asked_at = pst_loop_now(smi->loop);
    smi->len = 0;
    smi->output = (struct pst_io){.fd = pipes[0], .events = EPOLLIN, .ready = on_output};
    smi->ended = (struct pst_io){.fd = smi->process.pidfd, .events = EPOLLIN, .ready = on_ended};
    rc = pst_io_add(smi->loop, &smi->output);
    if (rc == PST_OK)
        rc = pst_io_add(smi->loop, &smi->ended);
    if (rc != PST_OK) {
        pst_measure_smi_stop(smi);
        return rc;
    }
    smi->limit.fire = on_limit;
    pst_timer_set(smi->loop, &smi->limit, pst_loop_now(smi->loop) + LIMIT);
    pst_local_release(&smi->process);
    return PST_OK;
}

void pst_measure_smi_ask(struct pst_measure_smi *smi)
{
    if (smi->runs || pst_loop_now(smi->loop) < smi->missing_until)
        return;
    if (begin(smi) != PST_OK)
        pst_say(PST_LOG_WARN, "nvidia-smi cannot be started: %m");
}

void pst_measure_smi_stop(struct pst_measure_smi *smi)
{
    if (!smi->runs)
        return;
    pst_local_signal(&smi->process,
                     SIGKILL); /* not waited for: a driver that hangs would keep us */
    release(smi);
}
