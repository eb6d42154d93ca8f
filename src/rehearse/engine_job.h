/*
 * engine_job.h - inside of the stand-in engine: one request being served, and the server around it.
 *
 *   READING --body--> WAITING --START--> RUNNING --DONE--> CLOSING --sent--> freed
 *      |                 |                  |
 *      | fault           | client left      | client left, or given up
 *      v                 v                  v
 *   HUNG, CLOSING      LEAVING ---lag---> taken out of the model, freed
 *
 * A job is freed when it is in neither the model nor an exchange. Whoever calls pst_engine_job_leave or
 * _close must not touch the job afterwards.
 */
#ifndef PST_REHEARSE_ENGINE_JOB_H
#define PST_REHEARSE_ENGINE_JOB_H

#include "codec/peek.h"
#include "net/server.h"
#include "rehearse/engine_server.h"
#include "rehearse/seen.h"

enum pst_engine_stage {
    PST_JOB_READING,
    PST_JOB_WAITING,
    PST_JOB_RUNNING,
    PST_JOB_HUNG,    /* nothing more will come; only the client can end it */
    PST_JOB_LEAVING, /* the client left; the model does not know yet */
    PST_JOB_CLOSING, /* what is to be said was said */
    PST_JOB_STAGE_COUNT
};

enum pst_job_kind { PST_JOB_INFERENCE, PST_JOB_FAULT };

struct pst_engine_job {
    struct pst_engine_server *server;
    struct pst_exchange *exchange; /* NULL: the client left */
    uint32_t index;                /* of the model's request */
    enum pst_job_kind kind;
    enum pst_engine_stage stage;
    bool in_model;
    bool cancelling; /* the model will be told to drop it */
    bool stream;
    bool counted; /* in one of completed, failed, refused, cancelled */
    bool resets;  /* the connection is to be reset once the output is out */
    /* What goes wrong with it, decided when it arrived. 0: not that. */
    uint32_t reset_after, stall_after;
    bool truncate, dies, kills_worker;
    pst_ns drip; /* pause between drops */
    struct pst_engine_answer answer;
    pst_ns arrived, started;
    pst_ns first_planned; /* from start to first token, as far as known; 0: not */
    struct pst_timer headers_timer, lag_timer, drip_timer;
    struct pst_text body;
    struct pst_text output; /* what drips */
    size_t output_sent;
    struct pst_peek peek;
    bool peek_failed;
};

/* A histogram of fixed bounds, as engines export them. */
#define PST_ENGINE_BUCKETS 16
struct pst_engine_histogram {
    uint64_t buckets[PST_ENGINE_BUCKETS + 1];
    uint64_t count;
    double sum; /* seconds */
};

struct pst_engine_server {
    struct pst_loop *loop;
    struct pst_engine_server_config config;
    struct pst_server *http;
    struct pst_engine *model;
    struct pst_engine_faults faults;
    struct pst_prng dice; /* faults, output lengths */
    struct pst_engine_job **jobs;
    uint32_t *free_jobs; /* stack of indices without a job */
    uint32_t free_count;
    struct pst_engine_event *pending; /* ring: events that came while the model was being polled */
    uint32_t pending_first, pending_count, pending_size;
    bool in_turn;
    uint16_t port;
    int reserved_fd; /* holds the port while it refuses; -1: none */
    bool loaded;
    bool refusing; /* SIGTERM with a shutdown time-out: 500 to what is new */
    bool ending;
    bool dead; /* the worker died */
    bool ended_told;
    struct pst_timer model_timer, load_timer, phase_timer, exit_timer;
    struct pst_engine_stats stats;
    struct pst_engine_histogram first_token, queue_time, whole_time;
    struct pst_seen seen;
    struct pst_text scratch; /* of one turn */
    struct pst_text last;    /* JSON of the last request's head */
    uint64_t last_body_bytes;
    uint64_t ids;
};

#define PST_OWNER_OF(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* engine_server.c */
pst_ns pst_engine_scaled(const struct pst_engine_server *server, pst_ns duration);
bool pst_engine_is_frozen(const struct pst_engine_server *server);

/* engine_end.c */
void pst_engine_end_init(struct pst_engine_server *server);
void pst_engine_exit(struct pst_engine_server *server); /* says so, once */
void pst_engine_worker_died(struct pst_engine_server *server);
void pst_engine_job_ended(struct pst_engine_server *server); /* one less: may be the last */

/* engine_turn.c: the model and what it says. */
void pst_engine_post(struct pst_engine_server *server, const struct pst_engine_event *event);
void pst_engine_turn(struct pst_engine_server *server);

/* engine_metrics.c */
void pst_engine_histogram_add(struct pst_engine_histogram *histogram, pst_ns value);
void pst_engine_page_metrics(struct pst_engine_server *server, struct pst_exchange *x);

/* engine_job.c: from head to model, and out again. */
struct pst_engine_job *pst_engine_job_new(struct pst_engine_server *server, struct pst_exchange *x);
void pst_engine_job_read_end(struct pst_engine_job *job);
void pst_engine_job_left(struct pst_engine_job *job); /* the client did */
void pst_engine_job_leave_model(struct pst_engine_job *job);
void pst_engine_job_out_of_model(struct pst_engine_job *job);

/* engine_send.c: what goes out. */
void pst_engine_job_respond_stream(struct pst_engine_job *job);
void pst_engine_job_send(struct pst_engine_job *job, struct pst_text *text);
/* The answer is whole (or, with resets, as whole as it will be). */
void pst_engine_job_close(struct pst_engine_job *job);
/* Error as a status, or as an event once headers went out; then closed. */
void pst_engine_job_fail(struct pst_engine_job *job, enum pst_engine_error error,
                         const char *detail);
void pst_engine_job_send_whole(struct pst_engine_job *job);
void pst_engine_job_timers_init(struct pst_engine_job *job);

/* engine_route.c */
void pst_engine_route(struct pst_engine_server *server, struct pst_exchange *x,
                      const struct pst_head *head);

/* engine_pages.c: everything but inference. */
enum pst_engine_page { PST_ENGINE_PAGE_NONE, PST_ENGINE_PAGE_METHOD, PST_ENGINE_PAGE_ANSWERED };
enum pst_engine_page pst_engine_page(struct pst_engine_server *server, struct pst_exchange *x,
                                     struct pst_slice path, enum pst_method method, bool loading);
void pst_engine_page_fault(struct pst_engine_server *server, struct pst_exchange *x,
                           const struct pst_text *body);
void pst_engine_reply(struct pst_exchange *x, uint16_t status, const char *type,
                      const struct pst_text *text);
void pst_engine_reply_error(struct pst_engine_server *server, struct pst_exchange *x,
                            enum pst_engine_form form, enum pst_engine_error error,
                            const char *detail);

#endif
