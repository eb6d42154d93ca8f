/*
 * inside.h - the gateway's own state, for the files of this room only.
 */
#ifndef PST_GATEWAY_INSIDE_H
#define PST_GATEWAY_INSIDE_H

#include "base/random.h"
#include "gateway/catalog.h"
#include "gateway/gateway.h"
#include "gateway/request.h"

#define PST_GATEWAY_HOLD_MAX   (64 * 1024)  /* of an answer before its first byte that counts */
#define PST_GATEWAY_HIGH_WATER (256 * 1024) /* pending towards a client: the replica is held back */
#define PST_GATEWAY_LOW_WATER  (64 * 1024)

/* A replica as the relay reaches it. */
struct pst_gateway_replica {
    struct pst_gateway *gateway;
    struct pst_upstream *upstream; /* NULL: none at this index, or no address yet */
    char *base_path;
    uint16_t pool;
    bool present; /* the gate knows of it */
    bool found;   /* by a source, which says when it goes; else the configuration lists it */
    bool leaving; /* drained, and gone when it is */
    bool warm;
    bool by_address; /* see gateway.h */
    bool has_ended;  /* the engine that drained there; the next one is another */
    uint32_t revision;
    pst_ns progress_at;
    uint32_t progress_events;
    uint16_t held_back;      /* streams that their clients do not read */
    struct pst_fetch *probe; /* running, or NULL */
    enum pst_probe probe_kind;
    bool check_fails;         /* a CHECK or warm-up did, and why was said */
    struct pst_fetch *warmup; /* the request that runs, or NULL */
    uint32_t warmed;          /* prompts that were answered since it was loading */
    bool check_waits;         /* a CHECK of the model is answered when the warm-up ends */
    struct pst_fetch *scrape; /* running, or NULL */
    struct pst_timer scrape_next;
    pst_ns scrape_sent_at;
    bool scrape_fails; /* the last one did */
    struct pst_later free_later;
};

struct pst_gateway {
    struct pst_loop *loop;
    struct pst_drive *drive;
    struct pst_registry *registry;
    struct pst_metrics *metrics;
    const struct pst_config *config;
    struct pst_catalog catalog;
    struct pst_server *server;
    void (*finished)(void *user, const struct pst_access *record);
    void *user;
    struct pst_request **by_ticket; /* by ticket index */
    struct pst_request *free;
    size_t free_count;
    uint32_t open;
    uint64_t id_prefix, id_next; /* request ids: random, then counted */
    struct pst_random random;
    uint64_t created; /* Unix seconds */
    char *scratch;    /* one upstream head */
    size_t scratch_size;
    struct pst_gateway_replica replicas[PST_REPLICAS_MAX];
};

void pst_gateway_event(struct pst_gateway *gateway, struct pst_gate_event *event); /* stamps now */

/* replicas.c */
int pst_replicas_apply(struct pst_gateway *gateway); /* the lists of the configuration */
void pst_replicas_drained(struct pst_gateway *gateway, uint16_t replica);
void pst_replicas_done(struct pst_gateway *gateway);
/* What a connection to it said. True: another engine is at its address, told to the gate as new. */
bool pst_replicas_another(struct pst_gateway *gateway, uint16_t replica, bool refused);
/*
 * Events of streams went by: told at most 10 times a second, or at_once (a stream's first event, or a
 * client began or ceased to hold its stream back).
 */
void pst_replicas_progress(struct pst_gateway *gateway, uint16_t replica, uint32_t events,
                           bool at_once);

/* question.c: one small request of ours to a replica; done() gets the replica. */
struct pst_question {
    enum pst_probe kind;
    const char *prompt; /* of MODEL; NULL: the shortest that shows that it answers */
    uint32_t tokens_max;
    const char *path; /* this page instead; NULL: as `kind` has it */
    pst_ns timeout;
    void (*done)(void *replica, const struct pst_fetch_result *result);
};
int pst_question_ask(struct pst_gateway_replica *replica, const struct pst_question *question,
                     struct pst_fetch **ret_fetch);
struct pst_slice
pst_question_model(const struct pst_config_pool *pool); /* as its engine knows it */

/* probe.c */
void pst_probe_start(struct pst_gateway *gateway, uint16_t replica, enum pst_probe kind);
void pst_probe_cancel(struct pst_gateway_replica *replica);
/* Why it is not ready, once until it is: whoever waits for it must not have to guess. */
void pst_probe_say_failed(struct pst_gateway_replica *replica, const char *what,
                          const struct pst_fetch_result *result);
void pst_probe_tell(struct pst_gateway_replica *replica, enum pst_probe kind,
                    enum pst_probe_result result);

/* scrape.c: what an engine says of itself, asked again and again. */
/* It has an address, or another period. */
void pst_scrape_start(struct pst_gateway_replica *replica);
void pst_scrape_stop(struct pst_gateway_replica *replica);

/* warmup.c */
bool pst_warmup_is_done(const struct pst_gateway_replica *replica); /* or there is none */
/* From the first prompt on; the model's CHECK is answered at its end. */
void pst_warmup_start(struct pst_gateway_replica *replica);
/* It loads again, or goes: what was run is void. */
void pst_warmup_forget(struct pst_gateway_replica *replica);

#endif
