/* The hash beside the library that it is the same as: every length, every alignment, every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cmocka.h>

#include "codec/hash.h"

enum { TEXT_BYTES = 300 };

static void make_text(char text[static TEXT_BYTES])
{
    uint32_t x = 1;

    for (size_t i = 0; i < TEXT_BYTES; i++) {
        x = x * 1664525 + 1013904223;
        text[i] = (char)(x >> 24);
    }
}

static uint64_t hash_in_pieces(const char *text, size_t len, size_t piece)
{
    struct pst_hash hash;

    pst_hash_init(&hash);
    for (size_t at = 0; at < len; at += piece)
        pst_hash_add(&hash, text + at, len - at < piece ? len - at : piece);
    return pst_hash_value(&hash);
}

static void it_is_xxh64_of_every_length(void **state)
{
    char text[TEXT_BYTES];

    (void)state;
    make_text(text);
    for (size_t at = 0; at < 9; at++)
        for (size_t len = 0; at + len <= TEXT_BYTES; len++)
            if (hash_in_pieces(text + at, len, TEXT_BYTES) != XXH64(text + at, len, 0))
                fail_msg("%zu bytes from %zu on", len, at);
}

static void cuts_do_not_matter(void **state)
{
    char text[TEXT_BYTES];

    (void)state;
    make_text(text);
    for (size_t piece = 1; piece <= 70; piece++)
        for (size_t len = 0; len <= TEXT_BYTES; len++)
            if (hash_in_pieces(text, len, piece) != XXH64(text, len, 0))
                fail_msg("%zu bytes in pieces of %zu", len, piece);
}

static void a_value_may_be_asked_for_on_the_way(void **state)
{
    char text[TEXT_BYTES];
    struct pst_hash hash;

    (void)state;
    make_text(text);
    pst_hash_init(&hash);
    for (size_t len = 0; len < TEXT_BYTES; len++) {
        assert_true(pst_hash_value(&hash) == XXH64(text, len, 0));
        pst_hash_add(&hash, text + len, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_xxh64_of_every_length),
        cmocka_unit_test(cuts_do_not_matter),
        cmocka_unit_test(a_value_may_be_asked_for_on_the_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
