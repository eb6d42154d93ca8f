/* Who is asked, with what, and what is told of the answers: a server on loopback is Prometheus and exporter. */
#include "api_server.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "scale/measure.h"

#define EVERY (20 * PST_MS)

static struct pst_loop *loop;
static struct api_server server;
static struct pst_config config;
static struct pst_config_pool pool;
static struct pst_config_query queries[PST_SIGNAL_COUNT];
static uint32_t gpus[] = {1, 3};
static struct pst_measure_host host;
static struct pst_measure *measure;
static char url[64], dcgm[96], token_path[64];

/* How the server answers. */
static enum { GOOD, EMPTY, NAN_VALUE, OLD, BROKEN, FAILS, HANGS_UP, SILENT, MANNER_COUNT } manner;
static char value[32];
static uint32_t days_good; /* so many days are answered, then none */

/* What was told. */
static uint32_t told_count;
static struct pst_scaler_event told;
static struct pst_wire_day days[64];
static uint32_t days_count;

static void on_tell(void *user, const struct pst_scaler_event *event)
{
    (void)user;
    told = *event;
    told_count++;
}

static void on_past(void *user, const struct pst_wire_day *day)
{
    (void)user;
    assert_true(days_count < PST_COUNT_OF(days));
    days[days_count++] = *day;
}

static bool has_pod(void *user, uint16_t index, const char *pod)
{
    (void)user;
    return index == 0 && strcmp(pod, "chat-1") == 0;
}

static bool asks(const struct api_request *r, const char *path)
{
    return strncmp(r->target, path, strlen(path)) == 0;
}

static void reply_value(struct api_request *r)
{
    char body[512];
    double at = (double)pst_clock_wall_ns() / 1e9 - (manner == OLD ? 3600 : 0);

    snprintf(
        body, sizeof body,
        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{},"
        "\"value\":[%.3f,\"%s\"]}]}}",
        at, manner == NAN_VALUE ? "NaN" : value);
    api_reply(r, 200, "", body);
}

static void reply_day(struct api_request *r)
{
    const char *start = strstr(r->target, "start=");
    char body[256];

    assert_non_null(start);
    snprintf(
        body, sizeof body,
        "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{},"
        "\"values\":[[%lu,\"4\"]]}]}}",
        strtoul(start + 6, NULL, 10));
    api_reply(r, 200, "", body);
}

static const char page[] = "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",pod=\"other\"} 90\n"
                           "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",pod=\"chat-1\"} 20\n"
                           "DCGM_FI_DEV_GPU_UTIL{gpu=\"3\",pod=\"\"} 40\n";

static void handle(struct api_server *s, struct api_request *r)
{
    (void)s;
    if (asks(r, "/api/v1/query_range")) {
        if (days_count >= days_good)
            api_reply(r, 500, "", "");
        else
            reply_day(r);
    } else if (manner == HANGS_UP) {
        api_close(r->connection);
    } else if (manner == FAILS) {
        api_reply(r, 503, "", "");
    } else if (manner == BROKEN) {
        api_reply(r, 200, "", "DCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 2");
    } else if (manner == EMPTY && asks(r, "/metrics")) {
        api_reply(r, 200, "", "");
    } else if (manner == EMPTY) {
        api_reply(r, 200, "",
                  "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}");
    } else if (manner != SILENT) {
        if (asks(r, "/metrics"))
            api_reply(r, 200, "", page);
        else
            reply_value(r);
    }
}

static int begin(void **state)
{
    (void)state;
    assert_int_equal(pst_loop_new(&loop), PST_OK);
    api_open(&server, loop, handle);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", server.port);
    snprintf(dcgm, sizeof dcgm, "%s/metrics", url);
    memset(&config, 0, sizeof config);
    memset(&pool, 0, sizeof pool);
    pool.name = (char *)(uintptr_t) "chat";
    pool.signals.every = EVERY;
    pool.signals.queries = queries;
    config.pools = &pool;
    config.pools_count = 1;
    config.scaler.pools[0].stale_after = 30 * PST_S;
    host = (struct pst_measure_host){
        .loop = loop, .config = &config, .tell = on_tell, .past = on_past, .has_pod = has_pod};
    manner = GOOD;
    told_count = days_count = 0;
    days_good = UINT32_MAX;
    return 0;
}

static int end(void **state)
{
    (void)state;
    pst_measure_free(measure);
    measure = NULL;
    api_done(&server);
    pst_loop_free(loop);
    return 0;
}

static void ask(enum pst_signal signal, const char *query)
{
    queries[pool.signals.queries_count++] =
        (struct pst_config_query){(uint8_t)signal, (char *)(uintptr_t)query};
    pool.signals.prometheus = url;
}

static void start(void)
{
    assert_int_equal(pst_measure_new(&host, &measure), PST_OK);
}

/* So many more answers were given and heard. */
static void wait_answers(size_t count)
{
    size_t until = server.count + count;

    WIRE_UNTIL(loop, server.count >= until);
}

static void a_value_is_told_with_its_age(void **state)
{
    (void)state;
    ask(PST_SIGNAL_ERRORS, "errors");
    strcpy(value, "0.25");
    start();
    WIRE_UNTIL(loop, told_count >= 2);
    assert_int_equal(told.kind, PST_SCALER_SIGNAL);
    assert_int_equal(told.pool, 0);
    assert_int_equal(told.u.signal.kind, PST_SIGNAL_ERRORS);
    assert_int_equal(told.u.signal.value, 250000);
    assert_true(told.u.signal.age < 30 * PST_S);
    assert_true(asks(&server.requests[0], "/api/v1/query?query=errors&lookback_delta=90000ms"));
}

/* Whatever goes wrong, nothing is told; and when it is good again, it is told again. */
static void nothing_is_never_zero(void **state)
{
    static const bool of_dcgm[] = {false, true};

    (void)state;
    for (size_t d = 0; d < PST_COUNT_OF(of_dcgm); d++) {
        if (of_dcgm[d]) {
            pool.signals.queries_count = 0;
            pool.signals.dcgm = dcgm;
        } else {
            ask(PST_SIGNAL_GPU, "busy");
            strcpy(value, "0.5");
        }
        for (manner = EMPTY; manner < MANNER_COUNT; manner++) {
            if (manner == SILENT || (of_dcgm[d] && (manner == NAN_VALUE || manner == OLD)))
                continue;
            told_count = 0;
            server.count = 0;
            start();
            wait_answers(3);
            assert_int_equal(told_count, 0);
            pst_measure_free(measure);
            measure = NULL;
        }
        manner = FAILS;
        start();
        wait_answers(2);
        manner = GOOD;
        WIRE_UNTIL(loop, told_count > 0);
        assert_int_equal(told.u.signal.kind, PST_SIGNAL_GPU);
        assert_int_equal(told.u.signal.value, 500000);
        pst_measure_free(measure);
        measure = NULL;
        told_count = 0;
    }
}

/* One question at a time: who does not answer is not asked again until it is given up. */
static void a_silent_one_is_asked_once(void **state)
{
    pst_ns until;

    (void)state;
    ask(PST_SIGNAL_GPU, "busy");
    manner = SILENT;
    start();
    wait_answers(1);
    until = pst_clock_now() + 20 * EVERY;
    while (pst_clock_now() < until)
        assert_int_equal(pst_loop_turn(loop, EVERY), PST_OK);
    assert_int_equal(server.count, 1);
    assert_int_equal(told_count, 0);
}

static void the_token_goes_to_prometheus_alone(void **state)
{
    int fd;

    (void)state;
    strcpy(token_path, "/tmp/penstock-token-XXXXXX");
    fd = mkstemp(token_path);
    assert_int_equal(write(fd, "sesam\n", 6), 6);
    close(fd);
    ask(PST_SIGNAL_ERRORS, "errors");
    strcpy(value, "0");
    pool.signals.prometheus_token_file = token_path;
    pool.signals.dcgm = dcgm;
    start();
    WIRE_UNTIL(loop, told_count >= 4);
    unlink(token_path);
    for (size_t i = 0; i < server.count; i++) {
        bool has_token = strstr(server.requests[i].head, "Authorization: Bearer sesam") != NULL;

        assert_true(has_token == !asks(&server.requests[i], "/metrics"));
    }
}

static void whose_gpus_count(void **state)
{
    static const struct {
        bool local, pods;
        uint64_t ppm;
    } rows[] = {{false, false, 500000}, {true, false, 300000}, {false, true, 200000}};

    (void)state;
    pool.signals.dcgm = dcgm;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        pool.local.gpus = gpus;
        pool.local.gpus_count = rows[i].local ? PST_COUNT_OF(gpus) : 0;
        pool.kubernetes.selector = rows[i].pods ? (char *)(uintptr_t) "app=chat" : NULL;
        told_count = 0;
        start();
        WIRE_UNTIL(loop, told_count > 0);
        assert_int_equal(told.u.signal.value, rows[i].ppm);
        pst_measure_free(measure);
        measure = NULL;
    }
}

static void a_query_is_asked_in_place_of_an_exporter(void **state)
{
    (void)state;
    ask(PST_SIGNAL_GPU, "busy");
    strcpy(value, "0.125");
    pool.signals.dcgm = dcgm;
    start();
    WIRE_UNTIL(loop, told_count >= 3);
    for (size_t i = 0; i < server.count; i++)
        assert_true(asks(&server.requests[i], "/api/v1/query?query=busy&"));
    assert_int_equal(told.u.signal.value, 125000);
}

static void the_past_is_told_day_by_day(void **state)
{
    (void)state;
    pool.signals.prometheus = url;
    pool.prescale.profile = PST_PROFILE_PROMETHEUS;
    pool.prescale.weeks = 1;
    start();
    WIRE_UNTIL(loop, days_count >= 8); /* seven, and today */
    for (uint32_t i = 0; i < days_count; i++) {
        assert_int_equal(days[i].from_s % PST_WIRE_DAY_S, 0);
        assert_int_equal(days[i].from_s, days[0].from_s + (uint64_t)i * PST_WIRE_DAY_S);
        assert_int_equal(days[i].replicas[0], 4);
        assert_int_equal(days[i].replicas[1], PST_WIRE_NOT_KNOWN);
    }
    assert_true(
        asks(&server.requests[0], "/api/v1/query_range?query=max%28penstock_scaler_replicas"));
    assert_int_equal(pst_loop_turn(loop, 3 * EVERY), PST_OK);
    assert_int_equal(server.count, 8); /* and then not before tomorrow */
}

static void a_day_that_fails_is_not_passed_over(void **state)
{
    pst_ns until;

    (void)state;
    pool.signals.prometheus = url;
    pool.prescale.profile = PST_PROFILE_PROMETHEUS;
    pool.prescale.weeks = 1;
    pool.prescale.profile_query = (char *)(uintptr_t) "mine";
    days_good = 3;
    start();
    WIRE_UNTIL(loop, server.count >= 4);
    until = pst_clock_now() + 10 * EVERY;
    while (pst_clock_now() < until)
        assert_int_equal(pst_loop_turn(loop, EVERY), PST_OK);
    assert_int_equal(days_count, 3);
    assert_int_equal(server.count, 4); /* later */
    assert_true(asks(&server.requests[3], "/api/v1/query_range?query=mine&"));
}

/* How often it was begun: each time leaves a line. */
static size_t runs_of(const char *path)
{
    char marks[80];
    struct stat about;

    snprintf(marks, sizeof marks, "%s.runs", path);
    return stat(marks, &about) == 0 ? (size_t)about.st_size : 0;
}

static void install(const char *path, const char *script)
{
    char text[512];
    int fd, len = snprintf(text, sizeof text, "#!/bin/sh\nprintf x >>%s.runs\n%s\n", path, script);

    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, (size_t)len), len);
    close(fd);
}

/*
 * Here is no GPU: in place of the driver's program stands one that prints what it prints on a machine that
 * has some.
 */
static void nvidia_smi_is_run_where_there_is_one(void **state)
{
    static const struct {
        const char *promise, *script;
        bool tells;
        uint64_t ppm;
    } rows[] = {
        {"two GPUs", "echo '1, 37'; echo '3, 43'", true, 400000},
        {"its words are the agreed ones",
         "[ \"$*\" = '--query-gpu=index,utilization.gpu,memory.used,memory.total "
         "--format=csv,noheader,nounits' ] && "
         "echo '1, 10'",
         true, 100000},
        {"it fails", "echo '1, 37'; exit 9", false, 0},
        {"no driver", "echo 'NVIDIA-SMI has failed'", false, 0},
        {"it is killed", "echo '1, 37'; kill -9 $$", false, 0},
    };
    char folder[] = "/tmp/penstock-smi-XXXXXX", path[64], marks[80], search[128];
    char *before = strdup(getenv("PATH"));

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/nvidia-smi", folder);
    snprintf(marks, sizeof marks, "%s.runs", path);
    snprintf(search, sizeof search, "%s:/usr/bin:/bin", folder);
    setenv("PATH", search, 1);
    pool.signals.nvidia_smi = true;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        install(path, rows[i].script);
        told_count = 0;
        start();
        WIRE_UNTIL(loop, runs_of(path) >= 3); /* the second has been judged */
        if (rows[i].tells != (told_count > 0))
            fail_msg("%s: told %u times", rows[i].promise, told_count);
        if (rows[i].tells)
            assert_int_equal(told.u.signal.value, rows[i].ppm);
        pst_measure_free(measure);
        measure = NULL;
        (void)unlink(marks);
    }
    install(path, "yes '1, 37' | head -c 100000"); /* more than is taken: it hangs, and is left */
    told_count = 0;
    start();
    WIRE_UNTIL(loop, runs_of(path) >= 1);
    pst_measure_free(measure);
    (void)unlink(path);
    start();
    assert_int_equal(pst_loop_turn(loop, 10 * EVERY), PST_OK); /* it is not there */
    assert_int_equal(pst_loop_turn(loop, 10 * EVERY), PST_OK);
    assert_int_equal(told_count, 0);
    (void)unlink(marks);
    rmdir(folder);
    setenv("PATH", before, 1);
    free(before);
}

static void a_reload_asks_as_it_is_configured_then(void **state)
{
    struct pst_config next = config;
    struct pst_config_pool other;

    (void)state;
    ask(PST_SIGNAL_ERRORS, "before");
    strcpy(value, "0");
    start();
    WIRE_UNTIL(loop, told_count >= 1);
    other = pool;
    other.signals.queries_count = 0;
    other.signals.dcgm = dcgm;
    next = config;
    next.pools = &other;
    host.config = &next;
    pst_measure_reload(measure);
    told_count = 0;
    server.count = 0;
    WIRE_UNTIL(loop, told_count >= 2);
    assert_int_equal(told.u.signal.kind, PST_SIGNAL_GPU);
    for (size_t i = 0; i < server.count; i++)
        assert_true(asks(&server.requests[i], "/metrics"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(a_value_is_told_with_its_age),
        TEST(nothing_is_never_zero),
        TEST(a_silent_one_is_asked_once),
        TEST(the_token_goes_to_prometheus_alone),
        TEST(whose_gpus_count),
        TEST(a_query_is_asked_in_place_of_an_exporter),
        TEST(the_past_is_told_day_by_day),
        TEST(a_day_that_fails_is_not_passed_over),
        TEST(nvidia_smi_is_run_where_there_is_one),
        TEST(a_reload_asks_as_it_is_configured_then),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
