/* hash.c - see hash.h. */
#include "codec/hash.h"

#include <string.h>

#define PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME_3 UINT64_C(0x165667b19e3779f9)
#define PRIME_4 UINT64_C(0x85ebca77c2b2ae63)
#define PRIME_5 UINT64_C(0x27d4eb2f165667c5)

static inline uint64_t rotated(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

/* Little-endian, whatever the machine is. */
static inline uint64_t word64(const char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t word32(const char *at)
{
    uint32_t word;

    memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap32(word);
#endif
    return word;
}

static inline uint64_t round_of(uint64_t lane, uint64_t word)
{
    return rotated(lane + word * PRIME_2, 31) * PRIME_1;
}

void pst_hash_init(struct pst_hash *hash)
{
    hash->lane[0] = PRIME_1 + PRIME_2;
    hash->lane[1] = PRIME_2;
    hash->lane[2] = 0;
    hash->lane[3] = -PRIME_1;
    hash->bytes = 0;
}

/* Takes whole stripes; returns behind the last. */
static const char *take_stripes(struct pst_hash *hash, const char *at, size_t len)
{
    uint64_t a = hash->lane[0], b = hash->lane[1], c = hash->lane[2], d = hash->lane[3];

    for (; len >= PST_HASH_STRIPE; at += PST_HASH_STRIPE, len -= PST_HASH_STRIPE) {
        a = round_of(a, word64(at));
        b = round_of(b, word64(at + 8));
        c = round_of(c, word64(at + 16));
        d = round_of(d, word64(at + 24));
    }
    hash->lane[0] = a;
    hash->lane[1] = b;
    hash->lane[2] = c;
    hash->lane[3] = d;
    return at;
}

void pst_hash_add(struct pst_hash *hash, const char *data, size_t len)
{
    size_t resting = hash->bytes % PST_HASH_STRIPE;
    const char *end = data + len;

    if (len == 0)
        return;
    hash->bytes += len;
    if (resting > 0) {
        size_t missing = PST_HASH_STRIPE - resting, add = len < missing ? len : missing;

        memcpy(hash->rest + resting, data, add);
        if (add < missing)
            return;
        take_stripes(hash, hash->rest, PST_HASH_STRIPE);
        data += add;
    }
    data = take_stripes(hash, data, (size_t)(end - data));
    memcpy(hash->rest, data, (size_t)(end - data));
}

/* The lanes as one; a text shorter than a stripe has none. */
static uint64_t joined(const struct pst_hash *hash)
{
    const uint64_t *lane = hash->lane;
    uint64_t h;

    if (hash->bytes < PST_HASH_STRIPE)
        return PRIME_5;
    h = rotated(lane[0], 1) + rotated(lane[1], 7) + rotated(lane[2], 12) + rotated(lane[3], 18);
    for (size_t i = 0; i < 4; i++)
        h = (h ^ round_of(0, lane[i])) * PRIME_1 + PRIME_4;
    return h;
}

uint64_t pst_hash_value(const struct pst_hash *hash)
{
    const char *at = hash->rest, *end = at + hash->bytes % PST_HASH_STRIPE;
    uint64_t h = joined(hash) + hash->bytes;

    for (; end - at >= 8; at += 8)
        h = rotated(h ^ round_of(0, word64(at)), 27) * PRIME_1 + PRIME_4;
    for (; end - at >= 4; at += 4)
        h = rotated(h ^ word32(at) * PRIME_1, 23) * PRIME_2 + PRIME_3;
    for (; at < end; at++)
        h = rotated(h ^ (unsigned char)*at * PRIME_5, 11) * PRIME_1;
    h = (h ^ h >> 33) * PRIME_2;
    h = (h ^ h >> 29) * PRIME_3;
    return h ^ h >> 32;
}
