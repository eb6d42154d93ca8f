/* admin.c - the listener, its routes and its walk; see admin.h. */
#include "observe/admin.h"

#include <errno.h>
#include <stdlib.h>

#include "observe/admin_room.h"
#include "observe/page.h"
#include "observe/query.h"
#include "observe/reply.h"

/* A path with {id} is `prefix`, a name without '/', then `suffix`. */
static const struct route {
    enum pst_method method;
    const char *prefix, *suffix; /* suffix NULL: prefix is the whole path */
    bool drain_token_suffices;
    void (*answer)(const struct pst_admin_ask *ask);
} routes[] = {
    {PST_METHOD_GET, "/state", NULL, false, pst_admin_state},
    {PST_METHOD_GET, "/explain", NULL, false, pst_admin_explain},
    {PST_METHOD_GET, "/events", NULL, false, pst_admin_events},
    {PST_METHOD_POST, "/drain", NULL, false, pst_admin_drain},
    {PST_METHOD_POST, "/reload", NULL, false, pst_admin_reload},
    {PST_METHOD_POST, "/replicas/", "/drain", true, pst_admin_replica_drain},
    {PST_METHOD_POST, "/replicas/", "/undrain", false, pst_admin_replica_undrain},
};

static bool matches(const struct route *route, struct pst_slice path, struct pst_slice *ret_name)
{
    struct pst_slice prefix = pst_slice_of(route->prefix), suffix = pst_slice_of(route->suffix);

    if (route->suffix == NULL) {
        *ret_name = PST_SLICE("");
        return pst_slice_equal(path, prefix);
    }
    if (path.len <= prefix.len + suffix.len || memcmp(path.at, prefix.at, prefix.len) != 0 ||
        memcmp(path.at + path.len - suffix.len, suffix.at, suffix.len) != 0)
        return false;
    *ret_name = pst_slice(path.at + prefix.len, path.len - prefix.len - suffix.len);
    return memchr(ret_name->at, '/', ret_name->len) == NULL;
}

static const struct route *find_route(struct pst_slice path, struct pst_slice *ret_name)
{
    for (size_t i = 0; i < PST_COUNT_OF(routes); i++)
        if (matches(&routes[i], path, ret_name))
            return &routes[i];
    return NULL;
}

static bool wants_json(const struct pst_head *head)
{
    static const struct pst_slice type = {PST_TYPE_JSON, sizeof PST_TYPE_JSON - 1};
    const struct pst_header *accept = pst_head_find(head, PST_SLICE("accept"));

    return accept != NULL && memmem(accept->value.at, accept->value.len, type.at, type.len) != NULL;
}

static void on_head(struct pst_exchange *x, const struct pst_head *head)
{
    struct pst_admin *admin = pst_exchange_server_user(x);
    struct pst_admin_ask ask = {.admin = admin, .x = x, .wants_json = wants_json(head)};
    const struct route *route;
    struct pst_slice path;

    pst_exchange_set_user(x, NULL);
    pst_target_split(head->target, &path, &ask.query);
    route = find_route(path, &ask.name);
    if (!pst_admin_let_in(admin, x, head, route != NULL && route->drain_token_suffices))
        return;
    if (route == NULL) {
        if (!pst_page_answer(x, admin->view, head->method, path))
            pst_reply_error(x, 404, NULL, "no such page");
    } else if (head->method != route->method) {
        pst_reply_error(x, 405, route->method == PST_METHOD_GET ? "GET" : "POST",
                        "this page takes another method");
    } else {
        route->answer(&ask);
    }
}

static void on_body(struct pst_exchange *x, const char *data, size_t len)
{
    (void)x;
    (void)data;
    (void)len;
}

static void on_nothing(struct pst_exchange *x)
{
    (void)x;
}

static void on_gone(struct pst_exchange *x)
{
    struct pst_admin_held *held = pst_exchange_user(x);

    if (held != NULL)
        held->gone(held);
}

int pst_admin_new(const struct pst_view *view, const char *address, struct pst_admin **ret_admin)
{
    static const struct pst_server_handler handler = {
        .head = on_head,
        .body = on_body,
        .body_end = on_nothing,
        .drained = on_nothing,
        .gone = on_gone,
    };
    struct pst_admin *admin = calloc(1, sizeof *admin);
    int rc, error;

    if (admin == NULL)
        return PST_E_NOMEM;
    admin->view = view;
    rc = pst_reply_listen(view->loop, &handler, admin, address, &admin->server);
    if (rc != PST_OK) {
        error = errno;
        pst_admin_free(admin);
        errno = error;
        return rc;
    }
    *ret_admin = admin;
    return PST_OK;
}

void pst_admin_free(struct pst_admin *admin)
{
    if (admin == NULL)
        return;
    pst_admin_waiters_end(admin);
    pst_admin_readers_end(admin, "the gateway ends");
    pst_admin_subscribers_end(admin);
    if (admin->server != NULL)
        pst_server_free(admin->server);
    free(admin);
}

uint16_t pst_admin_port(const struct pst_admin *admin)
{
    return pst_server_port(admin->server);
}
