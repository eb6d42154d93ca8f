/* test_chain.c - bytes in pieces against the same bytes in one. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/chain.h"

#define MODEL_MAX (1 << 20)

static char model[MODEL_MAX];
static size_t model_len;

/* Reads the chain from `cursor` on, `step` bytes at a time, and compares. */
static void check_from(const struct pst_chain *chain, struct pst_chain_cursor cursor, size_t step)
{
    struct iovec pieces[3];

    while (cursor.at < chain->bytes) {
        size_t count = pst_chain_pieces(chain, &cursor, pieces, PST_COUNT_OF(pieces)), i, n = 0;

        assert_true(count > 0);
        for (i = 0; i < count; i++) {
            assert_true(cursor.at + n + pieces[i].iov_len <= model_len);
            assert_memory_equal(pieces[i].iov_base, model + cursor.at + n, pieces[i].iov_len);
            n += pieces[i].iov_len;
        }
        pst_chain_advance(chain, &cursor, n < step ? n : step);
    }
    assert_int_equal(pst_chain_pieces(chain, &cursor, pieces, 1), 0);
}

static void check(const struct pst_chain *chain)
{
    static const struct pst_chain_cursor start;

    assert_int_equal(chain->bytes, model_len);
    check_from(chain, start, 1000);
    check_from(chain, start, MODEL_MAX);
}

static uint32_t next_random(void)
{
    static uint32_t random = 2463534242u;

    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    return random;
}

static void test_against_a_model(void **state)
{
    int round, step;

    (void)state;
    for (round = 0; round < 50; round++) {
        struct pst_chain chain;

        pst_chain_init(&chain);
        model_len = 0;
        for (step = 0; step < 40; step++) {
            char data[9000];
            size_t len = next_random() % (step % 3 == 0 ? sizeof data : 100), i;

            for (i = 0; i < len; i++)
                data[i] = (char)next_random();
            if (next_random() % 8 == 0) {
                size_t size;
                char *room = pst_chain_room(&chain, len, &size);

                assert_non_null(room);
                len = len < size ? len : size;
                memcpy(room, data, len);
                assert_int_equal(pst_chain_append(&chain, room, len, len), PST_OK);
                memcpy(model + model_len, data, len);
                model_len += len;
            } else if (next_random() % 4 != 0 || model_len == 0) {
                assert_int_equal(
                    pst_chain_append(&chain, data, len, next_random() % 2 ? len + 50 : 0), PST_OK);
                memcpy(model + model_len, data, len);
                model_len += len;
            } else {
                size_t at = next_random() % model_len, gone = next_random() % (model_len - at + 1);

                if (step % 2 == 0)
                    gone = gone % 64;
                assert_int_equal(pst_chain_replace(&chain, at, gone, data, len), PST_OK);
                memmove(model + at + len, model + at + gone, model_len - at - gone);
                memcpy(model + at, data, len);
                model_len = model_len - gone + len;
            }
            check(&chain);
        }
        pst_chain_done(&chain);
        pst_chain_done(&chain);
    }
}

/* What is read into the room is appended where it lies, and what is not is copied behind it. */
static void test_room_is_filled_in_place(void **state)
{
    static const struct pst_chain_cursor start;
    struct pst_chain chain;
    struct iovec piece;
    size_t size;
    char *room;

    (void)state;
    pst_chain_init(&chain);
    room = pst_chain_room(&chain, 10, &size);
    assert_non_null(room);
    assert_int_equal(size, 10);
    assert_ptr_equal(pst_chain_room(&chain, 10, &size), room); /* nothing was appended */
    memcpy(room, "0123", 4);
    assert_int_equal(pst_chain_append(&chain, room, 4, 10), PST_OK);
    assert_int_equal(pst_chain_append(&chain, "45", 2, 6), PST_OK);
    assert_ptr_equal(pst_chain_room(&chain, 4, &size), room + 6);
    assert_int_equal(size, 4);
    memcpy(room + 6, "6789", 4);
    assert_int_equal(pst_chain_append(&chain, room + 6, 4, 4), PST_OK);
    assert_int_equal(pst_chain_pieces(&chain, &start, &piece, 1), 1);
    assert_ptr_equal(piece.iov_base, room);
    assert_int_equal(piece.iov_len, 10);
    assert_memory_equal(room, "0123456789", 10);
    assert_non_null(pst_chain_room(&chain, 0, &size)); /* another segment */
    assert_int_equal(chain.bytes, 10);
    assert_int_equal(pst_chain_pieces(&chain, &start, &piece, 1), 1);
    pst_chain_done(&chain);
}

/* Appended bytes stay where they are, so that pieces stay valid while more comes. */
static void test_bytes_do_not_move(void **state)
{
    static const struct pst_chain_cursor start;
    struct pst_chain chain;
    struct iovec first, again;
    int i;

    (void)state;
    pst_chain_init(&chain);
    assert_int_equal(pst_chain_append(&chain, "abc", 3, 0), PST_OK);
    assert_int_equal(pst_chain_pieces(&chain, &start, &first, 1), 1);
    for (i = 0; i < 10000; i++)
        assert_int_equal(pst_chain_append(&chain, "0123456789", 10, 0), PST_OK);
    assert_int_equal(pst_chain_pieces(&chain, &start, &again, 1), 1);
    assert_ptr_equal(first.iov_base, again.iov_base);
    assert_memory_equal(again.iov_base, "abc0123456789", 13);
    pst_chain_done(&chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_a_model),
        cmocka_unit_test(test_room_is_filled_in_place),
        cmocka_unit_test(test_bytes_do_not_move),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
