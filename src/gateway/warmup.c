/*
 * warmup.c - the first requests of a replica are ours: its caches and kernels are built by the pool's
 * warm-up prompts, one by one, before a client's request can meet them cold.
 *
 *   model's CHECK answered --> prompt 1 --> prompt 2 --> … --> the CHECK is OK
 *                                  \-- fails: the CHECK has failed; the next good one begins again
 *
 * A warm-up may take longer than the gate waits for a CHECK: it goes on, and the next CHECK gets its end.
 */
#include "gateway/inside.h"

static void next(struct pst_gateway_replica *replica);

static const struct pst_config_warmup *warmup_of(const struct pst_gateway_replica *replica)
{
    return &replica->gateway->config->pools[replica->pool].warmup;
}

bool pst_warmup_is_done(const struct pst_gateway_replica *replica)
{
    return replica->warmed >= warmup_of(replica)->prompts_count;
}

static void end(struct pst_gateway_replica *replica, enum pst_probe_result result)
{
    bool waits = replica->check_waits;

    replica->check_waits = false;
    if (result != PST_PROBE_OK)
        replica->warmed = 0;
    if (waits)
        pst_probe_tell(replica, PST_PROBE_MODEL, result);
}

static void answered(void *user, const struct pst_fetch_result *result)
{
    struct pst_gateway_replica *replica = user;

    replica->warmup = NULL;
    if (result->status < 200 || result->status > 299) {
        pst_probe_say_failed(replica, "its warm-up", result);
        end(replica, PST_PROBE_FAILED);
        return;
    }
    replica->warmed++;
    if (pst_warmup_is_done(replica))
        end(replica, PST_PROBE_OK);
    else
        next(replica);
}

static void next(struct pst_gateway_replica *replica)
{
    const struct pst_config_warmup *warmup = warmup_of(replica);
    const struct pst_question question = {
        .kind = PST_PROBE_MODEL,
        .prompt = warmup->prompts[replica->warmed],
        .tokens_max = warmup->max_tokens,
        .timeout = warmup->timeout,
        .done = answered,
    };

    if (pst_question_ask(replica, &question, &replica->warmup) != PST_OK)
        end(replica, PST_PROBE_FAILED);
}

void pst_warmup_start(struct pst_gateway_replica *replica)
{
    PST_ASSERT(replica->warmup == NULL);
    replica->warmed = 0;
    replica->check_waits = true;
    next(replica);
}

void pst_warmup_forget(struct pst_gateway_replica *replica)
{
    if (replica->warmup != NULL)
        pst_fetch_cancel(replica->warmup);
    replica->warmup = NULL;
    replica->warmed = 0;
    replica->check_waits = false;
}
