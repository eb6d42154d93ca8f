/*
 * keda_ask.h - what a trigger's metadata asks for: which pool, as which number.
 *
 * Why: whoever calls is told at once what is wrong with what it says. The keys and their values are
 * trigger.h's.
 *
 * Guarantee: pure. Depends on the configuration alone.
 */
#ifndef PST_SCALE_KEDA_ASK_H
#define PST_SCALE_KEDA_ASK_H

#include <externalscaler.pb-c.h>

#include "config/trigger.h"

#define PST_KEDA_WHY_MAX  PST_TRIGGER_WHY_MAX
#define PST_KEDA_NAME_MAX PST_TRIGGER_NAME_MAX

struct pst_keda_ask {
    uint16_t pool;
    struct pst_export_config export_;
};

/* PST_OK, or PST_E_INVALID with the key and what is wrong with it in `why`. */
int pst_keda_ask_read(const struct pst_config *config, const Externalscaler__ScaledObjectRef *ref,
                      struct pst_keda_ask *ret_ask, char why[static PST_KEDA_WHY_MAX]);
/* "penstock-<pool>-<metric>" */
void pst_keda_ask_name(const struct pst_config *config, const struct pst_keda_ask *ask,
                       char name[static PST_KEDA_NAME_MAX]);

#endif
