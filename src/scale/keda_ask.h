/*
 * keda_ask.h - what a trigger's metadata asks for: which pool, as which number.
 *
 *   pool       its name; may be left out where there is only one
 *   metric     desired | backlog-seconds | weighted-depth | p99-wait; the pool's `export.mode`
 *   band       exact | overshoot | hold; the pool's `export.band`
 *   tolerance  of the HPA, "0.1" or "10%"; the pool's `export.tolerance`
 *
 * Why: a typing error in a manifest must be told at once and by name, not scale the wrong pool. KEDA sends
 * its own keys along; those are let pass. `…FromEnv` is its way to read a value from the environment.
 *
 * Guarantee: pure. Depends on the configuration alone. A name is stable, in lower case, and made of
 * letters, digits and '-'.
 */
#ifndef PST_SCALE_KEDA_ASK_H
#define PST_SCALE_KEDA_ASK_H

#include <externalscaler.pb-c.h>

#include "config/config.h"
#include "core/export.h"

#define PST_KEDA_WHY_MAX  320
#define PST_KEDA_NAME_MAX 160

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
