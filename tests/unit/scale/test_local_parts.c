/* test_local_parts.c - what a local engine is made of: its words, its process, its log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "scale/local_command.h"
#include "scale/local_log.h"
#include "scale/local_process.h"

#define TEXT(literal) ((char *)(uintptr_t)(literal))

static char folder[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pst-parts-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static const uint32_t gpus[] = {4, 0, 11};

static const struct {
    const char *template_, *with_gpus, *without;
} rows[] = {
    {"", "", ""},
    {"plain", "plain", "plain"},
    {"{port}", "8001", "8001"},
    {"--port={port}", "--port=8001", "--port=8001"},
    {"{name}/{model}:{port}", "chat-7/llama:8001", "chat-7/llama:8001"},
    {"cuda:{gpu}", "cuda:4", "cuda:"},
    {"[{gpus}]", "[4,0,11]", "[]"},
    {"{port}{port}", "80018001", "80018001"},
    {"{{port}}", "{8001}", "{8001}"},
    {"{\"a\": 1}", "{\"a\": 1}", "{\"a\": 1}"},
    {"{", "{", "{"},
    {"{port", "{port", "{port"},
    {"{Port} { port}", "{Port} { port}", "{Port} { port}"},
};

static void test_words(void **state)
{
    static char *const environ_[] = {NULL};
    const struct pst_local_inherited none = {.environ_ = environ_};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        for (size_t n = 0; n <= 3; n += 3) {
            const struct pst_local_words words = {
                .name = "chat-7", .model = "llama", .port = 8001, .gpus = gpus, .gpus_count = n};
            char *argv[] = {TEXT("engine"), TEXT(rows[i].template_)};
            const struct pst_config_local local = {.command = argv, .command_count = 2};
            struct pst_local_command command;

            assert_int_equal(pst_local_command_make(&local, &words, &none, &command), PST_OK);
            assert_string_equal(command.argv[0], "engine");
            assert_string_equal(command.argv[1], n > 0 ? rows[i].with_gpus : rows[i].without);
            assert_null(command.argv[2]);
            pst_local_command_done(&command);
        }
    }
}

static void test_word_without_end(void **state)
{
    static char *const environ_[] = {NULL};
    const struct pst_local_inherited none = {.environ_ = environ_};
    const size_t count = PST_LOCAL_WORD_MAX / strlen("{name}");
    const struct pst_local_words words = {.name = "a-long-name-of-a-pool-1", .model = ""};
    char *word = calloc(count + 1, strlen("{name}"));
    char *argv[] = {TEXT("engine"), word};
    const struct pst_config_local local = {.command = argv, .command_count = 2};
    struct pst_local_command command;

    (void)state;
    assert_non_null(word);
    for (size_t i = 0; i < count; i++)
        memcpy(word + i * strlen("{name}"), "{name}", strlen("{name}"));
    assert_int_equal(pst_local_command_make(&local, &words, &none, &command), PST_E_FULL);
    free(word);
}

static const char *value_of(const struct pst_local_command *command, const char *name)
{
    const char *found = NULL;

    for (char **pair = command->env; *pair != NULL; pair++) {
        if (strncmp(*pair, name, strlen(name)) != 0 || (*pair)[strlen(name)] != '=')
            continue;
        assert_null(found); /* once only */
        found = *pair + strlen(name) + 1;
    }
    return found;
}

static void test_environment(void **state)
{
    char *const environ_[] = {TEXT("PATH=/bin"),
                              TEXT("TOKEN=ours"),
                              TEXT("TOKEN_2=ours"),
                              TEXT("ADMIN=open sesame"),
                              TEXT("ADMIN_PORT=900"),
                              TEXT("CUDA_VISIBLE_DEVICES=0,1,2,3"),
                              NULL};
    char *const secrets[] = {TEXT("ADMIN"), TEXT("TOKEN")};
    const struct pst_local_inherited ours = {environ_, secrets, 2};
    char *argv[] = {TEXT("engine")};
    struct pst_config_text_pair env[] = {{TEXT("TOKEN"), TEXT("theirs")},
                                         {TEXT("EMPTY"), TEXT("")},
                                         {TEXT("CUDA_VISIBLE_DEVICES"), TEXT("GPU-{gpu}")}};
    struct pst_config_local local = {
        .command = argv, .command_count = 1, .env = env, .env_count = 2};
    struct pst_local_words words = {.name = "n", .model = "m", .gpus = gpus, .gpus_count = 2};
    struct pst_local_command command;

    (void)state;
    assert_int_equal(pst_local_command_make(&local, &words, &ours, &command), PST_OK);
    assert_string_equal(value_of(&command, "PATH"), "/bin");
    assert_string_equal(value_of(&command, "TOKEN"), "theirs");
    assert_string_equal(value_of(&command, "TOKEN_2"), "ours");
    assert_string_equal(value_of(&command, "EMPTY"), "");
    assert_null(value_of(&command, "ADMIN")); /* the configuration's own */
    assert_string_equal(value_of(&command, "ADMIN_PORT"), "900");
    assert_string_equal(value_of(&command, "CUDA_VISIBLE_DEVICES"), "4,0");
    pst_local_command_done(&command);

    local.env_count = 3; /* the template has the last word */
    assert_int_equal(pst_local_command_make(&local, &words, &ours, &command), PST_OK);
    assert_string_equal(value_of(&command, "CUDA_VISIBLE_DEVICES"), "GPU-4");
    pst_local_command_done(&command);

    local.env_count = 0; /* no GPUs are ours to give: what we were given goes on */
    words.gpus_count = 0;
    assert_int_equal(pst_local_command_make(&local, &words, &ours, &command), PST_OK);
    assert_string_equal(value_of(&command, "CUDA_VISIBLE_DEVICES"), "0,1,2,3");
    pst_local_command_done(&command);
}

static void test_revision_is_of_the_command(void **state)
{
    static const uint8_t salt[] = {1, 2, 3}, other_salt[] = {1, 2, 4};
    struct pst_config_text_pair env[] = {{TEXT("A"), TEXT("1")}};
    char *one[] = {TEXT("sleep"), TEXT("60"), TEXT("0")};
    char *other[] = {TEXT("sleep"), TEXT("6"), TEXT("00")};
    struct pst_config_local local = {.command = one, .command_count = 3};
    uint32_t first = pst_local_revision(&local, salt, sizeof salt), second;

    (void)state;
    assert_int_not_equal(first, 0);
    assert_int_equal(first, pst_local_revision(&local, salt, sizeof salt));
    assert_int_not_equal(first, pst_local_revision(&local, other_salt, sizeof salt));
    local.command = other;
    second = pst_local_revision(&local, salt, sizeof salt);
    assert_int_not_equal(first, second);
    local.env = env;
    local.env_count = 1;
    assert_int_not_equal(second, pst_local_revision(&local, salt, sizeof salt));
    local.env_count = 0;
    local.directory = TEXT("/");
    assert_int_not_equal(second, pst_local_revision(&local, salt, sizeof salt));
}

/* A release that never comes: whoever dies between fork and the file takes the child with him. */
static void test_unreleased_process_ends(void **state)
{
    char *const argv[] = {TEXT("sh"), TEXT("-c"), TEXT("echo ran"), NULL};
    char *const env[] = {NULL};
    struct pst_local_program program = {.argv = argv, .env = env};
    struct pst_local_process process;
    char text[8] = "";
    int out[2];

    (void)state;
    assert_int_equal(pipe(out), 0);
    program.output = out[1];
    assert_int_equal(pst_local_spawn(&program, &process), PST_OK);
    close(out[1]);
    close(process.go);
    process.go = -1;
    assert_int_equal(read(out[0], text, sizeof text), 0); /* its end: nobody can write any more */
    assert_true(pst_local_reap(&process).known);
    pst_local_process_done(&process);
    close(out[0]);
}

static void test_same_pid_is_not_the_same_process(void **state)
{
    char *const argv[] = {TEXT("sleep"), TEXT("600"), NULL};
    char *const env[] = {NULL};
    struct pst_local_program program = {.argv = argv, .env = env};
    struct pst_local_process process, adopted;
    struct pst_local_end end;

    (void)state;
    program.output = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pst_local_spawn(&program, &process), PST_OK);
    close(program.output);
    pst_local_release(&process);
    assert_int_equal(pst_local_adopt(process.pid, process.start + 1, &adopted), PST_E_UNKNOWN);
    assert_int_equal(pst_local_adopt(process.pid, process.start, &adopted), PST_OK);
    pst_local_signal(&adopted, SIGKILL);
    end = pst_local_reap(&process);
    assert_true(end.known && end.signalled);
    assert_int_equal(end.status, SIGKILL);
    assert_int_equal(pst_local_adopt(process.pid, process.start, &adopted), PST_E_UNKNOWN);
    pst_local_process_done(&process);
    pst_local_process_done(&adopted);
}

static off_t size_of(const char *name)
{
    char path[128];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &st) == 0 ? st.st_size : -1;
}

static void test_log_is_bounded(void **state)
{
    struct pst_local_log log;
    char scratch[4096], line[1000];
    off_t kept;
    int out;

    (void)state;
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    assert_int_equal(pst_local_log_open(&log, folder, "e", false), PST_OK);
    log.bytes_max = 10000;
    out = pst_local_log_output(&log);
    assert_true(out >= 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(write(out, line, sizeof line), sizeof line);
        pst_local_log_look(&log, "e", scratch, sizeof scratch);
    }
    kept = size_of("e.log");
    assert_true(kept >= 0 && kept <= 11000);
    assert_int_equal(size_of("e.log.1"), 11000); /* whole lines: nothing was lost */
    assert_int_equal(size_of("e.log.2"), 11000);
    assert_int_equal(size_of("e.log.3"), -1);
    for (int i = 0; i < 100; i++) /* far more than a file's worth between two looks */
        assert_int_equal(write(out, line, sizeof line), sizeof line);
    pst_local_log_look(&log, "e", scratch, sizeof scratch);
    assert_int_equal(size_of("e.log"), 0);
    assert_int_equal(size_of("e.log.1"), 20000);
    close(out);
    pst_local_log_done(&log);
}

/* What it said reaches us: our standard error is a file for the time of this test. */
static void test_lines_are_said(void **state)
{
    static const char printed[] = "one\ntwo \x1b[31mred\a\n\nthree";
    struct pst_local_log log;
    char scratch[4096], said[4096] = "", path[128];
    int out, before = dup(STDERR_FILENO), file;

    (void)state;
    (void)snprintf(path, sizeof path, "%s/said", folder);
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(pst_local_log_open(&log, folder, "e", true), PST_OK);
    out = pst_local_log_output(&log);
    assert_true(dup2(file, STDERR_FILENO) >= 0);
    assert_int_equal(write(out, printed, sizeof printed - 1), sizeof printed - 1);
    pst_local_log_look(&log, "chat-1", scratch, sizeof scratch);
    assert_int_equal(write(out, " and four\n", 10), 10);
    pst_local_log_look(&log, "chat-1", scratch, sizeof scratch);
    for (int i = 0; i < 200; i++)
        assert_int_equal(write(out, "much\n", 5), 5);
    pst_local_log_look(&log, "chat-1", scratch, sizeof scratch);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    assert_true(pread(file, said, sizeof said - 1, 0) > 0);

    assert_non_null(strstr(said, "info: chat-1: one\n"));
    assert_non_null(strstr(said, "info: chat-1: two ?[31mred?\n"));
    assert_non_null(strstr(said, "info: chat-1: three and four\n"));
    assert_non_null(strstr(said, "it prints much; the rest is in "));
    for (int i = 0; i < PST_LOCAL_LOG_LINES; i++) {
        char *at = strstr(said, "chat-1: much\n");

        assert_non_null(at);
        *at = '-';
    }
    assert_null(strstr(said, "chat-1: much\n"));
    close(before);
    close(file);
    close(out);
    pst_local_log_done(&log);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_words),
        TEST(test_word_without_end),
        TEST(test_environment),
        TEST(test_revision_is_of_the_command),
        TEST(test_unreleased_process_ends),
        TEST(test_same_pid_is_not_the_same_process),
        TEST(test_log_is_bounded),
        TEST(test_lines_are_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
