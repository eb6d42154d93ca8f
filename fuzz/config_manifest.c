/* config_manifest.c - whatever stands in a manifest is judged, or refused with a reason. */
#include "config/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pst_manifests *manifests;
    struct pst_manifests_count count;
    struct pst_problems problems = {0};
    size_t file = SIZE_MAX;
    int rc;

    if (pst_manifests_new(&manifests) != PST_OK)
        return 0;
    rc = pst_manifests_add(manifests, (const char *)data, size, &problems, &file);
    PST_ASSERT(rc == PST_OK ? problems.errors == 0 && file == 0
                            : problems.errors > 0 || rc == PST_E_NOMEM || rc == PST_E_FULL);
    if (file != SIZE_MAX) {
        pst_manifests_judge(manifests, file, &problems, &count);
        PST_ASSERT(count.judged <= count.objects);
    }
    pst_problems_done(&problems);
    pst_manifests_free(manifests);
    return 0;
}
