/*
 * scalar.h - the small languages inside a value: numbers, shares, addresses, URLs, networks.
 *
 * Why: YAML readers guess (0080, 1e3, no, 12:30); this one is told what a field holds and takes only
 * that. Numbers are strict decimals: no sign, no leading zero, no exponent, no hidden octal.
 *
 * Guarantee: PST_OK and a result in range of its type, or PST_E_SYNTAX, or PST_E_FULL for a number too
 * large; nothing is written on failure. Durations and sizes are in config.h, for options use them too.
 */
#ifndef PST_CONFIG_SCALAR_H
#define PST_CONFIG_SCALAR_H

#include "config/config.h"

int pst_scalar_count(const char *text, uint64_t *ret_count);
int pst_scalar_share(const char *text, uint32_t *ret_ppm); /* "0.5" or "50%": 0 … 1 */
int pst_scalar_weight(const char *text,
                      uint32_t *ret_percent);                /* "1", "0.25": up to two decimals */
int pst_scalar_money(const char *text, uint64_t *ret_micro); /* "2.5 USD" */
int pst_scalar_real(const char *text, double *ret_value);    /* "0.1", "2": up to 10^9 */
/* "200/s", "12/m", "30/h", "5/d": per second, <= 10^6. */
int pst_scalar_rate(const char *text, double *ret_per_s);
int pst_scalar_port(const char *text, uint16_t *ret_port);
int pst_scalar_sha256(const char *text, uint8_t ret_hash[32]); /* 64 hexadecimal digits */

/* "0.0.0.0:8080", "[::1]:8080". Names are not resolved here, so they are refused. */
int pst_scalar_address(const char *text, bool *ret_loopback);
/* "10.0.0.0/8", "fd00::/8", "10.1.2.3"; bits beyond the prefix must be zero. */
int pst_scalar_network(const char *text, struct pst_config_network *ret_network);

/* The parts of "http://host[:port][/prefix]"; pointers into `text`. */
struct pst_scalar_url {
    const char *host, *path;
    size_t host_len, path_len; /* path without its last '/' */
    uint16_t port;
};
/* PST_E_INVALID: https, which is well written but not spoken. */
int pst_scalar_url(const char *text, struct pst_scalar_url *ret_url);

/* 1 … 63 of [A-Za-z0-9._-]: what may stand in a metric's label, a log line and a URL. */
bool pst_scalar_is_name(const char *text);
/* "/…" without query: what may stand in a request line. */
bool pst_scalar_is_path(const char *text);
/* A host's name, or an address without brackets. */
bool pst_scalar_is_host(const char *text);
/* "http://…" or "https://…", for those that we ask. */
int pst_scalar_endpoint(const char *text);
/* "Europe/Berlin": the shape of a time zone's name, safe as a path. */
bool pst_scalar_is_zone(const char *text);

struct pst_scalar_ports {
    uint16_t first, last;
};
int pst_scalar_ports(const char *text, struct pst_scalar_ports *ret_ports); /* "8100-8199" */

struct pst_scalar_date {
    uint16_t year; /* from 1970 */
    uint8_t month, day;
};
int pst_scalar_date(const char *text, struct pst_scalar_date *ret_date); /* "2026-12-25" */

#endif
