/* guard_chunk.c - chunk framing; see guard.h. */
#include "codec/guard.h"

#include <string.h>

#include "codec/guard_bytes.h"

#define SIZE_DIGITS_MAX 15 /* sixteen could overflow a signed 64-bit count somewhere behind us */

/* Names that frame, route, authenticate or change the meaning of what was read before them. */
static const char *const forbidden_trailers[] = {
    "authorization",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "max-forwards",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "range",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
};

static bool trailer_is_forbidden(const struct pst_guard_chunk *guard)
{
    size_t i;

    for (i = 0; i < PST_COUNT_OF(forbidden_trailers); i++)
        if (strlen(forbidden_trailers[i]) == guard->name_len &&
            memcmp(forbidden_trailers[i], guard->name, guard->name_len) == 0)
            return true;
    return false;
}

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte = pst_guard_lower(byte);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static const char *step_size(struct pst_guard_chunk *guard, char byte)
{
    int digit = hex_digit(byte);

    if (digit >= 0) {
        if (guard->digits == SIZE_DIGITS_MAX)
            return "chunk size too large";
        guard->digits++;
        guard->left = guard->left * 16 + (uint64_t)digit;
        return NULL;
    }
    if (guard->digits == 0)
        return "malformed chunk size";
    if (byte == '\r')
        guard->state = PST_GUARD_CHUNK_SIZE_LF;
    else if (byte == ';')
        guard->state = PST_GUARD_CHUNK_EXTENSION;
    else
        return "malformed chunk size";
    return NULL;
}

static const char *step_extension(struct pst_guard_chunk *guard, char byte)
{
    if (byte == '\r') {
        guard->state = PST_GUARD_CHUNK_SIZE_LF;
        return NULL;
    }
    if (pst_guard_is_control(byte) && byte != '\t')
        return byte == '\n' ? "bare LF in a chunk extension"
                            : "control character in a chunk extension";
    if (++guard->extension_bytes > PST_GUARD_EXTENSION_BYTES_MAX ||
        ++guard->extensions_bytes > PST_GUARD_EXTENSIONS_BYTES_MAX)
        return "chunk extensions too long";
    return NULL;
}

static const char *step_trailer(struct pst_guard_chunk *guard, char byte)
{
    if (++guard->trailer_bytes > PST_GUARD_TRAILERS_BYTES_MAX)
        return "trailers too long";
    switch ((enum pst_guard_chunk_state)guard->state) {
    case PST_GUARD_CHUNK_TRAILER_START:
        guard->name_len = 0;
        if (byte == '\r') {
            guard->state = PST_GUARD_CHUNK_END_LF;
            return NULL;
        }
        guard->state = PST_GUARD_CHUNK_TRAILER_NAME;
        if (!pst_guard_is_token(byte))
            return "malformed trailer name";
        guard->name[guard->name_len++] = pst_guard_lower(byte);
        return NULL;
    case PST_GUARD_CHUNK_TRAILER_NAME:
        if (byte == ':') {
            guard->state = PST_GUARD_CHUNK_TRAILER_VALUE;
            return guard->response || !trailer_is_forbidden(guard) ? NULL : "forbidden trailer";
        }
        if (!pst_guard_is_token(byte))
            return "malformed trailer name";
        if (guard->name_len < sizeof guard->name)
            guard->name[guard->name_len++] = pst_guard_lower(byte);
        return NULL;
    case PST_GUARD_CHUNK_TRAILER_VALUE:
        if (byte == '\r')
            guard->state = PST_GUARD_CHUNK_TRAILER_LF;
        else if (pst_guard_is_control(byte) && byte != '\t')
            return "control character in a trailer";
        return NULL;
    case PST_GUARD_CHUNK_TRAILER_LF:
        guard->state = PST_GUARD_CHUNK_TRAILER_START;
        return byte == '\n' ? NULL : "bare CR in a trailer";
    case PST_GUARD_CHUNK_SIZE:
    case PST_GUARD_CHUNK_EXTENSION:
    case PST_GUARD_CHUNK_SIZE_LF:
    case PST_GUARD_CHUNK_DATA:
    case PST_GUARD_CHUNK_DATA_CR:
    case PST_GUARD_CHUNK_DATA_LF:
    case PST_GUARD_CHUNK_END_LF:
    case PST_GUARD_CHUNK_END:
    case PST_GUARD_CHUNK_STATE_COUNT:
        break;
    }
    PST_ASSERT(false);
    return NULL;
}

/* One byte of framing; returns the objection. */
static const char *step(struct pst_guard_chunk *guard, char byte)
{
    switch ((enum pst_guard_chunk_state)guard->state) {
    case PST_GUARD_CHUNK_SIZE:
        return step_size(guard, byte);
    case PST_GUARD_CHUNK_EXTENSION:
        return step_extension(guard, byte);
    case PST_GUARD_CHUNK_SIZE_LF:
        guard->state = guard->left > 0 ? PST_GUARD_CHUNK_DATA : PST_GUARD_CHUNK_TRAILER_START;
        guard->digits = 0;
        guard->extension_bytes = 0;
        return byte == '\n' ? NULL : "bare CR in a chunk line";
    case PST_GUARD_CHUNK_DATA_CR:
        guard->state = PST_GUARD_CHUNK_DATA_LF;
        return byte == '\r' ? NULL : "chunk longer than its size";
    case PST_GUARD_CHUNK_DATA_LF:
        guard->state = PST_GUARD_CHUNK_SIZE;
        return byte == '\n' ? NULL : "bare CR after a chunk";
    case PST_GUARD_CHUNK_TRAILER_START:
    case PST_GUARD_CHUNK_TRAILER_NAME:
    case PST_GUARD_CHUNK_TRAILER_VALUE:
    case PST_GUARD_CHUNK_TRAILER_LF:
        return step_trailer(guard, byte);
    case PST_GUARD_CHUNK_END_LF:
        guard->state = PST_GUARD_CHUNK_END;
        return byte == '\n' ? NULL : "bare CR after the last chunk";
    case PST_GUARD_CHUNK_DATA:
    case PST_GUARD_CHUNK_END:
    case PST_GUARD_CHUNK_STATE_COUNT:
        break;
    }
    PST_ASSERT(false);
    return NULL;
}

int pst_guard_chunk(struct pst_guard_chunk *guard, const char *bytes, size_t len, size_t *ret_used,
                    const char **ret_why)
{
    size_t at = 0;

    while (at < len && guard->state != PST_GUARD_CHUNK_END) {
        const char *why;

        if (guard->state == PST_GUARD_CHUNK_DATA) {
            size_t run = len - at < guard->left ? len - at : (size_t)guard->left;

            at += run;
            guard->left -= run;
            if (guard->left == 0)
                guard->state = PST_GUARD_CHUNK_DATA_CR;
            break;
        }
        why = step(guard, bytes[at]);
        if (why != NULL) {
            *ret_used = at;
            *ret_why = why;
            return PST_E_SYNTAX;
        }
        at++;
    }
    *ret_used = at;
    return PST_OK;
}
