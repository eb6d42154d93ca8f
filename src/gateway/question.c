/*
 * question.c - one small request of ours to a replica: is it there, what does it list, can it answer this.
 *
 * Health is a GET of the pool's ready path, metrics are one of theirs. The model is asked for a short
 * completion (or an embedding, or its list of models), in the words of its engine.
 */
#include <stdlib.h>

#include "gateway/inside.h"
#include "gateway/writer.h"

#define ANSWER_MAX (1024 * 1024) /* of a list of models, a long completion, a page of metrics */

/* A question to a model: path, and the body around its name, the prompt and the number of tokens. */
struct form {
    struct pst_slice path, before_model, before_prompt, before_tokens, after;
};

#define TEXT(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
#define NOTHING                                                                                    \
    {                                                                                              \
        NULL, 0                                                                                    \
    }

static const struct form completion = {
    TEXT("/v1/completions"),    TEXT("{\"model\":\""),      TEXT("\",\"prompt\":\""),
    TEXT("\",\"max_tokens\":"), TEXT(",\"stream\":false}"),
};
static const struct form completion_tgi = {
    TEXT("/generate"),
    NOTHING,
    TEXT("{\"inputs\":\""),
    TEXT("\",\"parameters\":{\"max_new_tokens\":"),
    TEXT("}}"),
};
static const struct form embedding = {
    TEXT("/v1/embeddings"), TEXT("{\"model\":\""), TEXT("\",\"input\":\""), NOTHING, TEXT("\"}"),
};
static const struct form listed = {TEXT("/v1/models"), NOTHING, NOTHING, NOTHING, NOTHING};

static const struct pst_config_pool *pool_of(const struct pst_gateway_replica *replica)
{
    return &replica->gateway->config->pools[replica->pool];
}

/* What is listed is no answer to a prompt: a warm-up asks for one all the same. */
static const struct form *form_of(const struct pst_config_pool *pool, bool prompted)
{
    if (pool->ready == PST_READY_EMBEDDINGS)
        return &embedding;
    if (pool->ready == PST_READY_LISTED && !prompted)
        return &listed;
    return pool->engine == PST_ENGINE_TGI ? &completion_tgi : &completion;
}

struct pst_slice pst_question_model(const struct pst_config_pool *pool)
{
    const struct pst_config_model *model;

    if (pool->models_count == 0)
        return PST_SLICE("default");
    model = &pool->models[0];
    return pst_slice_of(model->upstream != NULL ? model->upstream : model->name);
}

static void put_body(struct pst_writer *text, const struct form *form,
                     const struct pst_config_pool *pool, const struct pst_question *question)
{
    pst_writer_put(text, form->before_model);
    if (form->before_model.len > 0)
        pst_writer_json(text, pst_question_model(pool));
    pst_writer_put(text, form->before_prompt);
    pst_writer_json(text, pst_slice_of(question->prompt));
    pst_writer_put(text, form->before_tokens);
    if (form->before_tokens.len > 0)
        pst_writer_number(text, question->tokens_max);
    pst_writer_put(text, form->after);
}

static void put_head(struct pst_writer *text, const struct pst_gateway_replica *replica,
                     struct pst_slice method, struct pst_slice path, size_t body_len)
{
    const struct pst_config_pool *pool = pool_of(replica);

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
    if (body_len > 0) {
        PST_WRITER_PUT(text, "Content-Type: application/json\r\nContent-Length: ");
        pst_writer_number(text, body_len);
        PST_WRITER_PUT(text, "\r\n");
    }
    PST_WRITER_PUT(text, "\r\n");
}

/* A character takes at most six in JSON. */
static size_t body_room(const struct pst_config_pool *pool, const struct pst_question *question)
{
    return 6 * (pst_question_model(pool).len + strlen(question->prompt)) + 256;
}

static int put(struct pst_gateway_replica *replica, const struct pst_question *question,
               struct pst_slice method, struct pst_slice path, struct pst_slice body,
               struct pst_fetch **ret_fetch)
{
    struct pst_gateway *gateway = replica->gateway;
    struct pst_writer head = pst_writer(gateway->scratch, gateway->scratch_size);

    put_head(&head, replica, method, path, body.len);
    if (head.full)
        return PST_E_FULL;
    return pst_fetch_start(replica->upstream, gateway->loop, pst_writer_slice(&head), body,
                           question->timeout, ANSWER_MAX, question->done, replica, ret_fetch);
}

static int put_prompt(struct pst_gateway_replica *replica, const struct pst_question *question,
                      const struct form *form, struct pst_fetch **ret_fetch)
{
    const struct pst_config_pool *pool = pool_of(replica);
    size_t room = body_room(pool, question);
    char *buffer = malloc(room);
    struct pst_writer body;
    int rc;

    if (buffer == NULL)
        return PST_E_NOMEM;
    body = pst_writer(buffer, room);
    put_body(&body, form, pool, question);
    PST_ASSERT(!body.full);
    rc = put(replica, question, PST_SLICE("POST"), form->path, pst_writer_slice(&body), ret_fetch);
    free(buffer); /* the fetch has its copy */
    return rc;
}

int pst_question_ask(struct pst_gateway_replica *replica, const struct pst_question *question,
                     struct pst_fetch **ret_fetch)
{
    const struct pst_config_pool *pool = pool_of(replica);
    const struct form *form = form_of(pool, question->prompt != NULL);
    struct pst_question shortest = *question;

    if (question->path != NULL)
        return put(replica, question, PST_SLICE("GET"), pst_slice_of(question->path),
                   pst_slice(NULL, 0), ret_fetch);
    if (question->kind == PST_PROBE_HEALTH)
        return put(replica, question, PST_SLICE("GET"), pst_slice_of(pool->ready_path),
                   pst_slice(NULL, 0), ret_fetch);
    if (form == &listed)
        return put(replica, question, PST_SLICE("GET"), form->path, pst_slice(NULL, 0), ret_fetch);
    if (question->prompt == NULL) {
        shortest.prompt = "hi";
        shortest.tokens_max = 1;
    }
    return put_prompt(replica, &shortest, form, ret_fetch);
}
