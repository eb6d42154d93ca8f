/* test_kube.c - pods to replicas, and marks to pods, through a server whose words the test has. */
#include "api_server.h"

#include <time.h>

#include "scale/kube_pod.h"
#include "scale/source.h"

static struct pst_loop *loop;
static struct api_server server;
static struct pst_config config;
static struct pst_config_pool pool;
static struct pst_source *source;
static char server_url[64];
static size_t seen; /* requests */
static struct api_request *watch;

static char told[65536];  /* of replicas, in order */
static char heard[65536]; /* results of marks, and synced */
static uint32_t keys_count, scale, rollout, revisions[1024];
static uint64_t quota;
static pst_ns until;

static uint32_t next_key(void *user)
{
    (void)user;
    return ++keys_count;
}

static const char *state_name(const struct pst_wire_replica *r)
{
    static const char *const causes[] = {[PST_CAUSE_CONFIG] = "config",
                                         [PST_CAUSE_CRASH] = "crash",
                                         [PST_CAUSE_REMOVED] = "removed"};

    switch ((enum pst_replica_state)r->state) {
    case PST_REPLICA_STARTING:
        assert_string_equal(r->url, "");
        return "starting";
    case PST_REPLICA_LOADING:
        return r->url;
    case PST_REPLICA_DRAINING:
        assert_string_not_equal(r->url, "");
        until = r->until;
        return "draining";
    case PST_REPLICA_GONE:
        return causes[r->cause];
    case PST_REPLICA_SUSPECT:
    case PST_REPLICA_WARM:
    case PST_REPLICA_READY:
    case PST_REPLICA_STATE_COUNT:
        break;
    }
    fail_msg("state %u", r->state);
    return NULL;
}

static void found(void *user, const struct pst_wire_replica *replica)
{
    (void)user;
    assert_int_equal(replica->pool, 0);
    assert_int_equal(replica->op, 0);
    assert_true(replica->key >= 1 && replica->key <= keys_count);
    revisions[replica->key] = replica->revision;
    assert_true(strlen(told) + 400 < sizeof told);
    sprintf(told + strlen(told), "%s#%u:%s ", replica->name, replica->key, state_name(replica));
}

static void event(void *user, uint32_t key, const struct pst_scaler_event *e)
{
    static const char *const results[] = {"ok", "quota", "failed", "deadline"};

    (void)user;
    assert_int_equal(e->pool, 0);
    if (e->kind == PST_SCALER_SCALE) {
        scale = e->u.scale.replicas;
    } else if (e->kind == PST_SCALER_SIGNAL) {
        assert_int_equal(e->u.signal.age, 0);
        if (e->u.signal.kind == PST_SIGNAL_ROLLOUT)
            rollout = (uint32_t)e->u.signal.value;
        else if (e->u.signal.kind == PST_SIGNAL_QUOTA)
            quota = e->u.signal.value;
        else
            fail_msg("signal %u", e->u.signal.kind);
    } else {
        assert_int_equal(e->kind, PST_SCALER_RESULT);
        sprintf(heard + strlen(heard), "%s#%u=%s ",
                e->u.result.action == PST_SCALER_MARK ? "mark" : "undrain", key,
                results[e->u.result.error]);
    }
}

static void synced(void *user, uint16_t index)
{
    (void)user;
    assert_int_equal(index, 0);
    sprintf(heard + strlen(heard), "synced(%u) ", scale);
}

static struct pst_source_host host = {
    .next_key = next_key, .found = found, .event = event, .synced = synced};

static void handle(struct api_server *s, struct api_request *r)
{
    (void)s;
    (void)r;
}

static int set_up(void **state)
{
    (void)state;
    told[0] = heard[0] = '\0';
    keys_count = 0;
    seen = 0;
    scale = rollout = 77;
    quota = 77;
    assert_int_equal(pst_loop_new(&loop), PST_OK);
    api_open(&server, loop, handle);
    snprintf(server_url, sizeof server_url, "http://127.0.0.1:%u/", server.port);
    memset(&pool, 0, sizeof pool);
    pool.name = strdup("chat");
    pool.kubernetes.selector = strdup("app in (m, n),x!=y");
    pool.kubernetes.namespace_ = strdup("llm");
    pool.kubernetes.server = server_url;
    pool.kubernetes.port = 8000;
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
    api_done(&server);
    pst_loop_free(loop);
    free(pool.name);
    free(pool.kubernetes.selector);
    free(pool.kubernetes.namespace_);
    return 0;
}

static struct api_request *next(const char *expected)
{
    struct api_request *r;
    const char *is;

    WIRE_UNTIL(loop, server.count > seen);
    r = &server.requests[seen++];
    is = strcmp(r->method, "PATCH") == 0 ? "patch"
         : strstr(r->target, "&watch=1") ? "watch"
                                         : "list";
    if (strcmp(is, expected) != 0)
        fail_msg("request %zu is no %s: %s %s", seen - 1, expected, r->method, r->target);
    return r;
}

static void time_text(time_t time, char *out, size_t size)
{
    struct tm parts;

    gmtime_r(&time, &parts);
    strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

/*
 * A pod as an API server shows it: its name, then of "uid=… ip=… run=restarts side=restarts wait phase=…
 * dies=seconds age=seconds tmpl=… unsched marked evicted ready".
 */
static void put_pod(char *out, size_t size, const char *text)
{
    char copy[512], name[300], uid[80] = "", ip[64] = "", phase[16] = "", tmpl[32] = "",
                               dies[128] = "", created[32], conditions[512] = "", *word, *rest;
    int run = -1, side = 0;
    bool waits = false, marked = false, evicted = false;
    time_t now = time(NULL), age = 100;

    snprintf(copy, sizeof copy, "%s", text);
    word = strtok_r(copy, " ", &rest);
    snprintf(name, sizeof name, "%s", word);
    snprintf(uid, sizeof uid, "uid-%.70s", name);
    while ((word = strtok_r(NULL, " ", &rest)) != NULL) {
        if (sscanf(word, "uid=%79s", uid) == 1 || sscanf(word, "ip=%63s", ip) == 1 ||
            sscanf(word, "phase=%15s", phase) == 1 || sscanf(word, "tmpl=%31s", tmpl) == 1 ||
            sscanf(word, "run=%d", &run) == 1 || sscanf(word, "side=%d", &side) == 1 ||
            sscanf(word, "age=%ld", &age) == 1)
            continue;
        if (strncmp(word, "dies=", 5) == 0) {
            char at[32];

            time_text(now + atol(word + 5), at, sizeof at);
            snprintf(dies, sizeof dies, ",\"deletionTimestamp\":\"%s\"", at);
        } else if (strcmp(word, "wait") == 0) {
            waits = true;
        } else if (strcmp(word, "marked") == 0) {
            marked = true;
        } else if (strcmp(word, "evicted") == 0) {
            evicted = true;
        } else if (strcmp(word, "unsched") == 0) {
            strcpy(conditions, "{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":"
                               "\"Unschedulable\"}");
        } else if (strcmp(word, "ready") == 0) {
            strcpy(conditions, "{\"type\":\"Ready\",\"status\":\"True\"}");
        } else {
            fail_msg("what is %s?", word);
        }
    }
    if (evicted)
        strcpy(conditions, "{\"type\":\"DisruptionTarget\",\"status\":\"True\"}");
    if (phase[0] == '\0')
        strcpy(phase, run >= 0 || waits ? "Running" : "Pending");
    time_text(now - age, created, sizeof created);
    snprintf(
        out, size,
        "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"5\","
        "\"creationTimestamp\":\"%s\"%s,\"labels\":{\"app\":\"m\"%s%s%s},\"annotations\":{%s}},"
        "\"spec\":{\"containers\":[{\"name\":\"side\",\"ports\":[{\"containerPort\":9}]},"
        "{\"name\":\"engine\",\"ports\":[{\"containerPort\":8000}]}]},"
        "\"status\":{\"phase\":\"%s\"%s%s%s,\"conditions\":[%s],\"containerStatuses\":["
        "{\"name\":\"side\",\"restartCount\":%d,\"containerID\":\"s%d\",\"state\":{\"running\":{}}}"
        ","
        "{\"name\":\"engine\",\"restartCount\":%d,\"containerID\":\"e%d\",\"state\":{\"%s\":{}}}]}"
        "}",
        name, uid, created, dies, tmpl[0] ? ",\"pod-template-hash\":\"" : "", tmpl,
        tmpl[0] ? "\"" : "",
        marked ? "\"controller.kubernetes.io/pod-deletion-cost\":\"-100\"" : "", phase,
        ip[0] ? ",\"podIP\":\"" : "", ip, ip[0] ? "\"" : "", conditions, side, side, run, run,
        run >= 0 ? "running" : "waiting");
}

/* "pod; pod; pod" as an answer to a list. */
static void answer_list(const char *pods)
{
    static char body[1 << 20];
    char copy[65536], *word, *rest, *at = body;

    at += sprintf(at, "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[");
    assert_true(strlen(pods) < sizeof copy);
    strcpy(copy, pods);
    for (word = strtok_r(copy, ";", &rest); word != NULL; word = strtok_r(NULL, ";", &rest)) {
        if (at[-1] == '}')
            *at++ = ',';
        put_pod(at, sizeof body - (size_t)(at - body), word + strspn(word, " "));
        at += strlen(at);
    }
    strcpy(at, "]}");
    api_reply(next("list"), 200, "", body);
}

static void begin(const char *pods)
{
    assert_int_equal(pst_kube_new(&host, 0, &source), PST_OK);
    answer_list(pods);
    watch = next("watch");
    api_stream(watch);
}

static void change(const char *type, const char *pod)
{
    char line[8192];
    size_t len = (size_t)sprintf(line, "{\"type\":\"%s\",\"object\":", type);

    put_pod(line + len, sizeof line - len - 3, pod);
    strcat(line, "}\n");
    api_say(watch, line);
}

static void say_gone(void)
{
    api_say(watch, "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n");
}

/* What is said is complete when this shows. */
static void settle(char *log, const char *expected)
{
    static int count;
    char name[32], word[64];

    snprintf(name, sizeof name, "end-%d", count++);
    change("ADDED", name);
    snprintf(word, sizeof word, "%s#%u:starting ", name, keys_count + 1);
    WIRE_UNTIL(loop, strstr(told, name) != NULL);
    *strstr(told, name) = '\0';
    change("DELETED", name);
    WIRE_UNTIL(loop, strstr(told, name) != NULL);
    *strstr(told, name) = '\0';
    assert_string_equal(log, expected);
}

/* L: a new list, after 410. */
static void test_lives(void **state)
{
    static const struct {
        const char *title, *steps, *told;
    } rows[] = {
        {"no pods at all", "L ", ""},
        {"from nothing to work",
         "L a | M a ip=10.0.0.1 | M a ip=10.0.0.1 run=0 | M a ip=10.0.0.1 run=0 ready",
         "a#1:starting a#1:http://10.0.0.1:8000 "},
        {"IPv6", "L a ip=fd00::1 run=0", "a#1:http://[fd00::1]:8000 "},
        {"that is no address", "L a ip=10.0.0.1:80/x? run=0", "a#1:starting "},
        {"nowhere to connect to",
         "L a ip=0.0.0.0 run=0; b ip=239.0.0.1 run=0; c ip=::ffff:0.0.0.0 run=0",
         "a#1:starting b#2:starting c#3:starting "},
        {"a link's own", "L a ip=169.254.169.254 run=0; b ip=fe80::1 run=0",
         "a#1:starting b#2:starting "},
        {"deleted: drains at once",
         "L a ip=10.0.0.1 run=0 | M a ip=10.0.0.1 run=0 dies=30 | D a ip=10.0.0.1 run=0 dies=30",
         "a#1:http://10.0.0.1:8000 a#1:draining a#1:removed "},
        {"deleted before we came", "L a ip=10.0.0.1 run=0 dies=30", "a#1:draining "},
        {"deleted, and told to hurry",
         "L a ip=10.0.0.1 run=0 dies=300 | M a ip=10.0.0.1 run=0 dies=30 | M a ip=10.0.0.1 run=0 "
         "dies=30 ready",
         "a#1:draining a#1:draining "},
        {"it ended in its grace period",
         "L a ip=10.0.0.1 run=0 dies=30 | M a ip=10.0.0.1 dies=30 | D a dies=30",
         "a#1:draining a#1:removed "},
        {"deleted while it waits for a node", "L a | M a dies=30 | D a dies=30",
         "a#1:starting a#1:removed "},
        {"deleted by force", "L a ip=10.0.0.1 run=0 | D a ip=10.0.0.1 run=0",
         "a#1:http://10.0.0.1:8000 a#1:removed "},
        {"B104 deleted while nobody watched", "L a ip=10.0.0.1 run=0; b | L b",
         "a#1:http://10.0.0.1:8000 b#2:starting a#1:removed "},
        {"B104 changed while nobody watched", "L a; b | L b ip=10.0.0.2 run=0; c",
         "a#1:starting b#2:starting a#1:removed b#2:http://10.0.0.2:8000 c#3:starting "},
        {"the same list again", "L a ip=10.0.0.1 run=0; b | L b; a ip=10.0.0.1 run=0",
         "a#1:http://10.0.0.1:8000 b#2:starting "},
        {"same name, another pod", "L a ip=10.0.0.1 run=0 | L a uid=other",
         "a#1:http://10.0.0.1:8000 a#1:removed a#2:starting "},
        {"a restart that nobody saw the middle of", "L a ip=10.0.0.1 run=0 | M a ip=10.0.0.1 run=1",
         "a#1:http://10.0.0.1:8000 a#1:crash a#2:http://10.0.0.1:8000 "},
        {"a crash loop",
         "L a ip=10.0.0.1 run=0 | M a ip=10.0.0.1 wait | M a ip=10.0.0.1 run=1 | M a ip=10.0.0.1 "
         "wait",
         "a#1:http://10.0.0.1:8000 a#1:crash a#2:starting a#2:http://10.0.0.1:8000 a#2:crash "
         "a#3:starting "},
        {"another address", "L a ip=10.0.0.1 run=0 | M a ip=10.0.0.2 run=0",
         "a#1:http://10.0.0.1:8000 a#1:crash a#2:http://10.0.0.2:8000 "},
        {"a sidecar's restart is nothing", "L a ip=10.0.0.1 run=0 | M a ip=10.0.0.1 run=0 side=7",
         "a#1:http://10.0.0.1:8000 "},
        {"failed",
         "L a ip=10.0.0.1 run=0 | M a ip=10.0.0.1 phase=Failed | M a phase=Failed | D a "
         "phase=Failed",
         "a#1:http://10.0.0.1:8000 a#1:crash "},
        {"ended well: nobody asked for that", "L a ip=10.0.0.1 run=0 | M a phase=Succeeded",
         "a#1:http://10.0.0.1:8000 a#1:crash "},
        {"evicted",
         "L a ip=10.0.0.1 run=0 | M a ip=10.0.0.1 run=0 evicted | M a phase=Failed evicted",
         "a#1:http://10.0.0.1:8000 a#1:removed "},
        {"remains", "L a phase=Failed; b phase=Succeeded; c dies=3 | A d phase=Failed", ""},
        {"initialising is no work", "L a ip=10.0.0.1 run=0 phase=Pending", "a#1:starting "},
        {"the oldest first", "L c age=10; a age=20; b age=30",
         "b#1:starting a#2:starting c#3:starting "},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        char steps[1024], *step, *rest;
        bool begun = false;

        print_message("  %s\n", rows[i].title);
        strcpy(steps, rows[i].steps);
        for (step = strtok_r(steps, "|", &rest); step != NULL; step = strtok_r(NULL, "|", &rest)) {
            step += strspn(step, " ");
            if (*step == 'L' && !begun) {
                begin(step + 2);
                begun = true;
            } else if (*step == 'L') {
                say_gone();
                answer_list(step + 2);
                watch = next("watch");
                api_stream(watch);
            } else {
                change(*step == 'A' ? "ADDED" : *step == 'M' ? "MODIFIED" : "DELETED", step + 2);
            }
        }
        settle(told, rows[i].told);
        tear_down(NULL);
        set_up(NULL);
    }
}

static void test_asks_for_what_it_may(void **state)
{
    (void)state;
    begin("");
    assert_string_equal(
        server.requests[0].target,
        "/api/v1/namespaces/llm/pods?labelSelector=app%20in%20%28m%2C%20n%29%2Cx%21%3Dy"
        "&limit=100");
    assert_non_null(strstr(watch->target, "&watch=1&allowWatchBookmarks=true&timeoutSeconds=60"
                                          "&resourceVersion=5"));
}

static void test_grace_is_in_the_deletion_time(void **state)
{
    (void)state;
    begin("a ip=10.0.0.1 run=0 dies=300");
    WIRE_UNTIL(loop, strstr(told, "draining") != NULL);
    assert_true(until > 200 * PST_S && until <= 300 * PST_S);
    change("MODIFIED", "a ip=10.0.0.1 run=0 dies=-5"); /* its time is over, or our clock is late */
    WIRE_UNTIL(loop, until == 1);
    change("MODIFIED", "a ip=10.0.0.1 run=0 dies=250000000000"); /* further than clocks go */
    WIRE_UNTIL(loop, until > 100u * 365 * 86400 * PST_S);
}

static void test_the_whole(void **state)
{
    static const struct {
        const char *type, *pod;
        uint32_t scale, rollout;
        uint64_t quota;
    } rows[] = {
        {"ADDED", "c tmpl=one", 3, 0, 77},
        {"MODIFIED", "b tmpl=one ip=10.0.0.2 run=0 dies=30", 2, 0, 77},
        {"DELETED", "b tmpl=one", 2, 0, 77},
        {"ADDED", "d tmpl=two age=1", 3, 1, 77},
        {"MODIFIED", "d tmpl=two age=1 unsched", 3, 1, 0},
        {"MODIFIED", "d tmpl=two age=1", 3, 1, UINT32_MAX},
        {"DELETED", "d tmpl=two", 2, 0, UINT32_MAX},
    };

    (void)state;
    begin("a tmpl=one age=500; b tmpl=one age=400");
    assert_string_equal(heard, "synced(2) "); /* the number came before */
    assert_int_equal(rollout, 0);
    assert_int_equal(quota, 77); /* nothing is known of what else there would be room for */
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        change(rows[i].type, rows[i].pod);
        WIRE_UNTIL(loop,
                   scale == rows[i].scale && rollout == rows[i].rollout && quota == rows[i].quota);
    }
}

/* The later template has the larger number, its pods all the same. */
static void test_revisions(void **state)
{
    (void)state;
    begin("a tmpl=zzz age=500; b tmpl=aaa age=50; c tmpl=zzz age=400; d age=10");
    WIRE_UNTIL(loop, keys_count == 4);
    assert_int_equal(revisions[1], revisions[2]); /* a and c */
    assert_true(revisions[3] > revisions[1]);
    assert_int_equal(revisions[4], 0);
    change("ADDED", "e tmpl=zzz age=1");
    change("ADDED", "f tmpl=aaa age=0");
    WIRE_UNTIL(loop, strstr(told, "f#6") != NULL);
    assert_int_equal(revisions[5], revisions[1]);
    assert_int_equal(revisions[6], revisions[3]);
}

static void act(uint32_t key, enum pst_scaler_action_kind kind)
{
    struct pst_scaler_action action = {.kind = (uint8_t)kind};

    source->kind->act(source, key, &action);
}

#define COST                                                                                       \
    "{\"metadata\":{\"uid\":\"uid-a\",\"annotations\":{\"controller.kubernetes.io/"                \
    "pod-deletion-cost\":"

static void test_marks(void **state)
{
    struct api_request *r;

    (void)state;
    begin("a ip=10.0.0.1 run=0; b ip=10.0.0.2 run=0");
    heard[0] = '\0';
    act(1, PST_SCALER_MARK);
    r = next("patch");
    assert_string_equal(r->target, "/api/v1/namespaces/llm/pods/a");
    assert_string_equal(r->body, COST "\"-100\"}}}");
    assert_string_equal(api_header(r, "Content-Type"), "application/merge-patch+json");
    api_reply(r, 200, "", "{}");
    change("MODIFIED", "a ip=10.0.0.1 run=0"); /* of before: not seen back yet */
    settle(heard, "");
    change("MODIFIED", "a ip=10.0.0.1 run=0 marked");
    settle(heard, "mark#1=ok ");
    act(1, PST_SCALER_REMOVE); /* by the number, which is others' */
    act(1, PST_SCALER_UNDRAIN);
    r = next("patch");
    assert_string_equal(r->body, COST "null}}}");
    change("MODIFIED", "a ip=10.0.0.1 run=0"); /* seen before it is answered */
    settle(heard, "mark#1=ok ");
    api_reply(r, 200, "", "{}");
    WIRE_UNTIL(loop, strcmp(heard, "mark#1=ok undrain#1=ok ") == 0);
    act(1, PST_SCALER_UNDRAIN); /* nothing to do */
    assert_string_equal(heard, "mark#1=ok undrain#1=ok undrain#1=ok ");
    act(99, PST_SCALER_MARK); /* one that went meanwhile */
    assert_string_equal(heard, "mark#1=ok undrain#1=ok undrain#1=ok mark#99=ok ");
    assert_int_equal(server.count, seen);
}

/* The wish changes while it is on its way: what was wished last is what is said last. */
static void test_mark_and_back(void **state)
{
    struct api_request *r;

    (void)state;
    begin("a ip=10.0.0.1 run=0");
    heard[0] = '\0';
    act(1, PST_SCALER_MARK);
    r = next("patch");
    act(1, PST_SCALER_UNDRAIN);
    assert_string_equal(heard, "");
    api_reply(r, 200, "", "{}");
    r = next("patch");
    assert_string_equal(r->body, COST "null}}}");
    api_reply(r, 200, "", "{}");
    WIRE_UNTIL(loop, strcmp(heard, "undrain#1=ok ") == 0);
    /* Answered, and not seen yet: the watch shows what was before. */
    act(1, PST_SCALER_MARK);
    api_reply(next("patch"), 200, "", "{}");
    settle(heard, "undrain#1=ok ");
    act(1, PST_SCALER_UNDRAIN);
    r = next("patch");
    assert_string_equal(r->body, COST "null}}}");
}

static void test_marks_that_fail(void **state)
{
    struct api_request *r, *again;

    (void)state;
    begin("a ip=10.0.0.1 run=0; b ip=10.0.0.2 run=0; c ip=10.0.0.3 run=0");
    heard[0] = '\0';
    act(1, PST_SCALER_MARK);
    api_reply(next("patch"), 403, "", "{}");
    WIRE_UNTIL(loop, strcmp(heard, "mark#1=failed ") == 0);
    act(2, PST_SCALER_MARK);
    api_reply(next("patch"), 404, "", "{}");
    WIRE_UNTIL(loop, strcmp(heard, "mark#1=failed mark#2=ok ") == 0);
    act(3, PST_SCALER_MARK);
    r = next("patch");
    api_reply(r, 409, "", "{}");
    again = next("patch");
    assert_true(again->at - r->at >= 700 * PST_MS);
    api_reply(again, 503, "", "");
    r = next("patch");
    assert_true(r->at - again->at >= 1400 * PST_MS);
    change("DELETED", "c"); /* it is gone: nothing is in the way of the number any more */
    WIRE_UNTIL(loop, strcmp(heard, "mark#1=failed mark#2=ok mark#3=ok ") == 0);
    api_reply(r, 404, "", "{}");
    settle(heard, "mark#1=failed mark#2=ok mark#3=ok ");
}

/* One at a time, and each of them. */
static void test_many_marks(void **state)
{
    (void)state;
    begin("a ip=10.0.0.1 run=0; b ip=10.0.0.2 run=0; c ip=10.0.0.3 run=0");
    heard[0] = '\0';
    for (uint32_t key = 1; key <= 3; key++)
        act(key, PST_SCALER_MARK);
    for (uint32_t i = 0; i < 3; i++) {
        struct api_request *r = next("patch");

        assert_int_equal(server.count, seen);
        api_reply(r, 200, "", "{}");
    }
    change("MODIFIED", "a ip=10.0.0.1 run=0 marked");
    change("MODIFIED", "b ip=10.0.0.2 run=0 marked");
    change("MODIFIED", "c ip=10.0.0.3 run=0 marked dies=30"); /* a pod that ends needs none */
    WIRE_UNTIL(loop, strstr(heard, "mark#3") != NULL);
    assert_string_equal(heard, "mark#1=ok mark#2=ok mark#3=ok ");
}

/* Of a run of ours that is over: nobody remembers why. */
static void test_stale_marks_are_taken_back(void **state)
{
    struct api_request *r;

    (void)state;
    assert_int_equal(pst_kube_new(&host, 0, &source), PST_OK);
    answer_list("a ip=10.0.0.1 run=0 marked; b ip=10.0.0.2 run=0 dies=9 marked");
    WIRE_UNTIL(loop, server.count == 3);
    r = &server.requests[1]; /* beside the watch */
    if (strcmp(r->method, "PATCH") != 0)
        r = &server.requests[2];
    assert_string_equal(r->method, "PATCH");
    assert_string_equal(r->body, COST "null}}}");
}

/* What was to go has gone, and its pod goes on with another process: that one was never chosen. */
static void test_marks_end_with_a_run(void **state)
{
    struct api_request *r;

    (void)state;
    begin("a ip=10.0.0.1 run=0");
    heard[0] = '\0';
    act(1, PST_SCALER_MARK);
    api_reply(next("patch"), 200, "", "{}");
    change("MODIFIED", "a ip=10.0.0.1 run=0 marked");
    WIRE_UNTIL(loop, strcmp(heard, "mark#1=ok ") == 0);
    change("MODIFIED", "a ip=10.0.0.1 run=1 marked");
    r = next("patch");
    assert_string_equal(r->body, COST "null}}}");
    api_reply(r, 200, "", "{}");
    change("MODIFIED", "a ip=10.0.0.1 run=1");
    settle(heard, "mark#1=ok undrain#2=ok ");
    /* asked for, and not seen before it ended: it may be there all the same */
    act(2, PST_SCALER_MARK);
    api_reply(next("patch"), 200, "", "{}");
    change("MODIFIED", "a ip=10.0.0.1 wait");
    r = next("patch");
    assert_string_equal(r->body, COST "null}}}");
}

static void test_a_crowd(void **state)
{
    static char pods[65536];

    (void)state;
    for (int i = 0; i < 300; i++)
        sprintf(pods + strlen(pods), "p-%d age=%d; ", i, 1000 - i);
    *strrchr(pods, ';') = '\0';
    begin(pods);
    WIRE_UNTIL(loop, strstr(heard, "synced") != NULL);
    assert_int_equal(keys_count, PST_REPLICAS_MAX);
    assert_non_null(strstr(told, "p-0#1:"));
    assert_null(strstr(told, "p-299#"));
    say_gone();
    answer_list(pods);
    next("watch");
    assert_int_equal(keys_count, PST_REPLICAS_MAX);
    assert_null(strstr(told, "removed"));
}

static void test_reload(void **state)
{
    (void)state;
    begin("a ip=10.0.0.1 run=0; b ip=10.0.0.2 run=0");
    source->kind->reload(source); /* nothing is different */
    free(pool.kubernetes.selector);
    pool.kubernetes.selector = strdup("app=other");
    source->kind->reload(source); /* known until the first list says otherwise */
    assert_null(strstr(told, "config"));
    answer_list("b ip=10.0.0.2 run=0");
    next("watch");
    assert_non_null(strstr(server.requests[2].target, "labelSelector=app%3Dother&"));
    assert_non_null(strstr(told, "a#1:removed "));
    assert_null(strstr(told, "b#2:removed"));
    pool.kubernetes.port = 8001;
    told[0] = '\0';
    source->kind->reload(source);
    answer_list("b ip=10.0.0.2 run=0");
    next("watch");
    assert_string_equal(told, "b#2:config b#3:http://10.0.0.2:8001 ");
    free(pool.kubernetes.selector);
    pool.kubernetes.selector = NULL;
    told[0] = '\0';
    source->kind->reload(source);
    assert_string_equal(told, "b#3:config ");
    act(3, PST_SCALER_MARK); /* nobody is there to be told */
    assert_non_null(strstr(heard, "mark#3=ok "));
}

static void stopped(void *user)
{
    *(bool *)user = true;
}

static void test_stop_leaves_the_pods(void **state)
{
    bool is_stopped = false;

    (void)state;
    begin("a ip=10.0.0.1 run=0");
    source->kind->stop(source, stopped, &is_stopped);
    assert_true(is_stopped);
    act(1, PST_SCALER_MARK);
    assert_non_null(strstr(heard, "mark#1=failed "));
    assert_string_equal(told, "a#1:http://10.0.0.1:8000 ");
}

static void test_nowhere_to_ask(void **state)
{
    (void)state;
    pool.kubernetes.server = NULL;
    unsetenv("KUBERNETES_SERVICE_HOST");
    assert_int_equal(pst_kube_new(&host, 0, &source), PST_E_INVALID);
}

/* Whatever an object looks like, it is a pod in bounds or none. */
static void test_objects(void **state)
{
    static const struct {
        const char *json;
        int rc;
    } rows[] = {
        {"{}", PST_E_SYNTAX},
        {"[]", PST_E_SYNTAX},
        {"null", PST_E_SYNTAX},
        {"{\"metadata\":[]}", PST_E_SYNTAX},
        {"{\"metadata\":{\"name\":\"a\"}}", PST_E_SYNTAX},
        {"{\"metadata\":{\"name\":\"\",\"uid\":\"u\"}}", PST_E_SYNTAX},
        {"{\"metadata\":{\"name\":1,\"uid\":\"u\"}}", PST_E_SYNTAX},
        {"{\"metadata\":{\"name\":\"a/../b\",\"uid\":\"u\"}}", PST_E_SYNTAX},
        {"{\"metadata\":{\"name\":\"a\",\"uid\":\"u\\n\"}}", PST_E_SYNTAX},
        {"{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}", PST_OK},
        {"{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"labels\":7,\"annotations\":[],"
         "\"deletionTimestamp\":{},\"creationTimestamp\":\"soon\"},\"spec\":[],\"status\":\"up\"}",
         PST_OK},
        {"{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"spec\":{\"containers\":{\"a\":1}},"
         "\"status\":{"
         "\"phase\":\"Running\",\"podIP\":7,\"conditions\":{},\"containerStatuses\":[[],1,null,{"
         "\"state\":{\"running\":{}},\"restartCount\":-1e300}]}}",
         PST_OK},
    };
    struct pst_kube_pod pod;
    char json[1024], name[301] = "";

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        cJSON *object = cJSON_Parse(rows[i].json);

        assert_non_null(object);
        assert_int_equal(pst_kube_pod_read(object, 8000, &pod), rows[i].rc);
        cJSON_Delete(object);
    }
    memset(name, 'n', 300);
    for (int len = 253; len <= 254; len++) {
        cJSON *object;

        snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"%.*s\",\"uid\":\"u\"}}", len, name);
        object = cJSON_Parse(json);
        assert_int_equal(pst_kube_pod_read(object, 8000, &pod), len == 253 ? PST_OK : PST_E_SYNTAX);
        cJSON_Delete(object);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_lives),
        TEST(test_asks_for_what_it_may),
        TEST(test_grace_is_in_the_deletion_time),
        TEST(test_the_whole),
        TEST(test_revisions),
        TEST(test_marks),
        TEST(test_mark_and_back),
        TEST(test_marks_that_fail),
        TEST(test_many_marks),
        TEST(test_stale_marks_are_taken_back),
        TEST(test_marks_end_with_a_run),
        TEST(test_a_crowd),
        TEST(test_reload),
        TEST(test_stop_leaves_the_pods),
        TEST(test_nowhere_to_ask),
        TEST(test_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
