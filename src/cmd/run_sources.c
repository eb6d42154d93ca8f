/* run_sources.c - the sources that need no credentials live in the gateway: DNS; see run.h. */
#include "base/log.h"
#include "cmd/run.h"

static uint32_t next_key(void *user)
{
    return pst_run_found_key(user);
}

static void found(void *user, const struct pst_wire_replica *replica)
{
    pst_run_found(user, replica);
}

static void event(void *user, uint32_t key, const struct pst_scaler_event *event)
{
    pst_run_found_event(user, key, event);
}

static void synced(void *user, uint16_t pool)
{
    const struct pst_scaler_event event = {.kind = PST_SCALER_SYNCED, .pool = pool};

    pst_run_found_event(user, 0, &event);
}

/* Sources that were there read the new configuration; those that are new begin. */
int pst_run_sources_reload(struct pst_run *run, const struct pst_config *config)
{
    struct pst_run_found *of = &run->found;

    of->host = (struct pst_source_host){
        .loop = run->loop,
        .config = config,
        .user = run,
        .next_key = next_key,
        .found = found,
        .event = event,
        .synced = synced,
    };
    for (uint16_t p = 0; p < config->pools_count; p++) {
        if (of->sources[p] != NULL)
            of->sources[p]->kind->reload(of->sources[p]);
        else if (config->pools[p].dns.name != NULL) {
            int rc = pst_dns_new(&of->host, p, &of->sources[p]);

            if (rc != PST_OK)
                return rc;
        }
    }
    return PST_OK;
}

void pst_run_sources_free(struct pst_run *run)
{
    for (uint16_t p = 0; p < PST_POOLS_MAX; p++) {
        struct pst_source *source = run->found.sources[p];

        if (source != NULL)
            source->kind->free(source);
        run->found.sources[p] = NULL;
    }
}
