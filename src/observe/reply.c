/* reply.c - see reply.h. */
#include "observe/reply.h"

#include "observe/line.h"

int pst_reply_listen(struct pst_loop *loop, const struct pst_server_handler *handler, void *user,
                     const char *address, struct pst_server **ret_server)
{
    const struct pst_server_config config = {
        .handler = handler,
        .user = user,
        .head_max = 32 << 10,
        .connections_max = 256,
        .head_timeout = 10 * PST_S,
        .body_timeout = 10 * PST_S,
        .idle_timeout = 75 * PST_S,
        .write_stall = 30 * PST_S,
        .low_water = 64 << 10,
    };
    int rc = pst_server_new(loop, &config, ret_server);

    return rc == PST_OK ? pst_server_listen(*ret_server, address) : rc;
}

void pst_reply(struct pst_exchange *x, uint16_t status, const char *type, struct pst_slice body)
{
    const struct pst_header headers[] = {
        {PST_SLICE("Content-Type"), pst_slice_of(type)},
        {PST_SLICE("Cache-Control"), PST_SLICE("no-store")},
    };

    pst_exchange_respond(x, status, headers, PST_COUNT_OF(headers), body.len);
    if (body.len > 0)
        (void)pst_exchange_write(x, body.at, body.len);
    pst_exchange_end(x);
}

void pst_reply_text(struct pst_exchange *x, uint16_t status, const char *type,
                    struct pst_text *text)
{
    if (text->broken)
        pst_reply(x, 500, PST_TYPE_TEXT, PST_SLICE("out of memory\n"));
    else
        pst_reply(x, status, type, pst_slice(text->at, text->len));
    pst_text_done(text);
}

void pst_reply_error(struct pst_exchange *x, uint16_t status, const char *allow,
                     const char *message)
{
    const struct pst_header headers[] = {
        {PST_SLICE("Content-Type"), PST_SLICE(PST_TYPE_JSON)},
        {PST_SLICE("Allow"), pst_slice_of(allow)},
    };
    char buffer[1024];
    struct pst_line line;
    struct pst_slice inner;
    struct pst_text body = {NULL, 0, 0, false};

    pst_line_begin(&line, buffer, sizeof buffer);
    pst_line_text(&line, "message", pst_slice_of(message), 512);
    inner = pst_line_end(&line);
    pst_text_print(&body, "{\"error\":%.*s}\n", (int)inner.len, inner.at);
    pst_exchange_respond(x, status, headers, allow == NULL ? 1 : 2, body.len);
    if (body.len > 0)
        (void)pst_exchange_write(x, body.at, body.len);
    pst_exchange_end(x);
    pst_text_done(&body);
}
