/* curl_call.c - see curl_call.h: one request's options, and what comes back. */
#include "scale/curl_call.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

#define HEAD_BYTES_MAX ((size_t)64 * 1024)
#define PIECES_BYTES_MAX                                                                           \
    ((size_t)16 << 20)       /* not told yet, of a stream: libcurl reads on for some MiB */
#define RETRY_AFTER_S_MAX 60 /* who watches must not be blind for as long as a server likes */

/* Status of the answer that is being read; 1xx are passed over by libcurl. */
static long status_of(const struct pst_curl_call *call)
{
    long status = 0;

    if (call->easy != NULL)
        curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *user)
{
    struct pst_curl_call *call = user;
    bool is_stream = call->request.data != NULL && status_of(call) == 200;
    size_t max = is_stream ? PIECES_BYTES_MAX : call->request.bytes_max;

    if (count * size > max - call->text.len) {
        call->is_full = true;
        return 0;
    }
    pst_text_add(&call->text, bytes, count * size);
    if (call->text.broken)
        return 0;
    if (is_stream)
        pst_curl_call_ready(call);
    return count * size;
}

static size_t take_head(char *bytes, size_t size, size_t count, void *user)
{
    struct pst_curl_call *call = user;

    (void)bytes;
    call->head_bytes += size * count;
    if (call->head_bytes > HEAD_BYTES_MAX) {
        call->is_full = true;
        return 0;
    }
    return size * count;
}

static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

    (void)user;
    (void)purpose;
    if (fd < 0)
        return CURL_SOCKET_BAD;
    pst_fd_tune_tcp(fd);
    return fd;
}

static bool add_header(struct pst_curl_call *call, const char *header)
{
    struct curl_slist *list = curl_slist_append(call->headers, header);

    if (list == NULL)
        return false;
    call->headers = list;
    return true;
}

static int add_headers(struct pst_curl_call *call)
{
    char *header = NULL;
    bool fits = add_header(call, "Expect:"); /* no 100-continue: bodies are small */
    int rc = PST_OK;

    for (size_t i = 0; i < PST_CURL_HEADERS_MAX && call->request.headers[i] != NULL; i++)
        fits = fits && add_header(call, call->request.headers[i]);
    if (call->request.access != NULL)
        rc = pst_curl_access_header(call->request.access, &header);
    if (rc == PST_E_INVALID) {
        call->refusal = call->error;
        snprintf(call->error, sizeof call->error, "%.200s: no token in it",
                 call->request.access->token_file);
    }
    if (header != NULL) {
        fits = fits && add_header(call, header);
        explicit_bzero(header, strlen(header));
        free(header);
    }
    return rc != PST_OK ? rc : fits ? PST_OK : PST_E_NOMEM;
}

static long ms_of(pst_ns ns)
{
    return (long)((ns + PST_MS - 1) / PST_MS);
}

#define SET(option, value) (ok = curl_easy_setopt(call->easy, option, value) == CURLE_OK && ok)

/* What every request has in common. */
static bool set_manners(struct pst_curl_call *call)
{
    bool ok = true;

    SET(CURLOPT_PRIVATE, call);
    SET(CURLOPT_ERRORBUFFER, call->error);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
#if LIBCURL_VERSION_NUM >= 0x075700 /* a certificate authority rotates too */
    SET(CURLOPT_CA_CACHE_TIMEOUT, 0L);
#endif
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, call);
    SET(CURLOPT_HEADERFUNCTION, take_head);
    SET(CURLOPT_HEADERDATA, call);
    return ok;
}

static bool set_request(struct pst_curl_call *call)
{
    const struct pst_curl_request *request = &call->request;
    const struct pst_curl_access *access = request->access;
    bool ok = true;

    SET(CURLOPT_URL, request->url);
    SET(CURLOPT_HTTPHEADER, call->headers);
    SET(CURLOPT_CONNECTTIMEOUT_MS, ms_of(request->connect_timeout));
    SET(CURLOPT_TIMEOUT_MS, ms_of(request->timeout));
    if (request->body != NULL) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
        SET(CURLOPT_COPYPOSTFIELDS, request->body);
    }
    if (request->method != NULL)
        SET(CURLOPT_CUSTOMREQUEST, request->method);
    if (access != NULL && access->ca_file != NULL) {
        SET(CURLOPT_CAINFO, access->ca_file);
        SET(CURLOPT_CAPATH, NULL);
    }
    if (access != NULL && access->cert_file != NULL)
        SET(CURLOPT_SSLCERT, access->cert_file);
    if (access != NULL && access->key_file != NULL)
        SET(CURLOPT_SSLKEY, access->key_file);
    return ok;
}

int pst_curl_call_prepare(struct pst_curl_call *call)
{
    int rc = add_headers(call);

    if (rc != PST_OK)
        return rc;
    call->easy = curl_easy_init();
    if (call->easy == NULL || !set_manners(call) || !set_request(call))
        return PST_E_NOMEM;
    call->request.url = NULL; /* libcurl has copies of these */
    call->request.body = NULL;
    return PST_OK;
}

void pst_curl_call_forget(struct pst_curl_call *call)
{
    struct curl_slist *header;

    if (call->easy != NULL)
        curl_easy_cleanup(call->easy);
    call->easy = NULL;
    for (header = call->headers; header != NULL; header = header->next)
        explicit_bzero(header->data, strlen(header->data));
    curl_slist_free_all(call->headers);
    call->headers = NULL;
    pst_text_done(&call->text);
}

static int rc_of(const struct pst_curl_call *call)
{
    if (call->rc != PST_OK)
        return call->rc;
    if (call->is_full)
        return PST_E_FULL;
    switch (call->code) {
    case CURLE_OK:
        return PST_OK;
    case CURLE_OPERATION_TIMEDOUT:
        return PST_E_AGAIN;
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
        return PST_E_INVALID;
    default:
        return PST_E_SYSTEM;
    }
}

void pst_curl_call_answer(const struct pst_curl_call *call, const struct pst_text *body,
                          struct pst_curl_answer *ret_answer)
{
    curl_off_t seconds = 0;

    if (call->easy != NULL)
        curl_easy_getinfo(call->easy, CURLINFO_RETRY_AFTER, &seconds);
    if (seconds < 0)
        seconds = 0;
    *ret_answer = (struct pst_curl_answer){
        .rc = rc_of(call),
        .status = status_of(call),
        .body = body->at == NULL ? "" : body->at,
        .len = body->len,
        .retry_after = (pst_ns)(seconds < RETRY_AFTER_S_MAX ? seconds : RETRY_AFTER_S_MAX) * PST_S,
        .error = call->refusal != NULL    ? call->refusal
                 : call->is_full          ? "the answer is too large"
                 : call->code == CURLE_OK ? ""
                 : call->error[0] != '\0' ? call->error
                                          : curl_easy_strerror(call->code),
    };
}
