#include "rehearse/engine_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/num.h"
#include "net/address.h"

#define HEAD_MAX        ((size_t)64 << 10)
#define CONNECTIONS_MAX 65536
#define IDS_MAX         (UINT32_C(1) << 20)
#define ADDRESS_MAX     64

pst_ns pst_engine_scaled(const struct pst_engine_server *server, pst_ns duration)
{
    return duration == PST_NEVER ? PST_NEVER : pst_to_u64((double)duration / server->config.speed);
}

bool pst_engine_is_frozen(const struct pst_engine_server *server)
{
    return pst_engine_fault_is_on(&server->faults, PST_FAULT_FREEZE);
}

static void model_due(struct pst_timer *timer)
{
    pst_engine_turn(PST_OWNER_OF(timer, struct pst_engine_server, model_timer));
}

static void exchange_head(struct pst_exchange *x, const struct pst_head *head)
{
    pst_engine_route(pst_exchange_server_user(x), x, head);
}

static void exchange_body(struct pst_exchange *x, const char *data, size_t len)
{
    struct pst_engine_job *job = pst_exchange_user(x);

    pst_text_add(&job->body, data, len);
    if (job->kind == PST_JOB_INFERENCE && !job->peek_failed)
        job->peek_failed = pst_peek_feed(&job->peek, data, len) != PST_OK;
}

static void exchange_body_end(struct pst_exchange *x)
{
    pst_engine_job_read_end(pst_exchange_user(x));
}

static void exchange_drained(struct pst_exchange *x)
{
    (void)x; /* vLLM holds nothing back for a slow reader */
}

static void exchange_gone(struct pst_exchange *x)
{
    struct pst_engine_job *job = pst_exchange_user(x);

    if (job != NULL)
        pst_engine_job_left(job);
}

static const struct pst_server_handler handler = {
    .head = exchange_head,
    .body = exchange_body,
    .body_end = exchange_body_end,
    .drained = exchange_drained,
    .gone = exchange_gone,
};

static bool is_loopback(const struct pst_address *address)
{
    if (address->u.any.sa_family == AF_INET)
        return ntohl(address->u.v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&address->u.v6.sin6_addr);
}

/*
 * Takes the port without listening, so that it is known and refuses. The listener may then bind beside
 * it: both ask for SO_REUSEADDR, and this one never listens.
 */
static int reserve_port(struct pst_engine_server *server, struct pst_address *address)
{
    int one = 1;
    int fd = socket(address->u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return PST_E_SYSTEM;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        bind(fd, &address->u.any, address->len) < 0 ||
        getsockname(fd, &address->u.any, &address->len) < 0) {
        int error = errno;

        close(fd);
        errno = error;
        return PST_E_SYSTEM;
    }
    server->reserved_fd = fd;
    server->port = pst_address_port(address);
    return PST_OK;
}

static void release_port(struct pst_engine_server *server)
{
    if (server->reserved_fd >= 0)
        close(server->reserved_fd);
    server->reserved_fd = -1;
}

static int open_port(struct pst_engine_server *server)
{
    const char *colon = strrchr(server->config.listen, ':');
    char address[ADDRESS_MAX];
    int rc;

    snprintf(address, sizeof address, "%.*s:%u", (int)(colon - server->config.listen),
             server->config.listen, server->port);
    rc = pst_server_listen(server->http, address);
    release_port(server);
    if (rc == PST_OK && server->config.listening != NULL)
        server->config.listening(server->config.user, server->port);
    return rc;
}

static bool port_opens_early(const struct pst_engine_server *server)
{
    return server->config.cold_start == 0 || server->config.like == PST_ENGINE_LIKE_LLAMACPP ||
           pst_engine_fault_is_on(&server->faults, PST_FAULT_READY_EARLY);
}

static void load_done(struct pst_timer *timer)
{
    struct pst_engine_server *server = PST_OWNER_OF(timer, struct pst_engine_server, load_timer);

    server->loaded = true;
    if (server->reserved_fd >= 0 && open_port(server) != PST_OK)
        pst_engine_exit(server);
}

static int make_model(struct pst_engine_server *server)
{
    struct pst_engine_config model = server->config.model;

    model.service = pst_law_scaled(&model.service, 1.0 / server->config.speed);
    model.iteration_min = pst_engine_scaled(server, model.iteration_min);
    model.iteration_base = pst_engine_scaled(server, model.iteration_base);
    model.iteration_token = pst_engine_scaled(server, model.iteration_token);
    return pst_engine_new(&model, &server->model);
}

static int make_tables(struct pst_engine_server *server)
{
    uint32_t requests_max = server->config.model.requests_max;

    server->jobs = calloc(requests_max, sizeof(struct pst_engine_job *));
    server->free_jobs = calloc(requests_max, sizeof *server->free_jobs);
    server->pending_size = 2 * requests_max; /* an ADD and a CANCEL of each */
    server->pending = calloc(server->pending_size, sizeof *server->pending);
    if (server->jobs == NULL || server->free_jobs == NULL || server->pending == NULL)
        return PST_E_NOMEM;
    for (uint32_t i = 0; i < requests_max; i++)
        server->free_jobs[i] = requests_max - 1 - i;
    server->free_count = requests_max;
    server->seen.ids_max = IDS_MAX;
    return PST_OK;
}

static int make_http(struct pst_engine_server *server)
{
    struct pst_server_config http = {
        .handler = &handler,
        .user = server,
        .head_max = HEAD_MAX,
        .connections_max = CONNECTIONS_MAX,
        .head_timeout = 60 * PST_S,
        .body_timeout = 60 * PST_S,
        .idle_timeout = 75 * PST_S,
        .write_stall = 60 * PST_S,
    };

    return pst_server_new(server->loop, &http, &server->http);
}

int pst_engine_server_new(struct pst_loop *loop, const struct pst_engine_server_config *config,
                          struct pst_engine_server **ret_server)
{
    struct pst_engine_server *server;
    struct pst_address address;
    int rc;

    if (!(config->speed > 0.0) || config->models_count == 0 ||
        config->model.requests_max > UINT32_C(1) << 24 ||
        strlen(config->listen) >= ADDRESS_MAX - 8 ||
        pst_address_parse(config->listen, &address) != PST_OK || !is_loopback(&address))
        return PST_E_INVALID;
    server = calloc(1, sizeof *server);
    if (server == NULL)
        return PST_E_NOMEM;
    server->loop = loop;
    server->config = *config;
    server->faults = config->faults;
    server->reserved_fd = -1;
    server->model_timer.fire = model_due;
    server->load_timer.fire = load_done;
    pst_engine_end_init(server);
    pst_prng_init(&server->dice, config->model.seed ^ UINT64_C(0x9e3779b97f4a7c15));

    if ((rc = make_model(server)) != PST_OK || (rc = make_tables(server)) != PST_OK ||
        (rc = make_http(server)) != PST_OK || (rc = reserve_port(server, &address)) != PST_OK)
        goto fail;
    if (port_opens_early(server) && (rc = open_port(server)) != PST_OK)
        goto fail;
    server->loaded = config->cold_start == 0;
    if (!server->loaded)
        pst_timer_set(loop, &server->load_timer,
                      pst_loop_now(loop) + pst_engine_scaled(server, config->cold_start));
    *ret_server = server;
    return PST_OK;

fail:
    pst_engine_server_free(server);
    return rc;
}

void pst_engine_server_free(struct pst_engine_server *server)
{
    if (server == NULL)
        return;
    server->in_turn = true; /* the model is not asked any more */
    if (server->http != NULL)
        pst_server_free(server->http);
    pst_timer_cancel(server->loop, &server->model_timer);
    pst_timer_cancel(server->loop, &server->load_timer);
    pst_timer_cancel(server->loop, &server->phase_timer);
    if (server->jobs != NULL)
        for (uint32_t i = 0; i < server->config.model.requests_max; i++)
            if (server->jobs[i] != NULL)
                pst_engine_job_out_of_model(server->jobs[i]);
    pst_timer_cancel(server->loop, &server->exit_timer);
    release_port(server);
    pst_engine_free(server->model);
    free(server->jobs);
    free(server->free_jobs);
    free(server->pending);
    pst_seen_done(&server->seen);
    pst_text_done(&server->scratch);
    pst_text_done(&server->last);
    free(server);
}

uint16_t pst_engine_server_port(const struct pst_engine_server *server)
{
    return server->port;
}

int pst_engine_server_fault(struct pst_engine_server *server, const char *text,
                            const char **ret_why)
{
    int rc = pst_engine_fault_set(&server->faults, text, ret_why);

    if (rc == PST_OK && pst_engine_is_frozen(server))
        pst_timer_cancel(server->loop, &server->model_timer);
    return rc;
}

void pst_engine_server_clear_faults(struct pst_engine_server *server)
{
    pst_engine_fault_clear(&server->faults, "all");
    pst_engine_turn(server); /* it may have been frozen */
}

void pst_engine_server_stats(const struct pst_engine_server *server,
                             struct pst_engine_stats *ret_stats)
{
    struct pst_engine_stats stats = server->stats;

    stats.open = stats.received - stats.completed - stats.failed - stats.refused - stats.cancelled;
    *ret_stats = stats;
}
