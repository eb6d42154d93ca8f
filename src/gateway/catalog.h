/*
 * catalog.h - model names to pools: what clients may ask for.
 *
 * Guarantee: lookups are by bisection over a table built at load; names point into the configuration.
 */
#ifndef PST_GATEWAY_CATALOG_H
#define PST_GATEWAY_CATALOG_H

#include "base/slice.h"
#include "config/config.h"

struct pst_catalog_entry {
    const struct pst_config_model *model;
    uint16_t pool;
    uint16_t number; /* its place in the catalog: names a model in flow keys */
};

struct pst_catalog {
    struct pst_catalog_entry *entries; /* by name */
    size_t count;
};

int pst_catalog_build(const struct pst_config *config, struct pst_catalog *ret_catalog);
void pst_catalog_done(struct pst_catalog *catalog);
/* NULL: no such model. */
const struct pst_catalog_entry *pst_catalog_find(const struct pst_catalog *catalog,
                                                 struct pst_slice name);

/*
 * The JSON of GET /v1/models (entry NULL) or of one model, into a new buffer that the caller frees.
 * created: Unix seconds.
 */
int pst_catalog_render(const struct pst_catalog *catalog, const struct pst_catalog_entry *entry,
                       uint64_t created, char **ret_json, size_t *ret_len);

#endif
