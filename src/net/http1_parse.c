/* http1_parse.c - see http1_parse.h. */
#include "net/http1_parse.h"

/* What llhttp's callbacks fill during one call; the parser's `data` points to it. */
struct reading {
    struct pst_http1 *http;
    struct pst_head *head;
    struct pst_header *headers;
    struct pst_slice body; /* the one run of data of this call */
    bool too_many;
    bool headers_complete;
    bool message_complete;
    bool twice; /* more than one run: the guard and llhttp disagree */
};

static int on_target(llhttp_t *parser, const char *at, size_t len)
{
    struct reading *r = parser->data;

    if (r->head->target.len == 0)
        r->head->target.at = at;
    r->head->target.len += len;
    return 0;
}

static int on_name(llhttp_t *parser, const char *at, size_t len)
{
    struct reading *r = parser->data;

    if (r->head == NULL)
        return 0; /* a trailer: judged by the guard, then dropped */
    if (r->head->count == PST_HTTP1_HEADERS_MAX) {
        r->too_many = true;
        return -1;
    }
    r->headers[r->head->count++] = (struct pst_header){{at, len}, {"", 0}};
    return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
    struct reading *r = parser->data;

    if (r->head == NULL || r->head->count == 0)
        return 0;
    while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
        len--;
    r->headers[r->head->count - 1].value = (struct pst_slice){at, len};
    return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct reading *r = parser->data;
    struct pst_http1 *http = r->http;

    r->headers_complete = true;
    http->keep_alive = (parser->flags & F_CONNECTION_CLOSE) == 0 &&
                       (parser->http_minor > 0 || (parser->flags & F_CONNECTION_KEEP_ALIVE) != 0);
    parser->upgrade = 0; /* never offered: such a request is an ordinary one */
    return http->response && (http->no_body || parser->status_code == 204 ||
                              parser->status_code == 304 || parser->status_code / 100 == 1);
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct reading *r = parser->data;

    r->twice = r->body.len > 0;
    r->body = (struct pst_slice){at, len};
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    struct reading *r = parser->data;

    r->message_complete = true;
    return 0;
}

static const llhttp_settings_t settings = {
    .on_url = on_target,
    .on_header_field = on_name,
    .on_header_value = on_value,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

void pst_http1_init(struct pst_http1 *http, bool response)
{
    memset(http, 0, sizeof *http);
    http->response = response;
    pst_http1_next(http);
}

void pst_http1_next(struct pst_http1 *http)
{
    llhttp_init(&http->parser, http->response ? HTTP_RESPONSE : HTTP_REQUEST, &settings);
    http->guard.head = (struct pst_guard_head){.response = http->response};
    http->state = PST_HTTP1_HEAD;
    http->left = 0;
    http->no_body = false;
    http->keep_alive = false;
}

static int fail(struct pst_http1_error *ret_error, uint16_t status, const char *why)
{
    ret_error->status = status;
    ret_error->why = why;
    return PST_E_SYNTAX;
}

static enum pst_method method_of(uint8_t method)
{
    switch (method) {
    case HTTP_GET:
        return PST_METHOD_GET;
    case HTTP_HEAD:
        return PST_METHOD_HEAD;
    case HTTP_POST:
        return PST_METHOD_POST;
    default:
        return PST_METHOD_OTHER;
    }
}

/* What both parsers made of the fields: how long is the body? */
static int judge_fields(struct pst_http1 *http, struct pst_head *head,
                        struct pst_http1_error *ret_error)
{
    struct pst_guard_fields fields = {.response = http->response};
    const llhttp_t *parser = &http->parser;
    const char *why;
    size_t i;

    for (i = 0; i < head->count; i++) {
        const struct pst_header *h = &head->headers[i];

        pst_guard_field(&fields, h->name.at, h->name.len, h->value.at, h->value.len);
        if (h->name.len == 4 && pst_slice_equal_nocase(h->name, PST_SLICE("host")))
            head->host = h->value;
        else if (h->name.len == 6 && pst_slice_equal_nocase(h->name, PST_SLICE("expect")))
            head->expects_continue = head->version_minor > 0 &&
                                     pst_slice_equal_nocase(h->value, PST_SLICE("100-continue"));
    }
    if (pst_guard_fields_verdict(&fields, parser->http_minor, &why) != PST_OK)
        return fail(ret_error, 400, why);

    http->state = PST_HTTP1_END;
    head->content_length = 0;
    if (http->response &&
        (http->no_body || head->status == 204 || head->status == 304 || head->status / 100 == 1)) {
        if (fields.has_length)
            head->content_length = fields.content_length;
    } else if (fields.chunked) {
        http->state = PST_HTTP1_CHUNKED;
        http->guard.chunk = (struct pst_guard_chunk){.response = http->response};
        head->content_length = PST_LENGTH_UNKNOWN;
        head->has_body = true;
    } else if (fields.has_length) {
        head->content_length = http->left = fields.content_length;
        head->has_body = http->left > 0;
        if (head->has_body)
            http->state = PST_HTTP1_LENGTH;
    } else if (http->response) {
        http->state = PST_HTTP1_UNTIL_CLOSE;
        http->keep_alive = false;
        head->content_length = PST_LENGTH_UNKNOWN;
        head->has_body = true;
    }
    if (!head->has_body)
        head->expects_continue = false;
    return PST_OK;
}

static int refuse_parse(const struct reading *r, llhttp_errno_t error,
                        struct pst_http1_error *ret_error)
{
    if (r->too_many)
        return fail(ret_error, 431, "too many header fields");
    if (error == HPE_INVALID_METHOD)
        return fail(ret_error, 501, "unknown method");
    if (error == HPE_INVALID_VERSION)
        return fail(ret_error, 505, "unknown HTTP version");
    return fail(ret_error, 400, "malformed head");
}

/* `bytes` is a whole head that passed the guard. */
static int parse_head(struct pst_http1 *http, const char *bytes, size_t len,
                      struct pst_http1_head_room *room, struct pst_head *ret_head,
                      struct pst_http1_error *ret_error)
{
    struct pst_head head = {.headers = room->headers};
    struct reading r = {.http = http, .head = &head, .headers = room->headers};
    llhttp_t *parser = &http->parser;
    llhttp_errno_t error;

    parser->data = &r;
    error = llhttp_execute(parser, bytes, len);
    parser->data = NULL;
    if (error != HPE_OK || !r.headers_complete)
        return refuse_parse(&r, error, ret_error);
    if (parser->http_major != 1)
        return fail(ret_error, 505, "unknown HTTP version");
    head.version_minor = parser->http_minor;
    head.status = parser->status_code;
    head.method = http->response ? PST_METHOD_OTHER : method_of(parser->method);
    if (!http->response && !pst_guard_target(head.target.at, head.target.len))
        return fail(ret_error, 400, "unsupported request target");
    if (http->response && (head.status < 100 || head.status > 999))
        return fail(ret_error, 400, "malformed status");
    if (judge_fields(http, &head, ret_error) != PST_OK)
        return PST_E_SYNTAX;
    if (r.message_complete != (http->state == PST_HTTP1_END))
        return fail(ret_error, 400, "ambiguous length");
    *ret_head = head;
    return PST_OK;
}

int pst_http1_head(struct pst_http1 *http, const char *bytes, size_t len, size_t head_max,
                   struct pst_http1_head_room *room, struct pst_head *ret_head, size_t *ret_used,
                   struct pst_http1_error *ret_error)
{
    static const char version[] = "HTTP/1.";
    size_t blank = 0, head_len, seen;
    const char *why;
    int rc;

    PST_ASSERT(http->state == PST_HTTP1_HEAD);
    if (http->response &&
        memcmp(bytes, version, len < sizeof version - 1 ? len : sizeof version - 1) != 0)
        return fail(ret_error, 400, "not HTTP/1"); /* known at once: its head may never end */
    if (!http->response && len > 0 && bytes[0] == '\r') {
        if (len == 1)
            return PST_E_AGAIN;
        if (bytes[1] == '\n')
            blank = 2;
    }
    seen = len - blank < head_max ? len - blank : head_max;
    rc = pst_guard_head(&http->guard.head, bytes + blank, seen, &head_len, &why);
    if (rc == PST_E_AGAIN && seen == head_max)
        return fail(ret_error, 431, "head too large");
    if (rc == PST_E_SYNTAX)
        return fail(ret_error, 400, why);
    if (rc != PST_OK)
        return rc;
    *ret_used = blank + head_len;
    return parse_head(http, bytes + blank, head_len, room, ret_head, ret_error);
}

static int step_chunked(struct pst_http1 *http, const char *bytes, size_t len, struct reading *r,
                        size_t *ret_used, struct pst_http1_error *ret_error)
{
    const char *why = NULL;
    size_t passed;
    int rc = pst_guard_chunk(&http->guard.chunk, bytes, len, &passed, &why);
    bool whole = http->guard.chunk.state == PST_GUARD_CHUNK_END;

    *ret_used = passed;
    if (passed > 0 && (llhttp_execute(&http->parser, bytes, passed) != HPE_OK || r->twice))
        return fail(ret_error, 400, "malformed chunked body");
    if (rc != PST_OK)
        return fail(ret_error, 400, why);
    if (r->message_complete != whole)
        return fail(ret_error, 400, "ambiguous end of a chunked body");
    if (whole)
        http->state = PST_HTTP1_END;
    return PST_OK;
}

static int take_chunked(struct pst_http1 *http, char *bytes, size_t len, struct pst_slice *ret_body,
                        size_t *ret_used, struct pst_http1_error *ret_error)
{
    struct reading r = {.http = http};
    struct pst_slice body = {bytes, 0};
    size_t used = 0, n;
    int rc = PST_OK;

    http->parser.data = &r;
    while (rc == PST_OK && used < len && http->state == PST_HTTP1_CHUNKED) {
        rc = step_chunked(http, bytes + used, len - used, &r, &n, ret_error);
        if (r.body.len > 0) {
            size_t at = (size_t)(r.body.at - bytes);

            if (body.len == 0)
                body.at = r.body.at;
            else
                memmove(bytes + (body.at - bytes) + body.len, bytes + at, r.body.len);
            body.len += r.body.len;
            r.body.len = 0;
        }
        used += n;
    }
    http->parser.data = NULL;
    *ret_body = body;
    *ret_used = used;
    return rc;
}

int pst_http1_body(struct pst_http1 *http, char *bytes, size_t len, struct pst_slice *ret_body,
                   size_t *ret_used, struct pst_http1_error *ret_error)
{
    switch ((enum pst_http1_state)http->state) {
    case PST_HTTP1_LENGTH:
        if (len > http->left)
            len = (size_t)http->left;
        http->left -= len;
        if (http->left == 0)
            http->state = PST_HTTP1_END;
        break;
    case PST_HTTP1_UNTIL_CLOSE:
        break;
    case PST_HTTP1_CHUNKED:
        return take_chunked(http, bytes, len, ret_body, ret_used, ret_error);
    case PST_HTTP1_HEAD:
    case PST_HTTP1_END:
    case PST_HTTP1_STATE_COUNT:
        PST_ASSERT(false);
    }
    *ret_body = (struct pst_slice){bytes, len};
    *ret_used = len;
    return PST_OK;
}
