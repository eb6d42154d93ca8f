/* registry.c - see registry.h. */
#include "drive/registry.h"

#include <stdlib.h>
#include <string.h>

#define INDEX_RESTS (600 * PST_S) /* before an index serves another replica */

void pst_registry_init(struct pst_registry *registry)
{
    memset(registry, 0, sizeof *registry);
}

void pst_registry_done(struct pst_registry *registry)
{
    for (uint32_t i = 0; i < registry->pools_count; i++)
        free(registry->pools[i]);
    for (uint32_t i = 0; i < registry->classes_count; i++)
        free(registry->classes[i]);
    for (uint32_t i = 0; i < PST_REPLICAS_MAX; i++) {
        free(registry->replicas[i].name);
        free(registry->replicas[i].url);
    }
    memset(registry, 0, sizeof *registry);
}

int pst_registry_pool(struct pst_registry *registry, const char *name, uint16_t *ret_pool)
{
    uint32_t i = 0;

    while (i < registry->pools_count && strcmp(registry->pools[i], name) != 0)
        i++;
    if (i == PST_POOLS_MAX)
        return PST_E_FULL;
    if (i == registry->pools_count) {
        registry->pools[i] = strdup(name);
        if (registry->pools[i] == NULL)
            return PST_E_NOMEM;
        registry->pools_count++;
    }
    *ret_pool = (uint16_t)i;
    return PST_OK;
}

int pst_registry_class(struct pst_registry *registry, const char *name)
{
    if (registry->classes_count == PST_CLASSES_MAX)
        return PST_E_FULL;
    registry->classes[registry->classes_count] = strdup(name);
    if (registry->classes[registry->classes_count] == NULL)
        return PST_E_NOMEM;
    registry->classes_count++;
    return PST_OK;
}

/* A replica that comes back is the one it was: its index and its metrics go on. */
static bool find_same(const struct pst_registry *registry, uint16_t pool, const char *name,
                      uint16_t *ret_replica)
{
    for (uint16_t i = 0; i < PST_REPLICAS_MAX; i++) {
        const struct pst_registry_replica *replica = &registry->replicas[i];

        if (replica->name != NULL && replica->pool == pool && strcmp(replica->name, name) == 0) {
            *ret_replica = i;
            return true;
        }
    }
    return false;
}

bool pst_registry_replica_is_named(const struct pst_registry *registry, uint16_t replica,
                                   pst_ns now)
{
    const struct pst_registry_replica *named = &registry->replicas[replica];

    return named->name != NULL && (named->present || now < named->left + INDEX_RESTS);
}

/* One that rests no more, else the one that has rested longest. */
static bool find_free(const struct pst_registry *registry, pst_ns now, uint16_t *ret_replica)
{
    const struct pst_registry_replica *best = NULL;

    for (uint16_t i = 0; i < PST_REPLICAS_MAX; i++) {
        const struct pst_registry_replica *replica = &registry->replicas[i];

        if (!pst_registry_replica_is_named(registry, i, now)) {
            *ret_replica = i;
            return true;
        }
        if (!replica->present && (best == NULL || replica->left < best->left)) {
            best = replica;
            *ret_replica = i;
        }
    }
    return best != NULL;
}

int pst_registry_replica_add(struct pst_registry *registry, uint16_t pool, const char *name,
                             pst_ns now, uint16_t *ret_replica)
{
    struct pst_registry_replica *replica;
    uint16_t index;
    char *copy;

    PST_ASSERT(pool < registry->pools_count);
    if (!find_same(registry, pool, name, &index)) {
        if (!find_free(registry, now, &index))
            return PST_E_FULL;
        copy = strdup(name);
        if (copy == NULL)
            return PST_E_NOMEM;
        replica = &registry->replicas[index];
        free(replica->name);
        free(replica->url);
        replica->name = copy;
        replica->url = NULL;
    }
    registry->replicas[index].pool = pool;
    registry->replicas[index].present = true;
    *ret_replica = index;
    return PST_OK;
}

int pst_registry_replica_address(struct pst_registry *registry, uint16_t replica, const char *url)
{
    char *copy = strdup(url);

    if (copy == NULL)
        return PST_E_NOMEM;
    free(registry->replicas[replica].url);
    registry->replicas[replica].url = copy;
    return PST_OK;
}

void pst_registry_replica_remove(struct pst_registry *registry, uint16_t replica, pst_ns now)
{
    PST_ASSERT(replica < PST_REPLICAS_MAX && registry->replicas[replica].present);
    registry->replicas[replica].present = false;
    registry->replicas[replica].left = now;
}

bool pst_registry_replica_find(const struct pst_registry *registry, const char *name,
                               uint16_t *ret_replica)
{
    for (uint16_t i = 0; i < PST_REPLICAS_MAX; i++) {
        const struct pst_registry_replica *replica = &registry->replicas[i];

        if (replica->present && (strcmp(replica->name, name) == 0 ||
                                 (replica->url != NULL && strcmp(replica->url, name) == 0))) {
            *ret_replica = i;
            return true;
        }
    }
    return false;
}
