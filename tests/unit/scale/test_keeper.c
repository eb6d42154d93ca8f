/*
 * test_keeper.c - two processes: what the gateway is given and what it is not, and who ends, is started again or
 * told what when one of them goes. This program is the gateway as well, when a keeper starts it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "scale/keeper.h"
#include "scale/wire.h"

#define WAIT_MAX_MS 20000 /* generous; nothing is judged by it */

/*
 * The gateway: tells what it sees in lines of its standard output, which is the test's pipe, and does what a
 * replica's arrival or a signal asks for.
 */
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
    struct pst_io words = {.fd = STDIN_FILENO, .events = 1 /* EPOLLIN */, .ready = on_word};
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

/* The test's side. */
static char folder[64], path[128], said[65536];
static size_t said_len, read_at;
static pid_t keeper;
static int words = -1, lines = -1;

static void write_config(const char *max, const char *more)
{
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    fprintf(out,
            "listen: 127.0.0.1:0\n"
            "state: %s/state\n"
            "pools:\n"
            "  - name: chat\n"
            "    models: [m]\n"
            "    slots: 4\n"
            "    scaler: {min: 1, max: %s}\n"
            "    replicas:\n"
            "      local:\n"
            "        command: [sh, -c, \"exec sleep 600\", sesam-argument, \"{port}\"]\n"
            "        env: {TOKEN: sesam-value}\n"
            "        ports: 18571-18578\n"
            "%s",
            folder, max, more);
    assert_int_equal(fclose(out), 0);
}

static void run_keeper(void)
{
    int in[2], out[2];

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    keeper = fork();
    if (keeper == 0) {
        struct pst_config *read = NULL;
        struct pst_problems problems;

        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        if (pst_config_read(path, &read, &problems) != PST_OK)
            _exit(99);
        pst_problems_done(&problems);
        _exit(pst_keeper_is_needed(read) ? pst_keeper_run(read) : 98);
    }
    close(in[0]);
    close(out[1]);
    words = in[1];
    lines = out[0];
    said_len = read_at = 0;
}

/* The next line that begins so, from where the last one was found. */
static const char *await(const char *begin)
{
    static char found[512];
    struct timespec start, now;

    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        struct pollfd p = {.fd = lines, .events = POLLIN};
        char *newline;

        while ((newline = memchr(said + read_at, '\n', said_len - read_at)) != NULL) {
            size_t len = (size_t)(newline - (said + read_at));

            (void)snprintf(found, sizeof found, "%.*s", (int)len, said + read_at);
            read_at += len + 1;
            if (strncmp(found, begin, strlen(begin)) == 0)
                return found;
        }
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - start.tv_sec > WAIT_MAX_MS / 1000)
            fail_msg("'%s' was never said; but:\n%.*s", begin, (int)said_len, said);
        if (poll(&p, 1, 100) == 1) {
            ssize_t got = read(lines, said + said_len, sizeof said - said_len);

            if (got <= 0)
                fail_msg("nobody is left to say '%s'; but:\n%.*s", begin, (int)said_len, said);
            said_len += (size_t)got;
        }
    }
}

/* Returns when it was heard, so that no word is left to the next gateway. */
static void say(const char *word)
{
    assert_int_equal(write(words, word, strlen(word)), (ssize_t)strlen(word));
    await("heard");
}

static unsigned number_in(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    assert_non_null(at);
    return (unsigned)strtoul(at + strlen(name), NULL, 10);
}

static int wait_for(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (pid == keeper)
        keeper = 0;
    return status;
}

/* The engine's process, by the state file. */
static pid_t engine(void)
{
    char state[160], text[4096];
    const char *at;
    FILE *in;

    (void)snprintf(state, sizeof state, "%s/state/local-chat.json", folder);
    in = fopen(state, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    assert_int_equal(fclose(in), 0);
    at = strstr(text, "\"pid\": ");
    return at == NULL ? 0 : (pid_t)strtol(at + 7, NULL, 10);
}

/* Not there any more, or nobody has fetched its exit status yet. */
static bool has_ended(pid_t pid)
{
    char entry[64], text[512] = "";
    FILE *in;

    (void)snprintf(entry, sizeof entry, "/proc/%d/stat", (int)pid);
    in = fopen(entry, "r");
    if (in == NULL)
        return true;
    (void)!fgets(text, sizeof text, in);
    assert_int_equal(fclose(in), 0);
    return strstr(text, ") Z ") != NULL;
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pst-keeper-XXXXXX");
    if (mkdtemp(folder) == NULL || setenv("SECRET", "sesam-environment", 1) != 0)
        return -1;
    (void)snprintf(path, sizeof path, "%s/conf", folder);
    if (mkdir(path, 0700) != 0)
        return -1;
    (void)snprintf(path, sizeof path, "%s/conf/c.yaml", folder);
    write_config("4", "");
    return 0;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    if (keeper > 0) { /* a test has failed: it ends as it would have */
        (void)kill(keeper, SIGTERM);
        (void)waitpid(keeper, NULL, 0);
    }
    close(words);
    close(lines);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void start_engine(void)
{
    const char *told;

    say("start");
    told = await("replica");
    assert_int_equal(number_in(told, "state="), PST_REPLICA_LOADING);
    assert_int_equal(number_in(told, "op="), 1);
}

static void test_a_whole_life(void **state)
{
    const char *told;
    pid_t pid;

    (void)state;
    run_keeper();
    await("gateway");
    assert_string_equal(await("environ"), "environ clean");
    assert_string_equal(await("descriptors"), "descriptors 6"); /* 0-2, wire, epoll, signals */
    assert_string_equal(await("keeper's"), "keeper's environ shut");
    assert_string_equal(await("configuration"), "configuration shut");
    assert_string_equal(await("maps"), "maps open");
    assert_string_equal(await("command"), "command xx");
    await("pool synced");
    await("synced");
    start_engine();
    pid = engine();
    assert_false(has_ended(pid));

    assert_int_equal(kill(keeper, SIGUSR1), 0);
    await("signal 10");
    kill(pid, SIGKILL);
    told = await("replica");
    assert_int_equal(number_in(told, "state="), PST_REPLICA_GONE);
    assert_int_equal(number_in(told, "cause="), PST_CAUSE_CRASH);
    op = 0;
    say("start");
    await("replica");
    pid = engine();
    assert_int_equal(kill(keeper, SIGTERM), 0);
    await("signal 15");
    assert_int_equal(wait_for(keeper), 0);
    assert_true(has_ended(pid)); /* stopped with us */
    assert_int_equal(engine(), 0);
}

static void test_reload(void **state)
{
    (void)state;
    run_keeper();
    await("synced");
    write_config("6", "");
    assert_int_equal(kill(keeper, SIGHUP), 0);
    await("signal 1");
    assert_string_equal(await("config"), "config max=6 command=xx");
    write_config("6", "bogus: 1\n");
    assert_int_equal(kill(keeper, SIGHUP), 0);
    assert_non_null(strstr(await("refused"), "1 error(s)"));
    write_config("6", "metrics: 127.0.0.1:1\n");
    assert_int_equal(kill(keeper, SIGHUP), 0);
    assert_non_null(strstr(await("refused"), "needs a restart"));
    assert_int_equal(kill(keeper, SIGTERM), 0);
    assert_int_equal(wait_for(keeper), 0);
}

/* The gateway is killed: another one is told what there is. */
static void test_gateway_crashes(void **state)
{
    unsigned key;
    pid_t pid, first, second;
    char word[32];

    (void)state;
    run_keeper();
    first = (pid_t)number_in(await("gateway"), "gateway ");
    await("synced");
    start_engine();
    say("start");
    key = number_in(await("replica"), "key=");
    (void)snprintf(word, sizeof word, "promote %u", key);
    say(word);
    pid = engine();
    assert_int_equal(kill(first, SIGKILL), 0);
    second = (pid_t)number_in(await("gateway"), "gateway ");
    assert_int_not_equal(second, first);
    for (int i = 0; i < 2; i++)
        assert_int_equal(number_in(await("replica"), "op="), 0);
    await("synced");
    assert_int_equal(engine(), pid);

    /* It says what only a keeper may say: it is ended, and the next one is told as well. */
    say("lie");
    await("gateway");
    await("replica");
    await("synced");
    /* It fails by itself: again another one. */
    say("fail");
    await("gateway");
    await("synced");
    /* It does not listen any more. */
    say("deaf");
    await("gateway");
    await("synced");
    assert_int_equal(engine(), pid);
    assert_int_equal(kill(keeper, SIGTERM), 0);
    assert_int_equal(wait_for(keeper), 0);
    assert_true(has_ended(pid));
}

/* The keeper is killed: its gateway is told, the engine lives on, and the next keeper finds it. */
static void test_keeper_is_killed(void **state)
{
    pid_t pid, gateway;
    const char *told;

    (void)state;
    run_keeper();
    gateway = (pid_t)number_in(await("gateway"), "gateway ");
    await("synced");
    start_engine();
    pid = engine();
    assert_int_equal(kill(keeper, SIGKILL), 0);
    (void)wait_for(keeper);
    await("keeper gone");
    (void)gateway;
    assert_false(has_ended(pid));
    close(words);
    close(lines);

    run_keeper();
    told = await("replica");
    assert_int_equal(number_in(told, "state="), PST_REPLICA_LOADING);
    assert_int_equal(number_in(told, "op="), 0);
    await("synced");
    assert_int_equal(engine(), pid);
    assert_int_equal(kill(keeper, SIGTERM), 0);
    assert_int_equal(wait_for(keeper), 0);
    assert_true(has_ended(pid));
}

/* The first gateway cannot start: whoever started us learns it, and engines are left to the next start. */
static void test_first_gateway_fails(void **state)
{
    pid_t pid;

    (void)state;
    run_keeper();
    await("synced");
    start_engine();
    pid = engine();
    say("fail");
    assert_int_equal(WEXITSTATUS(wait_for(keeper)), 1);
    assert_false(has_ended(pid));
    close(words);
    close(lines);
    run_keeper();
    await("replica");
    await("synced");
    assert_int_equal(kill(keeper, SIGTERM), 0);
    assert_int_equal(wait_for(keeper), 0);
    assert_true(has_ended(pid));
}

static void test_one_keeper_a_folder(void **state)
{
    int first_words, first_lines;
    pid_t first;

    (void)state;
    run_keeper();
    await("synced");
    first = keeper;
    first_words = words;
    first_lines = lines;
    run_keeper();
    assert_int_equal(WEXITSTATUS(wait_for(keeper)), 1);
    close(words);
    close(lines);
    words = first_words;
    lines = first_lines;
    assert_int_equal(kill(first, SIGTERM), 0);
    assert_int_equal(wait_for(first), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_whole_life),        TEST(test_reload),
        TEST(test_gateway_crashes),     TEST(test_keeper_is_killed),
        TEST(test_first_gateway_fails), TEST(test_one_keeper_a_folder),
    };

    pst_fd_hold_standard();
    pst_fd_ignore_sigpipe();
    if (pst_keeper_is_child())
        return gateway_main();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
