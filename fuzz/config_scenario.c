/* config_scenario.c - any bytes are a scenario, or a list of problems; nothing else. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "config/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct pst_scenario *s)
{
    PST_ASSERT(s->gate.classes_count >= 1 && s->gate.pools_count >= 1);
    PST_ASSERT(s->scaler.pools_count == s->gate.pools_count);
    PST_ASSERT(s->streams_count >= 1 && s->policies_count >= 1);
    PST_ASSERT(s->horizon > 0 && s->cut < s->horizon);
    for (uint32_t i = 0; i < s->streams_count; i++) {
        const struct pst_stream *stream = &s->streams[i];
        PST_ASSERT(stream->pool < s->gate.pools_count && stream->sequences >= 1);
        PST_ASSERT(stream->class_ < s->gate.classes_count);
        for (uint32_t j = 1; j < stream->pieces_count; j++)
            PST_ASSERT(stream->pieces[j].at > stream->pieces[j - 1].at);
    }
    for (uint32_t i = 0; i < s->faults_count; i++)
        PST_ASSERT(s->faults[i].pool < s->gate.pools_count &&
                   s->faults[i].until >= s->faults[i].at);
    for (uint32_t i = 0; i < s->expectations_count; i++) {
        const struct pst_expectation *e = &s->expectations[i];
        PST_ASSERT(e->policy < s->policies_count && e->relative_to != e->policy);
        PST_ASSERT(e->relative_to == UINT32_MAX || e->relative_to < s->policies_count);
        PST_ASSERT(e->class_ == PST_CLASS_DRAWN || e->class_ < s->gate.classes_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pst_scenario_file *file = NULL;
    struct pst_problems problems;
    const int rc =
        pst_scenario_parse("/nonexistent/fuzz.yaml", (const char *)data, size, &file, &problems);

    PST_ASSERT((rc == PST_OK) == (file != NULL));
    PST_ASSERT(rc != PST_E_INVALID || problems.errors > 0);
    PST_ASSERT(rc != PST_OK || problems.errors == 0);
    for (size_t i = 0; i < problems.count; i++)
        PST_ASSERT(problems.item[i].message[0] != '\0');
    (void)pst_scenario_is((const char *)data, size);
    if (file != NULL)
        check(pst_scenario_of(file));
    pst_problems_done(&problems);
    pst_scenario_free(file);
    return 0;
}
