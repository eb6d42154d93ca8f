/* test_confine.c - what a confined process still can, and what it cannot any more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/landlock.h>

#include <cmocka.h>

#include "scale/confine.h"

static char folder[64];
static struct pst_config config;
static pid_t other; /* a process that is none of a confined one's business */

static const char *in_folder(const char *name)
{
    static char path[8][128];
    static unsigned next;

    next = (next + 1) % 8;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static void put(const char *name)
{
    int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "secret", 6), 6);
    close(fd);
}

static int set_up(void **state)
{
    static const char *const folders[] = {"", "conf", "logs", "certs", "state"};
    static const char *const files[] = {"conf/c.yaml", "token", "logs/access.log", "certs/tls.key",
                                        "state/local-chat.json"};

    (void)state;
    strcpy(folder, "/tmp/pst-confine-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    for (size_t i = 1; i < PST_COUNT_OF(folders); i++)
        assert_int_equal(mkdir(in_folder(folders[i]), 0700), 0);
    for (size_t i = 0; i < PST_COUNT_OF(files); i++)
        put(files[i]);
    config = (struct pst_config){0};
    config.path = strdup(in_folder("conf/c.yaml"));
    config.state = strdup(in_folder("state"));
    config.access_log = strdup(in_folder("logs/access.log"));
    config.keda.key = strdup(in_folder("certs/tls.key"));
    other = fork();
    if (other == 0)
        for (;;)
            pause();
    return 0;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    free(config.path);
    free(config.state);
    free(config.access_log);
    free(config.keda.key);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* Confines a child and lets it try; true if it could. */
static bool can(bool (*try_it)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        (void)pst_confine(&config);
        _exit(try_it() ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 0;
}

/* The same by seccomp alone, as on a kernel whose Landlock knows no signals. */
static bool can_by_calls(bool (*try_it)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !pst_confine_calls())
            _exit(0);
        _exit(try_it() ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status) == 0;
}

static const char *path;
static int flags;

static bool opens(void)
{
    return open(path, flags | O_CLOEXEC, 0600) >= 0;
}

static bool opens_other(void)
{
    char name[64];

    (void)snprintf(name, sizeof name, "/proc/%d/%s", (int)other, path);
    return open(name, flags | O_CLOEXEC) >= 0;
}

static bool reads_itself(void)
{
    char text[32];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    return fd >= 0 && read(fd, text, sizeof text) > 0;
}

static bool runs_a_program(void)
{
    char *const argv[] = {(char *)(uintptr_t) "true", NULL};

    execv("/bin/true", argv);
    return false;
}

static bool traces(void)
{
    return ptrace(PTRACE_ATTACH, other, NULL, NULL) == 0;
}

static bool reads_memory(void)
{
    char text[8];
    struct iovec here = {text, sizeof text}, there = {&folder, sizeof text};

    return process_vm_readv(other, &here, 1, &there, 1, 0) > 0;
}

static bool kills(void)
{
    return kill(other, SIGCONT) == 0;
}

static bool kills_as_a_thread(void)
{
    return syscall(SYS_tgkill, other, other, SIGCONT) == 0;
}

static bool kills_with_a_word(void)
{
    siginfo_t info = {.si_code = SI_QUEUE, .si_pid = getpid(), .si_uid = getuid()};

    return syscall(SYS_rt_sigqueueinfo, other, SIGCONT, &info) == 0;
}

static bool kills_through_a_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd >= 0 && fcntl(fd, F_SETOWN, other) == 0;
}

static bool limits_other(void)
{
    const struct rlimit limit = {1, 1};

    return prlimit(other, RLIMIT_CPU, &limit, NULL) == 0;
}

static bool limits_itself(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && setrlimit(RLIMIT_NOFILE, &limit) == 0 &&
           prlimit(getpid(), RLIMIT_NOFILE, NULL, &limit) == 0;
}

static bool makes_a_socket(int family, int kind)
{
    return socket(family, kind | SOCK_CLOEXEC, 0) >= 0;
}

/* Of whom the host's services listen to: containers, systemd. */
static bool speaks_locally(void)
{
    return makes_a_socket(AF_UNIX, SOCK_STREAM);
}

static bool overhears(void)
{
    return makes_a_socket(AF_PACKET, SOCK_RAW) || makes_a_socket(AF_INET, SOCK_RAW);
}

static bool still_has_flags_and_sockets(void)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd >= 0 && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0 &&
           makes_a_socket(AF_NETLINK, SOCK_RAW);
}

static bool takes_a_descriptor(void)
{
    return syscall(SYS_pidfd_open, other, 0) >= 0;
}

static bool aborts_itself(void)
{
    return raise(SIGURG) == 0;
}

static bool resolves_and_connects(void)
{
    struct addrinfo *address = NULL;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd >= 0 && getaddrinfo("localhost", "1", NULL, &address) == 0 &&
           (connect(fd, address->ai_addr, address->ai_addrlen) == 0 || errno == ECONNREFUSED);
}

static bool rotates_its_log(void)
{
    int before = open(config.access_log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640), after;
    bool renamed;

    if (before < 0)
        return false;
    renamed = rename(config.access_log, in_folder("logs/stolen")) == 0; /* somebody else's task */
    after = open(in_folder("logs/new.log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    return !renamed && after >= 0 && write(after, "x", 1) == 1;
}

static bool replaces_what_it_learned(void)
{
    int fd =
        open(in_folder("state/gateway/week.new"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    return fd >= 0 &&
           rename(in_folder("state/gateway/week.new"), in_folder("state/gateway/week")) == 0 &&
           open(in_folder("state/gateway/week"), O_RDONLY | O_CLOEXEC) >= 0;
}

static bool has_landlock(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 1;
}

static void test_files(void **state)
{
    static const struct {
        const char *name; /* in the folder, or from / */
        int flags;
        bool can;
    } rows[] = {
        {"conf/c.yaml", O_RDONLY, false},
        {"conf/c.yaml", O_WRONLY, false},
        {"conf", O_RDONLY | O_DIRECTORY, false},
        {"token", O_RDONLY, false},
        {"new", O_WRONLY | O_CREAT, false},
        {"state/local-chat.json", O_RDONLY, false},
        {"state/local-chat.json", O_WRONLY, false},
        {"logs/access.log", O_WRONLY | O_APPEND, true},
        {"logs/access.log", O_RDONLY, false},
        {"certs/tls.key", O_RDONLY, true},
        {"certs/tls.key", O_WRONLY, false},
        {"/etc/shadow", O_RDONLY, false},
        {"/etc/passwd", O_RDONLY, false},
        {"/etc/hosts", O_RDONLY, true},
        {"/dev/null", O_RDWR, true},
        {"/dev/urandom", O_RDONLY, true},
        {"/var/run/secrets/kubernetes.io/serviceaccount/token", O_RDONLY, false},
        {"/proc/1/environ", O_RDONLY, false},
        {"/proc/1/cmdline", O_RDONLY, false},
    };

    (void)state;
    if (!has_landlock())
        skip();
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        path = rows[i].name[0] == '/' ? rows[i].name : in_folder(rows[i].name);
        flags = rows[i].flags;
        if (can(opens) != rows[i].can)
            fail_msg("%s: %s", path, rows[i].can ? "cannot be opened" : "can be opened");
    }
    assert_true(can(rotates_its_log));
    assert_true(can(replaces_what_it_learned));
    assert_true(can(replaces_what_it_learned)); /* over one that is there */
}

static void test_other_processes(void **state)
{
    static const char *const entries[] = {"environ", "cmdline", "mem", "maps", "stat", "fd/0"};
    static bool (*const reaches[])(void) = {kills, kills_as_a_thread, kills_with_a_word,
                                            kills_through_a_socket, limits_other};

    (void)state;
    if (has_landlock()) {
        for (size_t i = 0; i < PST_COUNT_OF(entries); i++) {
            path = entries[i];
            flags = O_RDONLY;
            if (can(opens_other))
                fail_msg("its %s can be opened", path);
        }
    }
    assert_false(can(reads_memory));
    for (size_t i = 0; i < PST_COUNT_OF(reaches); i++) {
        assert_false(can(reaches[i]));
        assert_false(can_by_calls(reaches[i]));
    }
    assert_false(can(takes_a_descriptor));
#ifndef __SANITIZE_ADDRESS__
    assert_false(can(traces));
#else
    (void)traces;
#endif
    assert_int_equal(kill(other, 0), 0);
}

static void test_programs(void **state)
{
    (void)state;
    assert_false(can(runs_a_program));
}

static void test_other_services(void **state)
{
    (void)state;
    assert_true(speaks_locally());
    assert_false(can(speaks_locally));
    assert_false(can(overhears));
}

static void test_what_serving_takes(void **state)
{
    (void)state;
    assert_true(can(limits_itself));
    assert_true(can(still_has_flags_and_sockets));
    assert_true(can(reads_itself));
    assert_true(can(resolves_and_connects));
    assert_true(can(aborts_itself));
}

/* Where the certificate lies beside the configuration, only the certificate itself can be read. */
static void test_certificate_beside_the_configuration(void **state)
{
    (void)state;
    if (!has_landlock())
        skip();
    put("conf/tls.key");
    free(config.keda.key);
    config.keda.key = strdup(in_folder("conf/tls.key"));
    flags = O_RDONLY;
    path = config.keda.key;
    assert_true(can(opens));
    path = config.path;
    assert_false(can(opens));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_files),
        TEST(test_other_processes),
        TEST(test_programs),
        TEST(test_other_services),
        TEST(test_what_serving_takes),
        TEST(test_certificate_beside_the_configuration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
