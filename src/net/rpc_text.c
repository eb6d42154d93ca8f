/* rpc_text.c - see rpc_text.h. */
#include "net/rpc_text.h"

#define DIGITS_MAX 8

static pst_ns unit_of(char letter)
{
    switch (letter) {
    case 'H':
        return 3600 * PST_S;
    case 'M':
        return 60 * PST_S;
    case 'S':
        return PST_S;
    case 'm':
        return PST_MS;
    case 'u':
        return PST_US;
    case 'n':
        return 1;
    default: /* of a stranger's letters */
        return 0;
    }
}

bool pst_rpc_timeout(struct pst_slice text, pst_ns *ret_timeout)
{
    uint64_t value = 0;
    pst_ns unit;
    size_t i;

    if (text.len < 2 || text.len > DIGITS_MAX + 1)
        return false;
    for (i = 0; i < text.len - 1; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.at[i] - '0');
    }
    unit = unit_of(text.at[i]);
    if (unit == 0)
        return false;
    /* 99,999,999 hours are 3.6e20 ns; the clock ends before that. */
    *ret_timeout = value > PST_NEVER / unit ? PST_NEVER : value * unit;
    return true;
}

bool pst_rpc_is_grpc(struct pst_slice type)
{
    struct pst_slice grpc = PST_SLICE("application/grpc");

    if (type.len < grpc.len || !pst_slice_equal_nocase(pst_slice(type.at, grpc.len), grpc))
        return false;
    return type.len == grpc.len || type.at[grpc.len] == '+' || type.at[grpc.len] == ';';
}

size_t pst_rpc_message_encode(const char *message, char *text, size_t size)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t len = 0;

    PST_ASSERT(size > 0);
    for (; *message != '\0'; message++) {
        unsigned char c = (unsigned char)*message;
        bool plain = c >= ' ' && c <= '~' && c != '%';

        if (size - len <= (plain ? 1 : 3))
            break;
        if (plain) {
            text[len++] = (char)c;
            continue;
        }
        text[len++] = '%';
        text[len++] = digits[c >> 4];
        text[len++] = digits[c & 15];
    }
    text[len] = '\0';
    return len;
}
