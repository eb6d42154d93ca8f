/*
 * probe.c - asking a replica whether it can answer: CHECK in, PROBE out.
 *
 * An open port and a cheerful /health do not answer prompts, so the model is asked too; and where a pool
 * has a warm-up, its first good answer begins that, and the gate hears of the model when it has ended.
 */
#include <stdlib.h>

#include "base/log.h"
#include "gateway/inside.h"

static bool lists_model(const struct pst_gateway_replica *replica, struct pst_slice body)
{
    struct pst_slice model = pst_question_model(&replica->gateway->config->pools[replica->pool]);

    return memmem(body.at, body.len, model.at, model.len) != NULL;
}

static enum pst_probe_result judge(const struct pst_gateway_replica *replica,
                                   const struct pst_fetch_result *result)
{
    const struct pst_config_pool *pool = &replica->gateway->config->pools[replica->pool];

    if (result->timed_out)
        return PST_PROBE_TIMEOUT;
    if (result->how == PST_CALL_REFUSED)
        return PST_PROBE_LOADING;
    if (result->status == 0)
        return PST_PROBE_FAILED;
    if (pst_answer_is_loading(result->status, result->body.at, result->body.len))
        return PST_PROBE_LOADING;
    if (result->status < 200 || result->status > 299)
        return PST_PROBE_FAILED;
    if (replica->probe_kind == PST_PROBE_MODEL && pool->ready == PST_READY_LISTED &&
        !lists_model(replica, result->body))
        return PST_PROBE_FAILED;
    return PST_PROBE_OK;
}

void pst_probe_tell(struct pst_gateway_replica *replica, enum pst_probe kind,
                    enum pst_probe_result result)
{
    struct pst_gateway *gateway = replica->gateway;
    struct pst_gate_event event = {.kind = PST_EVENT_PROBE};

    if (kind == PST_PROBE_MODEL && result == PST_PROBE_OK)
        replica->check_fails = false;
    event.u.probe.replica = (uint16_t)(replica - gateway->replicas);
    event.u.probe.probe = (uint8_t)kind;
    event.u.probe.result = (uint8_t)result;
    pst_gateway_event(gateway, &event);
}

void pst_probe_say_failed(struct pst_gateway_replica *replica, const char *what,
                          const struct pst_fetch_result *result)
{
    const struct pst_gateway *gateway = replica->gateway;
    const char *name = gateway->registry->replicas[replica - gateway->replicas].name;

    if (replica->check_fails)
        return;
    replica->check_fails = true;
    if (result->timed_out)
        pst_say(PST_LOG_WARN, "replica %s: %s: no answer in time", name, what);
    else if (result->status == 0)
        pst_say(PST_LOG_WARN, "replica %s: %s: no whole answer", name, what);
    else if (result->status > 299)
        pst_say(PST_LOG_WARN, "replica %s: %s: status %d", name, what, (int)result->status);
    else
        pst_say(PST_LOG_WARN, "replica %s: %s: the model is not in its list", name, what);
}

static void answered(void *user, const struct pst_fetch_result *fetched)
{
    struct pst_gateway_replica *replica = user;
    enum pst_probe_result result = judge(replica, fetched);
    bool refused = !fetched->timed_out && fetched->how == PST_CALL_REFUSED;
    struct pst_gateway *gateway = replica->gateway;

    replica->probe = NULL;
    if (result != PST_PROBE_TIMEOUT &&
        pst_replicas_another(gateway, (uint16_t)(replica - gateway->replicas), refused))
        return; /* it is asked anew */
    if (result == PST_PROBE_LOADING)
        pst_warmup_forget(replica);
    else if (result != PST_PROBE_OK)
        pst_probe_say_failed(
            replica, replica->probe_kind == PST_PROBE_MODEL ? "its model's check" : "its health",
            fetched);
    if (replica->probe_kind == PST_PROBE_MODEL && result == PST_PROBE_OK &&
        !pst_warmup_is_done(replica))
        pst_warmup_start(replica);
    else
        pst_probe_tell(replica, replica->probe_kind, result);
}

void pst_probe_start(struct pst_gateway *gateway, uint16_t index, enum pst_probe kind)
{
    struct pst_gateway_replica *replica = &gateway->replicas[index];
    const struct pst_question question = {
        .kind = kind,
        .timeout = gateway->config->gate.pools[replica->pool].probe_timeout,
        .done = answered,
    };

    if (replica->upstream == NULL)
        return; /* no address yet: nobody answers */
    pst_probe_cancel(replica);
    replica->check_waits = kind == PST_PROBE_MODEL && replica->warmup != NULL;
    if (replica->check_waits)
        return;
    replica->probe_kind = kind;
    if (pst_question_ask(replica, &question, &replica->probe) != PST_OK)
        pst_probe_tell(replica, kind, PST_PROBE_FAILED);
}

void pst_probe_cancel(struct pst_gateway_replica *replica)
{
    if (replica->probe != NULL)
        pst_fetch_cancel(replica->probe);
    replica->probe = NULL;
}
