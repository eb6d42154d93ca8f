/*
 * probe.c - asking a replica whether it can answer: CHECK in, PROBE out.
 *
 * Health is a GET of the pool's ready path. The model probe is a one-token completion (or an embedding,
 * or a look at the list of models): an open port and a cheerful /health do not answer prompts.
 */
#include <stdlib.h>

#include "gateway/inside.h"
#include "gateway/writer.h"

#define BODY_MAX (256 * 1024) /* of a list of models */

static struct pst_slice model_of(const struct pst_config_pool *pool)
{
    const struct pst_config_model *model;

    if (pool->models_count == 0)
        return PST_SLICE("default");
    model = &pool->models[0];
    return pst_slice_of(model->upstream != NULL ? model->upstream : model->name);
}

/* What is asked, by kind of readiness: path, and for a POST the body around the model's name. */
struct question {
    struct pst_slice path, before, after;
};

static const struct question completion = {
    {"/v1/completions", 15},
    {"{\"model\":\"", 10},
    {"\",\"prompt\":\"hi\",\"max_tokens\":1,\"stream\":false}", 46},
};
static const struct question completion_tgi = {
    {"/generate", 9},
    {"{\"inputs\":\"hi\",\"parameters\":{\"max_new_tokens\":1}", 48},
    {"}", 1},
};
static const struct question embedding = {
    {"/v1/embeddings", 14},
    {"{\"model\":\"", 10},
    {"\",\"input\":\"hi\"}", 15},
};
static const struct question listed = {{"/v1/models", 10}, {NULL, 0}, {NULL, 0}};

static const struct question *question_for(const struct pst_config_pool *pool)
{
    switch (pool->ready) {
    case PST_READY_COMPLETION:
        return pool->engine == PST_ENGINE_TGI ? &completion_tgi : &completion;
    case PST_READY_EMBEDDINGS:
        return &embedding;
    case PST_READY_LISTED:
    case PST_READY_KIND_COUNT:
        break;
    }
    return &listed;
}

static void put_body(struct pst_writer *text, const struct question *question,
                     const struct pst_config_pool *pool)
{
    pst_writer_put(text, question->before);
    if (question != &completion_tgi)
        pst_writer_json(text, model_of(pool));
    pst_writer_put(text, question->after);
}

static void put_head(struct pst_writer *text, struct pst_gateway_replica *replica,
                     const struct pst_config_pool *pool, struct pst_slice method,
                     struct pst_slice path)
{
    pst_writer_put(text, method);
    PST_WRITER_PUT(text, " ");
    pst_writer_put(text, pst_slice_of(replica->base_path));
    pst_writer_put(text, path);
    PST_WRITER_PUT(text, " HTTP/1.1\r\n");
    pst_writer_header(text, PST_SLICE("Host"),
                      pst_slice_of(pst_upstream_authority(replica->upstream)));
    PST_WRITER_PUT(text, "User-Agent: penstock\r\nAccept: */*\r\n");
    if (pool->upstream_auth != NULL)
        pst_writer_header(text, PST_SLICE("Authorization"), pst_slice_of(pool->upstream_auth));
}

static bool lists_model(const struct pst_gateway_replica *replica, struct pst_slice body)
{
    struct pst_slice model = model_of(&replica->gateway->config->pools[replica->pool]);

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

static void tell(struct pst_gateway_replica *replica, enum pst_probe_result result)
{
    struct pst_gateway *gateway = replica->gateway;
    struct pst_gate_event event = {.kind = PST_EVENT_PROBE};

    event.u.probe.replica = (uint16_t)(replica - gateway->replicas);
    event.u.probe.probe = (uint8_t)replica->probe_kind;
    event.u.probe.result = (uint8_t)result;
    pst_gateway_event(gateway, &event);
}

static void answered(void *user, const struct pst_fetch_result *result)
{
    struct pst_gateway_replica *replica = user;

    replica->probe = NULL;
    tell(replica, judge(replica, result));
}

void pst_probe_start(struct pst_gateway *gateway, uint16_t index, enum pst_probe kind)
{
    struct pst_gateway_replica *replica = &gateway->replicas[index];
    const struct pst_config_pool *pool = &gateway->config->pools[replica->pool];
    char body_buffer[6 * PST_PEEK_TEXT_MAX + 256];
    struct pst_writer head = pst_writer(gateway->scratch, gateway->scratch_size);
    struct pst_writer body = pst_writer(body_buffer, sizeof body_buffer);
    const struct question *question = question_for(pool);

    if (replica->upstream == NULL)
        return;
    pst_probe_cancel(replica);
    replica->probe_kind = kind;
    if (kind == PST_PROBE_HEALTH) {
        put_head(&head, replica, pool, PST_SLICE("GET"), pst_slice_of(pool->ready_path));
    } else if (question->before.len == 0) {
        put_head(&head, replica, pool, PST_SLICE("GET"), question->path);
    } else {
        put_body(&body, question, pool);
        put_head(&head, replica, pool, PST_SLICE("POST"), question->path);
        PST_WRITER_PUT(&head, "Content-Type: application/json\r\nContent-Length: ");
        pst_writer_number(&head, body.len);
        PST_WRITER_PUT(&head, "\r\n");
    }
    PST_WRITER_PUT(&head, "\r\n");
    if (head.full || body.full ||
        pst_fetch_start(replica->upstream, gateway->loop, pst_writer_slice(&head),
                        pst_writer_slice(&body),
                        gateway->config->gate.pools[replica->pool].probe_timeout, BODY_MAX,
                        answered, replica, &replica->probe) != PST_OK)
        tell(replica, PST_PROBE_FAILED);
}

void pst_probe_cancel(struct pst_gateway_replica *replica)
{
    if (replica->probe != NULL)
        pst_fetch_cancel(replica->probe);
    replica->probe = NULL;
}
