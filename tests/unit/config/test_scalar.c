/* The small languages inside a value, at their edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"
#include "config/scalar.h"

#define BAD UINT64_C(0xbadbadbad)

struct row {
    const char *text;
    uint64_t value; /* BAD: refused, and nothing is written */
};

static void check(const struct row *rows, size_t count, int (*read)(const char *, uint64_t *))
{
    for (size_t i = 0; i < count; i++) {
        uint64_t value = BAD;
        const int rc = read(rows[i].text, &value);
        if (value != rows[i].value || (rc == PST_OK) != (rows[i].value != BAD))
            fail_msg("'%s': rc %d, %llu", rows[i].text, rc, (unsigned long long)value);
    }
}

static void durations(void **state)
{
    static const struct row rows[] = {
        {"500ms", 500 * PST_MS},
        {"15s", 15 * PST_S},
        {"10m", 600 * PST_S},
        {"1h", 3600 * PST_S},
        {"2d", 172800 * PST_S},
        {"0s", 0},
        {"250us", 250 * PST_US},
        {"7ns", 7},
        {"1.5s", 1500 * PST_MS},
        {"0.000000001s", 1},
        {"18446744073709551614ns", UINT64_MAX - 1},
        {"18446744073709551615ns", BAD}, /* would be "never" */
        {"213504d", BAD},
        {"0.5ns", BAD},
        {"0.0000000001s", BAD},
        {"400", BAD},
        {"0", BAD},
        {"", BAD},
        {"s", BAD},
        {"-1s", BAD},
        {"+1s", BAD},
        {" 1s", BAD},
        {"1 s", BAD},
        {"1s ", BAD},
        {"1S", BAD},
        {"01s", BAD},
        {"1.s", BAD},
        {".5s", BAD},
        {"1e3s", BAD},
        {"1h30m", BAD},
        {"inf", BAD},
    };

    (void)state;
    check(rows, PST_COUNT_OF(rows), pst_config_duration);
}

static void sizes(void **state)
{
    static const struct row rows[] = {
        {"512B", 512},
        {"1KB", 1000},
        {"1kB", 1000},
        {"64KiB", 65536},
        {"1MB", 1000000},
        {"32MiB", 33554432},
        {"1.5GiB", 1610612736},
        {"1TiB", UINT64_C(1) << 40},
        {"0B", 0},
        {"16777216TiB", BAD},
        {"64", BAD},
        {"64K", BAD},
        {"64kib", BAD},
        {"64 MiB", BAD},
        {"0.3B", BAD},
        {"-1B", BAD},
        {"08B", BAD},
    };

    (void)state;
    check(rows, PST_COUNT_OF(rows), pst_config_size);
}

static void counts(void **state)
{
    static const struct row rows[] = {
        {"0", 0},
        {"1", 1},
        {"18446744073709551614", UINT64_MAX - 1},
        {"07", BAD},
        {"1e3", BAD},
        {"0x10", BAD},
        {"1_000", BAD},
        {"1.0", BAD},
        {"-1", BAD},
        {"", BAD},
        {"18446744073709551616", BAD},
    };

    (void)state;
    check(rows, PST_COUNT_OF(rows), pst_scalar_count);
}

static int share(const char *text, uint64_t *ret_value)
{
    uint32_t ppm;
    const int rc = pst_scalar_share(text, &ppm);

    if (rc == PST_OK)
        *ret_value = ppm;
    return rc;
}

static void shares(void **state)
{
    static const struct row rows[] = {
        {"0.5", 500000}, {"50%", 500000}, {"5 %", 50000},     {"1", 1000000}, {"100%", 1000000},
        {"0", 0},        {"0.1%", 1000},  {"0.000001", 1},    {"101%", BAD},  {"1.1", BAD},
        {"50", BAD},     {"-1%", BAD},    {"0.0000001", BAD},
    };

    (void)state;
    check(rows, PST_COUNT_OF(rows), share);
}

static void networks(void **state)
{
    static const struct {
        const char *text;
        int prefix; /* -1: refused */
    } rows[] = {
        {"10.0.0.0/8", 104}, {"10.1.2.3", 128}, {"0.0.0.0/0", 96},  {"fd00::/8", 8},
        {"::1", 128},        {"::/0", 0},       {"10.0.0.1/8", -1}, {"fd00::1/8", -1},
        {"10.0.0.0/33", -1}, {"::/129", -1},    {"10.0.0/8", -1},   {"10.0.0.0/", -1},
        {"10.0.0.0/08", -1}, {"", -1},          {"x", -1},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_config_network network;
        const int rc = pst_scalar_network(rows[i].text, &network);
        if ((rc == PST_OK) != (rows[i].prefix >= 0) ||
            (rc == PST_OK && network.prefix != rows[i].prefix))
            fail_msg("'%s': rc %d", rows[i].text, rc);
    }
}

static void urls(void **state)
{
    static const struct {
        const char *text, *host, *path; /* host NULL: refused */
        uint16_t port;
    } rows[] = {
        {"http://h", "h", "", 80},
        {"http://h/", "h", "", 80},
        {"http://10.0.0.1:8000", "10.0.0.1", "", 8000},
        {"http://h:1/a/b//", "h", "/a/b", 1},
        {"http://[::1]:9/x", "::1", "/x", 9},
        {"http://[::1]", "::1", "", 80},
        {"http://vllm-0.vllm_headless.ns", "vllm-0.vllm_headless.ns", "", 80},
        {"http://", NULL, NULL, 0},
        {"http:///x", NULL, NULL, 0},
        {"http://h:", NULL, NULL, 0},
        {"http://h:0", NULL, NULL, 0},
        {"http://h:65536", NULL, NULL, 0},
        {"http://h:80x", NULL, NULL, 0},
        {"http://h:0080", NULL, NULL, 0},
        {"http://u@h", NULL, NULL, 0},
        {"http://h?x", NULL, NULL, 0},
        {"http://h/a b", NULL, NULL, 0},
        {"http://h/#f", NULL, NULL, 0},
        {"http://[::1", NULL, NULL, 0},
        {"http://[::1]x", NULL, NULL, 0},
        {"http://[zz]", NULL, NULL, 0},
        {"ftp://h", NULL, NULL, 0},
        {"h:80", NULL, NULL, 0},
        {"https://h", NULL, NULL, 0},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_scalar_url url;
        const int rc = pst_scalar_url(rows[i].text, &url);
        if ((rc == PST_OK) != (rows[i].host != NULL))
            fail_msg("'%s': rc %d", rows[i].text, rc);
        if (rc != PST_OK)
            continue;
        assert_int_equal(url.port, rows[i].port);
        assert_int_equal(url.host_len, strlen(rows[i].host));
        assert_memory_equal(url.host, rows[i].host, url.host_len);
        assert_int_equal(url.path_len, strlen(rows[i].path));
        assert_memory_equal(url.path, rows[i].path, url.path_len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations), cmocka_unit_test(sizes),    cmocka_unit_test(counts),
        cmocka_unit_test(shares),    cmocka_unit_test(networks), cmocka_unit_test(urls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
