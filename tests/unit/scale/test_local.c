/* test_local.c - engines as real processes: started, ended, lost and found again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "scale/local.h"

#define KEPT     256
#define WAIT_MAX 20 /* s: generous; nothing is judged by it */
#define FIRST    18471

static char folder[64];
static struct pst_loop *loop;
static struct pst_config config;
static struct pst_config_pool pool;
static struct pst_config_model model = {.name = (char *)(uintptr_t) "llama"};
static struct pst_source *source;
static uint32_t keys, stopped, synced;
static struct pst_wire_replica told[KEPT];
static size_t told_count;
static struct pst_scaler_event results[KEPT];
static size_t results_count;
static uint64_t quota;

static uint32_t next_key(void *user)
{
    (void)user;
    return ++keys;
}

static void found(void *user, const struct pst_wire_replica *replica)
{
    (void)user;
    assert_true(told_count < KEPT);
    told[told_count++] = *replica;
}

static void event(void *user, uint32_t key, const struct pst_scaler_event *e)
{
    (void)user;
    (void)key;
    if (e->kind == PST_SCALER_RESULT)
        results[results_count++] = *e;
    else if (e->kind == PST_SCALER_SIGNAL)
        quota = e->u.signal.value;
}

static void on_synced(void *user, uint16_t which)
{
    (void)user;
    assert_int_equal(which, 0);
    synced++;
}

static struct pst_source_host host = {
    .next_key = next_key, .found = found, .event = event, .synced = on_synced};

static void use_command(const char *const *words)
{
    static char *argv[16];
    size_t n = 0;

    while (words[n] != NULL) {
        argv[n] = (char *)(uintptr_t)words[n];
        n++;
    }
    pool.local.command = argv;
    pool.local.command_count = n;
}

#define COMMAND(...) use_command((const char *const[]){__VA_ARGS__, NULL})

static void open_source(void)
{
    synced = 0;
    assert_int_equal(pst_local_new(&host, 0, &source), PST_OK);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pst-local-XXXXXX");
    if (mkdtemp(folder) == NULL || pst_loop_new(&loop) != PST_OK)
        return -1;
    pool = (struct pst_config_pool){.name = (char *)(uintptr_t) "chat",
                                    .models = &model,
                                    .models_count = 1,
                                    .local = {.host = (char *)(uintptr_t) "127.0.0.1",
                                              .port_first = FIRST,
                                              .port_last = FIRST + 3,
                                              .gpus_each = 1,
                                              .stop_timeout = 10 * PST_S}};
    config = (struct pst_config){.state = folder, .pools = &pool, .pools_count = 1};
    host.loop = loop;
    host.config = &config;
    told_count = results_count = keys = stopped = 0;
    quota = UINT64_MAX;
    source = NULL;
    return 0;
}

static bool until(bool (*holds)(void))
{
    for (int i = 0; i < WAIT_MAX * 100 && !holds(); i++)
        assert_int_equal(pst_loop_turn(loop, 10 * PST_MS), PST_OK);
    return holds();
}

static size_t wanted;

static bool told_enough(void)
{
    return told_count >= wanted;
}

static bool results_enough(void)
{
    return results_count >= wanted;
}

static bool is_synced(void)
{
    return synced == 1;
}

static bool is_stopped(void)
{
    return stopped == 1;
}

static void on_stopped(void *user)
{
    ++*(uint32_t *)user;
}

static void act(enum pst_scaler_action_kind kind, uint32_t key)
{
    struct pst_scaler_action action = {.kind = (uint8_t)kind};

    source->kind->act(source, key, &action);
}

static void start(uint32_t op, bool warm)
{
    struct pst_scaler_action action = {.kind = PST_SCALER_START};

    action.u.start.op = op;
    action.u.start.warm = warm;
    source->kind->act(source, 0, &action);
}

static struct pst_local_engine *engines(void)
{
    return ((struct pst_local *)(void *)source)->engines;
}

static pid_t pid_of(uint32_t key)
{
    const struct pst_local_engine *e = engines();

    while (e->key != key)
        e = e->next;
    return e->process.pid;
}

static void stop_all(void)
{
    stopped = 0;
    source->kind->stop(source, on_stopped, &stopped);
    assert_true(until(is_stopped));
    source->kind->free(source);
    source = NULL;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    if (source != NULL) { /* a test has failed: nothing is left running */
        for (struct pst_local_engine *e = engines(); e != NULL; e = e->next)
            kill(-e->process.pid, SIGKILL);
        source->kind->free(source);
    }
    pst_loop_free(loop);
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static char file_text[8192];

static const char *read_file(const char *name)
{
    char path[256];
    FILE *in;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    in = fopen(path, "r");
    if (in == NULL)
        return NULL;
    file_text[fread(file_text, 1, sizeof file_text - 1, in)] = '\0';
    assert_int_equal(fclose(in), 0);
    return file_text;
}

static const char *awaited_file, *awaited_text;

static bool file_says(void)
{
    const char *text = read_file(awaited_file);

    return text != NULL && strstr(text, awaited_text) != NULL;
}

static void await_text(const char *file, const char *text)
{
    awaited_file = file;
    awaited_text = text;
    if (!until(file_says))
        fail_msg("%s does not say '%s'", file, text);
}

static void test_started_told_and_removed(void **state)
{
    struct pst_state kept;
    char path[128];

    (void)state;
    COMMAND("sleep", "600");
    open_source();
    assert_true(until(is_synced));
    assert_int_equal(quota, 4); /* ports are the bound */
    start(7, true);
    wanted = 1;
    assert_true(until(told_enough));
    assert_int_equal(told[0].state, PST_REPLICA_LOADING);
    assert_int_equal(told[0].op, 7);
    assert_int_equal(told[0].warm, 1);
    assert_int_not_equal(told[0].revision, 0);
    assert_string_equal(told[0].name, "chat-1");
    assert_string_equal(told[0].url, "http://127.0.0.1:18471");
    assert_int_equal(quota, 3);

    pst_state_path(folder, "chat", path, sizeof path);
    assert_int_equal(pst_state_read(path, &kept), PST_OK);
    assert_int_equal(kept.count, 1);
    assert_int_equal(kept.engines[0].pid, engines()->process.pid);
    assert_true(kept.engines[0].warm);
    act(PST_SCALER_PROMOTE, told[0].key);
    assert_int_equal(pst_state_read(path, &kept), PST_OK);
    assert_false(kept.engines[0].warm);

    act(PST_SCALER_REMOVE, told[0].key);
    wanted = 2;
    assert_true(until(told_enough));
    assert_int_equal(told[1].state, PST_REPLICA_GONE);
    assert_int_equal(told[1].cause, PST_CAUSE_REMOVED);
    assert_int_equal(told[1].key, told[0].key);
    assert_int_equal(pst_state_read(path, &kept), PST_OK);
    assert_int_equal(kept.count, 0);
    act(PST_SCALER_REMOVE, told[0].key); /* late: nothing happens */
    assert_int_equal(quota, 4);
    assert_int_equal(results_count, 0);
    stop_all();
}

/* Signals 32 and 33 are libc's own: whoever was started by posix_spawn() ignores them, and cannot say otherwise. */
#define OF_LIBC (UINT64_C(3) << 31)

static void test_what_the_engine_is_given(void **state)
{
    const char *ignored;
    static uint32_t gpus[] = {2, 3, 5};
    static struct pst_config_text_pair env[] = {
        {(char *)(uintptr_t) "TOKEN", (char *)(uintptr_t) "secret-{name}"},
        {(char *)(uintptr_t) "LANG", (char *)(uintptr_t) "C"}};

    (void)state;
    pool.local.env = env;
    pool.local.env_count = 2;
    pool.local.gpus = gpus;
    pool.local.gpus_count = 3;
    pool.local.gpus_each = 2;
    COMMAND("sh", "-c",
            "echo \"[$0 $1 $2 $3 $4 $5]\"; env; ls -l /proc/self/fd | wc -l; "
            "grep -E '^Sig(Blk|Ign)' /proc/self/status; echo all told; exec sleep 600",
            "{port}", "{gpu}", "{gpus}", "{name}", "--model={model}", "{other}{");
    open_source();
    start(1, false);
    await_text("log/chat-1.log", "\nall told\n");
    assert_non_null(strstr(file_text, "[18471 2 2,3 chat-1 --model=llama {other}{]\n"));
    assert_non_null(strstr(file_text, "\nTOKEN=secret-chat-1\n"));
    assert_non_null(strstr(file_text, "\nCUDA_VISIBLE_DEVICES=2,3\n"));
    assert_non_null(strstr(file_text, "\nLANG=C\n"));
    assert_non_null(
        strstr(file_text, "\n5\n")); /* "total", 0, 1, 2 and the folder that is listed */
    assert_non_null(strstr(file_text, "SigBlk:\t0000000000000000"));
    ignored = strstr(file_text, "SigIgn:\t");
    assert_non_null(ignored);
    assert_int_equal(strtoull(ignored + 8, NULL, 16) & ~OF_LIBC, 0);
    assert_null(strstr(read_file("local-chat.json"), "secret"));
    stop_all();
}

/* Less load is not a start that took too long. */
static void test_cancelled_for_less_load(void **state)
{
    int out[2], kept = dup(STDERR_FILENO);
    char said[1024] = "";

    (void)state;
    COMMAND("sleep", "600");
    open_source();
    start(1, false);
    wanted = 1;
    assert_true(until(told_enough));
    assert_int_equal(pipe(out), 0);
    assert_int_equal(dup2(out[1], STDERR_FILENO), STDERR_FILENO);
    act(PST_SCALER_CANCEL, told[0].key);
    (void)dup2(kept, STDERR_FILENO);
    (void)close(out[1]);
    (void)close(kept);
    assert_true(read(out[0], said, sizeof said - 1) > 0);
    (void)close(out[0]);
    assert_non_null(strstr(said, "is not wanted any more"));
    stop_all();
}

static void test_gpus_are_the_quota(void **state)
{
    static uint32_t gpus[] = {0, 1};

    (void)state;
    pool.local.gpus = gpus;
    pool.local.gpus_count = 2;
    COMMAND("sleep", "600");
    open_source();
    for (uint32_t op = 1; op <= 3; op++)
        start(op, false);
    assert_int_equal(results_count, 1);
    assert_int_equal(results[0].u.result.error, PST_RESULT_QUOTA);
    assert_int_equal(results[0].u.result.op, 3);
    assert_int_equal(quota, 0);
    wanted = 2;
    assert_true(until(told_enough));
    act(PST_SCALER_CANCEL, told[0].key);
    wanted = 3;
    assert_true(until(told_enough));
    assert_int_equal(quota, 1);
    start(4, false);
    wanted = 4;
    assert_true(until(told_enough));
    assert_string_equal(told[3].name, told[0].name); /* its place, its number */
    assert_int_not_equal(told[3].key, told[0].key);
    stop_all();
}

static void test_ports_of_others_are_skipped(void **state)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(FIRST), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    (void)state;
    assert_int_equal(setsockopt(other, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    assert_int_equal(bind(other, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(other, 1), 0);
    COMMAND("sleep", "600");
    open_source();
    start(1, false);
    wanted = 1;
    assert_true(until(told_enough));
    assert_string_equal(told[0].url, "http://127.0.0.1:18472");
    close(other);
    stop_all();
}

static void test_crash_is_told_with_what_it_was(void **state)
{
    (void)state;
    COMMAND("sh", "-c", "exit 3");
    open_source();
    start(9, false);
    wanted = 2;
    assert_true(until(told_enough));
    assert_int_equal(told[0].state, PST_REPLICA_LOADING);
    assert_int_equal(told[1].state, PST_REPLICA_GONE);
    assert_int_equal(told[1].cause, PST_CAUSE_CRASH);
    assert_int_equal(told[1].op, 9);
    assert_null(engines());
    stop_all();
}

static void test_not_to_be_run(void **state)
{
    static const struct {
        const char *name, *program, *directory;
    } rows[] = {
        {"not there", "/nowhere/engine", NULL},  {"not in PATH", "no-such-engine-here", NULL},
        {"not executable", "/etc/passwd", NULL}, {"a folder", "/tmp", NULL},
        {"in no folder", "sleep", "/nowhere"},
    };

    (void)state;
    COMMAND("sleep", "600");
    open_source();
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        pool.local.directory = (char *)(uintptr_t)rows[i].directory;
        COMMAND(rows[i].program, "600");
        start((uint32_t)i + 1, false);
        wanted = i + 1;
        if (!until(results_enough))
            fail_msg("%s: no result", rows[i].name);
        assert_int_equal(results[i].u.result.error, PST_RESULT_FAILED);
        assert_int_equal(results[i].u.result.op, i + 1);
    }
    assert_int_equal(told_count, 0);
    stop_all();
}

static bool no_engines(void)
{
    return engines() == NULL;
}

/* A start that could not be written down is none: nothing of it ever ran. */
static void test_unwritable_state(void **state)
{
    char beside[160];

    (void)state;
    COMMAND("sh", "-c", "echo ran; exec sleep 600");
    open_source();
    assert_true(until(is_synced));
    (void)snprintf(beside, sizeof beside, "%s/local-chat.json.new", folder);
    assert_int_equal(mkdir(beside, 0700), 0);
    start(1, false);
    assert_int_equal(results_count, 1);
    assert_int_equal(results[0].u.result.error, PST_RESULT_FAILED);
    assert_true(until(no_engines));
    assert_string_equal(read_file("log/chat-1.log"), "");
    assert_int_equal(told_count + results_count, 1);
    assert_int_equal(rmdir(beside), 0);
    start(2, false);
    wanted = 1;
    assert_true(until(told_enough));
    stop_all();
}

static pid_t worker;

static bool worker_has_ended(void)
{
    char path[64], text[256] = "";
    FILE *in;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)worker);
    in = fopen(path, "r");
    if (in == NULL)
        return true;
    (void)!fgets(text, sizeof text, in);
    assert_int_equal(fclose(in), 0);
    return strstr(text, ") Z ") != NULL; /* nobody has fetched its status yet */
}

static void test_deaf_engine_is_killed_with_its_workers(void **state)
{
    (void)state;
    pool.local.stop_timeout = 100 * PST_MS;
    COMMAND("sh", "-c", "trap '' TERM; sleep 600 & echo worker $!; wait; sleep 600");
    open_source();
    start(1, false);
    await_text("log/chat-1.log", "worker ");
    worker = (pid_t)atoi(strstr(file_text, "worker ") + 7);
    wanted = 1;
    assert_true(until(told_enough));
    assert_false(worker_has_ended());
    act(PST_SCALER_REMOVE, told[0].key);
    wanted = 2;
    assert_true(until(told_enough));
    assert_int_equal(told[1].cause, PST_CAUSE_REMOVED);
    assert_true(until(worker_has_ended));
    stop_all();
}

static void leave(void)
{
    source->kind->free(source); /* as if we had died */
    source = NULL;
    told_count = 0;
}

static void test_found_again(void **state)
{
    pid_t pid;
    uint32_t revision;

    (void)state;
    COMMAND("sleep", "600");
    open_source();
    start(5, true);
    start(6, false);
    wanted = 2;
    assert_true(until(told_enough));
    act(PST_SCALER_PROMOTE, told[0].op == 5 ? told[0].key : told[1].key);
    pid = engines()->next->process.pid;
    revision = told[0].revision;
    leave();

    COMMAND("sleep", "601"); /* another command: still ours, of another revision */
    open_source();
    assert_true(until(is_synced));
    assert_int_equal(told_count, 2); /* before synced */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(told[i].state, PST_REPLICA_LOADING);
        assert_int_equal(told[i].op, 0);
        assert_int_equal(told[i].warm, 0);
        assert_int_equal(told[i].revision, revision);
    }
    assert_true(engines()->process.pid == pid || engines()->next->process.pid == pid);
    start(1, false);
    wanted = 3;
    assert_true(until(told_enough));
    assert_int_not_equal(told[2].revision, revision);
    assert_string_equal(told[2].name, "chat-3");
    kill(-pid, SIGKILL);
    wanted = 4;
    assert_true(until(told_enough));
    assert_int_equal(told[3].cause, PST_CAUSE_CRASH);
    stop_all();
}

/* Another has the pid now; the kernel was started again; the file is garbage. None of it is ours. */
static void test_not_found_again(void **state)
{
    struct pst_state kept;
    char path[128];
    pid_t stranger = fork();

    (void)state;
    if (stranger == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)setpgid(0, 0);
        for (;;)
            pause();
    }
    pst_state_path(folder, "chat", path, sizeof path);
    COMMAND("sleep", "600");
    for (int i = 0; i < 3; i++) {
        struct pst_local_process process = {.pid = stranger};

        kept = (struct pst_state){.boot = "another", .count = 1};
        kept.engines[0] = (struct pst_state_engine){
            .number = 1, .pid = stranger, .start = 12, .port = FIRST, .revision = 1};
        if (i == 0)
            assert_int_equal(pst_local_boot(kept.boot, sizeof kept.boot), PST_OK);
        assert_int_equal(pst_state_write(path, &kept), PST_OK);
        if (i == 2)
            assert_int_equal(truncate(path, 40), 0);
        open_source();
        assert_true(until(is_synced));
        assert_int_equal(told_count, 0);
        stop_all();
        assert_int_equal(kill(process.pid, 0), 0); /* it was left alone */
    }
    assert_non_null(read_file("local-chat.json.broken"));
    kill(stranger, SIGKILL);
    assert_int_equal(waitpid(stranger, NULL, 0), stranger);
}

static void test_kept_at_the_end(void **state)
{
    pid_t pid;

    (void)state;
    pool.local.keeps = true;
    COMMAND("sleep", "600");
    open_source();
    start(1, false);
    start(2, false);
    wanted = 2;
    assert_true(until(told_enough));
    pid = pid_of(told[0].key);
    act(PST_SCALER_REMOVE, told[1].key); /* on its way out: it does not stay */
    stop_all();
    assert_int_equal(kill(pid, 0), 0);
    told_count = 0;
    pool.local.keeps = false;
    open_source();
    assert_true(until(is_synced));
    assert_int_equal(told_count, 1);
    assert_int_equal(engines()->process.pid, pid);
    stop_all();
    /* Our child as well, in this test: its end is still to be fetched. */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool state_is_gone(void)
{
    return read_file("local-chat.json") == NULL;
}

static void test_pool_that_is_no_more(void **state)
{
    pid_t pid;

    (void)state;
    COMMAND("sleep", "600");
    open_source();
    start(1, false);
    wanted = 1;
    assert_true(until(told_enough));
    pid = engines()->process.pid;
    leave();
    config.pools_count = 0;
    assert_int_equal(pst_local_orphans_new(&host, folder, "chat", &source), PST_OK);
    assert_true(until(state_is_gone));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(told_count, 0); /* nobody is told of it */
    stop_all();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_started_told_and_removed),
        TEST(test_what_the_engine_is_given),
        TEST(test_cancelled_for_less_load),
        TEST(test_gpus_are_the_quota),
        TEST(test_ports_of_others_are_skipped),
        TEST(test_crash_is_told_with_what_it_was),
        TEST(test_not_to_be_run),
        TEST(test_unwritable_state),
        TEST(test_deaf_engine_is_killed_with_its_workers),
        TEST(test_found_again),
        TEST(test_not_found_again),
        TEST(test_kept_at_the_end),
        TEST(test_pool_that_is_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
