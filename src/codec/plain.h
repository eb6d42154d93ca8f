/*
 * plain.h - where the plain text inside a JSON string ends.
 *
 * Why: most of a body is one long string, so this loop is most of what a request costs. It looks at 16
 * bytes at once, or at 8 where there is no SSE2.
 *
 * Guarantee: reads [at, end) and nothing beyond.
 */
#ifndef PST_CODEC_PLAIN_H
#define PST_CODEC_PLAIN_H

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "pst.h"

/* ASCII that a string holds as it is: no quote, backslash, control character, nor a longer code point. */
static inline bool pst_plain_is(char byte)
{
    return (unsigned char)byte >= ' ' && (unsigned char)byte < 0x80 && byte != '"' && byte != '\\';
}

#ifdef __SSE2__

/* 0xff in each byte that is plain: as a signed number a byte of a longer code point is below ' '. */
static inline __m128i pst_plain_16(const char *at)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));

    return _mm_andnot_si128(_mm_or_si128(quote, slash),
                            _mm_cmpgt_epi8(bytes, _mm_set1_epi8(' ' - 1)));
}

static inline bool pst_plain_is_64(const char *at)
{
    __m128i first = _mm_and_si128(pst_plain_16(at), pst_plain_16(at + 16));
    __m128i second = _mm_and_si128(pst_plain_16(at + 32), pst_plain_16(at + 48));

    return _mm_movemask_epi8(_mm_and_si128(first, second)) == 0xffff;
}

static inline const char *pst_plain_end(const char *at, const char *end)
{
    while (end - at >= 16) {
        int plain = _mm_movemask_epi8(pst_plain_16(at));

        if (plain != 0xffff)
            return at + __builtin_ctz(~(unsigned)plain);
        at += 16;
        while (end - at >= 64 && pst_plain_is_64(at))
            at += 64;
    }
    while (at < end && pst_plain_is(*at))
        at++;
    return at;
}

#else

static inline const char *pst_plain_end(const char *at, const char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;

    while (end - at >= 8) {
        uint64_t word, quote, slash;

        memcpy(&word, at, 8);
        quote = word ^ ones * '"';
        slash = word ^ ones * '\\';
        if (((word | ((word - ones * ' ') & ~word) | ((quote - ones) & ~quote) |
              ((slash - ones) & ~slash)) &
             tops) != 0)
            break;
        at += 8;
    }
    while (at < end && pst_plain_is(*at))
        at++;
    return at;
}

#endif

#endif
