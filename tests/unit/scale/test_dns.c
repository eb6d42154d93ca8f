/* test_dns.c - replicas by DNS, against a small server of DNS on loopback that says what the test wants. */
#include "../net/wire.h"

#include <arpa/nameser.h>
#include <sys/epoll.h>

#include "scale/source.h"

#define NAMES_MAX   4
#define RECORDS_MAX 300

enum manner { ANSWERS, NO_NAME, FAILS, SILENT, GARBAGE, TRUNCATES };

/* What is known of one name and type. */
struct zone {
    const char *name;
    uint16_t type;
    enum manner manner;
    char addresses[RECORDS_MAX][46];
    size_t count;
};

struct dns_server {
    struct pst_io udp, listener, tcp;
    uint16_t port;
    struct zone zones[NAMES_MAX];
    size_t zones_count;
    uint32_t asked, asked_tcp;
    char last[256];
};

static struct pst_loop *loop;
static struct dns_server server;
static struct pst_config config;
static struct pst_config_pool pool;
static struct pst_source *source;
static char server_text[32];
static uint16_t engine_port;

/* What the source told, in order: "+127.0.1.1 " and "-127.0.1.1 ", and ". " for synced. */
static char told[65536];
static uint32_t keys[1024], keys_count, live;

static void find_again(struct zone *zone)
{
    zone->manner = ANSWERS;
    zone->count = 0;
}

static struct zone *zone_of(const char *name, uint16_t type)
{
    for (size_t i = 0; i < server.zones_count; i++)
        if (strcasecmp(server.zones[i].name, name) == 0 && server.zones[i].type == type)
            return &server.zones[i];
    return NULL;
}

static struct zone *zone_add(const char *name, uint16_t type)
{
    struct zone *zone = &server.zones[server.zones_count++];

    assert_true(server.zones_count <= NAMES_MAX);
    memset(zone, 0, sizeof *zone);
    zone->name = name;
    zone->type = type;
    return zone;
}

static void say(struct zone *zone, const char *address)
{
    strcpy(zone->addresses[zone->count++], address);
}

static void put16(unsigned char *at, unsigned value)
{
    at[0] = (unsigned char)(value >> 8);
    at[1] = (unsigned char)value;
}

static size_t put_records(const struct zone *zone, unsigned char *at)
{
    unsigned char *begin = at;

    for (size_t i = 0; i < zone->count; i++) {
        int family = zone->type == ns_t_a ? AF_INET : AF_INET6;
        unsigned len = zone->type == ns_t_a ? 4 : 16;

        put16(at, 0xc00c); /* the name of the question */
        put16(at + 2, zone->type);
        put16(at + 4, ns_c_in);
        put16(at + 6, 0);
        put16(at + 8, 5);
        put16(at + 10, len);
        assert_int_equal(inet_pton(family, zone->addresses[i], at + 12), 1);
        at += 12 + len;
    }
    return (size_t)(at - begin);
}

/* Returns the length of the answer; 0: none. */
static size_t answer(const unsigned char *query, size_t len, bool is_tcp, unsigned char *out)
{
    char name[256];
    size_t at = 12, used = 0;
    struct zone *zone;
    uint16_t type;
    unsigned rcode = ns_r_nxdomain, flags = 0x8180, count = 0;

    assert_true(len > 16 && len < 512);
    while (query[at] != 0) {
        used += (size_t)sprintf(name + used, "%s%.*s", used == 0 ? "" : ".", query[at],
                                (const char *)query + at + 1);
        at += query[at] + 1u;
    }
    type = (uint16_t)(query[at + 1] << 8 | query[at + 2]);
    at += 5;
    strcpy(server.last, name);
    server.asked++;
    server.asked_tcp += is_tcp;
    zone = zone_of(name, type);
    if (zone == NULL && zone_of(name, type == ns_t_a ? ns_t_aaaa : ns_t_a) != NULL)
        rcode = ns_r_noerror; /* the name exists, and has none of these */
    memcpy(out, query, at);
    if (zone != NULL) {
        rcode = zone->manner == NO_NAME ? ns_r_nxdomain
                : zone->manner == FAILS ? ns_r_servfail
                                        : ns_r_noerror;
        if (zone->manner == SILENT)
            return 0;
        if (zone->manner == GARBAGE) {
            put16(out + 2, 0x8180);
            put16(out + 6, 9); /* nine answers, none of which is there */
            memset(out + at, 0xc0, 7);
            return at + 7;
        }
        if (zone->manner == TRUNCATES && !is_tcp) {
            flags |= 0x0200;
        } else if (rcode == ns_r_noerror) {
            count = (unsigned)zone->count;
            used = put_records(zone, out + at);
            at += used;
        }
    }
    put16(out + 2, flags | rcode);
    put16(out + 6, count);
    put16(out + 8, 0);
    put16(out + 10, 0);
    return at;
}

static void udp_ready(struct pst_io *io, uint32_t events)
{
    static unsigned char out[65536];
    unsigned char query[2048];
    struct sockaddr_in from;
    socklen_t from_len = sizeof from;
    ssize_t n = recvfrom(io->fd, query, sizeof query, 0, (struct sockaddr *)&from, &from_len);
    size_t len;

    (void)events;
    assert_true(n > 0);
    len = answer(query, (size_t)n, false, out);
    if (len == 0)
        return;
    out[0] ^= 1; /* somebody guesses at ids first */
    sendto(io->fd, out, len, 0, (struct sockaddr *)&from, from_len);
    out[0] ^= 1;
    sendto(io->fd, out, len, 0, (struct sockaddr *)&from, from_len);
}

static void tcp_ready(struct pst_io *io, uint32_t events)
{
    static unsigned char out[65536];
    unsigned char query[2048];
    ssize_t n = recv(io->fd, query, sizeof query, 0);
    size_t len;

    (void)events;
    if (n > 2) {
        len = answer(query + 2, (size_t)n - 2, true, out + 2);
        put16(out, (unsigned)len);
        assert_int_equal(send(io->fd, out, len + 2, MSG_NOSIGNAL), len + 2);
        return;
    }
    pst_io_remove(io);
    close(io->fd);
    io->fd = -1;
}

static void tcp_accept(struct pst_io *io, uint32_t events)
{
    (void)events;
    assert_int_equal(server.tcp.fd, -1); /* one at a time is enough here */
    server.tcp.fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(server.tcp.fd >= 0);
    server.tcp.events = EPOLLIN;
    server.tcp.ready = tcp_ready;
    assert_int_equal(pst_io_add(loop, &server.tcp), PST_OK);
}

static void server_open(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};

    memset(&server, 0, sizeof server);
    server.tcp.fd = -1;
    server.listener =
        (struct pst_io){.fd = wire_listen(&server.port), .events = EPOLLIN, .ready = tcp_accept};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(server.port);
    server.udp = (struct pst_io){
        .fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), .events = EPOLLIN, .ready = udp_ready};
    assert_int_equal(bind(server.udp.fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(pst_io_add(loop, &server.udp), PST_OK);
    assert_int_equal(pst_io_add(loop, &server.listener), PST_OK);
}

/* An engine, as far as a connection can tell. */
static int engine_open(const char *ip)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(engine_port)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    assert_int_equal(inet_pton(AF_INET, ip, &at.sin_addr), 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 128), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    engine_port = ntohs(at.sin_port);
    return fd;
}

static uint32_t next_key(void *user)
{
    (void)user;
    return ++keys_count;
}

static void found(void *user, const struct pst_wire_replica *replica)
{
    char ip[64], port[16];
    bool is_gone = replica->state == PST_REPLICA_GONE;

    (void)user;
    assert_int_equal(replica->pool, 0);
    assert_string_equal(replica->name, replica->url);
    assert_true(replica->key >= 1 && replica->key < 1024);
    assert_int_equal(keys[replica->key], is_gone); /* a key comes once, and goes once */
    keys[replica->key]++;
    live += is_gone ? UINT32_MAX : 1;
    if (!is_gone)
        assert_int_equal(replica->state, PST_REPLICA_LOADING);
    assert_int_equal(sscanf(replica->url, "http://%63[^/]", ip), 1);
    snprintf(port, sizeof port, ":%u", pool.dns.port);
    assert_string_equal(ip + strlen(ip) - strlen(port), port);
    ip[strlen(ip) - strlen(port)] = '\0';
    sprintf(told + strlen(told), "%s%s%s ", is_gone ? "-" : "+", ip,
            is_gone && replica->cause == PST_CAUSE_CONFIG ? "!" : "");
}

static void event(void *user, uint32_t key, const struct pst_scaler_event *e)
{
    (void)user;
    (void)key;
    fail_msg("DNS says nothing of the whole, and did: %u", e->kind);
}

static void synced(void *user, uint16_t index)
{
    (void)user;
    assert_int_equal(index, 0);
    strcat(told, ". ");
}

static struct pst_source_host host = {
    .next_key = next_key, .found = found, .event = event, .synced = synced};

static int set_up(void **state)
{
    (void)state;
    told[0] = '\0';
    memset(keys, 0, sizeof keys);
    keys_count = live = engine_port = 0;
    assert_int_equal(setenv("LOCALDOMAIN", "ns.test cluster.test", 1), 0);
    assert_int_equal(pst_loop_new(&loop), PST_OK);
    server_open();
    snprintf(server_text, sizeof server_text, "127.0.0.1:%u", server.port);
    memset(&pool, 0, sizeof pool);
    pool.name = strdup("chat");
    pool.dns = (struct pst_config_dns){.server = server_text, .every = 20 * PST_MS, .port = 8000};
    config = (struct pst_config){.pools = &pool, .pools_count = 1};
    host.loop = loop;
    host.config = &config;
    source = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (source != NULL)
        source->kind->free(source);
    pst_io_remove(&server.udp);
    pst_io_remove(&server.listener);
    pst_io_remove(&server.tcp);
    close(server.udp.fd);
    close(server.listener.fd);
    if (server.tcp.fd >= 0)
        close(server.tcp.fd);
    pst_loop_free(loop);
    free(pool.name);
    return 0;
}

static char name[64];

static void begin(const char *what)
{
    snprintf(name, sizeof name, "%s", what);
    pool.dns.name = name;
    assert_int_equal(pst_dns_new(&host, 0, &source), PST_OK);
}

/* Until so many more questions were answered, and what came of them was told. */
static void more_questions(uint32_t count)
{
    uint32_t until = server.asked + count;

    WIRE_UNTIL(loop, server.asked >= until);
}

static void test_addresses_come_and_go(void **state)
{
    struct zone *v4 = zone_add("engines.test", ns_t_a);
    int one = engine_open("127.0.1.1"), two = engine_open("127.0.1.2");

    (void)state;
    pool.dns.port = engine_port;
    say(v4, "127.0.1.1");
    say(v4, "127.0.1.2");
    say(v4, "127.0.1.1"); /* twice, and not hosts: */
    say(v4, "0.0.0.0");
    say(v4, "224.0.0.1");
    begin("engines.test.");
    WIRE_UNTIL(loop, strcmp(told, "+127.0.1.1 +127.0.1.2 . ") == 0);
    more_questions(10);
    find_again(v4);
    say(v4, "127.0.1.2");
    more_questions(20); /* it still takes connections */
    assert_string_equal(told, "+127.0.1.1 +127.0.1.2 . ");
    close(one);
    WIRE_UNTIL(loop, strcmp(told, "+127.0.1.1 +127.0.1.2 . -127.0.1.1 ") == 0);
    say(v4, "127.0.1.1"); /* and back: another life, another key */
    WIRE_UNTIL(loop, strstr(told, "-127.0.1.1 +127.0.1.1 ") != NULL);
    close(two); /* nobody listens, and DNS names it: ours to suspect, and no more */
    more_questions(20);
    assert_int_equal(live, 2);
    v4->count = 0; /* an empty answer counts like any other */
    WIRE_UNTIL(loop, live == 0);
    assert_int_equal(keys_count, 3);
}

static void test_three_answers(void **state)
{
    struct zone *v4 = zone_add("engines.test", ns_t_a);
    uint32_t asked;

    (void)state;
    close(engine_open("127.0.1.1")); /* a port where nobody is */
    pool.dns.port = engine_port;
    say(v4, "127.0.1.1");
    begin("engines.test.");
    WIRE_UNTIL(loop, live == 1);
    v4->manner = NO_NAME;
    asked = server.asked + server.asked % 2; /* A and AAAA each time */
    WIRE_UNTIL(loop, live == 0);
    assert_true(server.asked - asked >= 5);
    assert_true(server.asked - asked <= 8);
}

static void test_what_is_no_answer(void **state)
{
    static const struct {
        const char *name;
        enum manner manner;
    } rows[] = {{"servfail", FAILS}, {"garbage", GARBAGE}, {"silence", SILENT}};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct zone *v4 = zone_add("engines.test", ns_t_a);

        pool.dns.port = 9;
        say(v4, "127.0.1.1");
        begin("engines.test.");
        WIRE_UNTIL(loop, live == 1);
        v4->manner = rows[i].manner;
        /* c-ares tries twice before it gives up: questions enough for 4 failures, or 2 time-outs. */
        more_questions(rows[i].manner == SILENT ? 5 : 16);
        assert_int_equal(live, 1);
        find_again(v4);
        WIRE_UNTIL(loop, live == 0);
        source->kind->free(source);
        source = NULL;
        server.zones_count = 0;
        told[0] = '\0';
    }
}

/* A server that is down at the start: nothing is synced, for nothing is known. */
static void test_not_synced_without_an_answer(void **state)
{
    struct zone *v4 = zone_add("engines.test", ns_t_a);

    (void)state;
    v4->manner = FAILS;
    begin("engines.test.");
    more_questions(20);
    assert_string_equal(told, "");
    v4->manner = NO_NAME;
    WIRE_UNTIL(loop, strcmp(told, ". ") == 0);
}

static void test_both_families(void **state)
{
    struct zone *v4 = zone_add("engines.test", ns_t_a), *v6 = zone_add("engines.test", ns_t_aaaa);

    (void)state;
    pool.dns.port = 9;
    say(v4, "127.0.1.1");
    say(v6, "fd00::1");
    say(v6, "fe80::1"); /* on which link? */
    say(v6, "::");
    begin("engines.test.");
    WIRE_UNTIL(loop, live == 2);
    assert_non_null(strstr(told, "+127.0.1.1 "));
    assert_non_null(strstr(told, "+[fd00::1] "));
    v6->manner = FAILS; /* what is said of one family says nothing of the other */
    more_questions(24);
    assert_int_equal(live, 2);
    find_again(v4);
    WIRE_UNTIL(loop, strstr(told, "-127.0.1.1 ") != NULL);
    assert_int_equal(live, 1);
}

static void test_truncated_goes_on_over_tcp(void **state)
{
    struct zone *v4 = zone_add("engines.test", ns_t_a);
    char address[32];

    (void)state;
    for (int i = 0; i < RECORDS_MAX; i++) {
        snprintf(address, sizeof address, "127.1.%d.%d", i / 200, 1 + i % 200);
        say(v4, address);
    }
    v4->manner = TRUNCATES;
    begin("engines.test.");
    WIRE_UNTIL(loop, live > 0);
    assert_true(server.asked_tcp > 0);
    more_questions(10);
    assert_int_equal(live, PST_REPLICAS_MAX); /* and no more */
}

static void test_search_list(void **state)
{
    struct zone *far = zone_add("engines.cluster.test", ns_t_a), *near;

    (void)state;
    say(far, "127.0.1.1");
    begin("engines");
    WIRE_UNTIL(loop, strcmp(told, "+127.0.1.1 . ") == 0);
    /* A name further ahead comes to exist: it is the one that counts. */
    near = zone_add("engines.ns.test", ns_t_a);
    say(near, "127.0.1.2");
    WIRE_UNTIL(loop, strstr(told, "+127.0.1.2 ") != NULL);
    /* It is not known of it: the next in the list is no answer to the question. */
    near->manner = FAILS;
    find_again(far);
    say(far, "127.0.1.3");
    more_questions(24);
    assert_null(strstr(told, "127.0.1.3"));
}

static void test_reload(void **state)
{
    struct zone *v4 = zone_add("engines.test", ns_t_a), *other = zone_add("other.test", ns_t_a);
    int both = engine_open("127.0.1.1"), old = engine_open("127.0.1.3");
    uint16_t port = engine_port;

    (void)state;
    say(v4, "127.0.1.1");
    say(v4, "127.0.1.3"); /* it answers, but is none of the other name */
    say(other, "127.0.1.1");
    say(other, "127.0.1.2");
    pool.dns.port = port;
    begin("engines.test.");
    WIRE_UNTIL(loop, live == 2);
    source->kind->reload(source); /* nothing is different */
    snprintf(name, sizeof name, "other.test.");
    pool.dns.name = name;
    source->kind->reload(source);
    WIRE_UNTIL(loop, strcmp(told, "+127.0.1.1 +127.0.1.3 . +127.0.1.2 -127.0.1.3! ") == 0);
    close(both);
    close(old);
    told[0] = '\0';
    pool.dns.name = NULL;
    source->kind->reload(source);
    assert_int_equal(live, 0);
    assert_non_null(strstr(told, "-127.0.1.1! "));
}

static void test_bad_server(void **state)
{
    (void)state;
    pool.dns.name = name;
    pool.dns.server = strdup("what:is:this");
    assert_int_equal(pst_dns_new(&host, 0, &source), PST_E_INVALID);
    free(pool.dns.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_addresses_come_and_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_three_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_no_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_synced_without_an_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_both_families, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truncated_goes_on_over_tcp, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_search_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reload, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_server, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
