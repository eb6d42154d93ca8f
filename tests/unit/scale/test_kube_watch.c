/* test_kube_watch.c - list and watch against a server that ends, hangs, forgets and lies (B104). */
#include "api_server.h"

#include "scale/kube_watch.h"

static struct pst_loop *loop;
static struct pst_curl *curl;
static struct api_server server;
static struct pst_kube_watch *watch;
static struct pst_kube_watch_config config;
static struct pst_curl_access access_;
static char url[128];
static char told[65536]; /* in order, words with a blank behind each */
static uint32_t troubles;
static size_t seen; /* requests */
static char last_trouble[256];

static const char *name_of(const cJSON *object)
{
    return cJSON_GetStringValue(
        cJSON_GetObjectItem(cJSON_GetObjectItem(object, "metadata"), "name"));
}

static void tell(const char *word, const char *name)
{
    assert_true(strlen(told) + 100 < sizeof told);
    sprintf(told + strlen(told), "%s%.60s ", word, name);
}

static void begin(void *user)
{
    (void)user;
    tell("begin", "");
}

static void item(void *user, const cJSON *object)
{
    (void)user;
    tell("", name_of(object));
}

static void end(void *user)
{
    (void)user;
    tell("end", "");
}

static void changed(void *user, const cJSON *object, bool is_deleted)
{
    (void)user;
    tell(is_deleted ? "-" : "+", name_of(object));
}

static void trouble(void *user, const char *what)
{
    (void)user;
    if (what == NULL) {
        tell("well", "");
        return;
    }
    troubles++;
    snprintf(last_trouble, sizeof last_trouble, "%s", what);
}

static const struct pst_kube_watch_handlers handlers = {
    .begin = begin, .item = item, .end = end, .changed = changed, .trouble = trouble};

/* The test itself answers, when it likes. */
static void handle(struct api_server *s, struct api_request *r)
{
    (void)s;
    (void)r;
}

static int set_up(void **state)
{
    (void)state;
    told[0] = last_trouble[0] = '\0';
    troubles = 0;
    seen = 0;
    assert_int_equal(pst_loop_new(&loop), PST_OK);
    assert_int_equal(pst_curl_new(loop, &curl), PST_OK);
    api_open(&server, loop, handle);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/pods?labelSelector=app%%3Dm", server.port);
    access_ = (struct pst_curl_access){0};
    config = (struct pst_kube_watch_config){.url = url,
                                            .access = &access_,
                                            .watch = 5 * PST_S,
                                            .margin = 5 * PST_S,
                                            .backoff_min = 8 * PST_MS,
                                            .backoff_max = 64 * PST_MS};
    watch = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pst_kube_watch_free(watch);
    pst_curl_free(curl);
    pst_curl_access_done(&access_);
    api_done(&server);
    pst_loop_free(loop);
    return 0;
}

/* The next row of a table begins as a test does. */
static void again(void)
{
    tear_down(NULL);
    set_up(NULL);
}

static void begin_watching(void)
{
    assert_int_equal(pst_kube_watch_new(loop, curl, &config, &handlers, &watch), PST_OK);
}

/* The next request that comes; a list or a watch, as expected. */
static struct api_request *next(const char *expected)
{
    bool is_watch;

    WIRE_UNTIL(loop, server.count > seen);
    is_watch = strstr(server.requests[seen].target, "&watch=1") != NULL;
    if (is_watch != (strcmp(expected, "watch") == 0))
        fail_msg("request %zu is no %s: %s", seen, expected, server.requests[seen].target);
    return &server.requests[seen++];
}

static bool has(const struct api_request *r, const char *text)
{
    return strstr(r->target, text) != NULL;
}

#define LIST(version, items)                                                                       \
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items   \
    "]}"
#define PAGE(more, items)                                                                          \
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"" more           \
    "\"},\"items\":[" items "]}"
#define POD(name, version)                                                                         \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, name, version) "{\"type\":\"" type "\",\"object\":" POD(name, version) "}\n"
#define ERROR(code)                "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":" code "}}\n"

/* As far as the first watch, whose request is returned, with nothing said on it. */
static struct api_request *watching(void)
{
    begin_watching();
    api_reply(next("list"), 200, "", LIST("10", POD("a", "9")));
    return next("watch");
}

static void test_pages(void **state)
{
    struct api_request *r;

    (void)state;
    begin_watching();
    r = next("list");
    assert_string_equal(r->target, "/pods?labelSelector=app%3Dm&limit=100");
    assert_string_equal(r->method, "GET");
    api_reply(r, 200, "", PAGE("a b/=", POD("a", "1") "," POD("b", "2")));
    r = next("list");
    assert_true(has(r, "&limit=100&continue=a%20b%2F%3D"));
    assert_false(pst_kube_watch_is_live(watch));
    api_reply(r, 200, "", LIST("10", POD("c", "3")));
    r = next("watch");
    assert_string_equal(told, "begin a b c end ");
    assert_true(pst_kube_watch_is_live(watch));
    assert_true(has(r, "&allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion=10"));
}

/* Page after page: what a list that never ends does not have is not gone. */
static void test_pages_without_end(void **state)
{
    (void)state;
    begin_watching();
    for (int i = 0; i < 1000; i++) {
        server.count = seen = 0; /* room for more */
        api_reply(next("list"), 200, "", PAGE("more", ""));
    }
    WIRE_UNTIL(loop, troubles == 1);
    assert_string_equal(last_trouble, "list: it has no end");
    assert_string_equal(told, "begin ");
    assert_false(has(next("list"), "continue"));
}

static void test_page_of_a_past_that_is_gone(void **state)
{
    (void)state;
    begin_watching();
    api_reply(next("list"), 200, "", PAGE("more", POD("a", "1")));
    api_reply(next("list"), 410, "", "{}");
    api_reply(next("list"), 200, "", LIST("10", POD("b", "2")));
    next("watch");
    assert_string_equal(told, "begin a begin b well end ");
}

static void test_events(void **state)
{
    struct api_request *r = watching();
    static const char split[] = EVENT("ADDED", "d", "14");

    (void)state;
    api_stream(r);
    api_say(r, EVENT("ADDED", "b", "11") EVENT("MODIFIED", "b", "12") EVENT("DELETED", "a", "13"));
    for (size_t i = 0; i < sizeof split - 1; i++)
        api_chunk(r, split + i, 1);
    api_say(r, "\n" EVENT("PARTED", "e", "15") "{\"type\":\"ADDED\",\"obj"); /* a line and a half */
    api_end(r);
    r = next("watch");
    assert_string_equal(told, "begin a end +b +b -a +d ");
    assert_true(has(r, "&resourceVersion=15")); /* from there, and what was half is told again */
    assert_int_equal(troubles, 0);
}

static void test_bookmarks(void **state)
{
    struct api_request *r = watching();

    (void)state;
    api_stream(r);
    api_say(r, EVENT("BOOKMARK", "", "99"));
    api_end(r); /* quietly */
    r = next("watch");
    assert_true(has(r, "&resourceVersion=99"));
    assert_string_equal(told, "begin a end ");
    assert_int_equal(troubles, 0);
}

/* The history is compacted: as a status, as an event, after events and before. */
static void test_gone(void **state)
{
    struct api_request *r = watching();

    (void)state;
    api_reply(r, 410, "", "{}");
    r = next("list");
    assert_false(has(r, "resourceVersion"));
    api_reply(r, 200, "", LIST("20", POD("b", "15")));
    r = next("watch");
    assert_true(has(r, "&resourceVersion=20"));
    api_stream(r);
    api_say(r, EVENT("MODIFIED", "b", "21") ERROR("410"));
    r = next("list");
    api_reply(r, 200, "", LIST("30", ""));
    r = next("watch");
    api_stream(r);
    api_say(r, ERROR("410"));
    api_reply(next("list"), 200, "", LIST("40", ""));
    next("watch");
    assert_string_equal(told, "begin a end begin b well end +b begin end begin well end ");
}

static void test_error_event(void **state)
{
    struct api_request *r = watching();

    (void)state;
    api_stream(r);
    api_say(r, EVENT("MODIFIED", "a", "11") ERROR("500"));
    r = next("watch");
    assert_true(has(r, "&resourceVersion=11"));
    assert_string_equal(last_trouble, "watch: error 500");
    assert_false(pst_kube_watch_is_live(watch));
    api_stream(r);
    api_say(r, EVENT("MODIFIED", "a", "12"));
    WIRE_UNTIL(loop, strstr(told, "well +a ") != NULL);
    assert_true(pst_kube_watch_is_live(watch));
}

/*
 * 200 and nothing, at once, for ever: no hot loop. The n-th try comes three quarters of the doubled time
 * after the one before.
 */
static void test_empty_at_once(void **state)
{
    pst_ns wait = config.backoff_min;
    struct api_request *r = watching();

    (void)state;
    for (int i = 0; i < 12; i++) {
        pst_ns began = r->at;

        api_reply(r, 200, "", "");
        r = next("watch");
        assert_true(r->at - began >= wait / 4 * 3);
        wait = wait * 2 > config.backoff_max ? config.backoff_max : wait * 2;
    }
    assert_int_equal(troubles, 4); /* the 1st, 2nd, 4th, 8th */
    assert_string_equal(last_trouble, "watch: it ends at once");
}

/* One event, and the end, for ever: as often as backoff_min lets it. */
static void test_one_event_and_the_end(void **state)
{
    struct api_request *r = watching();

    (void)state;
    for (int i = 0; i < 10; i++) {
        pst_ns began = r->at;

        api_reply(r, 200, "", EVENT("MODIFIED", "a", "11"));
        r = next("watch");
        assert_true(r->at - began >= config.backoff_min / 4 * 3);
    }
    assert_int_equal(troubles, 0);
}

static void test_hang(void **state)
{
    struct api_request *r;

    (void)state;
    config.watch = PST_S;
    config.margin = 50 * PST_MS;
    r = watching();
    api_stream(r);
    api_say(r, EVENT("MODIFIED", "a", "11"));
    WIRE_UNTIL(loop, strstr(told, "+a") != NULL);
    r = next("watch"); /* nothing ended the first */
    assert_string_equal(last_trouble, "watch: silent for too long");
    assert_true(has(r, "&resourceVersion=11"));
    assert_null(server.requests[1].connection); /* it is not left open */
}

/* What a server says that is not what was asked for. Nothing of it reaches the pods. */
static void test_lists_that_are_none(void **state)
{
    static const struct {
        int status;
        const char *body, *trouble;
    } rows[] = {
        {200, "", "list: the answer is no JSON"},
        {200, "{\"items\":[", "list: the answer is no JSON"},
        {200, "{}", "list: the answer is no list"},
        {200, "[]", "list: the answer is no list"},
        {200, "{\"items\":\"a\"}", "list: the answer is no list"},
        {200, "{\"items\":[]}", "list: the answer has no resourceVersion"},
        {200, "{\"items\":[],\"metadata\":{\"resourceVersion\":\"\"}}",
         "list: the answer has no resourceVersion"},
        {200, "{\"items\":[],\"metadata\":{\"resourceVersion\":7}}",
         "list: the answer has no resourceVersion"},
        {403, "{}", "list: 403, the role lacks \"list\" on pods"},
        {500, "oh", "list: status 500"},
        {302, "", "list: status 302"},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        begin_watching();
        api_reply(next("list"), rows[i].status, "", rows[i].body);
        WIRE_UNTIL(loop, troubles == 1);
        assert_string_equal(last_trouble, rows[i].trouble);
        assert_null(strstr(told, "end"));
        assert_false(pst_kube_watch_is_live(watch));
        api_reply(next("list"), 200, "", LIST("10", ""));
        next("watch");
        assert_non_null(strstr(told, "well end "));
        again();
    }
}

static void test_events_that_are_none(void **state)
{
    static const char *const rows[] = {
        "what\n",
        "{\"type\":\"ADDED\"}\n",
        "{\"object\":" POD("b", "11") "}\n",
        "{\"type\":7,\"object\":" POD("b", "11") "}\n",
        "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"b\"}}}\n",
        "[[[[[[[[\n",
        "null\n",
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct api_request *r;

        r = watching();
        api_stream(r);
        api_say(r, rows[i]);
        api_reply(next("list"), 200, "", LIST("20", "")); /* what was it? */
        next("watch");
        assert_non_null(strstr(told, "begin a end begin "));
        assert_null(strstr(told, "+b"));
        again();
    }
}

static void test_sizes(void **state)
{
    static const char head[] = "{\"type\":\"ADDED\",\"object\":" POD("b", "11") ",\"x\":\"";
    size_t size = PST_KUBE_EVENT_MAX;
    char *event = malloc(size + 2);

    (void)state;
    for (int over = 0; over < 2; over++) {
        struct api_request *r;

        r = watching();
        memset(event, 'x', size + 2);
        memcpy(event, head, sizeof head - 1);
        memcpy(event + size + (size_t)over - 2, "\"}\n", 3);
        api_stream(r);
        for (size_t at = 0; at < size + 1 + (size_t)over && r->connection != NULL; at += 1 << 20)
            api_chunk(r, event + at,
                      size + 1 + (size_t)over - at < 1 << 20 ? size + 1 + (size_t)over - at
                                                             : 1 << 20);
        if (over) {
            next("list");
            assert_string_equal(last_trouble, "watch: an event of more than 4 MiB");
        } else {
            WIRE_UNTIL(loop, strstr(told, "+b ") != NULL);
            assert_int_equal(troubles, 0);
        }
        again();
    }
    free(event);
}

static void write_token(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    fputs(text, file);
    fclose(file);
}

/* Refused: read again and tried at once, once; then as any failure. */
static void test_token_refused(void **state)
{
    char path[64];
    struct api_request *r, *again;

    (void)state;
    snprintf(path, sizeof path, "/tmp/pst-watch-token-%d", (int)getpid());
    write_token(path, "old");
    access_.token_file = path;
    config.backoff_min = config.backoff_max = 100 * PST_MS;
    begin_watching();
    r = next("list");
    assert_string_equal(api_header(r, "Authorization"), "Bearer old");
    write_token(path, "new");
    api_reply(r, 401, "", "{}");
    again = next("list");
    assert_string_equal(api_header(again, "Authorization"), "Bearer new");
    assert_int_equal(troubles, 0);
    api_reply(again, 401, "", "{}");
    r = next("list");
    assert_true(r->at - again->at >= 75 * PST_MS);
    assert_string_equal(last_trouble, "list: 401, the token is refused");
    assert_null(strstr(last_trouble, "new"));
    api_reply(r, 200, "", LIST("10", ""));
    api_reply(next("watch"), 401, "", "{}"); /* a good answer lies between: at once again */
    next("watch");
    assert_int_equal(troubles, 1);
    unlink(path);
}

static void test_told_to_wait(void **state)
{
    struct api_request *r, *again;

    (void)state;
    begin_watching();
    r = next("list");
    api_reply(r, 429, "Retry-After: 1\r\n", "");
    again = next("list");
    assert_true(again->at - r->at >= 750 * PST_MS);
}

/* Nobody there, for some time: nothing is told, and the way back is one list. */
static void test_down_and_up(void **state)
{
    struct api_request *r = watching();

    (void)state;
    api_stream(r);
    api_say(r, EVENT("MODIFIED", "a", "11"));
    WIRE_UNTIL(loop, strstr(told, "+a") != NULL);
    server.deaf = true;
    api_hang_up(&server);
    WIRE_UNTIL(loop, troubles == 4); /* the 8th failure */
    assert_string_equal(told, "begin a end +a ");
    assert_false(pst_kube_watch_is_live(watch));
    server.deaf = false;
    api_reply(next("list"), 200, "", LIST("20", POD("b", "15")));
    next("watch");
    assert_string_equal(told, "begin a end +a begin b well end ");
}

/* A server whose past is shorter than ours says 504 for ever: the version itself is the fault. */
static void test_version_is_refused(void **state)
{
    struct api_request *r = watching();

    (void)state;
    for (int i = 0; i < 3; i++) {
        api_reply(r, 504, "", "{}");
        r = next(i < 2 ? "watch" : "list");
    }
    api_reply(r, 200, "", LIST("2", ""));
    assert_true(has(next("watch"), "&resourceVersion=2"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_pages),
        TEST(test_pages_without_end),
        TEST(test_page_of_a_past_that_is_gone),
        TEST(test_events),
        TEST(test_bookmarks),
        TEST(test_gone),
        TEST(test_error_event),
        TEST(test_empty_at_once),
        TEST(test_one_event_and_the_end),
        TEST(test_hang),
        TEST(test_lists_that_are_none),
        TEST(test_events_that_are_none),
        TEST(test_sizes),
        TEST(test_token_refused),
        TEST(test_told_to_wait),
        TEST(test_down_and_up),
        TEST(test_version_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
