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
#include "keeper_gateway.h"

#define WAIT_MAX_MS 20000 /* generous; nothing is judged by it */

/* The test's side. */
static char folder[64], path[128], said[65536];
static size_t said_len, read_at;
static pid_t keeper;
static int words = -1, lines = -1;

static const char *script = "exec sleep 600";

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
            "        command: [sh, -c, \"%s\", sesam-argument, \"{port}\"]\n"
            "        env: {TOKEN: sesam-value}\n"
            "        ports: 18571-18578\n"
            "%s",
            folder, max, script, more);
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

static void await_file(const char *name, const char *text)
{
    char content[256];

    for (int i = 0; i < WAIT_MAX_MS / 10; i++) {
        int fd = open(name, O_RDONLY | O_CLOEXEC);
        ssize_t len = fd < 0 ? 0 : read(fd, content, sizeof content);

        if (fd >= 0)
            close(fd);
        if (len > 0 && memmem(content, (size_t)len, text, strlen(text)) != NULL)
            return;
        (void)poll(NULL, 0, 10);
    }
    fail_msg("%s never said '%s'", name, text);
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

/* Its keeper knows that it has ended. */
static void await_reaped(pid_t pid)
{
    char entry[64];

    (void)snprintf(entry, sizeof entry, "/proc/%d", (int)pid);
    for (int i = 0; i < WAIT_MAX_MS / 10 && access(entry, F_OK) == 0; i++)
        (void)poll(NULL, 0, 10);
    assert_int_not_equal(access(entry, F_OK), 0);
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

/* An engine does not end, and another signal comes: we end, and the next start ends it. */
static void test_another_signal_while_engines_end(void **state)
{
    char log[160];
    pid_t pid, gateway;

    (void)state;
    script = "trap '' TERM; echo deaf; while :; do sleep 600 & wait; done";
    write_config("4", "");
    script = "exec sleep 600";
    run_keeper();
    gateway = (pid_t)number_in(await("gateway"), "gateway ");
    await("synced");
    start_engine();
    pid = engine();
    (void)snprintf(log, sizeof log, "%s/state/log/chat-1.log", folder);
    await_file(log, "deaf");
    assert_int_equal(kill(keeper, SIGTERM), 0);
    await("signal 15");
    await_reaped(gateway);
    assert_int_equal(kill(keeper, SIGTERM), 0);
    assert_int_equal(WEXITSTATUS(wait_for(keeper)), 1);
    assert_false(has_ended(pid));
    close(words);
    close(lines);
    write_config("4", "");
    run_keeper();
    await("synced"); /* and of no replica, for this one is on its way out */
    assert_null(memmem(said, said_len, "replica", 7));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(kill(keeper, SIGTERM), 0);
    assert_int_equal(wait_for(keeper), 0);
    assert_int_equal(engine(), 0);
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
        TEST(test_first_gateway_fails), TEST(test_another_signal_while_engines_end),
        TEST(test_one_keeper_a_folder),
    };

    pst_fd_hold_standard();
    pst_fd_ignore_sigpipe();
    if (pst_keeper_is_child())
        return gateway_main();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
