/* address.c - see address.h. */
#include "net/address.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_BYTES_MAX 64

static int resolve(const char *host, const char *port, int flags, struct pst_address *ret_addresses,
                   size_t size, size_t *ret_count)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *list, *entry;
    size_t count = 0;

    if (getaddrinfo(host, port, &hints, &list) != 0)
        return PST_E_INVALID;
    for (entry = list; entry != NULL && count < size; entry = entry->ai_next) {
        if (entry->ai_addrlen > sizeof ret_addresses->u)
            continue;
        memcpy(&ret_addresses[count].u, entry->ai_addr, entry->ai_addrlen);
        ret_addresses[count].len = entry->ai_addrlen;
        count++;
    }
    freeaddrinfo(list);
    if (count == 0)
        return PST_E_INVALID;
    *ret_count = count;
    return PST_OK;
}

int pst_address_parse(const char *text, struct pst_address *ret_address)
{
    const char *colon = strrchr(text, ':'), *begin = text, *end = colon;
    char host[HOST_BYTES_MAX], *stop;
    unsigned long port;
    size_t count;

    if (colon == NULL || colon[1] < '0' || colon[1] > '9')
        return PST_E_INVALID;
    port = strtoul(colon + 1, &stop, 10);
    if (*stop != '\0' || port > UINT16_MAX)
        return PST_E_INVALID;
    if (text[0] == '[') {
        if (end == text || end[-1] != ']')
            return PST_E_INVALID;
        begin++;
        end--;
    } else if (memchr(text, ':', (size_t)(colon - text)) != NULL) {
        return PST_E_INVALID; /* which colon is the port's? */
    }
    if (end <= begin || (size_t)(end - begin) >= sizeof host)
        return PST_E_INVALID;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    return resolve(host, colon + 1, AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE, ret_address, 1,
                   &count);
}

int pst_address_resolve(const char *host, uint16_t port, struct pst_address *ret_addresses,
                        size_t size, size_t *ret_count)
{
    char text[8];

    snprintf(text, sizeof text, "%u", port);
    return resolve(host, text, AI_NUMERICSERV, ret_addresses, size, ret_count);
}

static bool is_host_v4(uint32_t ip)
{
    return ip >> 24 != 0 && ip >> 28 < 0xe && ip >> 16 != 0xa9fe;
}

bool pst_address_is_host(const struct pst_address *address)
{
    const struct in6_addr *v6 = &address->u.v6.sin6_addr;
    uint32_t ip;

    if (address->u.any.sa_family == AF_INET)
        return is_host_v4(ntohl(address->u.v4.sin_addr.s_addr));
    if (IN6_IS_ADDR_V4MAPPED(v6)) {
        memcpy(&ip, &v6->s6_addr[12], sizeof ip);
        return is_host_v4(ntohl(ip));
    }
    return !IN6_IS_ADDR_UNSPECIFIED(v6) && !IN6_IS_ADDR_MULTICAST(v6) && !IN6_IS_ADDR_LINKLOCAL(v6);
}

uint16_t pst_address_port(const struct pst_address *address)
{
    return ntohs(address->u.any.sa_family == AF_INET6 ? address->u.v6.sin6_port
                                                      : address->u.v4.sin_port);
}
