/* http1_answer.c - the writing side of a connection; see exchange.h. */
#include <string.h>
#include <sys/socket.h>

#include "net/exchange.h"
#include "net/status.h"

#define REFUSAL_BODY_BYTES 1024
#define LINE_BYTES         40 /* a framing line: Content-Length with 20 digits, a chunk's size */

void pst_exchange_begin_answer(struct pst_exchange *x)
{
    x->responded = false;
    x->chunked = false;
    x->bodyless = false;
    x->closing = false;
    x->above_low_water = false;
    x->answer_length = PST_LENGTH_UNKNOWN;
    x->answer_sent = 0;
}

/* Told at the end of the turn: the owner is in the middle of writing. */
static void break_off(struct pst_exchange *x)
{
    x->broken = true;
    pst_output_done(&x->output);
    pst_later(x->server->loop, &x->later);
}

static void send_pieces(struct pst_exchange *x, const struct iovec *pieces, size_t count)
{
    bool was_full = x->output.full;

    if (x->broken)
        return;
    if (pst_output_send(&x->output, x->io.fd, pieces, count) != PST_OK) {
        break_off(x);
        return;
    }
    if (!was_full && x->output.full) {
        x->sent_at = pst_loop_now(x->server->loop);
        pst_exchange_want(x);
        pst_exchange_watch(x);
    }
}

static struct iovec piece(const void *data, size_t len)
{
    union {
        const void *in;
        void *out; /* sendmsg does not write to it */
    } u = {.in = data};

    return (struct iovec){u.out, len};
}

void pst_exchange_send(struct pst_exchange *x, const void *data, size_t len)
{
    struct iovec one = piece(data, len);

    send_pieces(x, &one, 1);
}

static char *put(char *at, const char *text, size_t len)
{
    memcpy(at, text, len);
    return at + len;
}

/* Writes the number, most significant digit first; returns behind it. */
static char *put_number(char *at, uint64_t number, unsigned base)
{
    char digits[20];
    size_t count = 0;

    do {
        digits[count++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

static size_t framing_line(const struct pst_exchange *x, uint16_t status,
                           char line[static LINE_BYTES])
{
    char *at = line;

    if (status == 204 || status == 304 || status / 100 == 1)
        return 0;
    if (x->chunked)
        at = put(at, "Transfer-Encoding: chunked", 26);
    else if (x->answer_length != PST_LENGTH_UNKNOWN)
        at = put_number(put(at, "Content-Length: ", 16), x->answer_length, 10);
    else
        return 0;
    at = put(at, "\r\n", 2);
    return (size_t)(at - line);
}

/* Status line, headers, framing; kept in the output until the first body byte or the end. */
static void put_head(struct pst_exchange *x, uint16_t status, const struct pst_header *headers,
                     size_t count)
{
    static const char close_line[] = "Connection: close\r\n";
    struct pst_server *server = x->server;
    struct pst_slice reason = pst_status_reason(status);
    char framing[LINE_BYTES], *at;
    size_t framing_len = framing_line(x, status, framing), i;
    size_t len = sizeof "HTTP/1.1 200 \r\n" - 1 + reason.len + framing_len + 2;
    bool dated = false;

    for (i = 0; i < count; i++) {
        len += headers[i].name.len + headers[i].value.len + 4;
        dated |= pst_slice_equal_nocase(headers[i].name, PST_SLICE("date"));
    }
    pst_server_date(server);
    if (!dated)
        len += server->date_len;
    if (x->closing)
        len += sizeof close_line - 1;

    at = pst_output_grow(&x->output, len);
    if (at == NULL) {
        break_off(x);
        return;
    }
    at = put(at, "HTTP/1.1 ", 9);
    *at++ = (char)('0' + status / 100 % 10);
    *at++ = (char)('0' + status / 10 % 10);
    *at++ = (char)('0' + status % 10);
    *at++ = ' ';
    at = put(at, reason.at, reason.len);
    at = put(at, "\r\n", 2);
    for (i = 0; i < count; i++) {
        at = put(at, headers[i].name.at, headers[i].name.len);
        at = put(at, ": ", 2);
        at = put(at, headers[i].value.at, headers[i].value.len);
        at = put(at, "\r\n", 2);
    }
    if (!dated)
        at = put(at, server->date, server->date_len);
    at = put(at, framing, framing_len);
    if (x->closing)
        at = put(at, close_line, sizeof close_line - 1);
    put(at, "\r\n", 2);
}

void pst_exchange_respond(struct pst_exchange *x, uint16_t status, const struct pst_header *headers,
                          size_t count, uint64_t length)
{
    PST_ASSERT(x->state == PST_EXCHANGE_OPEN && !x->responded);
    x->responded = true;
    x->expects_continue = false;
    x->answer_length = length;
    x->bodyless = x->head_method || status == 204 || status == 304;
    x->chunked = length == PST_LENGTH_UNKNOWN && x->version_minor > 0;
    x->closing = !x->http.keep_alive || x->version_minor == 0 || x->server->draining ||
                 x->server->close_after || pst_server_is_full(x->server) ||
                 (!x->body_done && !pst_exchange_body_in_hand(x));
    put_head(x, status, headers, count);
}

bool pst_exchange_responded(const struct pst_exchange *x)
{
    return x->responded;
}

void pst_exchange_flush(struct pst_exchange *x)
{
    PST_ASSERT(x->state == PST_EXCHANGE_OPEN && x->responded);
    send_pieces(x, NULL, 0);
}

size_t pst_exchange_write(struct pst_exchange *x, const void *data, size_t len)
{
    char line[LINE_BYTES];

    PST_ASSERT(x->state == PST_EXCHANGE_OPEN && x->responded);
    x->answer_sent += len;
    PST_ASSERT(x->answer_length == PST_LENGTH_UNKNOWN || x->answer_sent <= x->answer_length);
    if (len == 0 || x->bodyless)
        return pst_exchange_pending(x);
    if (x->chunked) {
        size_t line_len = (size_t)(put(put_number(line, len, 16), "\r\n", 2) - line);
        struct iovec pieces[3] = {piece(line, line_len), piece(data, len), piece("\r\n", 2)};

        send_pieces(x, pieces, PST_COUNT_OF(pieces));
    } else {
        pst_exchange_send(x, data, len);
    }
    if (pst_output_waiting(&x->output) > x->server->config.low_water)
        x->above_low_water = true;
    return pst_exchange_pending(x);
}

size_t pst_exchange_pending(const struct pst_exchange *x)
{
    return pst_output_waiting(&x->output);
}

static void end_answer(struct pst_exchange *x)
{
    static const char last_chunk[] = "0\r\n\r\n";

    if (x->chunked && !x->bodyless)
        pst_exchange_send(x, last_chunk, sizeof last_chunk - 1);
    else if (pst_output_waiting(&x->output) > 0)
        send_pieces(x, NULL, 0);
    pst_exchange_move(x, PST_EXCHANGE_FLUSHING);
    if (!x->output.full)
        pst_exchange_finished(x);
}

void pst_exchange_end(struct pst_exchange *x)
{
    PST_ASSERT(x->state == PST_EXCHANGE_OPEN && x->responded);
    PST_ASSERT(x->bodyless || x->answer_length == PST_LENGTH_UNKNOWN ||
               x->answer_sent == x->answer_length);
    end_answer(x);
}

void pst_exchange_abort(struct pst_exchange *x)
{
    PST_ASSERT(x->state == PST_EXCHANGE_OPEN);
    /* Where the end of the connection would be the end of the body, only a reset tells. */
    if (x->responded && !x->chunked && x->answer_length == PST_LENGTH_UNKNOWN)
        pst_exchange_reset(x);
    else
        pst_exchange_close(x);
}

void pst_exchange_reset(struct pst_exchange *x)
{
    struct linger reset = {.l_onoff = 1, .l_linger = 0};

    PST_ASSERT(x->state == PST_EXCHANGE_OPEN);
    setsockopt(x->io.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    pst_exchange_close(x);
}

void pst_exchange_refuse(struct pst_exchange *x, uint16_t status, const char *why, const char *id)
{
    const struct pst_server_config *config = &x->server->config;
    struct pst_header headers[2] = {0};
    char body[REFUSAL_BODY_BYTES];
    size_t len = 0, count = 0;

    if (config->error_body != NULL)
        len = config->error_body(status, why, body, sizeof body);
    PST_ASSERT(len <= sizeof body);
    x->responded = true;
    x->closing = true;
    x->body_done = false; /* whatever the client still sends is not for us */
    x->answer_length = len;
    if (len > 0)
        headers[count++] =
            (struct pst_header){PST_SLICE("Content-Type"), PST_SLICE("application/json")};
    if (id[0] != '\0')
        headers[count++] = (struct pst_header){PST_SLICE("X-Request-Id"), pst_slice_of(id)};
    put_head(x, status, headers, count);
    if (len > 0)
        pst_exchange_send(x, body, len);
    end_answer(x);
}
