/* called.h - a gRPC server whose owner notes what it is told, and a client of it; for its tests. */
#ifndef PST_TEST_CALLED_H
#define PST_TEST_CALLED_H

#include "h2_client.h"

#include "base/fd.h"
#include "net/rpc.h"

#define GRPC     "application/grpc"
#define FRAME(n) "\0\0\0\0" n
#define ASK      FRAME("\5") "hello"
#define ASK_LEN  10
#define HELD_MAX 8192

static struct {
    int called, gone, watched, unwatched;
    char message[64];
    struct pst_rpc *held[HELD_MAX]; /* of /x.X/Hold and /x.X/Watch, in order */
    int held_count;
} owner;

static struct pst_loop *loop;
static struct pst_rpc_server *server;
static struct client client;

static inline void note(struct pst_rpc *rpc, struct pst_slice message)
{
    assert_ptr_equal(pst_rpc_server_user(rpc), &owner);
    snprintf(owner.message, sizeof owner.message, "%.*s", (int)message.len,
             message.len == 0 ? "" : message.at);
}

static inline void hold(struct pst_rpc *rpc)
{
    int *place = malloc(sizeof *place);

    assert_true(owner.held_count < HELD_MAX);
    *place = owner.held_count++;
    owner.held[*place] = rpc;
    pst_rpc_set_user(rpc, place);
}

static inline void let_go(struct pst_rpc *rpc)
{
    int *place = pst_rpc_user(rpc);

    owner.held[*place] = NULL;
    free(place);
}

static inline void end_held(int place, enum pst_rpc_status status, const char *message)
{
    struct pst_rpc *rpc = owner.held[place];

    let_go(rpc);
    pst_rpc_end(rpc, status, message);
}

static inline void on_echo(struct pst_rpc *rpc, struct pst_slice message)
{
    owner.called++;
    note(rpc, message);
    assert_int_equal(pst_rpc_send(rpc, message), PST_OK);
    pst_rpc_end(rpc, PST_RPC_OK, NULL);
}

static inline void on_refuse(struct pst_rpc *rpc, struct pst_slice message)
{
    owner.called++;
    note(rpc, message);
    pst_rpc_end(rpc, PST_RPC_INVALID_ARGUMENT, "100% \xc3\xa4\n");
}

static inline void on_hold(struct pst_rpc *rpc, struct pst_slice message)
{
    owner.called++;
    note(rpc, message);
    hold(rpc);
}

static inline void on_hold_gone(struct pst_rpc *rpc)
{
    owner.gone++;
    let_go(rpc);
}

static inline void on_watch(struct pst_rpc *rpc, struct pst_slice message)
{
    owner.watched++;
    note(rpc, message);
    hold(rpc);
}

static inline void on_watch_gone(struct pst_rpc *rpc)
{
    owner.unwatched++;
    let_go(rpc);
}

static inline void on_never_gone(struct pst_rpc *rpc)
{
    (void)rpc;
    fail_msg("a call that was ended at once is gone");
}

static const struct pst_rpc_method methods[] = {
    {"/x.X/Echo", false, on_echo, on_never_gone},
    {"/x.X/Refuse", false, on_refuse, on_never_gone},
    {"/x.X/Hold", false, on_hold, on_hold_gone},
    {"/x.X/Watch", true, on_watch, on_watch_gone},
};

static inline struct pst_rpc_config config(void)
{
    return (struct pst_rpc_config){
        .methods = methods,
        .methods_count = PST_COUNT_OF(methods),
        .user = &owner,
        .message_max = 4096,
        .deadline_max = 30 * PST_S,
        .streams_max = 65536,
        .connections_max = 100,
        .idle_timeout = 75 * PST_S,
    };
}

static inline void start(const struct pst_rpc_config *c, int32_t window)
{
    memset(&owner, 0, sizeof owner);
    assert_int_equal(pst_loop_new(&loop), PST_OK);
    assert_int_equal(pst_rpc_server_new(loop, c, &server), PST_OK);
    assert_int_equal(pst_rpc_server_listen(server, "127.0.0.1:0"), PST_OK);
    client_connect(&client, pst_rpc_server_port(server), window);
}

static inline int set_up(void **state)
{
    struct pst_rpc_config c = config();

    (void)state;
    pst_fd_ignore_sigpipe();
    start(&c, 0);
    return 0;
}

static inline int tear_down(void **state)
{
    int i;

    (void)state;
    client_close(&client);
    pst_rpc_server_free(server);
    pst_loop_free(loop);
    for (i = 0; i < owner.held_count; i++)
        assert_null(owner.held[i]); /* each was ended or is gone */
    return 0;
}

static inline void restart(const struct pst_rpc_config *c, int32_t window)
{
    tear_down(NULL);
    start(c, window);
}

static inline struct call *ask(const char *path)
{
    return client_request(&client, "POST", path, GRPC, NULL, NULL, ASK, ASK_LEN, true);
}

static inline struct pst_rpc_figures figures(void)
{
    struct pst_rpc_figures f;

    pst_rpc_server_figures(server, &f);
    return f;
}

#define UNTIL(condition) CLIENT_UNTIL(loop, &client, condition)
#define TEST(name)       cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
