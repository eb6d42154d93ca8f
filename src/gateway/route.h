/*
 * route.h - which paths are open, and what each one's bodies and answers look like.
 *
 * Why: engines have administration paths; only what we understand goes through, matched byte for byte.
 */
#ifndef PST_GATEWAY_ROUTE_H
#define PST_GATEWAY_ROUTE_H

#include "base/slice.h"
#include "codec/answer.h"
#include "codec/peek.h"
#include "config/config.h"

struct pst_route {
    struct pst_slice path; /* with one '*' at most: a model's name */
    enum pst_peek_form body;
    enum pst_answer_form answer;
    bool streams_always;
    bool anthropic; /* x-api-key, and errors in Anthropic's shape */
};

struct pst_route_match {
    const struct pst_route *route;
    uint16_t pool;          /* settled by a pool's own path, or PST_POOL_NONE */
    struct pst_slice model; /* as written in the path, escapes and all; len 0: none */
};

/* `target`: the request-target; what follows '?' does not count. False: no such open path. */
bool pst_route_find(const struct pst_config *config, struct pst_slice target,
                    struct pst_route_match *ret_match);

/* "/v1/models" (ret_id empty) or "/v1/models/{id}" (as written). */
bool pst_route_is_models(struct pst_slice target, struct pst_slice *ret_id);

#endif
