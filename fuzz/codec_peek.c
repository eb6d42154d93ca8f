/*
 * A body read in one piece and in pieces of the input's choice: the same verdict, the same values, and
 * every value within its bounds. Byte 0 is the form, byte 1 seeds the cuts.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/peek.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_body(enum pst_peek_form form, const char *body, size_t len, uint32_t cuts,
                     struct pst_peek_result *ret_result, uint64_t *ret_offset)
{
    static struct pst_peek peek;
    int rc = PST_OK;

    pst_peek_init(&peek, form);
    for (size_t at = 0; at < len && rc == PST_OK;) {
        size_t piece = len - at;

        cuts = cuts * 1664525 + 1013904223;
        if (cuts >> 16 != 0 && piece > 1 + (cuts >> 28))
            piece = 1 + (cuts >> 28);
        rc = pst_peek_feed(&peek, body + at, piece);
        at += piece;
    }
    if (rc == PST_OK)
        rc = pst_peek_finish(&peek, ret_result);
    if (rc != PST_OK && pst_peek_error(&peek, ret_offset) == NULL)
        abort();
    return rc;
}

static void check(const struct pst_peek_result *result, const char *body, size_t len)
{
    if (result->text_bytes > len || result->text_chars > result->text_bytes ||
        result->wide_chars > result->text_chars || result->tokens_given > len ||
        result->media_parts > len || result->prompts == 0 || result->sequences == 0)
        abort();
    if (result->model_at + result->model_bytes > len)
        abort();
    if (result->model_bytes > 0 && body[result->model_at] != '"')
        abort();
    if (strlen(result->model) > PST_PEEK_TEXT_MAX || strlen(result->user) > PST_PEEK_TEXT_MAX)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pst_peek_result whole, pieces;
    uint64_t whole_at = 0, pieces_at = 0;
    enum pst_peek_form form;
    const char *body;
    int rc;

    if (size < 2)
        return 0;
    form = (enum pst_peek_form)(data[0] % PST_PEEK_FORM_COUNT);
    body = (const char *)data + 2;
    size -= 2;
    memset(&whole, 0, sizeof whole);
    memset(&pieces, 0, sizeof pieces);
    rc = read_body(form, body, size, 0, &whole, &whole_at);
    if (rc != read_body(form, body, size, data[1] * 2654435761u | 1u << 20, &pieces, &pieces_at))
        abort();
    if (whole_at != pieces_at)
        abort();
    if (rc != PST_OK)
        return 0;
    if (strcmp(whole.model, pieces.model) != 0 || strcmp(whole.user, pieces.user) != 0)
        abort();
    memcpy(pieces.model, whole.model, sizeof whole.model); /* bytes behind the names are anything */
    memcpy(pieces.user, whole.user, sizeof whole.user);
    if (memcmp(&whole, &pieces, sizeof whole) != 0)
        abort();
    check(&whole, body, size);
    return 0;
}
