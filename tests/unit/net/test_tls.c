/* test_tls.c - gRPC over TLS: who is let in, by which certificates, and what a reload changes. */
#include <sys/ioctl.h>

#include <openssl/err.h>

#include "called.h"
#include "certs.h"

static struct authority ours, theirs;
static struct identity server_id, client_id, stranger_id;
static struct pst_tls_context *context;

static int make_certificates(void **state)
{
    (void)state;
    pst_fd_ignore_sigpipe();
    certs_begin();
    authority_make(&ours, "ours");
    authority_make(&theirs, "theirs");
    identity_make(&server_id, &ours, "server");
    identity_make(&client_id, &ours, "client");
    identity_make(&stranger_id, &theirs, "stranger");
    return 0;
}

static int drop_certificates(void **state)
{
    (void)state;
    authority_done(&ours);
    authority_done(&theirs);
    certs_end();
    return 0;
}

struct terms {
    const struct authority *trusts;
    const struct identity *shows; /* NULL: none */
    const unsigned char *alpn;    /* NULL: none is offered */
    int version;                  /* 0: any */
};

static SSL *client_tls(const struct terms *terms)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl;

    assert_int_equal(SSL_CTX_load_verify_file(ctx, terms->trusts->path), 1);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (terms->shows != NULL) {
        assert_int_equal(SSL_CTX_use_certificate_file(ctx, terms->shows->cert, SSL_FILETYPE_PEM),
                         1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(ctx, terms->shows->key, SSL_FILETYPE_PEM), 1);
    }
    if (terms->version != 0) {
        SSL_CTX_set_security_level(ctx, 0);
        SSL_CTX_set_min_proto_version(ctx, terms->version);
        SSL_CTX_set_max_proto_version(ctx, terms->version);
    }
    ssl = SSL_new(ctx);
    SSL_CTX_free(ctx);
    assert_int_equal(SSL_set1_host(ssl, "127.0.0.1"), 1);
    if (terms->alpn != NULL)
        assert_int_equal(SSL_set_alpn_protos(ssl, terms->alpn, terms->alpn[0] + 1u), 0);
    SSL_set_connect_state(ssl);
    return ssl;
}

static void connect_tls(const struct terms *terms)
{
    client_close(&client);
    client_connect(&client, pst_rpc_server_port(server), 0);
    client.ssl = client_tls(terms);
    assert_int_equal(SSL_set_fd(client.ssl, client.fd), 1);
}

static void start_tls(bool client_ca)
{
    struct pst_tls_config tls = {
        .cert = server_id.cert,
        .key = server_id.key,
        .client_ca = client_ca ? ours.path : NULL,
        .alpn = "h2",
    };
    struct pst_rpc_config c = config();
    char message[256];

    assert_int_equal(pst_tls_server_new(&tls, &context, message), PST_OK);
    c.tls = context;
    start(&c, 0);
}

static int stop_tls(void **state)
{
    tear_down(state);
    pst_tls_context_free(context);
    ERR_clear_error();
    return 0;
}

static const unsigned char h2[] = "\2h2", http1[] = "\10http/1.1";

static void test_who_is_let_in(void **state)
{
    static const struct {
        const char *promise;
        bool client_ca;
        struct terms terms;
        bool let_in;
    } rows[] = {
        {"a client that trusts our authority", false, {&ours, NULL, h2, 0}, true},
        {"TLS 1.2", false, {&ours, NULL, h2, TLS1_2_VERSION}, true},
        {"TLS 1.3", false, {&ours, NULL, h2, TLS1_3_VERSION}, true},
        {"not TLS 1.1", false, {&ours, NULL, h2, TLS1_1_VERSION}, false},
        {"the client trusts another", false, {&theirs, NULL, h2, 0}, false},
        {"no protocol is offered", false, {&ours, NULL, NULL, 0}, true},
        {"another protocol is offered", false, {&ours, NULL, http1, 0}, false},
        {"a certificate that nobody asked for", false, {&ours, &stranger_id, h2, 0}, true},
        {"a certificate of our authority", true, {&ours, &client_id, h2, 0}, true},
        {"the same by TLS 1.2", true, {&ours, &client_id, h2, TLS1_2_VERSION}, true},
        {"no certificate", true, {&ours, NULL, h2, 0}, false},
        {"no certificate, TLS 1.2", true, {&ours, NULL, h2, TLS1_2_VERSION}, false},
        {"a certificate of another's", true, {&ours, &stranger_id, h2, 0}, false},
    };
    struct call *call;
    size_t i;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(rows); i++) {
        start_tls(rows[i].client_ca);
        connect_tls(&rows[i].terms);
        call = ask("/x.X/Echo");
        UNTIL(call->closed || client.failed || client.ended);
        if (call->closed != rows[i].let_in || owner.called != rows[i].let_in)
            fail_msg("%s", rows[i].promise);
        WIRE_UNTIL(loop, rows[i].let_in || figures().connections == 0);
        stop_tls(NULL);
    }
}

/* Messages larger than a record, both sides' windows and many frames. */
static void test_much(void **state)
{
    static char big[5 + 60000] = {0, 0, 0, (char)(60000 >> 8), (char)(60000 & 0xff)};
    struct terms terms = {&ours, NULL, h2, 0};
    struct pst_rpc_config c = config();
    size_t i;

    (void)state;
    start_tls(false);
    tear_down(NULL);
    c.tls = context;
    c.message_max = 1 << 20;
    start(&c, 0);
    connect_tls(&terms);
    for (i = 0; i < 50; i++)
        client_request(&client, "POST", "/x.X/Echo", GRPC, NULL, NULL, big, sizeof big, true);
    UNTIL(client.closed_count == 50);
    for (i = 0; i < 50; i++) {
        assert_int_equal(client.calls[i].grpc_status, PST_RPC_OK);
        assert_int_equal(client.calls[i].got_len, sizeof big);
    }
    pst_rpc_server_drain(server);
    UNTIL(client.ended); /* close_notify, not a bare end */
    assert_false(client.failed);
    stop_tls(NULL);
}

static void test_not_tls(void **state)
{
    static struct wire wire;

    (void)state;
    start_tls(false);
    wire_connect(&wire, pst_rpc_server_port(server));
    wire_say(&wire, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    WIRE_UNTIL(loop, wire_closed(&wire));
    wire_close(&wire);
    stop_tls(NULL);
}

/* Both ends of one connection, without a loop. */
static void shake_hands(SSL *peer, struct pst_tls *tls)
{
    char byte;
    int rc = 0;

    for (int i = 0; i < 10 && rc != 1; i++) {
        rc = SSL_do_handshake(peer);
        assert_int_equal(pst_tls_read(tls, &byte, 1), -1);
        assert_int_equal(errno, EAGAIN);
    }
    assert_int_equal(rc, 1);
}

/* New keys without end, and nothing else: one read takes one of them, and others have their turn. */
static void test_records_without_data(void **state)
{
    struct pst_tls_config config = {server_id.cert, server_id.key, NULL, NULL};
    struct terms terms = {&ours, NULL, NULL, TLS1_3_VERSION};
    int ends[2], before, after;
    struct pst_tls *tls;
    char message[256];
    SSL *peer;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    assert_int_equal(pst_tls_server_new(&config, &context, message), PST_OK);
    assert_int_equal(pst_tls_accept(context, ends[0], &tls), PST_OK);
    peer = client_tls(&terms);
    assert_int_equal(SSL_set_fd(peer, ends[1]), 1);
    shake_hands(peer, tls);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(SSL_key_update(peer, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        assert_int_equal(SSL_do_handshake(peer), 1);
    }
    assert_int_equal(SSL_write(peer, "data", 4), 4);
    assert_int_equal(ioctl(ends[0], FIONREAD, &before), 0);
    assert_int_equal(pst_tls_read(tls, message, sizeof message), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(ioctl(ends[0], FIONREAD, &after), 0);
    assert_in_range(after, before / 2, before - 1);
    for (int i = 1; i < 100; i++)
        assert_int_equal(pst_tls_read(tls, message, sizeof message), -1);
    assert_int_equal(pst_tls_read(tls, message, sizeof message), 4);
    SSL_free(peer);
    pst_tls_free(tls);
    pst_tls_context_free(context);
    close(ends[0]);
    close(ends[1]);
}

/* Connections from then on see the new certificate; a broken one leaves the old in place. */
static void test_reload(void **state)
{
    struct terms old = {&ours, NULL, h2, 0}, new = {&theirs, NULL, h2, 0};
    struct call *kept, *call;
    char message[256];
    FILE *file;

    (void)state;
    start_tls(false);
    connect_tls(&old);
    kept = ask("/x.X/Hold");
    UNTIL(owner.called == 1);
    file = fopen(server_id.key, "w");
    fputs("no key\n", file);
    fclose(file);
    assert_int_equal(pst_tls_reload(context, message), PST_E_INVALID);
    assert_non_null(strstr(message, server_id.key));
    identity_make(&server_id, &theirs, "server");
    assert_int_equal(pst_tls_reload(context, message), PST_OK);
    end_held(0, PST_RPC_OK, NULL);
    UNTIL(kept->closed);
    assert_int_equal(kept->grpc_status, PST_RPC_OK); /* the connection from before goes on */
    connect_tls(&old);
    call = ask("/x.X/Echo");
    UNTIL(client.failed);
    assert_false(call->closed);
    connect_tls(&new);
    call = ask("/x.X/Echo");
    UNTIL(call->closed);
    assert_int_equal(call->grpc_status, PST_RPC_OK);
    stop_tls(NULL);
    identity_make(&server_id, &ours, "server");
}

/* What cannot be used is named, with its file, and without a question at the terminal. */
static void test_bad_files(void **state)
{
    struct pst_tls_config good = {server_id.cert, server_id.key, ours.path, "h2"}, bad;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    char locked[CERTS_PATH], message[256];
    unsigned char phrase[] = "phrase";
    FILE *file;
    size_t i;

    (void)state;
    certs_path(locked, "locked", "key");
    file = fopen(locked, "w");
    PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), phrase, 6, NULL, NULL);
    fclose(file);
    EVP_PKEY_free(key);
    for (i = 0; i < 6; i++) {
        const char *file_name = i == 0   ? "/nowhere/a.crt"
                                : i == 1 ? client_id.key
                                : i == 2 ? "/nowhere/a.key"
                                : i == 3 ? client_id.key /* another certificate's */
                                : i == 4 ? locked
                                         : server_id.key;

        bad = good;
        if (i < 2)
            bad.cert = file_name;
        else if (i < 5)
            bad.key = file_name;
        else
            bad.client_ca = file_name;
        assert_int_equal(pst_tls_server_new(&bad, &context, message), PST_E_INVALID);
        if (strstr(message, file_name) != message)
            fail_msg("%s: %s", file_name, message);
    }
    assert_int_equal(pst_tls_server_new(&good, &context, message), PST_OK);
    pst_tls_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_let_in), cmocka_unit_test(test_much),
        cmocka_unit_test(test_not_tls),       cmocka_unit_test(test_reload),
        cmocka_unit_test(test_bad_files),     cmocka_unit_test(test_records_without_data),
    };

    return cmocka_run_group_tests(tests, make_certificates, drop_certificates);
}
