/* tls.c - see tls.h. */
#include "net/tls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#define ALPN_BYTES_MAX 32

struct pst_tls_context {
    SSL_CTX *ssl;     /* counted by OpenSSL too: a reload puts another in its place */
    uint32_t holders; /* whoever made it, and its connections */
    char *cert, *key, *client_ca;
    unsigned char alpn[ALPN_BYTES_MAX]; /* as on the wire: length and name */
    unsigned int alpn_len;
};

struct pst_tls {
    struct pst_tls_context *context;
    SSL *ssl;
    uint32_t wants;
    bool failed; /* OpenSSL must not be asked again, not even to say goodbye */
};

/* The file and the reason, never what is in it. */
static int complain(const char *file, char message[static 256])
{
    unsigned long code = ERR_peek_last_error();
    const char *why = code == 0 ? NULL : ERR_reason_error_string(code);

    (void)snprintf(message, 256, "%.150s: %.90s", file, why == NULL ? "it cannot be used" : why);
    ERR_clear_error();
    return PST_E_INVALID;
}

/* A key with a passphrase is refused: there is nobody at the terminal to ask. */
static int no_passphrase(char *buffer, int size, int writing, void *user)
{
    (void)buffer;
    (void)size;
    (void)writing;
    (void)user;
    return -1;
}

/* A client that offers protocols, but not ours, is told so; one that offers none is taken at its word. */
static int choose_protocol(SSL *ssl, const unsigned char **ret_name, unsigned char *ret_len,
                           const unsigned char *offered, unsigned int offered_len, void *user)
{
    const struct pst_tls_context *context = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
    unsigned char *name;

    (void)user;
    if (SSL_select_next_proto(&name, ret_len, context->alpn, context->alpn_len, offered,
                              offered_len) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *ret_name = name;
    return SSL_TLSEXT_ERR_OK;
}

/*
 * No resumption: a session would outlive the certificates that it was agreed under. TLS 1.2 with forward
 * secrecy and authenticated ciphers only, which is also what HTTP/2 allows (RFC 9113, appendix A).
 * A read ends behind a record that carries no data: who sends only such (new keys, alerts) must not keep
 * the loop within one read.
 */
static bool set_rules(SSL_CTX *ssl)
{
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_clear_mode(ssl, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(ssl, no_passphrase);
    return SSL_CTX_set_num_tickets(ssl, 0) == 1 &&
           SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(ssl, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
}

static int ask_for_client(SSL_CTX *ssl, const char *file, char message[static 256])
{
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(file);

    if (names == NULL || SSL_CTX_load_verify_file(ssl, file) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return complain(file, message);
    }
    SSL_CTX_set_client_CA_list(ssl, names); /* which client certificates are worth sending */
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    return PST_OK;
}

static int load(struct pst_tls_context *context, SSL_CTX **ret_ssl, char message[static 256])
{
    SSL_CTX *ssl;
    int rc = PST_E_INVALID;

    ERR_clear_error();
    ssl = SSL_CTX_new(TLS_server_method());
    if (ssl == NULL || !set_rules(ssl)) {
        (void)snprintf(message, 256, "TLS cannot be set up");
        SSL_CTX_free(ssl);
        return PST_E_NOMEM;
    }
    SSL_CTX_set_app_data(ssl, context);
    if (context->alpn_len > 0)
        SSL_CTX_set_alpn_select_cb(ssl, choose_protocol, NULL);
    if (SSL_CTX_use_certificate_chain_file(ssl, context->cert) != 1)
        rc = complain(context->cert, message);
    else if (SSL_CTX_use_PrivateKey_file(ssl, context->key, SSL_FILETYPE_PEM) != 1 ||
             SSL_CTX_check_private_key(ssl) != 1)
        rc = complain(context->key, message);
    else
        rc = context->client_ca == NULL ? PST_OK : ask_for_client(ssl, context->client_ca, message);
    if (rc != PST_OK) {
        SSL_CTX_free(ssl);
        return rc;
    }
    *ret_ssl = ssl;
    return PST_OK;
}

static bool copy_config(struct pst_tls_context *context, const struct pst_tls_config *config)
{
    context->cert = strdup(config->cert);
    context->key = strdup(config->key);
    context->client_ca = config->client_ca == NULL ? NULL : strdup(config->client_ca);
    if (config->alpn != NULL) {
        size_t len = strlen(config->alpn);

        PST_ASSERT(len > 0 && len < ALPN_BYTES_MAX);
        context->alpn[0] = (unsigned char)len;
        memcpy(context->alpn + 1, config->alpn, len);
        context->alpn_len = (unsigned int)len + 1;
    }
    return context->cert != NULL && context->key != NULL &&
           (context->client_ca != NULL || config->client_ca == NULL);
}

int pst_tls_server_new(const struct pst_tls_config *config, struct pst_tls_context **ret_context,
                       char message[static 256])
{
    struct pst_tls_context *context = calloc(1, sizeof *context);
    int rc = PST_E_NOMEM;

    (void)snprintf(message, 256, "out of memory");
    if (context == NULL)
        return PST_E_NOMEM;
    context->holders = 1;
    if (!copy_config(context, config))
        goto fail;
    rc = load(context, &context->ssl, message);
    if (rc != PST_OK)
        goto fail;
    *ret_context = context;
    return PST_OK;

fail:
    pst_tls_context_free(context);
    return rc;
}

int pst_tls_reload(struct pst_tls_context *context, char message[static 256])
{
    SSL_CTX *ssl;
    int rc = load(context, &ssl, message);

    if (rc != PST_OK)
        return rc;
    SSL_CTX_free(context->ssl);
    context->ssl = ssl;
    return PST_OK;
}

void pst_tls_context_free(struct pst_tls_context *context)
{
    if (context == NULL || --context->holders > 0)
        return;
    SSL_CTX_free(context->ssl);
    free(context->cert);
    free(context->key);
    free(context->client_ca);
    free(context);
}

int pst_tls_accept(struct pst_tls_context *context, int fd, struct pst_tls **ret_tls)
{
    struct pst_tls *tls = calloc(1, sizeof *tls);

    if (tls == NULL)
        return PST_E_NOMEM;
    tls->ssl = SSL_new(context->ssl);
    if (tls->ssl == NULL || SSL_set_fd(tls->ssl, fd) != 1) {
        ERR_clear_error();
        SSL_free(tls->ssl);
        free(tls);
        return PST_E_NOMEM;
    }
    SSL_set_accept_state(tls->ssl);
    tls->context = context;
    context->holders++;
    tls->wants = EPOLLIN;
    *ret_tls = tls;
    return PST_OK;
}

void pst_tls_free(struct pst_tls *tls)
{
    if (tls == NULL)
        return;
    if (!tls->failed && SSL_is_init_finished(tls->ssl)) {
        (void)SSL_shutdown(tls->ssl);
        ERR_clear_error();
    }
    SSL_free(tls->ssl);
    pst_tls_context_free(tls->context);
    free(tls);
}

/* What OpenSSL says of a call that moved nothing, in the words of read() and write(). */
static ssize_t explain(struct pst_tls *tls, int returned)
{
    int saved = errno, why = SSL_get_error(tls->ssl, returned);

    ERR_clear_error();
    switch (why) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        tls->wants = why == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT;
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        tls->failed = true;
        errno = saved == 0 || saved == EAGAIN ? ECONNRESET : saved;
        return -1;
    default: /* OpenSSL's list is open; all others mean that the peer broke the protocol */
        tls->failed = true;
        errno = EPROTO;
        return -1;
    }
}

ssize_t pst_tls_read(struct pst_tls *tls, void *buffer, size_t size)
{
    size_t n;
    int rc;

    ERR_clear_error();
    errno = 0;
    rc = SSL_read_ex(tls->ssl, buffer, size, &n);
    return rc == 1 ? (ssize_t)n : explain(tls, rc);
}

ssize_t pst_tls_write(struct pst_tls *tls, const void *data, size_t len)
{
    size_t n;
    int rc;

    ERR_clear_error();
    errno = 0;
    rc = SSL_write_ex(tls->ssl, data, len, &n);
    return rc == 1 ? (ssize_t)n : explain(tls, rc);
}

uint32_t pst_tls_wants(const struct pst_tls *tls)
{
    return tls->wants;
}
