/* prometheus.c - see prometheus.h. */
#include <string.h>

#include "codec/prometheus.h"

enum { DIGITS_MAX = 20 }; /* of a uint64_t */

void pst_prometheus_init(struct pst_prometheus_page *page, char *buffer, size_t size)
{
    *page = (struct pst_prometheus_page){.at = buffer, .size = size};
}

static void put(struct pst_prometheus_page *page, const char *text, size_t len)
{
    if (page->needed < page->size) {
        size_t room = page->size - page->needed;

        memcpy(page->at + page->needed, text, len < room ? len : room);
    }
    page->needed += len;
}

static void put_text(struct pst_prometheus_page *page, const char *text)
{
    put(page, text, strlen(text));
}

/* Backslash and line feed, and in label values the quote, are written with a backslash. */
static void put_escaped(struct pst_prometheus_page *page, const char *text, const char *special)
{
    for (;;) {
        size_t plain = strcspn(text, special);

        put(page, text, plain);
        text += plain;
        if (*text == '\0')
            return;
        put_text(page, *text == '\n' ? "\\n" : *text == '"' ? "\\\"" : "\\\\");
        text++;
    }
}

/* With at least `least` digits. */
static void put_number(struct pst_prometheus_page *page, uint64_t value, size_t least)
{
    char digits[DIGITS_MAX];
    size_t len = 0;

    do {
        digits[DIGITS_MAX - ++len] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0 || len < least);
    put(page, digits + DIGITS_MAX - len, len);
}

static void put_fixed(struct pst_prometheus_page *page, uint64_t value, uint8_t decimals)
{
    uint64_t unit = 1, fraction;

    PST_ASSERT(decimals < DIGITS_MAX);
    for (uint8_t i = 0; i < decimals; i++)
        unit *= 10;
    put_number(page, value / unit, 1);
    fraction = value % unit;
    if (fraction == 0)
        return;
    while (fraction % 10 == 0) {
        fraction /= 10;
        decimals--;
    }
    put_text(page, ".");
    put_number(page, fraction, decimals);
}

static void put_label(struct pst_prometheus_page *page, const char *name, const char *value,
                      bool is_first)
{
    put_text(page, is_first ? "{" : ",");
    put_text(page, name);
    put_text(page, "=\"");
    put_escaped(page, value, "\\\n\"");
    put_text(page, "\"");
}

/* The labels, left open for one more. */
static void put_labels(struct pst_prometheus_page *page, struct pst_prometheus_labels labels)
{
    for (size_t i = 0; i < labels.count; i++)
        put_label(page, labels.label[i].name, labels.label[i].value, i == 0);
}

static void begin_sample(struct pst_prometheus_page *page, const char *name, const char *suffix,
                         struct pst_prometheus_labels labels)
{
    put_text(page, name);
    put_text(page, suffix);
    put_labels(page, labels);
    put_text(page, labels.count == 0 ? " " : "} ");
}

void pst_prometheus_family(struct pst_prometheus_page *page, const char *name,
                           enum pst_prometheus_type type, const char *help)
{
    static const char *const types[PST_PROMETHEUS_TYPE_COUNT] = {
        [PST_PROMETHEUS_COUNTER] = "counter",
        [PST_PROMETHEUS_GAUGE] = "gauge",
        [PST_PROMETHEUS_HISTOGRAM] = "histogram",
        [PST_PROMETHEUS_UNTYPED] = "untyped",
    };

    put_text(page, "# HELP ");
    put_text(page, name);
    put_text(page, " ");
    put_escaped(page, help, "\\\n");
    put_text(page, "\n# TYPE ");
    put_text(page, name);
    put_text(page, " ");
    put_text(page, types[type]);
    put_text(page, "\n");
}

void pst_prometheus_integer(struct pst_prometheus_page *page, const char *name,
                            struct pst_prometheus_labels labels, uint64_t value)
{
    begin_sample(page, name, "", labels);
    put_number(page, value, 1);
    put_text(page, "\n");
}

void pst_prometheus_fixed(struct pst_prometheus_page *page, const char *name,
                          struct pst_prometheus_labels labels, int64_t value, uint8_t decimals)
{
    begin_sample(page, name, "", labels);
    if (value < 0)
        put_text(page, "-");
    put_fixed(page, value < 0 ? -(uint64_t)value : (uint64_t)value, decimals);
    put_text(page, "\n");
}

void pst_prometheus_unknown(struct pst_prometheus_page *page, const char *name,
                            struct pst_prometheus_labels labels)
{
    begin_sample(page, name, "", labels);
    put_text(page, "NaN\n");
}

static void put_bucket(struct pst_prometheus_page *page, const char *name,
                       struct pst_prometheus_labels labels,
                       const struct pst_prometheus_histogram *histogram, size_t i, uint64_t count)
{
    put_text(page, name);
    put_text(page, "_bucket");
    put_labels(page, labels);
    put_text(page, labels.count == 0 ? "{le=\"" : ",le=\"");
    if (i < histogram->bounds_count)
        put_fixed(page, histogram->bounds[i], histogram->decimals);
    else
        put_text(page, "+Inf");
    put_text(page, "\"} ");
    put_number(page, count, 1);
    put_text(page, "\n");
}

void pst_prometheus_histogram(struct pst_prometheus_page *page, const char *name,
                              struct pst_prometheus_labels labels,
                              const struct pst_prometheus_histogram *histogram)
{
    uint64_t count = 0;

    for (size_t i = 0; i <= histogram->bounds_count; i++) {
        count += histogram->counts[i];
        put_bucket(page, name, labels, histogram, i, count);
    }
    begin_sample(page, name, "_sum", labels);
    put_fixed(page, histogram->sum, histogram->decimals);
    put_text(page, "\n");
    begin_sample(page, name, "_count", labels);
    put_number(page, count, 1);
    put_text(page, "\n");
}
