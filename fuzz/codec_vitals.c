/* codec_vitals.c - whatever page is taken, its numbers are in range, and cut in its last line it is none. */
#include "codec/vitals.h"

#include "codec/prometheus_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *page = (const char *)data;
    struct pst_prometheus_reader reader = {page, page + size};
    struct pst_prometheus_sample sample;
    struct pst_vitals vitals;
    char value[16];
    int rc;

    while ((rc = pst_prometheus_next(&reader, &sample)) == PST_OK) {
        PST_ASSERT(reader.at > page && reader.at <= page + size && reader.at[-1] == '\n');
        PST_ASSERT(sample.labels_len <= size && sample.name_len <= size);
        (void)pst_prometheus_label_of(&sample, "model", value, sizeof value);
    }
    PST_ASSERT(rc == PST_E_SYNTAX || reader.at == page + size);
    if (pst_vitals_read(page, size, &vitals) == PST_OK) {
        PST_ASSERT(rc == PST_E_UNKNOWN);
        PST_ASSERT(vitals.kv_ppm <= PST_PPM || vitals.kv_ppm == UINT32_MAX);
        PST_ASSERT(size < 2 || page[size - 2] == '\n' ||
                   pst_vitals_read(page, size - 1, &vitals) == PST_E_SYNTAX);
    }
    return 0;
}
