/*
 * trigger.h - what a KEDA trigger's metadata may say to the scaler, and what KEDA calls the metric.
 *
 *   pool       its name; may be left out where there is only one
 *   metric     desired | backlog-seconds | weighted-depth | p99-wait; the pool's `export.mode`
 *   band       exact | overshoot | hold; the pool's `export.band`
 *   tolerance  of the HPA, "0.1" or "10%"; the pool's `export.tolerance`
 *
 * Why: a typing error in a manifest must be told at once and by name, not scale the wrong pool. The scaler
 * refuses it when KEDA calls, `penstock check` names it before: both by what stands here. KEDA sends its own
 * keys along; those are let pass. `…FromEnv` is its way to read a value from the environment.
 *
 * Guarantee: pure. Depends on the configuration alone. A name is stable, in lower case, and made of
 * letters, digits and '-'.
 */
#ifndef PST_CONFIG_TRIGGER_H
#define PST_CONFIG_TRIGGER_H

#include "config/config.h"
#include "core/export.h"

#define PST_TRIGGER_WHY_MAX  320
#define PST_TRIGGER_NAME_MAX 160

enum pst_trigger_key {
    PST_TRIGGER_POOL,
    PST_TRIGGER_METRIC,
    PST_TRIGGER_BAND,
    PST_TRIGGER_TOLERANCE,
    PST_TRIGGER_KEDAS, /* KEDA's own */
    PST_TRIGGER_KEY_COUNT
};

bool pst_trigger_is_from_env(const char *key);

/* These are PST_OK, or PST_E_INVALID with the key and what is wrong with it in `why`. */
int pst_trigger_key(const char *key, enum pst_trigger_key *ret_key,
                    char why[static PST_TRIGGER_WHY_MAX]);
/* NULL: not given. */
int pst_trigger_pool(const struct pst_config *config, const char *value, uint16_t *ret_pool,
                     char why[static PST_TRIGGER_WHY_MAX]);
/* Of the keys that change `export_`; the others do not. */
int pst_trigger_value(enum pst_trigger_key key, const char *value,
                      struct pst_export_config *export_, char why[static PST_TRIGGER_WHY_MAX]);

/* "penstock-<pool>-<metric>" */
void pst_trigger_name(const char *pool, enum pst_export_mode mode,
                      char name[static PST_TRIGGER_NAME_MAX]);
/* Is it what KEDA's HPA calls that, "s<N>-penstock-<pool>-<metric>"? NULL: of any pool. */
bool pst_trigger_is_name(const char *metric, const char *pool);

#endif
