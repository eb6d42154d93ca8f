/* dns_ask.c - see dns_ask.h. */
#include "scale/dns_ask.h"

#include <arpa/nameser.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include <ares.h>

#define TIMEOUT_MS 1000 /* of the first try; the second waits twice as long */
#define TRIES      2
#define NAME_BYTES 256

/* A socket of c-ares, from its first wish until it is closed. */
struct watched {
    struct pst_io io;
    struct pst_dns_ask *ask;
    struct watched *next;
};

/* One of the two questions for a candidate. */
struct question {
    struct pst_dns_ask *ask;
    int type; /* ns_t_a or ns_t_aaaa */
    int status;
    bool open;
    size_t count;
};

struct pst_dns_ask {
    struct pst_loop *loop;
    void (*answered)(void *user, const struct pst_dns_answer *answer);
    void *user;
    ares_channel channel;
    struct ares_options system; /* search list and ndots */
    int system_mask;
    struct watched *watched;
    struct pst_timer timer;
    struct pst_later over;
    char name[NAME_BYTES];
    int candidate; /* the next one of the search list */
    bool closing;
    struct question v4, v6;
    struct pst_dns_answer answer;
};

static void set_timer(struct pst_dns_ask *ask)
{
    struct timeval time, *left = ares_timeout(ask->channel, NULL, &time);

    pst_timer_set(ask->loop, &ask->timer,
                  left == NULL ? PST_NEVER
                               : pst_loop_now(ask->loop) + (pst_ns)left->tv_sec * PST_S +
                                     (pst_ns)left->tv_usec * PST_US);
}

static void timer_fired(struct pst_timer *timer)
{
    struct pst_dns_ask *ask =
        (struct pst_dns_ask *)((char *)timer - offsetof(struct pst_dns_ask, timer));

    ares_process_fd(ask->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    set_timer(ask);
}

static void socket_ready(struct pst_io *io, uint32_t events)
{
    struct pst_dns_ask *ask = ((struct watched *)io)->ask;
    int fd = io->fd;

    ares_process_fd(ask->channel, events & ~(uint32_t)EPOLLOUT ? fd : ARES_SOCKET_BAD,
                    events & ~(uint32_t)EPOLLIN ? fd : ARES_SOCKET_BAD);
    set_timer(ask); /* the socket may be gone */
}

static void socket_wanted(void *user, ares_socket_t fd, int readable, int writable)
{
    struct pst_dns_ask *ask = user;
    uint32_t events = (readable ? (uint32_t)EPOLLIN : 0) | (writable ? (uint32_t)EPOLLOUT : 0);
    struct watched **link = &ask->watched, *watched;

    while (*link != NULL && (*link)->io.fd != fd)
        link = &(*link)->next;
    watched = *link;
    if (events == 0) {
        if (watched == NULL)
            return;
        *link = watched->next;
        pst_io_remove(&watched->io);
        free(watched);
        return;
    }
    if (watched != NULL) {
        pst_io_want(&watched->io, events);
        return;
    }
    watched = calloc(1, sizeof *watched);
    if (watched == NULL)
        return; /* the question times out */
    watched->ask = ask;
    watched->io = (struct pst_io){.fd = fd, .events = events, .ready = socket_ready};
    if (pst_io_add(ask->loop, &watched->io) != PST_OK) {
        free(watched);
        return;
    }
    watched->next = ask->watched;
    ask->watched = watched;
}

/* The loop tells, so that the owner may free us from answered(). */
static void tell(struct pst_later *later)
{
    struct pst_dns_ask *ask =
        (struct pst_dns_ask *)((char *)later - offsetof(struct pst_dns_ask, over));

    ask->answered(ask->user, &ask->answer);
}

/* A server's word on this name: there are such addresses, or there are none. */
static bool is_known(int status)
{
    return status == ARES_SUCCESS || status == ARES_ENODATA || status == ARES_ENOTFOUND;
}

static void take_v4(struct pst_dns_ask *ask, const unsigned char *bytes, int len)
{
    struct ares_addrttl found[PST_REPLICAS_MAX];
    int count = PST_REPLICAS_MAX;

    ask->v4.status = ares_parse_a_reply(bytes, len, NULL, found, &count);
    for (int i = 0; ask->v4.status == ARES_SUCCESS && i < count; i++) {
        struct pst_address *address = &ask->answer.addresses[ask->answer.count++];

        *address = (struct pst_address){.len = sizeof address->u.v4};
        address->u.v4.sin_family = AF_INET;
        address->u.v4.sin_addr = found[i].ipaddr;
    }
}

static void take_v6(struct pst_dns_ask *ask, const unsigned char *bytes, int len)
{
    struct ares_addr6ttl found[PST_REPLICAS_MAX];
    int count = PST_REPLICAS_MAX;

    ask->v6.status = ares_parse_aaaa_reply(bytes, len, NULL, found, &count);
    for (int i = 0; ask->v6.status == ARES_SUCCESS && i < count; i++) {
        struct pst_address *address = &ask->answer.addresses[ask->answer.count++];

        *address = (struct pst_address){.len = sizeof address->u.v6};
        address->u.v6.sin6_family = AF_INET6;
        memcpy(&address->u.v6.sin6_addr, &found[i].ip6addr, sizeof found[i].ip6addr);
    }
}

static bool ask_candidate(struct pst_dns_ask *ask);

static void replied(void *user, int status, int timeouts, unsigned char *bytes, int len)
{
    struct question *question = user;
    struct pst_dns_ask *ask = question->ask;

    (void)timeouts;
    question->open = false;
    if (ask->closing)
        return;
    question->status = status;
    if (status == ARES_SUCCESS && question->type == ns_t_a)
        take_v4(ask, bytes, len);
    else if (status == ARES_SUCCESS)
        take_v6(ask, bytes, len);
    if (ask->v4.open || ask->v6.open)
        return;
    ask->answer.knows_v4 = is_known(ask->v4.status);
    ask->answer.knows_v6 = is_known(ask->v6.status);
    /* A name that a server did not speak of may exist: the next candidate would be another's. */
    if (ask->answer.count == 0 && ask->answer.knows_v4 && ask->answer.knows_v6 &&
        ask_candidate(ask))
        return;
    ask->answer.error = !ask->answer.knows_v4   ? ares_strerror(ask->v4.status)
                        : !ask->answer.knows_v6 ? ares_strerror(ask->v6.status)
                                                : NULL;
    pst_later(ask->loop, &ask->over);
}

static int count_dots(const char *name)
{
    int dots = 0;

    for (; *name != '\0'; name++)
        dots += *name == '.';
    return dots;
}

/* The index-th name of the search list, as resolv.conf(5) says; false: there are no more. */
static bool candidate_name(const struct pst_dns_ask *ask, int index, char *out, size_t size)
{
    int ndots = ask->system_mask & ARES_OPT_NDOTS ? ask->system.ndots : 1;
    int domains = ask->system_mask & ARES_OPT_DOMAINS ? ask->system.ndomains : 0;
    int bare = count_dots(ask->name) >= ndots ? 0 : domains; /* where the name itself stands */
    size_t len = strlen(ask->name);

    if (ask->name[len - 1] == '.')
        domains = bare = 0;
    if (index > domains)
        return false;
    if (index == bare)
        return snprintf(out, size, "%s", ask->name) < (int)size;
    return snprintf(out, size, "%s.%s", ask->name, ask->system.domains[index - (index > bare)]) <
           (int)size;
}

/* False: there is no other candidate. */
static bool ask_candidate(struct pst_dns_ask *ask)
{
    char name[4 * NAME_BYTES];

    if (!candidate_name(ask, ask->candidate, name, sizeof name))
        return false;
    ask->candidate++;
    ask->v4.open = ask->v6.open = true; /* before either can be answered */
    ares_query(ask->channel, name, ns_c_in, ns_t_a, replied, &ask->v4);
    ares_query(ask->channel, name, ns_c_in, ns_t_aaaa, replied, &ask->v6);
    return true;
}

int pst_dns_ask_start(struct pst_dns_ask *ask, const char *name)
{
    size_t len = strlen(name);

    PST_ASSERT(!ask->v4.open && !ask->v6.open && !ask->over.queued);
    if (len == 0 || len >= sizeof ask->name)
        return PST_E_INVALID;
    memcpy(ask->name, name, len + 1);
    ask->candidate = 0;
    memset(&ask->answer, 0, offsetof(struct pst_dns_answer, addresses));
    if (!ask_candidate(ask))
        return PST_E_INVALID;
    set_timer(ask);
    return PST_OK;
}

static int open_channel(struct pst_dns_ask *ask, const char *server)
{
    struct ares_options options = {
        .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
        .timeout = TIMEOUT_MS,
        .tries = TRIES,
        .sock_state_cb = socket_wanted,
        .sock_state_cb_data = ask,
    };
    int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;

    if (ares_init_options(&ask->channel, &options, mask) != ARES_SUCCESS)
        return PST_E_SYSTEM;
    if (ares_save_options(ask->channel, &ask->system, &ask->system_mask) != ARES_SUCCESS)
        return PST_E_NOMEM;
    if (server != NULL && ares_set_servers_ports_csv(ask->channel, server) != ARES_SUCCESS)
        return PST_E_INVALID;
    return PST_OK;
}

int pst_dns_ask_new(struct pst_loop *loop, const char *server,
                    void (*answered)(void *user, const struct pst_dns_answer *answer), void *user,
                    struct pst_dns_ask **ret_ask)
{
    struct pst_dns_ask *ask;
    int rc;

    if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
        return PST_E_SYSTEM;
    ask = calloc(1, sizeof *ask);
    if (ask == NULL) {
        ares_library_cleanup();
        return PST_E_NOMEM;
    }
    ask->loop = loop;
    ask->answered = answered;
    ask->user = user;
    ask->timer.fire = timer_fired;
    ask->over.run = tell;
    ask->v4 = (struct question){.ask = ask, .type = ns_t_a};
    ask->v6 = (struct question){.ask = ask, .type = ns_t_aaaa};
    rc = open_channel(ask, server);
    if (rc != PST_OK) {
        pst_dns_ask_free(ask);
        return rc;
    }
    *ret_ask = ask;
    return PST_OK;
}

void pst_dns_ask_free(struct pst_dns_ask *ask)
{
    if (ask == NULL)
        return;
    ask->closing = true;
    ares_destroy(ask->channel); /* takes NULL; ends open questions, closes the sockets */
    ares_destroy_options(&ask->system);
    pst_timer_cancel(ask->loop, &ask->timer);
    pst_later_cancel(ask->loop, &ask->over);
    PST_ASSERT(ask->watched == NULL);
    free(ask);
    ares_library_cleanup();
}
