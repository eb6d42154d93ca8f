/*
 * engine_server.h - the stand-in engine: an HTTP server that is as slow, as full and as wrong as vLLM or
 * llama.cpp's server, in front of the engine model instead of a GPU.
 *
 * Why: queueing, readiness and failure can only be shown in front of engines, and those need minutes to
 * load and gigabytes to run. What a gateway must survive is in how they answer, so that is what this
 * does the same: 200 before there is a place, refusals and crashes as events, [DONE] after an error, a
 * health page that says well while nothing works.
 *
 * Guarantee: answers are whole and right unless a fault was switched on or the model refuses. A client
 * that leaves is taken out of the model after the engine's lag, and GET /stats adds up:
 * received = completed + failed + refused + cancelled + open.
 *
 * Beside the engine's own paths it answers GET /stats, GET /seen (request ids, how often each came),
 * GET /last (the last request's head, as received) and POST /fault {"set": ["hang"], "clear": ["all"]}:
 * it listens on loopback only, and has no secrets.
 */
#ifndef PST_REHEARSE_ENGINE_SERVER_H
#define PST_REHEARSE_ENGINE_SERVER_H

#include "model/engine.h"
#include "net/loop.h"
#include "rehearse/engine_fault.h"
#include "rehearse/engine_text.h"

struct pst_engine_server;

struct pst_engine_server_config {
    const char
        *listen; /* a loopback address and port; 0 picks one. May change during the call only */
    enum pst_engine_like like;
    struct pst_engine_config model; /* as at speed 1 */
    double speed;                   /* > 0; every duration here and in the model is divided by it */
    const char *const *models;      /* names; the first is what unnamed requests get */
    size_t models_count;            /* >= 1 */
    struct pst_law output;          /* tokens of answers without max_tokens */
    uint32_t context_tokens;        /* of prompt and output; 0: as the KV blocks allow */
    pst_ns cold_start;
    pst_ns shutdown_timeout; /* vllm: streams may finish after SIGTERM; 0: they are cut off */
    pst_ns cancel_lag;       /* llamacpp: non-streaming requests notice a client so much later */
    struct pst_engine_faults faults;
    void (*listening)(void *user, uint16_t port); /* told when the port is open; may be NULL */
    void (*ended)(void *user); /* it would exit now; free it later, not from inside */
    void *user;
};

struct pst_engine_stats {
    uint64_t received; /* inference requests */
    uint64_t completed, failed, refused, cancelled;
    uint64_t open;        /* being read, waiting, running or hanging */
    uint64_t waiting_max; /* most sequences that ever waited inside */
    uint64_t ids_twice;   /* request ids that came more than once */
};

/* PST_E_INVALID: a number out of range, or not a loopback address. PST_E_SYSTEM, PST_E_NOMEM. */
int pst_engine_server_new(struct pst_loop *loop, const struct pst_engine_server_config *config,
                          struct pst_engine_server **ret_server);
void pst_engine_server_free(struct pst_engine_server *server); /* takes NULL */

uint16_t
pst_engine_server_port(const struct pst_engine_server *server);     /* also before it is open */
void pst_engine_server_terminate(struct pst_engine_server *server); /* SIGTERM; again: at once */
int pst_engine_server_fault(struct pst_engine_server *server, const char *text,
                            const char **ret_why);
void pst_engine_server_clear_faults(struct pst_engine_server *server);
void pst_engine_server_stats(const struct pst_engine_server *server,
                             struct pst_engine_stats *ret_stats);

#endif
