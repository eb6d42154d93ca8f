/* rpc_server.c - a gRPC server is an HTTP/2 server whose streams are calls; see rpc.h. */
#include <stdlib.h>

#include "net/rpc_inside.h"

#define HEAD_BYTES_MAX ((size_t)16 * 1024)
#define WRITE_STALL    (20 * PST_S)

int pst_rpc_server_new(struct pst_loop *loop, const struct pst_rpc_config *config,
                       struct pst_rpc_server **ret_server)
{
    struct pst_rpc_server *server;
    struct pst_h2_config h2 = {
        .handler = &pst_rpc_handler,
        .tls = config->tls,
        .head_max = HEAD_BYTES_MAX,
        .streams_max = config->streams_max,
        .connections_max = config->connections_max,
        .idle_timeout = config->idle_timeout,
        .write_stall = WRITE_STALL,
    };
    int rc;

    if (config->message_max > UINT32_MAX || config->deadline_max == 0)
        return PST_E_INVALID;
    server = calloc(1, sizeof *server);
    if (server == NULL)
        return PST_E_NOMEM;
    server->loop = loop;
    server->config = *config;
    h2.user = server;
    rc = pst_h2_server_new(loop, &h2, &server->h2);
    if (rc != PST_OK) {
        free(server);
        return rc;
    }
    *ret_server = server;
    return PST_OK;
}

int pst_rpc_server_listen(struct pst_rpc_server *server, const char *address)
{
    return pst_h2_server_listen(server->h2, address);
}

uint16_t pst_rpc_server_port(const struct pst_rpc_server *server)
{
    return pst_h2_server_port(server->h2);
}

void pst_rpc_server_drain(struct pst_rpc_server *server)
{
    server->draining = true;
    pst_h2_server_drain(server->h2);
}

void pst_rpc_server_figures(const struct pst_rpc_server *server,
                            struct pst_rpc_figures *ret_figures)
{
    *ret_figures = (struct pst_rpc_figures){
        .calls = server->calls,
        .failed = server->failed,
        .p50_us = pst_rpc_times_quantile(&server->times, PST_PPM / 2),
        .p99_us = pst_rpc_times_quantile(&server->times, PST_PPM / 100 * 99),
        .max_us = server->times.max_us,
        .open = server->open,
        .streams = server->streams,
        .connections = pst_h2_server_connections(server->h2),
    };
}

void pst_rpc_server_free(struct pst_rpc_server *server)
{
    if (server == NULL)
        return;
    pst_h2_server_free(server->h2);
    free(server);
}
