/*
 * An answer read in one piece and byte by byte: the same verdict. Byte 0 names form and kind.
 */
#include <stdlib.h>

#include "codec/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_answer(struct pst_answer *answer, const char *bytes, size_t len, size_t piece)
{
    for (size_t at = 0; at < len;) {
        size_t left = len - at < piece ? len - at : piece;
        size_t used = pst_answer_feed(answer, bytes + at, left);

        if (used == 0 || used > left)
            abort();
        at += used;
        if (answer->failed_first && (!answer->failed || answer->begun))
            abort();
    }
    pst_answer_end(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pst_answer whole, pieces;
    enum pst_answer_form form;
    enum pst_answer_kind kind;

    if (size < 1)
        return 0;
    form = (enum pst_answer_form)(data[0] % PST_ANSWER_FORM_COUNT);
    kind = (enum pst_answer_kind)(data[0] / 16 % PST_ANSWER_KIND_COUNT);
    pst_answer_init(&whole, form, kind);
    pst_answer_init(&pieces, form, kind);
    read_answer(&whole, (const char *)data + 1, size - 1, size);
    read_answer(&pieces, (const char *)data + 1, size - 1, 1);
    if (whole.begun != pieces.begun || whole.failed != pieces.failed ||
        whole.failed_first != pieces.failed_first || whole.ended != pieces.ended ||
        whole.at_boundary != pieces.at_boundary || whole.error_code != pieces.error_code ||
        whole.data_events != pieces.data_events || whole.tokens_in != pieces.tokens_in ||
        whole.tokens_out != pieces.tokens_out)
        abort();
    (void)pst_answer_is_loading(503, (const char *)data, size);
    return 0;
}
