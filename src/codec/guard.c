/* guard.c - heads and their fields; chunk framing is in guard_chunk.c. See guard.h. */
#include "codec/guard.h"

#include <string.h>

#include "codec/guard_bytes.h"

/*
 * Eight bytes at once: the high bit of each that is a control character (below 0x20, or 0x7f). A borrow
 * may set bits above a true one, never below it, so the lowest is exact.
 */
static inline uint64_t controls_of(uint64_t word)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones * 0x80;
    uint64_t below_space = (word - ones * 0x20) & ~word & highs;
    uint64_t flipped = word ^ (ones * 0x7f);
    uint64_t is_delete = (flipped - ones) & ~flipped & highs;

    return below_space | is_delete;
}

/* The next control character, or `len`. */
static size_t skip_printable(const char *bytes, size_t at, size_t len)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t word, controls;

    while (len - at >= sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        controls = controls_of(word);
        if (controls != 0)
            return at + (size_t)__builtin_ctzll(controls) / 8;
        at += sizeof word;
    }
#endif
    while (at < len && !pst_guard_is_control(bytes[at]))
        at++;
    return at;
}

/* METHOD SP target SP HTTP/x.y, single spaces, nothing beyond ASCII. */
static const char *judge_request_line(const char *line, size_t len)
{
    size_t method = 0, at, spaces = 0;

    while (method < len && pst_guard_is_token(line[method]))
        method++;
    if (method == 0 || method == len || line[method] != ' ')
        return "malformed request line";
    for (at = method; at < len; at++) {
        if ((unsigned char)line[at] >= 0x80 || line[at] == '\t')
            return "malformed request line";
        if (line[at] == ' ') {
            spaces++;
            if (at + 1 == len || line[at + 1] == ' ')
                return "malformed request line";
        }
    }
    return spaces == 2 ? NULL : "malformed request line";
}

static const char *judge_field_line(const char *line, size_t len)
{
    size_t at = 0;

    if (line[0] == ' ' || line[0] == '\t')
        return "folded header line";
    while (at < len && pst_guard_is_token(line[at]))
        at++;
    if (at == len || line[at] != ':')
        return "malformed header name";
    return at == 0 ? "empty header name" : NULL;
}

static const char *judge_line(const struct pst_guard_head *guard, const char *line, size_t len)
{
    if (guard->line > 0)
        return judge_field_line(line, len);
    return guard->response ? NULL : judge_request_line(line, len);
}

int pst_guard_head(struct pst_guard_head *guard, const char *bytes, size_t len, size_t *ret_len,
                   const char **ret_why)
{
    for (;;) {
        size_t at = skip_printable(bytes, guard->at, len), line_len;
        const char *why;

        guard->at = at;
        if (at == len)
            return PST_E_AGAIN;
        if (bytes[at] == '\t') {
            guard->at++;
            continue;
        }
        if (bytes[at] != '\r') {
            *ret_why = bytes[at] == '\n' ? "bare LF in the head" : "control character in the head";
            return PST_E_SYNTAX;
        }
        if (at + 1 == len)
            return PST_E_AGAIN;
        if (bytes[at + 1] != '\n') {
            *ret_why = "bare CR in the head";
            return PST_E_SYNTAX;
        }
        line_len = at - guard->line;
        if (line_len == 0 && guard->line > 0) {
            *ret_len = at + 2;
            return PST_OK;
        }
        why =
            line_len == 0 ? "empty request line" : judge_line(guard, bytes + guard->line, line_len);
        if (why != NULL) {
            *ret_why = why;
            return PST_E_SYNTAX;
        }
        guard->line = guard->at = at + 2;
    }
}

static void object(struct pst_guard_fields *guard, const char *why)
{
    if (guard->why == NULL)
        guard->why = why;
}

static void count(uint8_t *counter)
{
    if (*counter < 2)
        (*counter)++;
}

static void judge_length(struct pst_guard_fields *guard, const char *value, size_t len)
{
    uint64_t bytes = 0;
    size_t i;

    count(&guard->lengths);
    if (len == 0 || len > 18) { /* 18 digits always fit */
        object(guard, "malformed Content-Length");
        return;
    }
    for (i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9') {
            object(guard, "malformed Content-Length");
            return;
        }
        bytes = bytes * 10 + (uint64_t)(value[i] - '0');
    }
    guard->content_length = bytes;
    guard->has_length = true;
}

/* An IPv6 literal stands whole in its brackets, with nothing but a port behind them. */
static bool is_bracketed(const char *value, size_t len)
{
    const char *end = memchr(value, ']', len);
    size_t behind;

    if (value[0] != '[')
        return end == NULL && memchr(value, '[', len) == NULL;
    if (end == NULL || end == value + 1 || memchr(value + 1, '[', len - 1) != NULL)
        return false;
    behind = len - (size_t)(end - value) - 1;
    return memchr(end + 1, ']', behind) == NULL && (behind == 0 || end[1] == ':');
}

static void judge_host(struct pst_guard_fields *guard, const char *value, size_t len)
{
    size_t i;

    count(&guard->hosts);
    for (i = 0; i < len; i++)
        if (!pst_guard_is_host(value[i]))
            object(guard, "malformed Host");
    if (len > 0 && !is_bracketed(value, len))
        object(guard, "malformed Host");
}

void pst_guard_field(struct pst_guard_fields *guard, const char *name, size_t name_len,
                     const char *value, size_t value_len)
{
    switch (name_len) {
    case 4:
        if (!guard->response && pst_guard_equal(name, "host", 4))
            judge_host(guard, value, value_len);
        break;
    case 14:
        if (pst_guard_equal(name, "content-length", 14))
            judge_length(guard, value, value_len);
        break;
    case 17:
        if (!pst_guard_equal(name, "transfer-encoding", 17))
            break;
        count(&guard->codings);
        if (value_len == 7 && pst_guard_equal(value, "chunked", 7))
            guard->chunked = true;
        else
            object(guard, "unknown Transfer-Encoding");
        break;
    default:
        break;
    }
}

int pst_guard_fields_verdict(struct pst_guard_fields *guard, uint8_t version_minor,
                             const char **ret_why)
{
    if (guard->codings > 0 && guard->lengths > 0)
        object(guard, "both Content-Length and Transfer-Encoding");
    if (guard->codings > 1)
        object(guard, "more than one Transfer-Encoding");
    if (guard->lengths > 1)
        object(guard, "more than one Content-Length");
    if (guard->codings > 0 && version_minor == 0)
        object(guard, "Transfer-Encoding in HTTP/1.0");
    if (guard->hosts > 1)
        object(guard, "more than one Host");
    if (!guard->response && version_minor > 0 && guard->hosts == 0)
        object(guard, "no Host");
    if (guard->why == NULL)
        return PST_OK;
    *ret_why = guard->why;
    return PST_E_SYNTAX;
}

bool pst_guard_target(const char *target, size_t len)
{
    return len > 0 && target[0] == '/' && memchr(target, '#', len) == NULL;
}
