/*
 * dns.c - replicas by the addresses of a name: a source (source.h) that needs no rights anywhere.
 *
 *   an answer names it --> LOADING --3 answers without it, and a connection fails--> GONE
 *
 * Why: a headless Service is what every cluster has. With publishNotReadyAddresses it names each pod as
 * soon as it has an address, and our own model probe decides when it is ready.
 *
 * Guarantee: only a server's word counts. A server that fails, or is silent, changes nothing; an empty
 * answer is an answer. Nothing leaves by DNS alone: an answer may be stale or cut, so that what is
 * missing must also refuse a connection, or not accept it in time. A connection and no more: a model probe
 * costs a slot, and a replica that takes connections without answering is the gate's to suspect.
 * What DNS does not know is not made up: revisions, replicas without an address, who ended whom.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "base/random.h"
#include "scale/dns_ask.h"
#include "scale/source.h"

#define MISSED_MAX      3
#define CONNECT_TIMEOUT (5 * PST_S)
#define EVERY_DEFAULT   (2 * PST_S)

struct dns;

struct replica {
    struct dns *dns;
    struct pst_address address;
    uint32_t key;
    uint32_t missed; /* answers in a row without it */
    bool named;      /* by the answer that is being read */
    bool foreign;    /* of another name than the one that is asked for now */
    struct pst_io connecting;
    struct pst_timer limit; /* of the connection */
    char url[PST_WIRE_NAME_MAX];
};

struct dns {
    struct pst_source source;
    struct pst_random random;
    struct pst_dns_ask *ask;
    char *name, *server; /* as they were when we began */
    uint16_t port;
    pst_ns every;
    struct pst_timer next;
    uint32_t failures; /* questions in a row without an answer */
    bool synced, crowded;
    struct replica *replicas[PST_REPLICAS_MAX];
    size_t count;
};

static const struct pst_config_pool *pool_of(const struct dns *dns)
{
    return &dns->source.host->config->pools[dns->source.pool];
}

static void tell(struct replica *replica, enum pst_replica_state state, enum pst_cause cause)
{
    const struct pst_source *source = &replica->dns->source;
    struct pst_wire_replica found = {
        .key = replica->key,
        .pool = source->pool,
        .state = (uint8_t)state,
        .cause = (uint8_t)cause,
    };

    memcpy(found.name, replica->url, sizeof replica->url);
    memcpy(found.url, replica->url, sizeof replica->url);
    source->host->found(source->host->user, &found);
}

static void stop_connecting(struct replica *replica)
{
    pst_timer_cancel(replica->dns->source.host->loop, &replica->limit);
    pst_io_remove(&replica->connecting);
    if (replica->connecting.fd >= 0)
        close(replica->connecting.fd);
    replica->connecting.fd = -1;
}

static void drop(struct replica *replica)
{
    struct dns *dns = replica->dns;
    size_t i = 0;

    stop_connecting(replica);
    while (dns->replicas[i] != replica)
        i++;
    dns->replicas[i] = dns->replicas[--dns->count];
    dns->crowded = false;
    free(replica);
}

static void leave(struct replica *replica, enum pst_cause cause)
{
    tell(replica, PST_REPLICA_GONE, cause);
    drop(replica);
}

static void connection_late(struct pst_timer *timer)
{
    leave((struct replica *)((char *)timer - offsetof(struct replica, limit)), PST_CAUSE_REMOVED);
}

static void connection_settled(struct pst_io *io, uint32_t events)
{
    struct replica *replica = (struct replica *)((char *)io - offsetof(struct replica, connecting));
    int error = 0;
    socklen_t len = sizeof error;

    (void)events;
    if (getsockopt(io->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error != 0)
        leave(replica, PST_CAUSE_REMOVED);
    else
        stop_connecting(replica); /* it lives; the next answer without it asks again */
}

/* Nobody names it any more: does anybody answer there? What fails on our side says nothing. */
static void try_connection(struct replica *replica)
{
    struct pst_loop *loop = replica->dns->source.host->loop;
    const struct pst_address *to = &replica->address;
    int fd;

    if (replica->connecting.fd >= 0)
        return;
    fd = socket(to->u.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    replica->connecting =
        (struct pst_io){.fd = fd, .events = EPOLLOUT, .ready = connection_settled};
    if (connect(fd, &to->u.any, to->len) != 0 && errno != EINPROGRESS) {
        if (errno == ECONNREFUSED || errno == EHOSTUNREACH || errno == ENETUNREACH)
            leave(replica, PST_CAUSE_REMOVED);
        else
            stop_connecting(replica);
        return;
    }
    if (pst_io_add(loop, &replica->connecting) != PST_OK) {
        stop_connecting(replica);
        return;
    }
    pst_timer_set(loop, &replica->limit, pst_loop_now(loop) + CONNECT_TIMEOUT);
}

static bool is_same(const struct pst_address *a, const struct pst_address *b)
{
    if (a->u.any.sa_family != b->u.any.sa_family)
        return false;
    if (a->u.any.sa_family == AF_INET)
        return a->u.v4.sin_addr.s_addr == b->u.v4.sin_addr.s_addr;
    return memcmp(&a->u.v6.sin6_addr, &b->u.v6.sin6_addr, sizeof a->u.v6.sin6_addr) == 0;
}

static struct replica *find(struct dns *dns, const struct pst_address *address)
{
    for (size_t i = 0; i < dns->count; i++)
        if (is_same(&dns->replicas[i]->address, address))
            return dns->replicas[i];
    return NULL;
}

static void write_url(struct replica *replica, uint16_t port)
{
    char ip[INET6_ADDRSTRLEN];

    if (replica->address.u.any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &replica->address.u.v4.sin_addr, ip, sizeof ip);
        snprintf(replica->url, sizeof replica->url, "http://%s:%u", ip, port);
    } else {
        inet_ntop(AF_INET6, &replica->address.u.v6.sin6_addr, ip, sizeof ip);
        snprintf(replica->url, sizeof replica->url, "http://[%s]:%u", ip, port);
    }
}

static void appear(struct dns *dns, const struct pst_address *address)
{
    struct replica *replica;

    if (dns->count == PST_COUNT_OF(dns->replicas)) {
        if (!dns->crowded)
            pst_say(PST_LOG_WARN, "pool %s: %s has more than %d addresses; the others are not used",
                    pool_of(dns)->name, dns->name, PST_REPLICAS_MAX);
        dns->crowded = true;
        return;
    }
    replica = calloc(1, sizeof *replica);
    if (replica == NULL)
        return; /* the next answer names it again */
    replica->dns = dns;
    replica->address = *address;
    if (address->u.any.sa_family == AF_INET)
        replica->address.u.v4.sin_port = htons(dns->port);
    else
        replica->address.u.v6.sin6_port = htons(dns->port);
    replica->named = true;
    replica->connecting.fd = -1;
    replica->limit.fire = connection_late;
    replica->key = dns->source.host->next_key(dns->source.host->user);
    write_url(replica, dns->port);
    dns->replicas[dns->count++] = replica;
    tell(replica, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
}

static void take_names(struct dns *dns, const struct pst_dns_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        struct replica *replica = find(dns, &answer->addresses[i]);

        if (replica != NULL)
            replica->named = true;
        else if (pst_address_is_host(&answer->addresses[i]))
            appear(dns, &answer->addresses[i]);
    }
}

/* From the last to the first: who leaves is replaced by the last, which was looked at. */
static void count_missed(struct dns *dns, const struct pst_dns_answer *answer)
{
    for (size_t i = dns->count; i-- > 0;) {
        struct replica *replica = dns->replicas[i];
        bool is_v4 = replica->address.u.any.sa_family == AF_INET;

        if (replica->named) {
            replica->named = replica->foreign = false;
            replica->missed = 0;
            stop_connecting(replica);
        } else if (!(is_v4 ? answer->knows_v4 : answer->knows_v6)) {
            continue;
        } else if (replica->foreign) {
            leave(replica, PST_CAUSE_CONFIG);
        } else if (++replica->missed >= MISSED_MAX) {
            try_connection(replica);
        }
    }
}

static void say_failure(struct dns *dns, const char *error)
{
    dns->failures++;
    if ((dns->failures & (dns->failures - 1)) == 0) /* the 1st, 2nd, 4th, 8th … */
        pst_say(PST_LOG_WARN, "pool %s: no answer about %s (%s); what is known of it stays",
                pool_of(dns)->name, dns->name, error);
}

static void ask_later(struct dns *dns)
{
    struct pst_loop *loop = dns->source.host->loop;
    uint32_t random;

    pst_random_fill(&dns->random, &random, sizeof random);
    pst_timer_set(loop, &dns->next,
                  pst_loop_now(loop) + dns->every / 10 * 9 + random % (dns->every / 5 + 1));
}

static void answered(void *user, const struct pst_dns_answer *answer)
{
    struct dns *dns = user;
    const struct pst_source_host *host = dns->source.host;

    if (answer->error != NULL && answer->count == 0) {
        say_failure(dns, answer->error);
    } else {
        if (dns->failures > 0)
            pst_say(PST_LOG_INFO, "pool %s: %s is answered again", pool_of(dns)->name, dns->name);
        dns->failures = 0;
    }
    take_names(dns, answer);
    count_missed(dns, answer);
    if (!dns->synced && dns->failures == 0) {
        dns->synced = true;
        host->synced(host->user, dns->source.pool);
    }
    ask_later(dns);
}

static void ask_now(struct pst_timer *timer)
{
    struct dns *dns = (struct dns *)((char *)timer - offsetof(struct dns, next));

    if (pst_dns_ask_start(dns->ask, dns->name) != PST_OK)
        ask_later(dns);
}

static void forget_configuration(struct dns *dns)
{
    pst_timer_cancel(dns->source.host->loop, &dns->next);
    pst_dns_ask_free(dns->ask);
    free(dns->name);
    free(dns->server);
    dns->ask = NULL;
    dns->name = dns->server = NULL;
}

static int take_configuration(struct dns *dns)
{
    const struct pst_config_dns *config = &pool_of(dns)->dns;
    struct pst_loop *loop = dns->source.host->loop;
    int rc;

    dns->name = strdup(config->name);
    dns->server = config->server == NULL ? NULL : strdup(config->server);
    dns->port = config->port;
    dns->every = config->every == 0 ? EVERY_DEFAULT : config->every;
    if (dns->name == NULL || (config->server != NULL && dns->server == NULL))
        return PST_E_NOMEM;
    rc = pst_dns_ask_new(loop, dns->server, answered, dns, &dns->ask);
    if (rc == PST_OK)
        pst_timer_set(loop, &dns->next, pst_loop_now(loop));
    return rc;
}

static bool is_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/*
 * Another server is only asked from now on; so is another name, and whom its first answer does not name was
 * never its own, however well it is; another port is another replica.
 */
static void reload(struct pst_source *source)
{
    struct dns *dns = (struct dns *)source;
    const struct pst_config_dns *config = &pool_of(dns)->dns;
    uint16_t port = dns->port;

    if (is_equal(dns->name, config->name) && is_equal(dns->server, config->server) &&
        port == config->port && dns->every == config->every)
        return;
    for (size_t i = 0; i < dns->count; i++)
        dns->replicas[i]->foreign = dns->replicas[i]->foreign || !is_equal(dns->name, config->name);
    forget_configuration(dns);
    while (dns->count > 0 && (config->name == NULL || config->port != port))
        leave(dns->replicas[dns->count - 1], PST_CAUSE_CONFIG);
    if (config->name != NULL && take_configuration(dns) != PST_OK)
        pst_say(PST_LOG_ERROR, "pool %s: %s cannot be asked for", pool_of(dns)->name, config->name);
}

/* The number and the pods are others': nothing is done here. */
static void act(struct pst_source *source, uint32_t key, const struct pst_scaler_action *action)
{
    (void)source;
    (void)key;
    (void)action;
}

static void stop(struct pst_source *source, void (*stopped)(void *user), void *user)
{
    (void)source;
    stopped(user);
}

static void free_source(struct pst_source *source)
{
    struct dns *dns = (struct dns *)source;

    forget_configuration(dns);
    while (dns->count > 0)
        drop(dns->replicas[dns->count - 1]);
    free(dns);
}

static const struct pst_source_kind kind = {
    .name = "dns", .act = act, .reload = reload, .stop = stop, .free = free_source};

int pst_dns_new(const struct pst_source_host *host, uint16_t pool, struct pst_source **ret_source)
{
    struct dns *dns = calloc(1, sizeof *dns);
    int rc;

    if (dns == NULL)
        return PST_E_NOMEM;
    dns->source = (struct pst_source){.kind = &kind, .host = host, .pool = pool};
    dns->next.fire = ask_now;
    rc = take_configuration(dns);
    if (rc != PST_OK) {
        free_source(&dns->source);
        return rc;
    }
    *ret_source = &dns->source;
    return PST_OK;
}
