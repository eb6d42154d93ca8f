/* admin_auth.c - who may ask; see admin.h. */
#include "observe/admin_room.h"

#include "observe/reply.h"

/* Time depends on the length of what was presented alone. */
static bool same_secret(struct pst_slice presented, const char *secret)
{
    size_t len = strlen(secret);
    unsigned difference = presented.len != len;

    for (size_t i = 0; i < presented.len; i++)
        difference |=
            (unsigned char)presented.at[i] ^ (unsigned char)secret[len == 0 ? 0 : i % len];
    return difference == 0;
}

static struct pst_slice bearer(const struct pst_head *head)
{
    const struct pst_header *header = pst_head_find(head, PST_SLICE("authorization"));
    struct pst_slice value;

    if (header == NULL || header->value.len < 7 ||
        !pst_slice_equal_nocase(pst_slice(header->value.at, 7), PST_SLICE("bearer ")))
        return PST_SLICE("");
    value = pst_slice(header->value.at + 7, header->value.len - 7);
    while (value.len > 0 && *value.at == ' ')
        value = pst_slice(value.at + 1, value.len - 1);
    return value;
}

static void refuse(struct pst_exchange *x)
{
    static const char body[] = "{\"error\":{\"message\":\"a bearer token is required\"}}\n";
    const struct pst_header headers[] = {
        {PST_SLICE("Content-Type"), PST_SLICE(PST_TYPE_JSON)},
        {PST_SLICE("WWW-Authenticate"), PST_SLICE("Bearer")},
    };

    pst_exchange_respond(x, 401, headers, PST_COUNT_OF(headers), sizeof body - 1);
    (void)pst_exchange_write(x, body, sizeof body - 1);
    pst_exchange_end(x);
}

/* A browser says which page it asks for; ours, if any, came from here. */
static bool is_of_another_page(const struct pst_head *head)
{
    const struct pst_header *origin = pst_head_find(head, PST_SLICE("origin"));
    const char *host;

    if (origin == NULL)
        return false;
    host = memmem(origin->value.at, origin->value.len, "://", 3);
    return host == NULL ||
           !pst_slice_equal_nocase(
               head->host,
               pst_slice(host + 3, origin->value.len - (size_t)(host + 3 - origin->value.at)));
}

bool pst_admin_let_in(const struct pst_admin *admin, struct pst_exchange *x,
                      const struct pst_head *head, bool drain_token_suffices)
{
    const struct pst_config *config = admin->view->config;
    struct pst_slice token = bearer(head);
    bool is_admin, is_drainer;

    if (head->method != PST_METHOD_GET && is_of_another_page(head)) {
        pst_reply_error(x, 403, NULL, "not from a page of another origin");
        return false;
    }
    if (config->admin_token == NULL)
        return true; /* on loopback only: the configuration made sure */
    is_admin = same_secret(token, config->admin_token);
    is_drainer = config->drain_token != NULL && same_secret(token, config->drain_token);
    if (is_admin || (is_drainer && drain_token_suffices))
        return true;
    if (is_drainer)
        pst_reply_error(x, 403, NULL, "this token may only POST /replicas/{id}/drain");
    else
        refuse(x);
    return false;
}
