/*
 * A scraped page: samples are views into it, and a label's value written again is read back the same.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/prometheus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const char *value)
{
    const struct pst_prometheus_label label = {"le", value};
    struct pst_prometheus_page page;
    struct pst_prometheus_sample sample;
    char line[512], again[256];

    pst_prometheus_init(&page, line, sizeof line);
    pst_prometheus_fixed(&page, "x", (struct pst_prometheus_labels){&label, 1}, -15, 1);
    if (page.needed > sizeof line)
        abort();
    if (pst_prometheus_read_line(line, page.needed, &sample) != PST_PROMETHEUS_LINE_SAMPLE ||
        sample.value != -1.5)
        abort();
    if (pst_prometheus_label(&sample, "le", again, sizeof again) != PST_OK ||
        strcmp(again, value) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *start = (const char *)data, *text = start;
    struct pst_prometheus_sample sample;
    size_t len = size;
    uint32_t wrong = 0;

    while (pst_prometheus_read(&text, &len, &sample, &wrong)) {
        char value[200];

        if (sample.name < start || sample.name + sample.name_len > text || sample.name_len == 0)
            abort();
        if (sample.labels < start || sample.labels + sample.labels_len > text)
            abort();
        if (pst_prometheus_label(&sample, "le", value, sizeof value) == PST_OK)
            check_round_trip(value);
    }
    if (len != 0 || text != start + size)
        abort();
    return 0;
}
