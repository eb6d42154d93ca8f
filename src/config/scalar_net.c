/* scalar_net.c - the languages of places: addresses, networks, hosts, URLs, ports. */
#include "config/scalar.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define HOST_MAX 255

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* An address literal, IPv4 as IPv4-mapped IPv6. */
static int literal(const char *text, size_t len, bool v6, uint8_t ret_address[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char copy[INET6_ADDRSTRLEN];

    if (len >= sizeof copy)
        return PST_E_SYNTAX;
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (v6)
        return inet_pton(AF_INET6, copy, ret_address) == 1 ? PST_OK : PST_E_SYNTAX;
    memcpy(ret_address, mapped, sizeof mapped);
    return inet_pton(AF_INET, copy, ret_address + 12) == 1 ? PST_OK : PST_E_SYNTAX;
}

static bool is_loopback(const uint8_t address[16])
{
    static const uint8_t one[16] = {[15] = 1};
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(address, one, 16) == 0 ||
           (memcmp(address, mapped, 12) == 0 && address[12] == 127);
}

int pst_scalar_address(const char *text, bool *ret_loopback)
{
    const bool v6 = text[0] == '[';
    const char *host = v6 ? text + 1 : text;
    const char *end = strchr(host, v6 ? ']' : ':');
    uint8_t address[16];
    uint16_t port;
    int rc;

    if (end == NULL || (v6 && end[1] != ':'))
        return PST_E_SYNTAX;
    rc = literal(host, (size_t)(end - host), v6, address);
    if (rc != PST_OK)
        return rc;
    end += v6 ? 2 : 1;
    rc = strcmp(end, "0") == 0 ? PST_OK : pst_scalar_port(end, &port); /* 0: the system picks */
    if (rc != PST_OK)
        return rc;
    *ret_loopback = is_loopback(address);
    return PST_OK;
}

int pst_scalar_network(const char *text, struct pst_config_network *ret_network)
{
    const char *slash = strchr(text, '/');
    const size_t len = slash == NULL ? strlen(text) : (size_t)(slash - text);
    const bool v6 = memchr(text, ':', len) != NULL;
    struct pst_config_network network;
    uint64_t bits = v6 ? 128 : 32;
    int rc = literal(text, len, v6, network.address);

    if (rc != PST_OK)
        return rc;
    if (slash != NULL) {
        const uint64_t bits_max = bits;
        rc = pst_scalar_count(slash + 1, &bits);
        if (rc != PST_OK)
            return rc;
        if (bits > bits_max)
            return PST_E_FULL;
    }
    network.prefix = (uint8_t)(v6 ? bits : bits + 96);
    for (unsigned bit = network.prefix; bit < 128; bit++) {
        if (network.address[bit / 8] & (0x80u >> bit % 8))
            return PST_E_SYNTAX;
    }
    *ret_network = network;
    return PST_OK;
}

static bool is_host(const char *text, size_t len)
{
    if (len == 0 || len > HOST_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!is_alnum(text[i]) && text[i] != '.' && text[i] != '-' && text[i] != '_')
            return false;
    }
    return true;
}

static bool is_path_text(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] <= ' ' || text[i] > '~' || strchr("?#\"<>\\^`{|}", text[i]) != NULL)
            return false;
    }
    return true;
}

int pst_scalar_url(const char *text, struct pst_scalar_url *ret_url)
{
    struct pst_scalar_url url = {.port = 80};
    const char *at;

    if (strncmp(text, "https://", 8) == 0)
        return PST_E_INVALID;
    if (strncmp(text, "http://", 7) != 0)
        return PST_E_SYNTAX;
    at = text + 7;
    if (*at == '[') {
        uint8_t address[16];
        const char *end = strchr(at, ']');
        if (end == NULL || literal(at + 1, (size_t)(end - at - 1), true, address) != PST_OK)
            return PST_E_SYNTAX;
        url.host = at + 1;
        url.host_len = (size_t)(end - at - 1);
        at = end + 1;
    } else {
        url.host = at;
        url.host_len = strcspn(at, ":/");
        at += url.host_len;
        if (!is_host(url.host, url.host_len))
            return PST_E_SYNTAX;
    }
    if (*at == ':') {
        char port[8];
        const size_t len = strcspn(++at, "/");
        if (len >= sizeof port)
            return PST_E_SYNTAX;
        memcpy(port, at, len);
        port[len] = '\0';
        if (pst_scalar_port(port, &url.port) != PST_OK)
            return PST_E_SYNTAX;
        at += len;
    }
    if (*at != '\0' && *at != '/')
        return PST_E_SYNTAX;
    url.path = at;
    url.path_len = strlen(at);
    if (!is_path_text(at, url.path_len))
        return PST_E_SYNTAX;
    while (url.path_len > 0 && url.path[url.path_len - 1] == '/')
        url.path_len--;
    *ret_url = url;
    return PST_OK;
}

bool pst_scalar_is_path(const char *text)
{
    return text[0] == '/' && is_path_text(text, strlen(text));
}

bool pst_scalar_is_host(const char *text)
{
    uint8_t address[16];

    return is_host(text, strlen(text)) || literal(text, strlen(text), true, address) == PST_OK;
}

int pst_scalar_endpoint(const char *text)
{
    static const char tls[] = "https://";
    const bool is_tls = strncmp(text, tls, sizeof tls - 1) == 0;
    struct pst_scalar_url url;
    char plain[1024];
    int len = snprintf(plain, sizeof plain, "%s%s", is_tls ? "http://" : "",
                       is_tls ? text + sizeof tls - 1 : text);

    if (len < 0 || (size_t)len >= sizeof plain)
        return PST_E_FULL;
    return pst_scalar_url(plain, &url) == PST_OK ? PST_OK : PST_E_SYNTAX;
}

int pst_scalar_ports(const char *text, struct pst_scalar_ports *ret_ports)
{
    const char *dash = strchr(text, '-');
    struct pst_scalar_ports ports;
    char first[8];
    int rc;

    if (dash == NULL || (size_t)(dash - text) >= sizeof first)
        return PST_E_SYNTAX;
    memcpy(first, text, (size_t)(dash - text));
    first[dash - text] = '\0';
    rc = pst_scalar_port(first, &ports.first);
    if (rc == PST_OK)
        rc = pst_scalar_port(dash + 1, &ports.last);
    if (rc == PST_OK && ports.first > ports.last)
        rc = PST_E_FULL;
    if (rc == PST_OK)
        *ret_ports = ports;
    return rc;
}
