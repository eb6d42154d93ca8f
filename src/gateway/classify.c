/* classify.c - see classify.h. */
#include "gateway/classify.h"

#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "codec/decimal.h"

#define TENANT_DEFAULT 0

uint32_t pst_classify_key(uint32_t seed, struct pst_slice text)
{
    uint32_t hash = UINT32_C(2166136261) ^ seed;

    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.at[i]) * UINT32_C(16777619);
    return hash;
}

static struct pst_slice value_of(const struct pst_head *head, struct pst_slice name)
{
    const struct pst_header *header = pst_head_find(head, name);

    return header == NULL ? pst_slice(NULL, 0) : header->value;
}

#define VALUE_OF(head, name) value_of((head), PST_SLICE(name))

static struct pst_slice key_of(const struct pst_head *head, bool anthropic)
{
    static const char bearer[] = "bearer ";
    struct pst_slice key = pst_slice(NULL, 0);

    if (anthropic)
        key = VALUE_OF(head, "x-api-key");
    if (key.len == 0) {
        key = VALUE_OF(head, "authorization");
        if (key.len <= sizeof bearer - 1 || strncasecmp(key.at, bearer, sizeof bearer - 1) != 0)
            return pst_slice(NULL, 0);
        key = pst_slice(key.at + sizeof bearer - 1, key.len - (sizeof bearer - 1));
    }
    while (key.len > 0 && key.at[0] == ' ')
        key = pst_slice(key.at + 1, key.len - 1);
    return key;
}

static bool find_by_key(const struct pst_config *config, struct pst_slice key, uint16_t *ret_tenant)
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    bool hashed = false;

    for (size_t i = 0; i < config->tenants_count; i++) {
        if (!config->tenants[i].has_key)
            continue;
        if (!hashed)
            SHA256((const unsigned char *)key.at, key.len, digest);
        hashed = true;
        if (CRYPTO_memcmp(digest, config->tenants[i].key_sha256, sizeof digest) == 0) {
            *ret_tenant = (uint16_t)i;
            return true;
        }
    }
    return false;
}

static bool is_trusted(const struct pst_config *config, const struct sockaddr *peer)
{
    uint8_t address[16] = {0};

    if (peer->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)peer;

        address[10] = address[11] = 0xff;
        memcpy(address + 12, &v4->sin_addr, 4);
    } else if (peer->sa_family == AF_INET6) {
        memcpy(address, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, 16);
    } else {
        return false;
    }
    for (size_t i = 0; i < config->trusted_peers_count; i++) {
        const struct pst_config_network *net = &config->trusted_peers[i];
        unsigned whole = net->prefix / 8, rest = net->prefix % 8;

        if (memcmp(address, net->address, whole) == 0 &&
            (rest == 0 || ((address[whole] ^ net->address[whole]) >> (8 - rest)) == 0))
            return true;
    }
    return false;
}

static bool class_named(const struct pst_config *config, struct pst_slice name, uint8_t *ret_class)
{
    for (uint32_t c = 0; c < config->gate.classes_count; c++) {
        if (!pst_slice_equal_nocase(pst_slice_of(config->class_names[c]), name))
            continue;
        *ret_class = (uint8_t)c;
        return true;
    }
    return false;
}

/* SMG's four ranks on however many classes there are. */
static bool class_of_smg(const struct pst_config *config, struct pst_slice name, uint8_t *ret_class)
{
    if (pst_slice_equal_nocase(name, PST_SLICE("system")) ||
        pst_slice_equal_nocase(name, PST_SLICE("interactive")))
        *ret_class = 0;
    else if (pst_slice_equal_nocase(name, PST_SLICE("default")))
        *ret_class = config->default_class;
    else if (pst_slice_equal_nocase(name, PST_SLICE("bulk")))
        *ret_class = (uint8_t)(config->gate.classes_count - 1);
    else
        return false;
    return true;
}

/* llm-d's promise of a first token: the lowest class whose aim keeps it, the first where none does. */
static bool class_of_slo(const struct pst_config *config, struct pst_slice ms, uint8_t *ret_class)
{
    struct pst_decimal number;
    uint8_t c = (uint8_t)(config->gate.classes_count - 1);
    pst_ns promised;

    if (pst_decimal_read(ms.at, ms.len, &number) != PST_OK ||
        !pst_decimal_to_scaled(&number, 6, &promised))
        return false;
    while (c > 0 && config->gate.classes[c].target > promised)
        c--;
    *ret_class = c;
    return true;
}

/* What llm-d and the gateway API call the same, where their names are understood. */
static struct pst_slice compat_value(const struct pst_config *config, const struct pst_head *head,
                                     struct pst_slice llmd, struct pst_slice gateway)
{
    struct pst_slice value = pst_slice(NULL, 0);

    if (config->compat_headers_llmd)
        value = value_of(head, llmd);
    if (value.len == 0 && config->compat_headers_gateway)
        value = value_of(head, gateway);
    return value;
}

static void read_priority(const struct pst_config *config, const struct pst_head *head,
                          struct pst_claim *claim)
{
    struct pst_slice name = VALUE_OF(head, "x-priority");

    if (name.len == 0)
        name = compat_value(config, head, PST_SLICE("x-llm-d-inference-objective"),
                            PST_SLICE("x-gateway-inference-objective"));
    claim->claimed = name;
    if (name.len != 0) {
        claim->labelled = class_named(config, name, &claim->class_);
        return;
    }
    if (config->compat_headers_llmd)
        claim->claimed = VALUE_OF(head, "x-llm-d-slo-ttft-ms");
    if (claim->claimed.len != 0) {
        claim->labelled = class_of_slo(config, claim->claimed, &claim->class_);
        return;
    }
    if (!config->compat_headers_smg)
        return;
    claim->claimed = VALUE_OF(head, "x-smg-priority");
    if (claim->claimed.len != 0)
        claim->labelled = class_of_smg(config, claim->claimed, &claim->class_);
}

/* A type has a default class; a known priority beats it. */
static void read_type(const struct pst_config *config, const struct pst_head *head,
                      struct pst_claim *claim)
{
    struct pst_slice name = VALUE_OF(head, "x-request-type");

    for (size_t i = 0; name.len != 0 && i < config->types_count; i++) {
        if (!pst_slice_equal_nocase(pst_slice_of(config->types[i].name), name))
            continue;
        claim->type = (uint8_t)i;
        if (!claim->labelled)
            claim->class_ = config->types[i].class_;
        claim->labelled = true;
        return;
    }
}

static void read_compat(const struct pst_config *config, const struct pst_head *head,
                        struct pst_claim *claim)
{
    struct pst_slice fairness, ttl;
    char text[32];
    pst_ns ns;

    fairness = compat_value(config, head, PST_SLICE("x-llm-d-inference-fairness-id"),
                            PST_SLICE("x-gateway-inference-fairness-id"));
    ttl = compat_value(config, head, PST_SLICE("x-llm-d-inference-ttl"),
                       PST_SLICE("x-gateway-inference-ttl"));
    if (fairness.len != 0 && claim->authenticated)
        claim->flow_key = pst_classify_key(1, fairness);
    if (ttl.len == 0 || ttl.len >= sizeof text)
        return;
    memcpy(text, ttl.at, ttl.len);
    text[ttl.len] = '\0';
    if (pst_config_duration(text, &ns) == PST_OK && ns / PST_MS < UINT32_MAX)
        claim->ttl_ms = (uint32_t)(ns / PST_MS);
}

bool pst_classify(const struct pst_config *config, const struct pst_head *head, bool anthropic,
                  const struct sockaddr *peer, struct pst_claim *ret_claim)
{
    struct pst_claim claim = {.tenant = TENANT_DEFAULT, .class_ = config->default_class};
    struct pst_slice key = key_of(head, anthropic), retry, named;

    claim.authenticated = key.len != 0 && find_by_key(config, key, &claim.tenant);
    named = VALUE_OF(head, "x-tenant");
    if (named.len != 0 && is_trusted(config, peer)) {
        for (size_t i = 0; i < config->tenants_count; i++) {
            if (!pst_slice_equal(pst_slice_of(config->tenants[i].name), named))
                continue;
            claim.tenant = (uint16_t)i;
            claim.authenticated = true;
        }
    }
    if (!claim.authenticated && config->auth_required)
        return false;

    read_priority(config, head, &claim);
    read_type(config, head, &claim);
    read_compat(config, head, &claim);
    if (claim.class_ < config->tenants[claim.tenant].max_class)
        claim.class_ = config->tenants[claim.tenant].max_class;
    retry = VALUE_OF(head, "x-stainless-retry-count");
    claim.client_retry = retry.len != 0 && !pst_slice_equal(retry, PST_SLICE("0"));
    *ret_claim = claim;
    return true;
}
