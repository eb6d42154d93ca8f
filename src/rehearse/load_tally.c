#include "rehearse/load_tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pst_load_outcome_name(enum pst_load_outcome outcome)
{
    static const char *const names[PST_LOAD_OUTCOME_COUNT] = {
        [PST_LOAD_COMPLETED] = "completed",   [PST_LOAD_REFUSED] = "refused",
        [PST_LOAD_EXPIRED] = "expired",       [PST_LOAD_FAILED] = "failed",
        [PST_LOAD_UNFINISHED] = "unfinished",
    };

    return names[outcome];
}

struct pst_load_class *pst_load_tally_class(struct pst_load_tally *tally, const char *name)
{
    if (*name == '\0')
        name = "-";
    for (size_t i = 0; i < tally->classes_count; i++)
        if (strcmp(tally->classes[i].name, name) == 0)
            return &tally->classes[i];
    return NULL;
}

int pst_load_tally_init(struct pst_load_tally *tally, const struct pst_load_traffic *mix,
                        size_t mix_count)
{
    *tally = (struct pst_load_tally){0};
    tally->classes = calloc(mix_count, sizeof *tally->classes);
    if (tally->classes == NULL)
        return PST_E_NOMEM;
    for (size_t i = 0; i < mix_count; i++) {
        if (pst_load_tally_class(tally, mix[i].class_) != NULL)
            continue;
        snprintf(tally->classes[tally->classes_count].name, PST_LOAD_NAME_MAX, "%s",
                 mix[i].class_[0] == '\0' ? "-" : mix[i].class_);
        tally->classes_count++;
    }
    return PST_OK;
}

void pst_load_tally_done(struct pst_load_tally *tally)
{
    free(tally->classes);
    *tally = (struct pst_load_tally){0};
}
