/* head.c - see head.h. */
#include "net/head.h"

const struct pst_header *pst_head_find(const struct pst_head *head, struct pst_slice name)
{
    size_t i;

    for (i = 0; i < head->count; i++)
        if (pst_slice_equal_nocase(head->headers[i].name, name))
            return &head->headers[i];
    return NULL;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static bool list_holds(struct pst_slice list, struct pst_slice token)
{
    while (list.len > 0) {
        const char *comma = memchr(list.at, ',', list.len);
        size_t len = comma == NULL ? list.len : (size_t)(comma - list.at);
        size_t next = comma == NULL ? len : len + 1;
        struct pst_slice member = {list.at, len};

        while (member.len > 0 && is_blank(member.at[0])) {
            member.at++;
            member.len--;
        }
        while (member.len > 0 && is_blank(member.at[member.len - 1]))
            member.len--;
        if (pst_slice_equal_nocase(member, token))
            return true;
        list.at += next;
        list.len -= next;
    }
    return false;
}

bool pst_head_lists(const struct pst_head *head, struct pst_slice name, struct pst_slice token)
{
    size_t i;

    for (i = 0; i < head->count; i++)
        if (pst_slice_equal_nocase(head->headers[i].name, name) &&
            list_holds(head->headers[i].value, token))
            return true;
    return false;
}

static bool is_among(struct pst_slice name, const struct pst_slice *names, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (pst_slice_equal_nocase(name, names[i]))
            return true;
    return false;
}

/* Literals, not PST_SLICE: a static initialiser takes no compound literal. */
#define NAME(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

static bool is_always_hop(struct pst_slice name)
{
    static const struct pst_slice names[] = {
        NAME("connection"),        NAME("keep-alive"), NAME("te"),     NAME("trailer"),
        NAME("transfer-encoding"), NAME("upgrade"),    NAME("expect"), NAME("content-length"),
    };
    static const struct pst_slice proxy = NAME("proxy-");

    if (name.len > proxy.len && pst_slice_equal_nocase(pst_slice(name.at, proxy.len), proxy))
        return true;
    return is_among(name, names, PST_COUNT_OF(names));
}

/* What a gateway decides by, and what the message means: no client can take these away. */
static bool is_always_end_to_end(struct pst_slice name)
{
    static const struct pst_slice names[] = {
        NAME("authorization"),   NAME("x-api-key"),        NAME("host"),
        NAME("content-type"),    NAME("content-encoding"), NAME("accept"),
        NAME("accept-encoding"), NAME("prefer"),           NAME("traceparent"),
        NAME("tracestate"),      NAME("retry-after"),      NAME("retry-after-ms"),
        NAME("x-priority"),      NAME("x-tenant"),         NAME("x-request-type"),
        NAME("x-request-id"),    NAME("x-should-retry"),   NAME("x-stainless-retry-count"),
        NAME("cookie"),          NAME("set-cookie"),       NAME("date"),
    };
    static const struct pst_slice families[] = {NAME("x-llm-d-"), NAME("x-gateway-inference-"),
                                                NAME("x-smg-")};
    size_t i;

    for (i = 0; i < PST_COUNT_OF(families); i++)
        if (name.len > families[i].len &&
            pst_slice_equal_nocase(pst_slice(name.at, families[i].len), families[i]))
            return true;
    return is_among(name, names, PST_COUNT_OF(names));
}

bool pst_head_is_hop(const struct pst_head *head, struct pst_slice name)
{
    if (is_always_hop(name))
        return true;
    return pst_head_lists(head, PST_SLICE("connection"), name) && !is_always_end_to_end(name);
}
