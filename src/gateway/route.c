/* route.c - see route.h. */
#include "gateway/route.h"

#define ROUTE(p, b, a, ...)                                                                        \
    {                                                                                              \
        .path = {p, sizeof(p) - 1}, .body = PST_PEEK_##b, .answer = PST_ANSWER_##a, __VA_ARGS__    \
    }

static const struct pst_route routes[] = {
    ROUTE("/v1/chat/completions", CHAT, OPENAI, .anthropic = false),
    ROUTE("/v1/completions", COMPLETION, OPENAI, .anthropic = false),
    ROUTE("/v1/responses", RESPONSES, RESPONSES, .anthropic = false),
    ROUTE("/v1/messages", MESSAGES, MESSAGES, .anthropic = true),
    ROUTE("/v1/embeddings", EMBEDDINGS, PLAIN, .anthropic = false),
    ROUTE("/v1/rerank", RERANK, PLAIN, .anthropic = false),
    ROUTE("/v2/models/*/infer", OTHER, PLAIN, .anthropic = false),
    ROUTE("/generate", OTHER, PLAIN, .anthropic = false),
    ROUTE("/generate_stream", OTHER, PLAIN, .streams_always = true),
};

/* What a pool's `paths:` open: nothing is known of them but that they are POSTs. */
static const struct pst_route route_of_pool = ROUTE("", OTHER, PLAIN, .anthropic = false);

static struct pst_slice path_of(struct pst_slice target)
{
    const char *query = memchr(target.at, '?', target.len);

    return query == NULL ? target : pst_slice(target.at, (size_t)(query - target.at));
}

static bool matches(struct pst_slice pattern, struct pst_slice path, struct pst_slice *ret_model)
{
    const char *star = memchr(pattern.at, '*', pattern.len);
    size_t before, after;

    if (star == NULL)
        return pst_slice_equal(pattern, path);
    before = (size_t)(star - pattern.at);
    after = pattern.len - before - 1;
    if (path.len <= before + after || memcmp(path.at, pattern.at, before) != 0 ||
        memcmp(path.at + path.len - after, star + 1, after) != 0)
        return false;
    *ret_model = pst_slice(path.at + before, path.len - before - after);
    return true;
}

bool pst_route_find(const struct pst_config *config, struct pst_slice target,
                    struct pst_route_match *ret_match)
{
    struct pst_slice path = path_of(target);
    struct pst_slice model = {NULL, 0};

    for (size_t i = 0; i < PST_COUNT_OF(routes); i++) {
        if (!matches(routes[i].path, path, &model))
            continue;
        *ret_match = (struct pst_route_match){&routes[i], PST_POOL_NONE, model};
        return true;
    }
    for (size_t p = 0; p < config->pools_count; p++) {
        const struct pst_config_pool *pool = &config->pools[p];

        for (size_t i = 0; i < pool->paths_count; i++) {
            if (!pst_slice_equal(pst_slice_of(pool->paths[i]), path))
                continue;
            *ret_match = (struct pst_route_match){&route_of_pool, (uint16_t)p, {NULL, 0}};
            return true;
        }
    }
    return false;
}

bool pst_route_is_models(struct pst_slice target, struct pst_slice *ret_id)
{
    static const struct pst_slice list = {"/v1/models", sizeof "/v1/models" - 1};
    struct pst_slice path = path_of(target);

    if (path.len < list.len || memcmp(path.at, list.at, list.len) != 0)
        return false;
    if (path.len == list.len) {
        *ret_id = pst_slice(path.at + path.len, 0);
        return true;
    }
    if (path.at[list.len] != '/' || path.len == list.len + 1)
        return false;
    *ret_id = pst_slice(path.at + list.len + 1, path.len - list.len - 1);
    return true;
}
