/*
 * codec_tzif.c - whatever zone is taken, both directions of time agree, and end.
 *
 * The file as it is; or, where it begins with '=', a rule alone.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/tzif.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pst_tzif *zone = calloc(1, sizeof *zone);
    int rc;

    if (zone == NULL)
        return 0;
    if (size > 0 && data[0] == '=')
        rc = pst_tzif_rule((const char *)data + 1, size - 1, zone);
    else
        rc = pst_tzif_parse(data, size, zone);
    for (int64_t civil = -2000000000; rc == PST_OK && civil < 5000000000; civil += 98765432) {
        const int64_t utc = pst_tzif_utc(zone, civil);

        PST_ASSERT(pst_tzif_civil(zone, utc) >= civil);
        PST_ASSERT(pst_tzif_civil(zone, utc - 1) < civil);
        PST_ASSERT(pst_tzif_next_change(zone, utc) > utc);
    }
    free(zone);
    return 0;
}
