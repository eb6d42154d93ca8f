/*
 * rpc_text.h - the texts and frames of gRPC: pure functions.
 *
 * Source: PROTOCOL-HTTP2.md of gRPC.
 */
#ifndef PST_NET_RPC_TEXT_H
#define PST_NET_RPC_TEXT_H

#include "base/slice.h"

#define PST_RPC_PREFIX 5 /* of a message: compressed or not, and its length */

/* "grpc-timeout": one to eight digits and one of H M S m u n. False: it is something else. */
bool pst_rpc_timeout(struct pst_slice text, pst_ns *ret_timeout);

/* application/grpc, alone or with a message format (+proto) or parameters behind it. */
bool pst_rpc_is_grpc(struct pst_slice content_type);

/* "grpc-message" percent-encoded, cut to what fits with its NUL. Returns its length. */
size_t pst_rpc_message_encode(const char *message, char *text, size_t size);

static inline uint32_t pst_rpc_prefix_length(const uint8_t prefix[static PST_RPC_PREFIX])
{
    return (uint32_t)prefix[1] << 24 | (uint32_t)prefix[2] << 16 | (uint32_t)prefix[3] << 8 |
           prefix[4];
}

static inline void pst_rpc_prefix(uint8_t prefix[static PST_RPC_PREFIX], uint32_t length)
{
    prefix[0] = 0;
    prefix[1] = (uint8_t)(length >> 24);
    prefix[2] = (uint8_t)(length >> 16);
    prefix[3] = (uint8_t)(length >> 8);
    prefix[4] = (uint8_t)length;
}

#endif
