/*
 * keeper_gateway.h - the gateway of the keeper's tests: tells what it sees in lines of its standard output, and
 * does what words of its standard input ask for. Both are the test's pipes.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "scale/keeper.h"
#include "scale/wire.h"

static struct pst_loop *loop;
static struct pst_wire *wire;
static struct pst_config *config;
static uint32_t op;

static void line(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void line(const char *format, ...)
{
    char text[512];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(text, sizeof text - 1, format, args);
    va_end(args);
    text[len++] = '\n';
    (void)!write(STDOUT_FILENO, text, (size_t)len);
}

static void act(enum pst_scaler_action_kind kind, uint32_t key)
{
    struct pst_wire_message message = {.kind = PST_WIRE_ACTION, .fd = -1, .key = key};

    message.u.action.kind = (uint8_t)kind;
    if (kind == PST_SCALER_START)
        message.u.action.u.start.op = ++op;
    (void)pst_wire_send(wire, &message);
}

static void take_config(const struct pst_wire_message *message)
{
    struct pst_config *next = NULL;
    struct pst_problems problems;

    if (!message->ok) {
        line("refused %s", message->u.message);
        return;
    }
    if (pst_keeper_config(message->fd, config->path, &next, &problems) == PST_OK)
        line("config max=%u command=%s", next->scaler.pools[0].max,
             next->pools[0].local.command[0]);
    pst_problems_done(&problems);
    pst_config_free(next);
}

static void received(void *user, const struct pst_wire_message *m)
{
    (void)user;
    switch ((enum pst_wire_kind)m->kind) {
    case PST_WIRE_REPLICA:
        line("replica key=%u state=%u cause=%u op=%u warm=%u %s", m->u.replica.key,
             m->u.replica.state, m->u.replica.cause, m->u.replica.op, m->u.replica.warm,
             m->u.replica.name);
        return;
    case PST_WIRE_EVENT:
        if (m->u.event.kind == PST_SCALER_RESULT)
            line("result op=%u error=%u", m->u.event.u.result.op, m->u.event.u.result.error);
        if (m->u.event.kind == PST_SCALER_SYNCED)
            line("pool synced");
        return;
    case PST_WIRE_SYNCED:
        line("synced");
        return;
    case PST_WIRE_CONFIG:
        take_config(m);
        return;
    default:
        return;
    }
}

static void ended(void *user)
{
    (void)user;
    line("keeper gone");
    pst_loop_stop(loop);
}

/* One word of the test: what the gateway of `penstock run` would come to by itself. */
static void on_word(struct pst_io *io, uint32_t events)
{
    char word[64] = "";
    uint32_t key = 0;
    ssize_t len = read(io->fd, word, sizeof word - 1);

    (void)events;
    if (len <= 0) {
        pst_io_remove(io);
        return;
    }
    line("heard %s", word);
    if (strncmp(word, "start", 5) == 0)
        act(PST_SCALER_START, 0);
    else if (sscanf(word, "promote %u", &key) == 1)
        act(PST_SCALER_PROMOTE, key);
    else if (sscanf(word, "remove %u", &key) == 1)
        act(PST_SCALER_REMOVE, key);
    else if (strncmp(word, "lie", 3) == 0)
        (void)pst_wire_send(wire, &(struct pst_wire_message){.kind = PST_WIRE_SYNCED, .fd = -1});
    else if (strncmp(word, "fail", 4) == 0)
        _exit(1);
    else if (strncmp(word, "deaf", 4) == 0)
        pst_wire_free(wire);
}

static void on_signal(void *user, int signal)
{
    const struct pst_wire_message reload = {.kind = PST_WIRE_RELOAD, .fd = -1};

    (void)user;
    line("signal %d", signal);
    if (signal == SIGHUP)
        (void)pst_wire_send(wire, &reload);
    else if (signal == SIGTERM)
        pst_loop_stop(loop);
}

static bool opens(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* What lies in us that should not. */
static void look_around(void)
{
    static const char environ_path[] = "/proc/self/environ", maps_path[] = "/proc/self/maps";
    char text[8192], path[64];
    int fd = open(environ_path, O_RDONLY | O_CLOEXEC), open_fds = 0;
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text);

    line("environ %s",
         len > 0 && memmem(text, (size_t)len, "sesam", 5) == NULL ? "clean" : "dirty");
    close(fd);
    for (int i = 0; i < 64; i++)
        open_fds += fcntl(i, F_GETFD) >= 0;
    line("descriptors %d", open_fds);
    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
    line("keeper's environ %s", opens(path) ? "open" : "shut");
    line("configuration %s", opens(config->path) ? "open" : "shut");
    line("maps %s", opens(maps_path) ? "open" : "shut");
    line("command %s", config->pools[0].local.command[0]);
}

static int gateway_main(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    struct pst_io words = {.fd = STDIN_FILENO, .events = EPOLLIN, .ready = on_word};
    int fd;

    if (pst_keeper_enter(&config, &fd) != PST_OK)
        return 1;
    if (pst_loop_new(&loop) != PST_OK ||
        pst_loop_signals(loop, signals, PST_COUNT_OF(signals), on_signal, NULL) != PST_OK ||
        pst_wire_new(loop, fd, received, ended, NULL, &wire) != PST_OK ||
        pst_io_add(loop, &words) != PST_OK)
        return 1;
    line("gateway %d", (int)getpid());
    look_around();
    (void)pst_loop_run(loop);
    pst_io_remove(&words);
    pst_wire_free(wire);
    pst_loop_free(loop);
    pst_config_free(config);
    return 0;
}
