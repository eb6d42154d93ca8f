/* A file comes whole, or with a reason; a small one cannot take all of memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/gunzip.h"

#define LARGE 300000u

static char folder[] = "/tmp/penstock-gunzip-XXXXXX";
static char packed[64], plain[64], pipe_path[64];
static unsigned char bytes[LARGE];

static int make_files(void **state)
{
    gzFile file;
    FILE *copy;

    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(packed, sizeof packed, "%s/a.gz", folder);
    snprintf(plain, sizeof plain, "%s/a", folder);
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    for (unsigned i = 0; i < LARGE; i++)
        bytes[i] = (unsigned char)(i / 7);
    file = gzopen(packed, "wb");
    copy = fopen(plain, "wb");
    if (file == NULL || copy == NULL || gzwrite(file, bytes, LARGE) != (int)LARGE ||
        gzclose(file) != Z_OK || fwrite(bytes, 1, LARGE, copy) != LARGE || fclose(copy) != 0)
        return -1;
    return mkfifo(pipe_path, 0600);
}

static int remove_files(void **state)
{
    (void)state;
    (void)unlink(packed);
    (void)unlink(plain);
    (void)unlink(pipe_path);
    return rmdir(folder);
}

static void both_come_whole(void **state)
{
    const char *const paths[] = {packed, plain};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(paths); i++) {
        char *text = NULL;
        size_t len = 0;
        assert_int_equal(pst_gunzip_read(paths[i], LARGE, &text, &len), PST_OK);
        assert_int_equal(len, LARGE);
        assert_memory_equal(text, bytes, LARGE);
        assert_int_equal(text[len], '\0');
        free(text);
    }
}

static void the_bound_holds(void **state)
{
    const char *const paths[] = {packed, plain};
    char *text = NULL;
    size_t len = 77;

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(paths); i++) {
        assert_int_equal(pst_gunzip_read(paths[i], LARGE - 1, &text, &len), PST_E_FULL);
        assert_int_equal(pst_gunzip_read(paths[i], 0, &text, &len), PST_E_FULL);
        assert_null(text);
        assert_int_equal(len, 77);
    }
}

static void what_is_cut_off_is_no_shorter_text(void **state)
{
    char *text = NULL;
    size_t len;
    struct stat status;

    (void)state;
    assert_int_equal(stat(packed, &status), 0);
    assert_int_equal(truncate(packed, status.st_size / 2), 0);
    assert_int_equal(pst_gunzip_read(packed, LARGE, &text, &len), PST_E_SYNTAX);
    assert_null(text);
}

static void only_regular_files(void **state)
{
    char *text = NULL;
    size_t len;

    (void)state;
    assert_int_equal(pst_gunzip_read(folder, LARGE, &text, &len), PST_E_SYSTEM);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(pst_gunzip_read(pipe_path, LARGE, &text, &len), PST_E_SYSTEM);
    assert_int_equal(errno, ENOTSUP);
    assert_int_equal(pst_gunzip_read("/nonexistent", LARGE, &text, &len), PST_E_SYSTEM);
    assert_int_equal(errno, ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_come_whole),
        cmocka_unit_test(the_bound_holds),
        cmocka_unit_test(only_regular_files),
        cmocka_unit_test(what_is_cut_off_is_no_shorter_text),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
