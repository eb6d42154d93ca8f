/* output.c - see output.h. */
#include "net/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define FIRST_BYTES ((size_t)1000) /* a response head and a little */

void pst_output_done(struct pst_output *output)
{
    free(output->bytes);
    *output = (struct pst_output){0};
}

static int make_room(struct pst_output *output, size_t need)
{
    size_t waiting = pst_output_waiting(output),
           size = output->size == 0 ? FIRST_BYTES : output->size;
    char *bytes;

    if (output->size - output->len >= need)
        return PST_OK;
    /* Moving pays only when at least as much room comes back. */
    if (output->at >= waiting && output->size - waiting >= need) {
        memmove(output->bytes, output->bytes + output->at, waiting);
        output->at = 0;
        output->len = waiting;
        return PST_OK;
    }
    while (size < waiting + need)
        size *= 2;
    bytes = malloc(size);
    if (bytes == NULL)
        return PST_E_NOMEM;
    if (waiting > 0)
        memcpy(bytes, output->bytes + output->at, waiting);
    free(output->bytes);
    output->bytes = bytes;
    output->size = size;
    output->at = 0;
    output->len = waiting;
    return PST_OK;
}

char *pst_output_grow(struct pst_output *output, size_t len)
{
    if (make_room(output, len) != PST_OK)
        return NULL;
    output->len += len;
    return output->bytes + output->len - len;
}

int pst_output_put(struct pst_output *output, const void *data, size_t len)
{
    char *place = pst_output_grow(output, len);

    if (place == NULL)
        return PST_E_NOMEM;
    memcpy(place, data, len);
    return PST_OK;
}

static int keep(struct pst_output *output, const struct iovec *pieces, size_t count, size_t sent)
{
    size_t i;

    for (i = 0; i < count; i++) {
        size_t skip = sent < pieces[i].iov_len ? sent : pieces[i].iov_len;

        sent -= skip;
        if (skip < pieces[i].iov_len && pst_output_put(output, (char *)pieces[i].iov_base + skip,
                                                       pieces[i].iov_len - skip) != PST_OK)
            return PST_E_NOMEM;
    }
    return PST_OK;
}

static int send_pieces(int fd, struct iovec *pieces, size_t count, size_t *ret_sent)
{
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = count};
    ssize_t n;

    do
        n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN)
        return PST_E_SYSTEM;
    *ret_sent = n < 0 ? 0 : (size_t)n;
    return PST_OK;
}

int pst_output_send(struct pst_output *output, int fd, const struct iovec *pieces, size_t count)
{
    struct iovec all[PST_OUTPUT_PIECES_MAX];
    size_t waiting = pst_output_waiting(output), total = waiting, used = 0, sent, i;

    PST_ASSERT(count < PST_OUTPUT_PIECES_MAX);
    if (output->full)
        return keep(output, pieces, count, 0);
    if (waiting > 0)
        all[used++] = (struct iovec){output->bytes + output->at, waiting};
    for (i = 0; i < count; i++) {
        all[used++] = pieces[i];
        total += pieces[i].iov_len;
    }
    if (total == 0)
        return PST_OK;
    if (send_pieces(fd, all, used, &sent) != PST_OK)
        return PST_E_SYSTEM;
    output->full = sent < total;
    if (sent < waiting) {
        output->at += sent;
        return keep(output, pieces, count, 0);
    }
    output->at = output->len = 0;
    if (sent == total) {
        pst_output_done(output);
        return PST_OK;
    }
    return keep(output, pieces, count, sent - waiting);
}

int pst_output_flush(struct pst_output *output, int fd)
{
    output->full = false;
    return pst_output_send(output, fd, NULL, 0);
}
