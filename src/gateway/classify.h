/*
 * classify.h - who asks, and how urgent it is: from the head alone.
 *
 * Why: a client may say what its request is for, and its tenant says how far that is believed. A
 * body's `priority` is never read: engines disagree on its sign.
 *
 * Guarantee: the class is never above the tenant's max_class. X-Tenant counts only from a trusted peer.
 */
#ifndef PST_GATEWAY_CLASSIFY_H
#define PST_GATEWAY_CLASSIFY_H

#include <sys/socket.h>

#include "config/config.h"
#include "net/head.h"

struct pst_claim {
    uint16_t tenant;    /* index */
    bool authenticated; /* by a key, or named by a trusted peer */
    uint8_t class_;     /* effective */
    uint8_t type;       /* index; 0: other */
    bool labelled;      /* a known priority or type was given */
    bool client_retry;
    uint32_t ttl_ms;          /* asked for; 0: not */
    uint32_t flow_key;        /* a fairness id of an authenticated tenant; 0: none */
    struct pst_slice claimed; /* the priority as it was written; len 0: none */
};

/* False: the key is missing or unknown, and `auth: required`. */
bool pst_classify(const struct pst_config *config, const struct pst_head *head, bool anthropic,
                  const struct sockaddr *peer, struct pst_claim *ret_claim);

/* FNV-1a, for keys of flows: equal names, equal keys. */
uint32_t pst_classify_key(uint32_t seed, struct pst_slice text);

#endif
