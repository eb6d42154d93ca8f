/* rates.c - see rates.h. */
#include "cmd/rates.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/trace.h"

#define MICRO 1e6

struct reader {
    FILE *file;
    char *line;
    size_t line_size;
    struct pst_trace_format format;
    struct pst_rates rates;
    uint32_t size;
    uint64_t rows;
    pst_ns first, last; /* of the rows so far */
    struct pst_rates_problem problem;
};

static int wrong(struct reader *r, const char *why)
{
    r->problem.why = why;
    return PST_E_SYNTAX;
}

/* PST_E_AGAIN: there is none. */
static int next_line(struct reader *r, size_t *ret_len)
{
    ssize_t len;

    do {
        errno = 0;
        len = getline(&r->line, &r->line_size, r->file);
        if (len < 0 && errno == ENOMEM)
            return PST_E_NOMEM;
        if (len < 0 && ferror(r->file)) {
            r->problem.why = strerror(errno);
            return PST_E_SYSTEM;
        }
        if (len < 0)
            return PST_E_AGAIN;
        r->problem.line++;
        while (len > 0 && (r->line[len - 1] == '\n' || r->line[len - 1] == '\r'))
            len--;
    } while (len == 0);
    *ret_len = (size_t)len;
    return PST_OK;
}

static int read_header(struct reader *r)
{
    size_t len;
    int rc = next_line(r, &len);

    if (rc == PST_E_AGAIN)
        return wrong(r, "the file is empty");
    if (rc == PST_OK)
        rc = pst_trace_header(&r->format, r->line, len, &r->problem.why);
    if (rc != PST_OK)
        return rc;
    if (!pst_trace_has_times(&r->format) || !pst_trace_has_rates(&r->format))
        return wrong(r, "the columns t_s and rate_per_s are expected");
    return PST_OK;
}

static int put(struct reader *r, uint64_t step, double rate)
{
    if (step >= PST_RATES_STEPS_MAX)
        return wrong(r, "too far from the first row for steps of this length");
    if (step >= r->size) {
        const uint32_t size = (uint32_t)step + (uint32_t)step / 2 + 1024;
        double *at = reallocarray(r->rates.at, size, sizeof *at);

        if (at == NULL)
            return PST_E_NOMEM;
        r->rates.at = at;
        r->size = size;
    }
    while (r->rates.count < step)
        r->rates.at[r->rates.count++] = -1; /* rows left out */
    r->rates.at[r->rates.count++] = rate;
    return PST_OK;
}

/* The first two rows say how long a step is. */
static int take_row(struct reader *r, const struct pst_trace_row *row)
{
    const double rate = row->rate_micro > 0 ? (double)row->rate_micro / MICRO : -1;
    pst_ns since;

    if (r->rows == 0)
        r->first = row->arrival;
    else if (row->arrival <= r->last)
        return wrong(r, "a row is not later than the one before it");
    if (r->rows == 1)
        r->rates.step = row->arrival - r->first;
    r->rows++;
    r->last = row->arrival;
    since = row->arrival - r->first;
    if (since == 0)
        return put(r, 0, rate);
    if (since % r->rates.step != 0)
        return wrong(r, "the rows are not a whole number of steps apart");
    return put(r, since / r->rates.step, rate);
}

static int read_rows(struct reader *r)
{
    struct pst_trace_row row;
    size_t len;
    int rc;

    while ((rc = next_line(r, &len)) == PST_OK) {
        rc = pst_trace_line(&r->format, r->line, len, &row, &r->problem.why);
        if (rc == PST_OK)
            rc = take_row(r, &row);
        if (rc != PST_OK)
            return rc;
    }
    if (rc != PST_E_AGAIN)
        return rc;
    return r->rows < 2 ? wrong(r, "at least two rows are needed") : PST_OK;
}

int pst_rates_read(const char *path, struct pst_rates *ret_rates,
                   struct pst_rates_problem *ret_problem)
{
    struct reader r = {.file = fopen(path, "re")};
    int rc;

    if (r.file == NULL) {
        *ret_problem = (struct pst_rates_problem){.why = strerror(errno)};
        return PST_E_SYSTEM;
    }
    rc = read_header(&r);
    if (rc == PST_OK)
        rc = read_rows(&r);
    if (rc == PST_E_NOMEM)
        r.problem.why = "out of memory";
    free(r.line);
    fclose(r.file);
    if (rc == PST_OK) {
        *ret_rates = r.rates;
    } else {
        *ret_problem = r.problem;
        pst_rates_done(&r.rates);
    }
    return rc;
}

void pst_rates_done(struct pst_rates *rates)
{
    free(rates->at);
    *rates = (struct pst_rates){0};
}
