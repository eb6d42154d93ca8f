/* test_log.c - lines reach the file whole, and a stuck reader costs lines, not time. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/random.h"

static char directory[] = "/tmp/pst-log-XXXXXX";
static char path[64], moved[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/log", directory);
    snprintf(moved, sizeof moved, "%s/log.1", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    unlink(moved);
    return rmdir(directory);
}

static size_t read_file(const char *name, char *into, size_t size)
{
    int fd = open(name, O_RDONLY | O_NONBLOCK);
    size_t len = 0;
    ssize_t n;

    assert_true(fd >= 0);
    while ((n = read(fd, into + len, size - 1 - len)) > 0)
        len += (size_t)n;
    into[len] = '\0';
    close(fd);
    return len;
}

static void test_rotation(void **state)
{
    struct pst_log *log;
    char text[256];

    (void)state;
    assert_int_equal(pst_log_new(path, 4096, &log), PST_OK);
    pst_log_line(log, "one", 3);
    pst_log_line(log, "two", 3);
    pst_log_flush(log);
    assert_int_equal(rename(path, moved), 0);
    pst_log_line(log, "three", 5);
    assert_int_equal(pst_log_reopen(log), PST_OK);
    pst_log_line(log, "four", 4);
    pst_log_free(log);
    read_file(moved, text, sizeof text);
    assert_string_equal(text, "one\ntwo\nthree\n");
    read_file(path, text, sizeof text);
    assert_string_equal(text, "four\n");
    assert_int_equal(pst_log_new("/nonexistent/log", 4096, &log), PST_E_SYSTEM);
}

static void test_stuck_reader(void **state)
{
    static char text[1 << 20], line[1000];
    struct pst_log *log;
    size_t kept = 0, len, lines = 0, i;
    int reader, n = 0;

    (void)state;
    memset(line, 'x', sizeof line);
    assert_int_equal(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_int_equal(pst_log_new(path, 100000, &log), PST_OK);
    while (pst_log_line(log, line, sizeof line) == PST_OK && n++ < 10000) {
        kept++;
        pst_log_flush(log);
    }
    assert_int_equal(pst_log_line(log, line, sizeof line), PST_E_FULL);
    assert_int_equal(pst_log_dropped(log), 2);

    /* The reader comes back: everything kept, then how much was not. */
    len = (size_t)read(reader, text, sizeof text);
    pst_log_flush(log);
    assert_int_equal(pst_log_line(log, "after", 5), PST_OK);
    for (i = 0; i < 100; i++) {
        ssize_t more;

        pst_log_flush(log);
        more = read(reader, text + len, sizeof text - 1 - len);
        if (more > 0)
            len += (size_t)more;
    }
    text[len] = '\0';
    for (i = 0; i < len; i++)
        lines += text[i] == '\n';
    assert_int_equal(lines, kept + 2);
    assert_non_null(strstr(text, "\n{\"dropped_lines\":2}\nafter\n"));
    close(reader);
    pst_log_free(log);
}

static void test_random_bytes_differ(void **state)
{
    static struct pst_random random;
    unsigned char seen[64][16];
    size_t i, j;

    (void)state;
    for (i = 0; i < 64; i++) {
        pst_random_fill(&random, seen[i], sizeof seen[i]);
        for (j = 0; j < i; j++)
            assert_memory_not_equal(seen[i], seen[j], sizeof seen[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rotation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stuck_reader, set_up, tear_down),
        cmocka_unit_test(test_random_bytes_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
