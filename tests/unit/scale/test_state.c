/* test_state.c - what is written is read; what is damaged is refused whole; one process a folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "scale/state.h"

static char folder[64], path[128];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pst-state-XXXXXX");
    if (mkdtemp(folder) == NULL || !pst_state_path(folder, "chat", path, sizeof path))
        return -1;
    return 0;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static struct pst_state two_engines(void)
{
    struct pst_state state = {.boot = "1b4e28ba-2fa1-11d2-883f-0016d3cca427", .count = 2};

    for (size_t i = 0; i < PST_STATE_SALT; i++)
        state.salt[i] = (uint8_t)(i * 17);
    state.engines[0] = (struct pst_state_engine){.number = 1,
                                                 .pid = 4194304,
                                                 .start = (UINT64_C(1) << 53) - 1,
                                                 .port = 65535,
                                                 .revision = UINT32_MAX,
                                                 .gpus = {0, 4095},
                                                 .gpus_count = 2,
                                                 .warm = true};
    state.engines[1] = (struct pst_state_engine){
        .number = UINT32_MAX, .pid = 2, .start = 0, .port = 1, .revision = 1, .stopping = true};
    return state;
}

static void test_written_is_read(void **state)
{
    struct pst_state written = two_engines(), read;

    (void)state;
    assert_int_equal(pst_state_read(path, &read), PST_E_UNKNOWN);
    assert_int_equal(pst_state_write(path, &written), PST_OK);
    memset(&read, 0, sizeof read);
    assert_int_equal(pst_state_read(path, &read), PST_OK);
    assert_memory_equal(&read, &written, sizeof read);
    written.count = 0;
    memset(written.engines, 0, sizeof written.engines);
    assert_int_equal(pst_state_write(path, &written), PST_OK);
    assert_int_equal(pst_state_read(path, &read), PST_OK);
    assert_int_equal(read.count, 0);
}

static void put(const char *text, size_t len)
{
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, len, out), len);
    assert_int_equal(fclose(out), 0);
}

#define HEAD                                                                                       \
    "{\"version\": 1, \"boot\": \"b\", \"salt\": \"000102030405060708090a0b0c0d0e0f\", "           \
    "\"engines\": ["
#define TAIL                                                                                       \
    ", \"start\": 9, \"port\": 8001, \"revision\": 1, \"warm\": false, \"stopping\": false, "      \
    "\"gpus\": []}"

static const struct {
    const char *name, *text;
} damaged[] = {
    {"empty", ""},
    {"cut", HEAD},
    {"not JSON", "engines: none"},
    {"a list", "[]"},
    {"another version", "{\"version\": 2, \"boot\": \"b\", \"engines\": []}"},
    {"no salt", "{\"version\": 1, \"boot\": \"b\", \"engines\": []}"},
    {"pid 0 is our own group", HEAD "{\"number\": 1, \"pid\": 0" TAIL "]}"},
    {"pid 1", HEAD "{\"number\": 1, \"pid\": 1" TAIL "]}"},
    {"a negative pid", HEAD "{\"number\": 1, \"pid\": -5" TAIL "]}"},
    {"a pid in text", HEAD "{\"number\": 1, \"pid\": \"5\"" TAIL "]}"},
    {"half a pid", HEAD "{\"number\": 1, \"pid\": 5.5" TAIL "]}"},
    {"a pid beyond", HEAD "{\"number\": 1, \"pid\": 1e300" TAIL "]}"},
    {"no number", HEAD "{\"number\": 0, \"pid\": 5" TAIL "]}"},
    {"a pid twice",
     HEAD "{\"number\": 1, \"pid\": 5" TAIL ", {\"number\": 2, \"pid\": 5" TAIL "]}"},
    {"a number twice",
     HEAD "{\"number\": 1, \"pid\": 5" TAIL ", {\"number\": 1, \"pid\": 6" TAIL "]}"},
};

static void test_damaged_is_refused(void **state)
{
    struct pst_state read;
    static const char good[] = HEAD "{\"number\": 1, \"pid\": 5" TAIL "]}";

    (void)state;
    put(good, strlen(good));
    assert_int_equal(pst_state_read(path, &read), PST_OK);
    for (size_t i = 0; i < PST_COUNT_OF(damaged); i++) {
        put(damaged[i].text, strlen(damaged[i].text));
        if (pst_state_read(path, &read) != PST_E_SYNTAX)
            fail_msg("%s was taken", damaged[i].name);
    }
}

/* Any byte changed: read, or refused; nothing else happens. */
static void test_any_byte(void **state)
{
    struct pst_state written = two_engines(), read;
    char text[4096];
    size_t len;
    FILE *in;

    (void)state;
    assert_int_equal(pst_state_write(path, &written), PST_OK);
    in = fopen(path, "r");
    assert_non_null(in);
    len = fread(text, 1, sizeof text, in);
    assert_int_equal(fclose(in), 0);
    for (size_t i = 0; i < len; i++) {
        char was = text[i];
        int rc;

        text[i] = (char)(was ^ (1 << (i % 8)));
        put(text, len);
        rc = pst_state_read(path, &read);
        assert_true(rc == PST_OK || rc == PST_E_SYNTAX);
        text[i] = was;
    }
}

/* A disk that is full, or a folder that went: the old file stays as it was. */
static void test_failed_write_keeps_the_old(void **state)
{
    struct pst_state written = two_engines(), read;
    char beside[160];

    (void)state;
    assert_int_equal(pst_state_write(path, &written), PST_OK);
    (void)snprintf(beside, sizeof beside, "%s.new", path);
    assert_int_equal(mkdir(beside, 0700), 0);
    written.count = 1;
    assert_int_equal(pst_state_write(path, &written), PST_E_SYSTEM);
    assert_int_equal(pst_state_read(path, &read), PST_OK);
    assert_int_equal(read.count, 2);
}

static void test_one_process_a_folder(void **state)
{
    int first, second, status;
    pid_t pid;

    (void)state;
    assert_int_equal(pst_state_lock(folder, &first), PST_OK);
    assert_int_equal(pst_state_lock(folder, &second), PST_E_FULL);
    close(first);
    pid = fork();
    if (pid == 0)
        _exit(pst_state_lock(folder, &second) == PST_OK ? 0 : 1); /* and dies with it */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(pst_state_lock(folder, &first), PST_OK);
    close(first);
}

static char seen[256];

static bool note(void *user, const char *pool)
{
    (void)user;
    strcat(strcat(seen, pool), " ");
    return true;
}

static void test_pools_of_a_folder(void **state)
{
    static const char *const names[] = {"local-.json", "local-a.json.new", "lock", "xlocal-b.json"};
    struct pst_state written = two_engines();
    char other[160];

    (void)state;
    assert_int_equal(pst_state_write(path, &written), PST_OK);
    for (size_t i = 0; i < PST_COUNT_OF(names); i++) {
        FILE *out;

        (void)snprintf(other, sizeof other, "%s/%s", folder, names[i]);
        out = fopen(other, "w");
        assert_non_null(out);
        assert_int_equal(fclose(out), 0);
    }
    pst_state_pools(folder, note, NULL);
    assert_string_equal(seen, "chat ");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_written_is_read),
        TEST(test_damaged_is_refused),
        TEST(test_any_byte),
        TEST(test_failed_write_keeps_the_old),
        TEST(test_one_process_a_folder),
        TEST(test_pools_of_a_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
