/*
 * net_http1.c - HTTP/1 messages read in one piece and in many: the same heads, bodies and verdicts.
 *
 * First byte: bit 0 response, bit 1 answers HEAD; the others: the size of a piece less one.
 */
#include <stdlib.h>
#include <string.h>

#include "net/http1_parse.h"

#define HEAD_MAX     2048
#define BODY_MAX     (1 << 16)
#define MESSAGES_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
    uint16_t status; /* of a refusal */
    size_t used, messages, headers, heads_bytes;
    uint8_t state;
    bool keep_alive;
    size_t body_len;
    char body[BODY_MAX];
};

static struct reading whole, cut;
static struct pst_http1_head_room room;

static int read_head(struct pst_http1 *http, const char *bytes, size_t len, struct reading *r)
{
    struct pst_http1_error error;
    struct pst_head head;
    size_t used, i;
    int rc = pst_http1_head(http, bytes, len, HEAD_MAX, &room, &head, &used, &error);

    if (rc == PST_OK) {
        PST_ASSERT(used <= len);
        r->used += used;
        r->messages++;
        r->headers += head.count;
        for (i = 0; i < head.count; i++)
            r->heads_bytes += head.headers[i].name.len + head.headers[i].value.len;
        PST_ASSERT(http->response || head.target.at[0] == '/');
    } else if (rc != PST_E_AGAIN) {
        PST_ASSERT(error.status >= 400 && error.why != NULL);
        r->status = error.status;
    }
    return rc;
}

static int read_body(struct pst_http1 *http, char *bytes, size_t len, struct reading *r)
{
    struct pst_http1_error error;
    struct pst_slice body;
    size_t used;
    int rc = pst_http1_body(http, bytes, len, &body, &used, &error);

    PST_ASSERT(used <= len && body.len <= used);
    if (body.len > 0) {
        PST_ASSERT(r->body_len + body.len <= sizeof r->body);
        memcpy(r->body + r->body_len, body.at, body.len);
        r->body_len += body.len;
    }
    r->used += used;
    if (rc != PST_OK)
        r->status = error.status;
    return rc;
}

/* As a connection does it: what was not used comes again, with `step` bytes more behind it. */
static void read_all(const char *bytes, size_t len, size_t step, uint8_t flags, struct reading *r)
{
    struct pst_http1 http;
    size_t have = 0;

    memset(r, 0, offsetof(struct reading, body));
    pst_http1_init(&http, (flags & 1) != 0);
    http.no_body = (flags & 2) != 0;
    while (r->status == 0 && r->messages <= MESSAGES_MAX) {
        bool more = have < len;
        size_t before = r->used, here;
        uint8_t state = http.state;
        char *piece;

        if (http.state == PST_HTTP1_END) {
            r->keep_alive = http.keep_alive;
            pst_http1_next(&http);
            http.no_body = (flags & 2) != 0;
        }
        here = have - r->used;
        piece = malloc(here + 1);
        memcpy(piece, bytes + r->used, here);
        if (here > 0 && http.state == PST_HTTP1_HEAD)
            read_head(&http, piece, here, r);
        else if (here > 0)
            read_body(&http, piece, here, r);
        free(piece);
        if (r->used == before && http.state == state) {
            if (!more)
                break;
            have = len - have < step ? len : have + step;
        }
    }
    r->state = http.state;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data + 1;

    if (size < 1 || size > BODY_MAX)
        return 0;
    read_all(bytes, size - 1, size, data[0], &whole);
    read_all(bytes, size - 1, (size_t)(data[0] >> 2) + 1, data[0], &cut);
    PST_ASSERT(whole.status == cut.status);
    PST_ASSERT(whole.messages == cut.messages && whole.headers == cut.headers &&
               whole.heads_bytes == cut.heads_bytes);
    PST_ASSERT(whole.body_len == cut.body_len && memcmp(whole.body, cut.body, cut.body_len) == 0);
    PST_ASSERT(whole.keep_alive == cut.keep_alive && whole.state == cut.state);
    if (whole.status == 0)
        PST_ASSERT(whole.used == cut.used);
    return 0;
}
