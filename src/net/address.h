/*
 * address.h - texts and socket addresses: "127.0.0.1:8080", "[::1]:80", host names.
 */
#ifndef PST_NET_ADDRESS_H
#define PST_NET_ADDRESS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "pst.h"

/* Small enough to lie in every connection; sockaddr_storage is 128 bytes. */
struct pst_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } u;
    socklen_t len;
};

/* An address and a port, no names: for listening. PST_E_INVALID. */
int pst_address_parse(const char *text, struct pst_address *ret_address);

/*
 * Host (literal without brackets, or a name, which blocks until it is resolved) and port. Fills up to
 * `size` addresses; *ret_count > 0. PST_E_INVALID: nothing of that name.
 */
int pst_address_resolve(const char *host, uint16_t port, struct pst_address *ret_addresses,
                        size_t size, size_t *ret_count);

/* Somewhere that a connection can go to: not 0.0.0.0, a group, or what needs a link to be named. */
bool pst_address_is_host(const struct pst_address *address);

uint16_t pst_address_port(const struct pst_address *address);

#endif
