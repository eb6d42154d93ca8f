/* test_access.c - access lines stay one JSON object whatever is in them, and cells count once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "core/gate.h"
#include "observe/access.h"
#include "observe/line.h"

static struct pst_registry registry;

static int names(void **state)
{
    uint16_t pool, replica;

    (void)state;
    pst_registry_init(&registry);
    assert_int_equal(pst_registry_pool(&registry, "chat", &pool), PST_OK);
    assert_int_equal(pst_registry_class(&registry, "high"), PST_OK);
    assert_int_equal(pst_registry_class(&registry, "low"), PST_OK);
    return pst_registry_replica_add(&registry, pool, "http://10.0.0.1:8000", 0, &replica);
}

static int names_done(void **state)
{
    (void)state;
    pst_registry_done(&registry);
    return 0;
}

static struct pst_access record_of(void)
{
    return (struct pst_access){
        .started = PST_S,
        .ended = 3 * PST_S + 250 * PST_US,
        .wait = 1500 * PST_MS,
        .ttft = 1700 * PST_MS,
        .upstream = 200 * PST_MS,
        .request_id = PST_SLICE("req-1"),
        .method = PST_SLICE("POST"),
        .path = PST_SLICE("/v1/chat/completions"),
        .model = PST_SLICE("m"),
        .tenant = PST_SLICE("default"),
        .type = PST_SLICE("chat"),
        .replica = PST_SLICE("http://10.0.0.1:8000"),
        .class_ = 1,
        .outcome = PST_OUTCOME_DONE,
        .status = 200,
        .tries = 2,
        .tokens_in = 7,
        .tokens_out = 9,
    };
}

static cJSON *parse(const struct pst_access *record, char *buffer)
{
    /* 2026-11-29T17:35:03.123Z */
    struct pst_slice line =
        pst_access_line(record, &registry, UINT64_C(1795973703123) * PST_MS, buffer);
    cJSON *root;

    assert_true(line.len <= PST_ACCESS_LINE_MAX);
    assert_null(memchr(line.at, '\n', line.len));
    root = cJSON_ParseWithLength(line.at, line.len);
    assert_non_null(root);
    return root;
}

static const char *text(const cJSON *root, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, name));
}

static double number(const cJSON *root, const char *name)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(root, name));
}

static void a_line_says_what_the_record_knows(void **state)
{
    struct pst_access record = record_of();
    char buffer[PST_ACCESS_LINE_MAX];
    cJSON *root = parse(&record, buffer);

    (void)state;
    assert_string_equal(text(root, "time"), "2026-11-29T17:35:03.123Z");
    assert_string_equal(text(root, "request_id"), "req-1");
    assert_string_equal(text(root, "class"), "low");
    assert_string_equal(text(root, "pool"), "chat");
    assert_string_equal(text(root, "outcome"), "done");
    assert_string_equal(text(root, "reason"), "none");
    assert_true(number(root, "status") == 200);
    assert_true(number(root, "tries") == 2);
    assert_true(number(root, "wait_ms") == 1500);
    assert_true(number(root, "duration_ms") == 2000.25);
    assert_true(number(root, "tokens_out") == 9);
    assert_null(text(root, "class_claimed")); /* not said: not there */
    cJSON_Delete(root);
}

static void strangers_bytes_are_escaped_and_cut(void **state)
{
    static const struct {
        const char *what, *bytes, *expected;
    } rows[] = {
        {"a quote", "a\"b", "a\"b"},
        {"a backslash", "a\\b", "a\\b"},
        {"line breaks", "a\r\nb", "a\r\nb"},
        {"a control byte",
         "a\x01"
         "b",
         "a\x01"
         "b"},
        {"two-byte text", "caf\xc3\xa9", "caf\xc3\xa9"},
        {"four-byte text", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"a lone continuation", "a\x80z", "a\xef\xbf\xbdz"},
        {"an overlong slash", "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"a surrogate", "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"half a character", "a\xe2\x82", "a\xef\xbf\xbd\xef\xbf\xbd"},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_access record = record_of();
        char buffer[PST_ACCESS_LINE_MAX];
        cJSON *root;

        record.model = pst_slice_of(rows[i].bytes);
        root = parse(&record, buffer);
        if (strcmp(text(root, "model"), rows[i].expected) != 0)
            fail_msg("%s: got %s", rows[i].what, text(root, "model"));
        cJSON_Delete(root);
    }
}

static void the_worst_record_fits(void **state)
{
    struct pst_access record = record_of();
    char *long_text = malloc(1 << 20), buffer[PST_ACCESS_LINE_MAX];
    struct pst_slice worst = {long_text, 1 << 20};
    cJSON *root;

    (void)state;
    memset(long_text, 1, 1 << 20); /* six bytes each when escaped */
    record.request_id = record.trace_id = record.method = record.path = record.model = worst;
    record.tenant = record.class_claimed = record.type = record.replica = record.peer = worst;
    record.bytes_in = record.bytes_out = UINT64_MAX;
    root = parse(&record, buffer);
    assert_true(number(root, "status") == 200);
    assert_true(number(root, "duration_ms") == 2000.25); /* the last field is there */
    assert_int_equal(strlen(text(root, "path")), 512);
    cJSON_Delete(root);
    free(long_text);
}

static void a_field_that_does_not_fit_is_left_out_whole(void **state)
{
    char buffer[64];

    (void)state;
    for (size_t size = 3; size < sizeof buffer; size++) {
        struct pst_line line;
        struct pst_slice result;
        cJSON *root;

        pst_line_begin(&line, buffer, size);
        pst_line_text(&line, "a", PST_SLICE("0123456789"), 20);
        pst_line_number(&line, "b", 1234567);
        pst_line_bool(&line, "c", true);
        result = pst_line_end(&line);
        assert_true(result.len <= size);
        root = cJSON_ParseWithLength(result.at, result.len);
        assert_non_null(root);
        cJSON_Delete(root);
    }
}

static uint64_t sum(const struct pst_metrics *metrics, enum pst_metric metric)
{
    uint64_t total = 0;

    for (uint32_t cell = 0; cell < pst_metric_cells(metrics, metric); cell++)
        total += pst_metric_rows[metric].type == PST_METRIC_HISTOGRAM
                     ? pst_metric_histogram(metrics, metric, cell)->count
                     : pst_metric_value(metrics, metric, cell);
    return total;
}

static void each_record_counts_once(void **state)
{
    static const struct row {
        const char *what;
        uint8_t outcome, reason;
        uint32_t tries;
        pst_ns ttft;
        const char *refusal;
        bool has_pool;
        uint64_t requests, early, waits, ttfts, durations, retries;
    } rows[] = {
        {"done at first", PST_OUTCOME_DONE, 0, 1, PST_MS, NULL, true, 1, 0, 1, 1, 1, 0},
        {"done at the third try", PST_OUTCOME_DONE, 0, 3, PST_MS, NULL, true, 1, 0, 1, 1, 1, 2},
        {"refused by the gate", PST_OUTCOME_REFUSED, PST_REASON_QUEUE_FULL, 0, 0, NULL, true, 1, 0,
         0, 0, 0, 0},
        {"left before a pool was known", PST_OUTCOME_CANCELLED, PST_REASON_CLIENT, 0, 0, NULL,
         false, 1, 0, 0, 0, 0, 0},
        {"failed after dispatch", PST_OUTCOME_FAILED, PST_REASON_UPSTREAM_RESET, 1, 0, NULL, true,
         1, 0, 1, 0, 0, 0},
        {"refused before the gate", PST_OUTCOME_REFUSED, 0, 0, 0, "unauthorized", false, 0, 1, 0, 0,
         0, 0},
    };
    const struct pst_metric_sizes sizes = pst_access_sizes();

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        struct pst_access record = record_of();
        struct pst_refusals refusals = {{NULL}};
        struct pst_metrics *metrics;

        record.outcome = row->outcome;
        record.reason = row->reason;
        record.tries = row->tries;
        record.ttft = row->ttft;
        record.refusal = row->refusal;
        if (!row->has_pool) {
            record.pool = PST_ACCESS_NO_POOL;
            record.class_ = PST_ACCESS_NO_CLASS;
        }
        assert_int_equal(pst_metrics_new(&sizes, &metrics), PST_OK);
        pst_access_count(&record, &refusals, metrics);
        if (sum(metrics, PST_METRIC_REQUESTS) != row->requests ||
            sum(metrics, PST_METRIC_REFUSED_EARLY) != row->early ||
            sum(metrics, PST_METRIC_QUEUE_WAIT) != row->waits ||
            sum(metrics, PST_METRIC_TTFT) != row->ttfts ||
            sum(metrics, PST_METRIC_DURATION) != row->durations ||
            sum(metrics, PST_METRIC_RETRIES) != row->retries)
            fail_msg("%s", row->what);
        assert_int_equal(pst_metrics_dropped(metrics), 0);
        pst_metrics_free(metrics);
    }
}

static void refusals_beyond_the_table_are_other(void **state)
{
    static char names_of[PST_ACCESS_REFUSALS_MAX + 5][16];
    const struct pst_metric_sizes sizes = pst_access_sizes();
    struct pst_refusals refusals = {{NULL}};
    struct pst_access record = record_of();
    struct pst_metrics *metrics;

    (void)state;
    assert_int_equal(pst_metrics_new(&sizes, &metrics), PST_OK);
    for (int i = 0; i < PST_ACCESS_REFUSALS_MAX + 5; i++) {
        names_of[i][0] = (char)('A' + i);
        record.refusal = names_of[i];
        pst_access_count(&record, &refusals, metrics);
        pst_access_count(&record, &refusals, metrics);
    }
    assert_string_equal(refusals.names[PST_ACCESS_REFUSALS_MAX - 1], "other");
    assert_int_equal(pst_metric_value(metrics, PST_METRIC_REFUSED_EARLY, 0), 2);
    assert_int_equal(
        pst_metric_value(metrics, PST_METRIC_REFUSED_EARLY, PST_ACCESS_REFUSALS_MAX - 1), 12);
    pst_metrics_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_says_what_the_record_knows),
        cmocka_unit_test(strangers_bytes_are_escaped_and_cut),
        cmocka_unit_test(the_worst_record_fits),
        cmocka_unit_test(a_field_that_does_not_fit_is_left_out_whole),
        cmocka_unit_test(each_record_counts_once),
        cmocka_unit_test(refusals_beyond_the_table_are_other),
    };

    return cmocka_run_group_tests(tests, names, names_done);
}
