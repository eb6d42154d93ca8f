/* Files that a scenario names: beside it, packed or not, and told line by line when they are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "config/scenario.h"

static char folder[] = "/tmp/penstock-scenario-XXXXXX";

static void path_of(const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", folder, name);
}

static void write_file(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    path_of(name, path);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void write_packed(const char *name, const char *text)
{
    char path[128];
    gzFile file;

    path_of(name, path);
    file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(file), Z_OK);
}

static const char day[] = "arrival_ms,prompt_tokens,output_tokens,client,class\n"
                          "0,100,10,1,high\n"
                          "1500,200,20,2,low\n"
                          "1500,300,30,2,\n"
                          "4000,400,40,3,high\n";

static int make_files(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    write_file("day.csv", day);
    write_packed("day.csv.gz", day);
    write_file("rates.csv", "t_s,rate_per_s\n0,0\n600,4\n1200,0\n1800,6.5\n");
    write_file("lengths.csv", "quantile,tokens\n0.5,100\n0.9995,300\n1,1000\n");
    write_file("empty.csv", "");
    write_file("none.csv", "arrival_ms,prompt_tokens\n");
    write_file("names.csv", "prompt_tokens\n1\n");
    write_file("letters.csv", "arrival_ms\n0\n\nx\n");
    write_file("back.csv", "arrival_ms\n5\n4\n");
    write_file("class.csv", "arrival_ms,class\n5,urgent\n");
    write_file("norates.csv", "t_s\n0\n");
    write_file("flood.csv", "t_s,rate_per_s\n0,1\n60,1000001\n");
    write_file("still.csv", "t_s,rate_per_s\n0,1\n0,1\n");
    write_file("falling.csv", "quantile,tokens\n0.1,9\n0.2,8\n");
    write_file("beyond.csv", "quantile,tokens\n1.1,9\n");
    write_file("cut.csv.gz", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x2c");
    return 0;
}

static int remove_files(void **state)
{
    static const char *const names[] = {
        "day.csv",     "day.csv.gz",  "rates.csv",  "lengths.csv", "empty.csv",   "none.csv",
        "names.csv",   "letters.csv", "back.csv",   "class.csv",   "norates.csv", "still.csv",
        "falling.csv", "beyond.csv",  "cut.csv.gz", "flood.csv",
    };
    char path[128];

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(names); i++) {
        path_of(names[i], path);
        (void)unlink(path);
    }
    return rmdir(folder);
}

#define HEAD                                                                                       \
    "classes: {high: {}, low: {}}\n"                                                               \
    "pools: [{name: chat, slots: 4}]\n"

/* The caller frees. The stream's keys are in line 3, from column 16 on. */
static struct pst_scenario_file *read_stream(const char *keys, struct pst_problems *problems)
{
    char text[1024], path[128];
    struct pst_scenario_file *file = NULL;

    snprintf(text, sizeof text, HEAD "arrivals: {a: {%s, service: 1s}}\n", keys);
    path_of("scenario.yaml", path);
    (void)pst_scenario_parse(path, text, strlen(text), &file, problems);
    return file;
}

static struct pst_scenario_file *read_good(const char *keys)
{
    struct pst_problems problems;
    struct pst_scenario_file *file = read_stream(keys, &problems);

    for (size_t i = 0; i < problems.count; i++)
        print_message("%u:%u: %s\n", problems.item[i].line, problems.item[i].column,
                      problems.item[i].message);
    assert_non_null(file);
    pst_problems_done(&problems);
    return file;
}

static void a_trace_is_read_packed_or_not(void **state)
{
    static const char *const keys[] = {"trace: day.csv, class: low",
                                       "trace: day.csv.gz, class: low"};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(keys); i++) {
        struct pst_scenario_file *file = read_good(keys[i]);
        const struct pst_scenario *s = pst_scenario_of(file);
        const struct pst_arrival_row *rows = s->streams[0].rows;
        assert_int_equal(s->streams[0].rows_count, 4);
        assert_int_equal(rows[1].at, 1500 * PST_MS);
        assert_int_equal(rows[1].prompt_tokens, 200);
        assert_int_equal(rows[1].output_tokens, 20);
        assert_int_equal(rows[1].client, 2);
        assert_int_equal(rows[0].class_, 0);
        assert_int_equal(rows[1].class_, 1);
        assert_int_equal(rows[2].class_, 1);     /* does not say: the stream's */
        assert_int_equal(s->horizon, 5 * PST_S); /* its last request is inside */
        pst_scenario_free(file);
    }
}

static void a_trace_may_be_faster_and_thinner(void **state)
{
    struct pst_scenario_file *file =
        read_good("trace: {file: day.csv, speed: 2}, shares: {high: 40%, low: 60%}");
    const struct pst_stream *stream = &pst_scenario_of(file)->streams[0];
    uint64_t kept;

    (void)state;
    assert_int_equal(stream->rows[1].at, 750 * PST_MS);
    assert_int_equal(stream->rows[2].class_, PST_CLASS_DRAWN);
    assert_int_equal(stream->rows[3].class_, 0); /* it says */
    pst_scenario_free(file);

    file = read_good("trace: {file: day.csv, thin: 50%}");
    kept = pst_scenario_of(file)->streams[0].rows_count;
    pst_scenario_free(file);
    assert_in_range(kept, 1, 3);
    file = read_good("trace: {file: day.csv, thin: 50%}");
    assert_int_equal(pst_scenario_of(file)->streams[0].rows_count, kept); /* the same ones */
    pst_scenario_free(file);
}

static void gaps_in_rates_carry_the_last_one_on(void **state)
{
    static const double rates[] = {2.0, 2.0, 2.0, 3.25};
    char text[512], path[128];
    struct pst_scenario_file *file = NULL;
    struct pst_problems problems;
    const struct pst_stream *stream;

    (void)state;
    snprintf(text, sizeof text,
             HEAD "horizon: 1h\narrivals: {a: {class: high, service: 1s, rate: {file: rates.csv, "
                  "scale: 0.5}}}\n");
    path_of("scenario.yaml", path);
    assert_int_equal(pst_scenario_parse(path, text, strlen(text), &file, &problems), PST_OK);
    stream = &pst_scenario_of(file)->streams[0];
    assert_int_equal(stream->pieces_count, PST_COUNT_OF(rates));
    for (size_t i = 0; i < PST_COUNT_OF(rates); i++) {
        assert_int_equal(stream->pieces[i].at, i * 600 * PST_S);
        assert_true(stream->pieces[i].per_s == rates[i]);
    }
    pst_problems_done(&problems);
    pst_scenario_free(file);
}

static void quantiles_come_in_even_steps(void **state)
{
    struct pst_scenario_file *file =
        read_good("trace: day.csv, prompt: {table: lengths.csv}, output: {table: lengths.csv}");
    const struct pst_quantiles *table = &pst_scenario_of(file)->streams[0].prompt_table;

    (void)state;
    assert_int_equal(table->count, 10001);
    assert_int_equal(table->values[0], 100);
    assert_int_equal(table->values[5000], 100);
    assert_int_equal(table->values[9995], 300);
    assert_int_equal(table->values[10000], 1000);
    for (uint32_t i = 1; i < table->count; i++)
        assert_true(table->values[i] >= table->values[i - 1]);
    assert_int_equal(pst_scenario_of(file)->streams[0].output_table.count, 10001);
    pst_scenario_free(file);
}

static void a_recording_is_left_to_the_caller(void **state)
{
    struct pst_scenario_file *file = NULL;
    struct pst_problems problems;
    char text[256], path[128], recording[128];

    (void)state;
    snprintf(text, sizeof text, HEAD "horizon: 1h\narrivals: {a: {recording: gateway.rec}}\n");
    path_of("scenario.yaml", path);
    path_of("gateway.rec", recording);
    assert_int_equal(pst_scenario_parse(path, text, strlen(text), &file, &problems), PST_OK);
    assert_string_equal(pst_scenario_of(file)->streams[0].recording, recording);
    pst_problems_done(&problems);
    pst_scenario_free(file);
}

/* clang-format off */
static const struct {
    const char *keys;
    uint32_t column;
    const char *message;
} faults[] = {
    {"trace: empty.csv", 23, "empty.csv: line 0: the file is empty"},
    {"trace: none.csv", 23, "none.csv: line 1: no request is in it"},
    {"trace: names.csv", 23, "names.csv: line 1: there is no column arrival_us"},
    {"trace: letters.csv", 23, "letters.csv: line 4: "},
    {"trace: back.csv", 23, "back.csv: line 3: it comes before the line above"},
    {"trace: class.csv", 23, "class.csv: line 2: its class is none of the scenario's"},
    {"trace: cut.csv.gz", 23, "cut.csv.gz: a damaged or cut-off gzip file"},
    {"trace: {file: day.csv, thin: 0.0001%}", 23, "day.csv: line 5: no request is in it, or `thin` keeps none"},
    {"trace: {file: day.csv, speed: 0.0000001}", 23, "trace: ends after more than 366 days"},
    {"trace: {file: day.csv, speed: 0.000000001}", 23, "trace: ends after more than 366 days"},
    {"class: low, rate: {file: flood.csv}", 41, "flood.csv: line 3: more than a million requests per second"},
    {"trace: missing.csv", 23, "missing.csv: No such file"},
    {"trace: .", 23, "/.: Is a directory"},
    {"class: low, rate: {file: norates.csv}", 41, "norates.csv: line 1: there is no column rate_per_s"},
    {"class: low, rate: {file: still.csv}", 41, "still.csv: line 3: its time is not after"},
    {"trace: day.csv, prompt: {table: day.csv}", 48, "day.csv: line 1: the first line must be quantile,tokens"},
    {"trace: day.csv, prompt: {table: falling.csv}", 48, "falling.csv: line 3: quantiles and their tokens must ascend"},
    {"trace: day.csv, output: {table: beyond.csv}", 48, "beyond.csv: line 2: a quantile of 0 to 1"},
};
/* clang-format on */

static void what_is_wrong_with_a_file_has_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(faults); i++) {
        struct pst_problems problems;
        struct pst_scenario_file *file = read_stream(faults[i].keys, &problems);
        bool said = false;
        for (size_t j = 0; j < problems.count; j++)
            said = said ||
                   (problems.item[j].line == 3 && problems.item[j].column == faults[i].column &&
                    strstr(problems.item[j].message, faults[i].message) != NULL);
        if (!said) {
            print_error("%s: wanted %u %s\n", faults[i].keys, faults[i].column, faults[i].message);
            for (size_t j = 0; j < problems.count; j++)
                print_error("  %u:%u: %s\n", problems.item[j].line, problems.item[j].column,
                            problems.item[j].message);
        }
        assert_null(file);
        assert_true(said);
        if (strncmp(faults[i].keys, "trace", 5) == 0)
            assert_int_equal(problems.errors, 1); /* nothing that follows from it */
        pst_problems_done(&problems);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_is_read_packed_or_not),
        cmocka_unit_test(a_trace_may_be_faster_and_thinner),
        cmocka_unit_test(gaps_in_rates_carry_the_last_one_on),
        cmocka_unit_test(quantiles_come_in_even_steps),
        cmocka_unit_test(a_recording_is_left_to_the_caller),
        cmocka_unit_test(what_is_wrong_with_a_file_has_its_line),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
