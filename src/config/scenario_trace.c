/* scenario_trace.c - files that a stream names: recorded arrivals, rates and quantiles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/gunzip.h"
#include "codec/decimal.h"
#include "codec/trace.h"
#include "config/scenario_draft.h"
#include "core/num.h"
#include "core/prng.h"

#define FILE_BYTES_MAX ((size_t)256 << 20)
#define TABLE_STEPS    10000u /* of a quantile table, so that 0.9999 is one of them */
#define LINES_MAX      10000000u
#define RATE_MAX       1e6 /* per second, as of `rate` */
#define MICRO          1e6

/* A file that is read line by line; what is wrong with it is told at `node`. */
struct table {
    struct pst_scenario_reader *r;
    const struct pst_tree_node *node;
    const char *file;
    char *text; /* owned */
    const char *at, *end;
    const char *line;
    size_t line_len;
    uint32_t number; /* of the line, from 1 */
};

char *pst_scenario_beside(const struct pst_scenario_reader *r, const char *file)
{
    const char *slash = strrchr(r->path, '/');
    const size_t folder = file[0] == '/' || slash == NULL ? 0 : (size_t)(slash + 1 - r->path);
    const size_t len = strlen(file);
    char *path = pst_arena_take(r->arena, folder + len + 1);

    if (path == NULL)
        return NULL;
    memcpy(path, r->path, folder);
    memcpy(path + folder, file, len + 1);
    return path;
}

static bool open_table(struct table *t, struct pst_scenario_reader *r,
                       const struct pst_tree_node *node, const char *file)
{
    const char *path = pst_scenario_beside(r, file);
    size_t len = 0;
    int rc;

    *t = (struct table){.r = r, .node = node, .file = file};
    if (path == NULL)
        return false;
    rc = pst_gunzip_read(path, FILE_BYTES_MAX, &t->text, &len);
    if (rc != PST_OK) {
        PST_SCENARIO_ERROR(r, node, "%.200s: %s", path,
                           rc == PST_E_SYSTEM   ? strerror(errno)
                           : rc == PST_E_FULL   ? "more than 256 MiB"
                           : rc == PST_E_SYNTAX ? "a damaged or cut-off gzip file"
                                                : "out of memory");
        return false;
    }
    t->at = t->text;
    t->end = t->text + len;
    return true;
}

static void close_table(struct table *t)
{
    free(t->text);
}

/* The next line that is not empty. */
static bool next_line(struct table *t)
{
    while (t->at < t->end) {
        const char *stop = memchr(t->at, '\n', (size_t)(t->end - t->at));
        t->line = t->at;
        t->line_len = (size_t)((stop == NULL ? t->end : stop) - t->at);
        t->at = stop == NULL ? t->end : stop + 1;
        t->number++;
        if (t->line_len > 0 && t->line[t->line_len - 1] == '\r')
            t->line_len--;
        if (t->line_len > 0)
            return true;
    }
    return false;
}

static void fault(const struct table *t, const char *why)
{
    PST_SCENARIO_ERROR(t->r, t->node, "%.200s: line %u: %s", t->file, t->number, why);
}

/* False: more than there is room for, and told. */
static bool count_lines(const struct table *t, size_t *ret_count)
{
    size_t count = 1;

    for (const char *at = t->at; (at = memchr(at, '\n', (size_t)(t->end - at))) != NULL; at++)
        count++;
    if (count > LINES_MAX)
        PST_SCENARIO_ERROR(t->r, t->node, "%.200s: %zu lines; at most %u are allowed", t->file,
                           count, LINES_MAX);
    *ret_count = count;
    return count <= LINES_MAX;
}

static bool read_header(struct table *t, struct pst_trace_format *ret_format)
{
    const char *why = "the file is empty";

    if (next_line(t) && pst_trace_header(ret_format, t->line, t->line_len, &why) == PST_OK) {
        if (pst_trace_has_times(ret_format))
            return true;
        why = "there is no column arrival_us, arrival_ms or t_s";
    }
    fault(t, why);
    return false;
}

/* Class by name, where the trace has one; else by the stream's shares, or its class. */
static bool class_of(struct table *t, const struct pst_draft_stream *stream, const char *name,
                     uint8_t *ret_class)
{
    const struct pst_config *config = &t->r->draft->base.config;

    if (name[0] == '\0') {
        *ret_class = stream->shares.count > 0 ? PST_CLASS_DRAWN : stream->own.class_;
        return true;
    }
    for (uint32_t i = 0; i < config->gate.classes_count; i++) {
        if (config->class_names[i] != NULL && strcmp(config->class_names[i], name) == 0) {
            *ret_class = (uint8_t)i;
            return true;
        }
    }
    fault(t, "its class is none of the scenario's `classes`");
    return false;
}

/* False: a line cannot be read, and was told. */
static bool read_rows(struct table *t, const struct pst_trace_format *format,
                      struct pst_draft_stream *stream, struct pst_arrival_row *rows,
                      uint64_t *ret_count)
{
    struct pst_prng prng;
    uint64_t count = 0;
    pst_ns before = 0;

    pst_prng_init(&prng, t->r->scenario->seed);
    while (next_line(t)) {
        struct pst_arrival_row *row = &rows[count];
        struct pst_trace_row read;
        const char *why;
        if (pst_trace_line(format, t->line, t->line_len, &read, &why) != PST_OK) {
            fault(t, why);
            return false;
        }
        if (read.arrival < before) {
            fault(t, "it comes before the line above; rows must be in order of time");
            return false;
        }
        before = read.arrival;
        *row = (struct pst_arrival_row){.prompt_tokens = read.prompt_tokens,
                                        .output_tokens = read.output_tokens,
                                        .client = read.client};
        row->at = pst_to_u64((double)read.arrival / stream->speed);
        stream->trace_end = row->at;
        if (!class_of(t, stream, read.class_, &row->class_))
            return false;
        if (stream->thin_ppm == PST_PPM || pst_prng_below(&prng, PST_PPM) < stream->thin_ppm)
            count++;
    }
    *ret_count = count;
    return true;
}

void pst_scenario_load_trace(struct pst_scenario_reader *r, struct pst_draft_stream *stream)
{
    struct pst_trace_format format;
    struct pst_arrival_row *rows;
    struct table t;
    uint64_t count;
    size_t lines;

    if (!open_table(&t, r, pst_tree_at(stream->node, "trace"), stream->trace))
        return;
    if (!read_header(&t, &format))
        goto done;
    if (!count_lines(&t, &lines))
        goto done;
    rows = pst_arena_take(r->arena, lines * sizeof *rows);
    if (rows == NULL || !read_rows(&t, &format, stream, rows, &count))
        goto done;
    if (count == 0)
        fault(&t, stream->thin_ppm == PST_PPM ? "no request is in it"
                                              : "no request is in it, or `thin` keeps none");
    stream->own.rows = rows;
    stream->own.rows_count = count;
done:
    close_table(&t);
}

/* Windows without requests are gaps of the collection: the last known rate goes on. */
static void fill_gaps(struct pst_rate_piece *pieces, uint32_t count)
{
    double known = 0;

    for (uint32_t i = 0; i < count && known == 0; i++)
        known = pieces[i].per_s;
    for (uint32_t i = 0; i < count; i++) {
        if (pieces[i].per_s == 0)
            pieces[i].per_s = known;
        known = pieces[i].per_s;
    }
}

static bool read_rates(struct table *t, const struct pst_trace_format *format, double scale,
                       struct pst_rate_piece *pieces, uint32_t *ret_count)
{
    uint32_t count = 0;

    while (next_line(t)) {
        struct pst_trace_row row;
        const char *why;
        if (pst_trace_line(format, t->line, t->line_len, &row, &why) != PST_OK) {
            fault(t, why);
            return false;
        }
        if (count > 0 && row.arrival <= pieces[count - 1].at) {
            fault(t, "its time is not after that of the line above");
            return false;
        }
        pieces[count] =
            (struct pst_rate_piece){row.arrival, (double)row.rate_micro / MICRO * scale};
        if (pieces[count++].per_s > RATE_MAX) {
            fault(t, "more than a million requests per second");
            return false;
        }
    }
    *ret_count = count;
    return true;
}

void pst_scenario_load_rates(struct pst_scenario_reader *r, struct pst_draft_stream *stream)
{
    const struct pst_tree_node *rate = pst_tree_get(stream->node, "rate");
    struct pst_trace_format format;
    struct pst_rate_piece *pieces;
    struct table t;
    uint32_t count;
    size_t lines;

    if (!open_table(&t, r, pst_tree_at(rate, "file"), stream->rates))
        return;
    if (!read_header(&t, &format))
        goto done;
    if (!pst_trace_has_rates(&format)) {
        fault(&t, "there is no column rate_per_s");
        goto done;
    }
    if (!count_lines(&t, &lines))
        goto done;
    pieces = pst_arena_take(r->arena, lines * sizeof *pieces);
    if (pieces == NULL || !read_rates(&t, &format, stream->rates_scale, pieces, &count))
        goto done;
    if (count == 0)
        fault(&t, "no rate is in it");
    fill_gaps(pieces, count);
    stream->own.pieces = pieces;
    stream->own.pieces_count = count;
done:
    close_table(&t);
}

/* "0.9995,24194". */
static bool read_quantile(struct table *t, double *ret_quantile, double *ret_tokens)
{
    const char *comma = memchr(t->line, ',', t->line_len);
    struct pst_decimal quantile, tokens;

    if (comma == NULL ||
        pst_decimal_read(t->line, (size_t)(comma - t->line), &quantile) != PST_OK ||
        pst_decimal_read(comma + 1, (size_t)(t->line + t->line_len - comma - 1), &tokens) !=
            PST_OK) {
        fault(t, "two numbers are expected, as 0.5,120");
        return false;
    }
    *ret_quantile = pst_decimal_to_double(&quantile);
    *ret_tokens = pst_decimal_to_double(&tokens);
    if (*ret_quantile < 0 || *ret_quantile > 1 || *ret_tokens < 0 || *ret_tokens > 1e9) {
        fault(t, "a quantile of 0 to 1 and a count of tokens are expected");
        return false;
    }
    return true;
}

/* Tables are dense in the middle and denser at the end: brought to even steps, with lines between. */
static bool read_quantiles(struct table *t, uint32_t *values)
{
    double quantile = 0, tokens = 0;
    bool first = true;
    uint32_t step = 0;

    while (next_line(t)) {
        double next, next_tokens;
        if (!read_quantile(t, &next, &next_tokens))
            return false;
        if (first)
            tokens = next_tokens;
        if (!first && (next <= quantile || next_tokens < tokens)) {
            fault(t, "quantiles and their tokens must ascend");
            return false;
        }
        for (; step <= TABLE_STEPS && (double)step / TABLE_STEPS <= next; step++) {
            const double span = next - quantile;
            const double part = span > 0 ? ((double)step / TABLE_STEPS - quantile) / span : 1;
            values[step] = (uint32_t)(tokens + (next_tokens - tokens) * part + 0.5);
        }
        quantile = next;
        tokens = next_tokens;
        first = false;
    }
    for (; step <= TABLE_STEPS; step++)
        values[step] = (uint32_t)tokens;
    if (first)
        fault(t, "no quantile is in it");
    return !first;
}

void pst_scenario_load_table(struct pst_scenario_reader *r, const struct pst_tree_node *node,
                             const char *file, struct pst_quantiles *ret_table)
{
    static const char header[] = "quantile,tokens";
    uint32_t *values = pst_arena_take(r->arena, (TABLE_STEPS + 1) * sizeof *values);
    struct table t;

    if (values == NULL || !open_table(&t, r, pst_tree_at(node, "table"), file))
        return;
    if (!next_line(&t) || t.line_len != sizeof header - 1 ||
        memcmp(t.line, header, t.line_len) != 0)
        fault(&t, "the first line must be quantile,tokens");
    else if (read_quantiles(&t, values))
        *ret_table = (struct pst_quantiles){values, TABLE_STEPS + 1};
    close_table(&t);
}
