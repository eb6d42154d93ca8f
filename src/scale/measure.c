/* measure.c - see measure.h: who is asked when, and what is told. */
#include "scale/measure.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "core/num.h"
#include "scale/curl.h"
#include "scale/measure_gpu.h"
#include "scale/measure_smi.h"

#define CONNECT_TIMEOUT (5 * PST_S)
#define TIMEOUT         (10 * PST_S)
#define TIMEOUT_DAY     (30 * PST_S)
#define ANSWER_MAX      ((size_t)64 * 1024) /* of one value */
#define DAY_MAX         ((size_t)1024 * 1024)
#define PAGE_MAX        ((size_t)4 * 1024 * 1024)
#define LOOKBACK_MIN    (90 * PST_S) /* a Prometheus that looks once a minute has looked */
#define DAYS_EVERY      (24 * 3600 * PST_S)
#define DAYS_AGAIN      (600 * PST_S) /* one of them could not be had */

enum source { SOURCE_NONE, SOURCE_QUERY, SOURCE_DCGM, SOURCE_SMI };

struct seat;

/* A question that is asked again and again. */
struct question {
    struct seat *seat;
    struct pst_curl_call *call; /* running, or NULL */
    pst_ns asked_at;
    bool fails; /* said */
};

struct seat { /* of one pool */
    struct pst_measure *measure;
    uint16_t pool;
    struct pst_timer next;
    struct pst_curl_access access; /* of the Prometheus */
    struct question signals[PST_SIGNAL_COUNT];
    struct question days;
    uint64_t day_s, last_day_s; /* that is asked for, and the last of this round; 0: none began */
    pst_ns days_due;
};

struct pst_measure {
    const struct pst_measure_host *host;
    struct pst_curl *curl;
    struct pst_measure_smi smi;
    struct pst_random random;
    struct seat seats[PST_POOLS_MAX];
};

static const struct pst_config_pool *pool_of(const struct seat *seat)
{
    return &seat->measure->host->config->pools[seat->pool];
}

static pst_ns now_of(const struct seat *seat)
{
    return pst_loop_now(seat->measure->host->loop);
}

static const char *signal_name(enum pst_signal signal)
{
    static const char *const names[PST_SIGNAL_COUNT] = {
        [PST_SIGNAL_GPU] = "signal gpu",         [PST_SIGNAL_ERRORS] = "signal errors",
        [PST_SIGNAL_LATENCY] = "signal latency", [PST_SIGNAL_ROLLOUT] = "signal rollout",
        [PST_SIGNAL_QUOTA] = "signal quota",     [PST_SIGNAL_GPU_MEMORY] = "signal gpu_memory",
    };

    return names[signal];
}

static const char *query_of(const struct seat *seat, enum pst_signal signal)
{
    const struct pst_config_signals *signals = &pool_of(seat)->signals;

    for (size_t i = 0; i < signals->queries_count; i++)
        if (signals->queries[i].signal == signal && signals->prometheus != NULL)
            return signals->queries[i].query;
    return NULL;
}

static enum source source_of(const struct seat *seat, enum pst_signal signal)
{
    const struct pst_config_signals *signals = &pool_of(seat)->signals;

    if (query_of(seat, signal) != NULL)
        return SOURCE_QUERY;
    if (signal != PST_SIGNAL_GPU)
        return SOURCE_NONE;
    return signals->dcgm != NULL ? SOURCE_DCGM : signals->nvidia_smi ? SOURCE_SMI : SOURCE_NONE;
}

static bool wants_days(const struct seat *seat)
{
    return pool_of(seat)->prescale.profile == PST_PROFILE_PROMETHEUS &&
           pool_of(seat)->signals.prometheus != NULL;
}

/* `why` NULL: it answers. */
static void note(struct question *question, enum pst_log_level level, const char *what,
                 const char *why)
{
    const char *pool = pool_of(question->seat)->name;

    if (why != NULL && !question->fails)
        pst_say(level, "pool %s: %s is not known: %s", pool, what, why);
    else if (why == NULL && question->fails)
        pst_say(PST_LOG_INFO, "pool %s: %s is known again", pool, what);
    question->fails = why != NULL;
}

static enum pst_signal signal_of(const struct question *question)
{
    return (enum pst_signal)(question - question->seat->signals);
}

/* nvidia-smi is looked for without a word of the configuration, and memory comes beside utilisation. */
static bool is_asked_for(const struct question *question)
{
    enum pst_signal signal = signal_of(question);

    return signal != PST_SIGNAL_GPU_MEMORY && source_of(question->seat, signal) != SOURCE_SMI;
}

static void judged(struct question *question, int rc, uint64_t value, pst_ns age, const char *why)
{
    struct seat *seat = question->seat;
    const struct pst_measure_host *host = seat->measure->host;
    pst_ns stale_after = host->config->scaler.pools[seat->pool].stale_after;
    struct pst_scaler_event event = {
        .now = now_of(seat), .kind = PST_SCALER_SIGNAL, .pool = seat->pool};

    if (rc == PST_OK && stale_after > 0 && age > stale_after) {
        rc = PST_E_UNKNOWN;
        why = "an old value";
    }
    note(question, is_asked_for(question) ? PST_LOG_WARN : PST_LOG_INFO,
         signal_name(signal_of(question)), rc == PST_OK ? NULL : why);
    if (rc != PST_OK)
        return;
    event.u.signal.kind = (uint8_t)signal_of(question);
    event.u.signal.value = value;
    event.u.signal.age = age;
    host->tell(host->user, &event);
}

/* Which of the GPUs that somebody lists are the pool's. */
static bool has_gpu(void *user, const struct pst_measure_gpu *gpu)
{
    const struct seat *seat = user;
    const struct pst_measure_host *host = seat->measure->host;
    const struct pst_config_pool *pool = pool_of(seat);

    if (pool->kubernetes.selector != NULL)
        return gpu->pod[0] != '\0' && host->has_pod != NULL &&
               host->has_pod(host->user, seat->pool, gpu->pod);
    for (size_t i = 0; i < pool->local.gpus_count; i++)
        if (pool->local.gpus[i] == gpu->number)
            return true;
    return pool->local.gpus_count == 0;
}

static bool is_answer(struct seat *seat, const struct pst_curl_answer *answer, const char **ret_why)
{
    static char status[32]; /* one loop, one thread: it is said at once */

    if (answer->rc == PST_OK && answer->status == 200)
        return true;
    if (answer->status == 401 || answer->status == 403)
        pst_curl_access_forget(&seat->access);
    (void)snprintf(status, sizeof status, "status %ld", answer->status);
    *ret_why = answer->rc == PST_OK ? status : answer->error;
    return false;
}

static void on_value(void *user, const struct pst_curl_answer *answer)
{
    struct question *question = user;
    struct seat *seat = question->seat;
    pst_ns age = 0, asked_ago = now_of(seat) - question->asked_at;
    uint64_t value = 0;
    const char *why = NULL;
    int rc = PST_E_UNKNOWN;

    question->call = NULL;
    if (is_answer(seat, answer, &why))
        rc = pst_measure_query_read(answer->body, answer->len, signal_of(question),
                                    pst_clock_wall_ns(), &value, &age, &why);
    judged(question, rc, value, pst_max_u64(age, asked_ago), why);
}

static void judged_gpus(struct seat *seat, const struct pst_measure_gpus *gpus, pst_ns age)
{
    judged(&seat->signals[PST_SIGNAL_GPU], gpus->busy.why == NULL ? PST_OK : PST_E_UNKNOWN,
           gpus->busy.ppm, age, gpus->busy.why);
    judged(&seat->signals[PST_SIGNAL_GPU_MEMORY], gpus->memory.why == NULL ? PST_OK : PST_E_UNKNOWN,
           gpus->memory.ppm, age, gpus->memory.why);
}

static void on_page(void *user, const struct pst_curl_answer *answer)
{
    struct question *question = user;
    struct seat *seat = question->seat;
    const struct pst_measure_pool_gpus pool = {has_gpu, seat};
    struct pst_measure_gpus gpus = {0};

    question->call = NULL;
    if (is_answer(seat, answer, &gpus.busy.why))
        pst_measure_gpu_page(answer->body, answer->len, &pool, &gpus);
    else
        gpus.memory.why = gpus.busy.why;
    judged_gpus(seat, &gpus, now_of(seat) - question->asked_at);
}

static void on_list(void *user, const char *list, size_t len, const char *failure)
{
    struct pst_measure *measure = user;
    pst_ns age = pst_loop_now(measure->host->loop) - measure->smi.asked_at;

    for (size_t p = 0; p < measure->host->config->pools_count; p++) {
        struct seat *seat = &measure->seats[p];
        const struct pst_measure_pool_gpus pool = {has_gpu, seat};
        struct pst_measure_gpus gpus = {.busy.why = failure, .memory.why = failure};

        if (source_of(seat, PST_SIGNAL_GPU) != SOURCE_SMI)
            continue;
        if (list != NULL)
            pst_measure_gpu_list(list, len, &pool, &gpus);
        judged_gpus(seat, &gpus, age);
    }
}

/* A question that cannot be asked is one that nobody answers. */
static void ask(struct question *question, const char *url, size_t bytes_max, pst_ns timeout,
                bool with_token, void (*done)(void *user, const struct pst_curl_answer *answer))
{
    struct seat *seat = question->seat;
    const struct pst_curl_request request = {
        .url = url,
        .access = with_token ? &seat->access : NULL,
        .connect_timeout = CONNECT_TIMEOUT,
        .timeout = timeout,
        .bytes_max = bytes_max,
        .done = done,
        .user = question,
    };

    question->asked_at = now_of(seat);
    if (pst_curl_start(seat->measure->curl, &request, &question->call) != PST_OK)
        question->call = NULL;
}

static void ask_signal(struct seat *seat, enum pst_signal signal)
{
    struct question *question = &seat->signals[signal];
    const struct pst_config_signals *signals = &pool_of(seat)->signals;
    pst_ns stale_after = seat->measure->host->config->scaler.pools[seat->pool].stale_after;
    struct pst_text url = {0};

    if (question->call != NULL)
        return;
    switch (source_of(seat, signal)) {
    case SOURCE_QUERY:
        pst_measure_query_url(&url, signals->prometheus, query_of(seat, signal),
                              pst_max_u64(stale_after, LOOKBACK_MIN));
        if (!url.broken)
            ask(question, url.at, ANSWER_MAX, TIMEOUT, true, on_value);
        pst_text_done(&url);
        return;
    case SOURCE_DCGM:
        ask(question, signals->dcgm, PAGE_MAX, TIMEOUT, false, on_page);
        return;
    case SOURCE_SMI:
        pst_measure_smi_ask(&seat->measure->smi);
        return;
    case SOURCE_NONE:
        return;
    }
}

static void ask_day(struct seat *seat);

static void on_day(void *user, const struct pst_curl_answer *answer)
{
    struct question *question = user;
    struct seat *seat = question->seat;
    const struct pst_measure_host *host = seat->measure->host;
    struct pst_wire_day day = {.pool = seat->pool, .from_s = seat->day_s};
    const char *why = NULL;
    bool is_good;

    question->call = NULL;
    is_good = is_answer(seat, answer, &why) &&
              pst_measure_query_day(answer->body, answer->len, &day, &why) == PST_OK;
    note(question, PST_LOG_WARN, "its past", is_good ? NULL : why);
    if (!is_good) {
        seat->days_due = now_of(seat) + DAYS_AGAIN;
        return;
    }
    host->past(host->user, &day);
    seat->day_s += PST_WIRE_DAY_S;
    if (seat->day_s <= seat->last_day_s) {
        ask_day(seat);
        return;
    }
    seat->day_s = 0;
    seat->days_due = now_of(seat) + DAYS_EVERY;
}

static void ask_day(struct seat *seat)
{
    const struct pst_config_pool *pool = pool_of(seat);
    struct pst_text own = {0}, url = {0};
    const char *query = pool->prescale.profile_query;

    if (query == NULL) {
        pst_measure_query_own(&own, pool->name);
        query = own.broken ? "" : own.at;
    }
    pst_measure_query_day_url(&url, pool->signals.prometheus, query, seat->day_s);
    if (!url.broken)
        ask(&seat->days, url.at, DAY_MAX, TIMEOUT_DAY, true, on_day);
    pst_text_done(&own);
    pst_text_done(&url);
}

/* A round of days: once a day, and where one could not be had from there. */
static void go_back(struct seat *seat)
{
    uint64_t today = pst_clock_wall_ns() / PST_S / PST_WIRE_DAY_S * PST_WIRE_DAY_S;
    uint64_t span = (uint64_t)pool_of(seat)->prescale.weeks * 7 * PST_WIRE_DAY_S;

    if (!wants_days(seat) || seat->days.call != NULL || now_of(seat) < seat->days_due ||
        today < span)
        return;
    if (seat->day_s == 0) {
        seat->day_s = today - span;
        seat->last_day_s = today;
    }
    ask_day(seat);
}

static void set_next(struct seat *seat, pst_ns least, pst_ns span)
{
    uint16_t draw;

    pst_random_fill(&seat->measure->random, &draw, sizeof draw);
    pst_timer_set(seat->measure->host->loop, &seat->next,
                  now_of(seat) + least + span / UINT16_MAX * draw);
}

static void on_next(struct pst_timer *timer)
{
    struct seat *seat = (struct seat *)(void *)((char *)timer - offsetof(struct seat, next));
    pst_ns every = pool_of(seat)->signals.every;

    for (unsigned signal = 0; signal < PST_SIGNAL_COUNT; signal++)
        ask_signal(seat, (enum pst_signal)signal);
    go_back(seat);
    set_next(seat, every - every / 10, every / 5);
}

static void stop(struct seat *seat)
{
    pst_timer_cancel(seat->measure->host->loop, &seat->next);
    for (unsigned signal = 0; signal < PST_SIGNAL_COUNT; signal++) {
        pst_curl_cancel(seat->signals[signal].call);
        seat->signals[signal].call = NULL;
    }
    pst_curl_cancel(seat->days.call);
    seat->days.call = NULL;
    seat->day_s = 0;
    pst_curl_access_done(&seat->access);
}

static void start(struct seat *seat)
{
    const struct pst_config_signals *signals = &pool_of(seat)->signals;
    bool asks = wants_days(seat);

    seat->access.token_file = signals->prometheus_token_file;
    seat->days_due = 0;
    for (unsigned signal = 0; signal < PST_SIGNAL_COUNT; signal++)
        asks = asks || source_of(seat, (enum pst_signal)signal) != SOURCE_NONE;
    if (asks)
        set_next(seat, 0, pst_min_u64(signals->every, PST_S));
}

void pst_measure_reload(struct pst_measure *measure)
{
    for (uint16_t p = 0; p < PST_POOLS_MAX; p++) {
        stop(&measure->seats[p]);
        if (p < measure->host->config->pools_count)
            start(&measure->seats[p]);
    }
}

int pst_measure_new(const struct pst_measure_host *host, struct pst_measure **ret_measure)
{
    struct pst_measure *measure = calloc(1, sizeof *measure);
    int rc;

    if (measure == NULL)
        return PST_E_NOMEM;
    rc = pst_curl_new(host->loop, &measure->curl);
    if (rc != PST_OK) {
        free(measure);
        return rc;
    }
    measure->host = host;
    measure->smi.loop = host->loop;
    measure->smi.done = on_list;
    measure->smi.user = measure;
    for (uint16_t p = 0; p < PST_POOLS_MAX; p++) {
        struct seat *seat = &measure->seats[p];

        seat->measure = measure;
        seat->pool = p;
        seat->next.fire = on_next;
        seat->days.seat = seat;
        for (unsigned signal = 0; signal < PST_SIGNAL_COUNT; signal++)
            seat->signals[signal].seat = seat;
    }
    pst_measure_reload(measure);
    *ret_measure = measure;
    return PST_OK;
}

void pst_measure_free(struct pst_measure *measure)
{
    if (measure == NULL)
        return;
    for (uint16_t p = 0; p < PST_POOLS_MAX; p++)
        stop(&measure->seats[p]);
    pst_measure_smi_stop(&measure->smi);
    pst_curl_free(measure->curl);
    free(measure);
}
