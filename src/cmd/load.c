/*
 * load.c - penstock load: the open-loop generator on the command line.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/slice.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "rehearse/load_report.h"

#define HOST_MAX       256
#define EVERY_TERMINAL PST_S
#define EVERY_LOG      (5 * PST_S)

static const char detail[] =
    "Sends by a plan, whatever the server does, and counts every wait from the moment a request "
    "was\n"
    "meant to be sent. Each --traffic is one stream of like requests, KEY=VALUE separated by "
    "commas:\n"
    "  --traffic class=high,rate=200,prompt=64,output=16,stream=1\n"
    "  --traffic class=low,rate=800,arrivals=gamma:2,prompt=lognormal:1:512,tenant=KEY\n"
    "\n"
    "  class      X-Priority, and the row of the report    rate     requests a second\n"
    "  arrivals   poisson (default), const, gamma:CV, lognormal:CV, pareto:ALPHA\n"
    "  prompt     tokens, a number or a law (default 64)   output   max_tokens, likewise (16; 0: "
    "not said)\n"
    "  stream     1: a stream of events                    usage    0: without the usage chunk\n"
    "  path       /v1/chat/completions (default), completions, responses, messages, embeddings\n"
    "  model      name      tenant   key      type   X-Request-Type\n"
    "  share      with --trace: weight among the streams that may take a row (default 1)\n"
    "\n"
    "--trace takes a CSV with arrival_us, arrival_ms or t_s and prompt_tokens, output_tokens, "
    "class; or\n"
    "a table of rates, t_s and rate_per_s. Rows of a class go to the streams of that class. A "
    "row's\n"
    "tenant, or its client N as client-N, is the key of streams that say none.\n"
    "\n"
    "In the report `wait told` is what the gateway says in server-timing, `wait seen` is first "
    "byte less\n"
    "intended moment less the service time that `penstock engine` states. Ends by itself; Ctrl-C\n"
    "prints what there is. Exit code 1 when nothing completed.";

struct arguments {
    const char *url, *trace, *json, *record;
    pst_ns duration, warmup, drain;
    uint64_t seed, connections_max, retries;
    double scale;
    bool quiet;
    struct pst_option_list traffic;
};

struct program {
    struct pst_loop *loop;
    struct pst_load_run *run;
    struct pst_timer timer;
    struct pst_text line;
    bool terminal;
};

static int say_usage(const char *what, const char *text, const char *why)
{
    fprintf(stderr, "penstock load: %s '%s': %s\n", what, text, why);
    return PST_EXIT_USAGE;
}

/* http://HOST[:PORT][/]: paths come from the traffic. */
static bool read_url(const char *url, char host[static HOST_MAX], uint16_t *ret_port)
{
    static const char scheme[] = "http://";
    const char *at = url + sizeof scheme - 1, *end, *colon;
    unsigned long port = 80;
    size_t len;
    char *rest;

    if (strncmp(url, scheme, sizeof scheme - 1) != 0)
        return false;
    end = at + strcspn(at, "/");
    if (end[0] == '/' && end[1] != '\0')
        return false;
    if (*at == '[') {
        const char *bracket = memchr(at, ']', (size_t)(end - at));

        if (bracket == NULL)
            return false;
        colon = bracket + 1;
        at++;
        len = (size_t)(bracket - at);
    } else {
        colon = memchr(at, ':', (size_t)(end - at));
        colon = colon == NULL ? end : colon;
        len = (size_t)(colon - at);
    }
    if (colon < end) {
        if (*colon != ':' || colon[1] < '0' || colon[1] > '9')
            return false;
        port = strtoul(colon + 1, &rest, 10);
        if (rest != end)
            return false;
    }
    if (len == 0 || len >= HOST_MAX || port == 0 || port > 65535)
        return false;
    memcpy(host, at, len);
    host[len] = '\0';
    *ret_port = (uint16_t)port;
    return true;
}

static int read_mix(const struct pst_option_list *lines, struct pst_load_traffic *mix)
{
    const char *why;

    for (size_t i = 0; i < lines->count; i++)
        if (pst_load_mix_read(lines->items[i], &mix[i], &why) != PST_OK)
            return say_usage("--traffic", lines->items[i], why);
    return PST_EXIT_OK;
}

static void show_progress(struct pst_timer *timer)
{
    struct program *p = (struct program *)(void *)((char *)timer - offsetof(struct program, timer));
    struct pst_load_progress progress;

    pst_load_run_progress(p->run, &progress);
    pst_text_clear(&p->line);
    pst_load_report_progress(&progress, pst_load_run_tally(p->run), &p->line);
    if (!p->line.broken)
        fprintf(stderr, p->terminal ? "\r\033[K%s" : "%s\n", p->line.at);
    pst_timer_set(p->loop, timer,
                  pst_loop_now(p->loop) + (p->terminal ? EVERY_TERMINAL : EVERY_LOG));
}

static void ended(void *user)
{
    pst_loop_stop(((struct program *)user)->loop);
}

static void caught(void *user, int signal)
{
    struct program *p = user;

    (void)signal;
    pst_load_run_stop(p->run);
    pst_loop_stop(p->loop);
}

static int write_json(const struct pst_load_tally *tally, const char *path)
{
    struct pst_text text = {0};
    bool to_stdout = strcmp(path, "-") == 0;
    FILE *file = to_stdout ? stdout : fopen(path, "we");
    int code = PST_EXIT_FAILED;

    if (file != NULL && pst_load_report_json(tally, &text) == PST_OK &&
        fwrite(text.at, 1, text.len, file) == text.len && fflush(file) == 0)
        code = PST_EXIT_OK;
    else
        fprintf(stderr, "penstock load: %s: %m\n", path);
    if (file != NULL && !to_stdout && fclose(file) != 0)
        code = PST_EXIT_FAILED;
    pst_text_done(&text);
    return code;
}

static int report(const struct program *p, const char *json)
{
    const struct pst_load_tally *tally = pst_load_run_tally(p->run);
    struct pst_text table = {0};
    uint64_t completed = 0;
    int code = PST_EXIT_OK;

    if (p->terminal)
        fputs("\r\033[K", stderr);
    pst_load_report_table(tally, &table);
    if (!table.broken)
        fputs(table.at, json != NULL && strcmp(json, "-") == 0 ? stderr : stdout);
    fflush(stdout);
    pst_text_done(&table);
    if (json != NULL)
        code = write_json(tally, json);
    for (size_t i = 0; i < tally->classes_count; i++)
        completed += tally->classes[i].outcomes[PST_LOAD_COMPLETED];
    return completed == 0 ? PST_EXIT_FAILED : code;
}

static int run(const struct arguments *a, struct pst_load_config config)
{
    static const int signals[] = {SIGINT, SIGTERM};
    struct program p = {.terminal = !a->quiet && isatty(STDERR_FILENO)};
    int code = PST_EXIT_FAILED;

    config.ended = ended;
    config.user = &p;
    pst_fd_limit_raise();
    pst_fd_ignore_sigpipe();
    if (pst_loop_new(&p.loop) != PST_OK) {
        fprintf(stderr, "penstock load: no event loop: %m\n");
        return PST_EXIT_FAILED;
    }
    if (pst_load_run_new(p.loop, &config, &p.run) != PST_OK) {
        fprintf(stderr, "penstock load: %s: there is no such host, or no memory\n", a->url);
    } else if (pst_loop_signals(p.loop, signals, PST_COUNT_OF(signals), caught, &p) == PST_OK) {
        p.timer.fire = show_progress;
        if (!a->quiet)
            pst_timer_set(p.loop, &p.timer, pst_loop_now(p.loop) + EVERY_TERMINAL);
        if (pst_loop_run(p.loop) == PST_OK)
            code = report(&p, a->json);
    }
    pst_load_run_free(p.run);
    pst_loop_free(p.loop);
    pst_text_done(&p.line);
    return code;
}

static int with_record(const struct arguments *a, struct pst_load_config *config)
{
    int code;

    if (a->record == NULL)
        return run(a, *config);
    config->record = fopen(a->record, "we");
    if (config->record == NULL) {
        fprintf(stderr, "penstock load: %s: %m\n", a->record);
        return PST_EXIT_FAILED;
    }
    setvbuf(config->record, NULL, _IOFBF, (size_t)1 << 20);
    code = run(a, *config);
    if (fclose(config->record) != 0) {
        fprintf(stderr, "penstock load: %s: %m\n", a->record);
        return PST_EXIT_FAILED;
    }
    return code;
}

static int with_plan(const struct arguments *a, const struct pst_load_traffic *mix, size_t count)
{
    struct pst_load_config config = {
        .mix = mix,
        .mix_count = count,
        .duration = a->duration,
        .warmup = a->warmup,
        .drain = a->drain,
        .seed = a->seed,
        .connections_max = (uint32_t)a->connections_max,
        .retries_max = (uint32_t)a->retries,
    };
    char host[HOST_MAX];
    const char *why;
    uint64_t line;
    int code, rc;

    if (!read_url(a->url, host, &config.port))
        return say_usage("--url", a->url, "http://HOST:PORT is wanted, without a path");
    config.host = host;
    rc = pst_load_plan_new(mix, count, a->trace, a->scale, a->seed, &config.plan, &why);
    if (rc != PST_OK) {
        say_usage(a->trace != NULL ? "--trace" : "--traffic", a->trace != NULL ? a->trace : "",
                  why);
        return rc == PST_E_NOMEM ? PST_EXIT_FAILED : PST_EXIT_USAGE;
    }
    code = with_record(a, &config);
    why = pst_load_plan_error(config.plan, &line);
    if (why != NULL) {
        fprintf(stderr, "penstock load: %s:%llu: %s\n", a->trace, (unsigned long long)line, why);
        code = PST_EXIT_FAILED;
    }
    pst_load_plan_free(config.plan);
    return code;
}

int pst_cmd_load(int argc, char **argv)
{
    struct arguments a = {
        .url = "http://127.0.0.1:8080",
        .duration = 10 * PST_S,
        .drain = 30 * PST_S,
        .seed = 1,
        .connections_max = 4096,
        .scale = 1.0,
    };
    const struct pst_option options[] = {
        {"url", PST_OPTION_TEXT, &a.url, "URL", "Where to send (default http://127.0.0.1:8080).", 0,
         0},
        {"traffic", PST_OPTION_LIST, &a.traffic, "SPEC",
         "One stream of like requests; may be given again (default rate=10).", 0, 0},
        {"duration", PST_OPTION_DURATION, &a.duration, "DURATION",
         "Send for so long (default 10s).", 0, 0},
        {"warmup", PST_OPTION_DURATION, &a.warmup, "DURATION",
         "Do not count the beginning (default 0s).", 0, 0},
        {"drain", PST_OPTION_DURATION, &a.drain, "DURATION",
         "Wait so long for the last answers (default 30s).", 0, 0},
        {"trace", PST_OPTION_TEXT, &a.trace, "FILE", "Arrivals and lengths from a CSV file.", 0, 0},
        {"scale", PST_OPTION_REAL, &a.scale, "X",
         "With --trace: X times the requests a second (default 1).", 0, 0},
        {"seed", PST_OPTION_NUMBER, &a.seed, "N",
         "Of arrivals and lengths; the same seed is the same plan (default 1).", 0, 0},
        {"connections-max", PST_OPTION_NUMBER, &a.connections_max, "N",
         "Requests in flight; more wait here, their clocks running (default 4096).", 1, 60000},
        {"retries", PST_OPTION_NUMBER, &a.retries, "N",
         "Send a refused request again after its Retry-After, so often (default 0).", 0, 100},
        {"json", PST_OPTION_TEXT, &a.json, "FILE", "Write the report as JSON too; - is stdout.", 0,
         0},
        {"record", PST_OPTION_TEXT, &a.record, "FILE", "Write a CSV line per request.", 0, 0},
        {"quiet", PST_OPTION_FLAG, &a.quiet, NULL, "No progress on stderr.", 0, 0},
    };
    const struct pst_usage usage = {
        .command = "load",
        .operands = "",
        .summary = "Open-loop load, with waits counted from the intended moment.",
        .detail = detail,
        .options = options,
        .count = PST_COUNT_OF(options),
    };
    struct pst_load_traffic *mix;
    int first = pst_options_read(&usage, argc, argv), code;

    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (first < argc)
        return say_usage("operand", argv[first], "nothing is expected here");
    if (a.traffic.count == 0)
        a.traffic.items[a.traffic.count++] = "rate=10";
    mix = calloc(a.traffic.count, sizeof *mix);
    if (mix == NULL) {
        fprintf(stderr, "penstock load: out of memory\n");
        return PST_EXIT_FAILED;
    }
    code = read_mix(&a.traffic, mix);
    if (code == PST_EXIT_OK)
        code = with_plan(&a, mix, a.traffic.count);
    free(mix);
    return code;
}
