/*
 * engine.c - penstock engine: the stand-in engine on the command line.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "core/num.h"
#include "rehearse/engine_server.h"

static const char detail_head[] =
    "Answers the OpenAI and Anthropic paths as vLLM or llama.cpp's server do, with a model of "
    "time\n"
    "in place of a GPU: for demos, tests and rehearsals. It listens on loopback only.\n"
    "\n"
    "Laws: 100ms, exp:100ms, pareto:2.5:100ms (alpha, mean), lognormal:1.5:100ms and\n"
    "gamma:2:100ms (coefficient of variation, mean), uniform:50ms:150ms, tokens:20ms:50us:8ms "
    "(base,\n"
    "per prompt token, per output token). Numbers of tokens are written the same way, without "
    "unit.\n"
    "\n"
    "GET /stats counts what came and went, /seen lists request ids, /last shows the last head.\n"
    "\n"
    "Faults are written NAME[=ARGUMENT][@PROBABILITY], and can be changed while it runs:\n"
    "  curl -d '{\"clear\": [\"all\"], \"set\": [\"stall-after=20@0.1\"]}' localhost:PORT/fault\n";

struct arguments {
    const char *listen, *like, *mode, *service, *output;
    uint64_t slots, admitted_max, requests_max, kv_blocks, block_tokens, chunk, context, seed;
    pst_ns iteration_min, iteration_base, iteration_token;
    pst_ns cold_start, shutdown_timeout, cancel_lag;
    double speed;
    struct pst_option_list models, faults;
};

struct program {
    const char *listen;
    struct pst_loop *loop;
    struct pst_engine_server *server;
};

/* The head, and a line of each fault. The caller clears it. */
static void write_detail(struct pst_text *text)
{
    pst_text_put(text, detail_head);
    for (int i = 0; i < PST_FAULT_COUNT; i++)
        pst_text_print(text, "  %-16s %s\n", pst_engine_fault_name((enum pst_engine_fault)i),
                       pst_engine_fault_help((enum pst_engine_fault)i));
    if (text->len > 0)
        text->at[--text->len] = '\0';
}

static int choose(const char *option, const char *text, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    fprintf(stderr, "penstock engine: --%s: '%s' is neither %s nor %s\n", option, text, names[0],
            names[1]);
    return -1;
}

static bool read_law(const char *option, const char *text, enum pst_law_unit unit,
                     struct pst_law *ret_law)
{
    const char *why;

    if (pst_law_read(text, strlen(text), unit, ret_law, &why) == PST_OK)
        return true;
    fprintf(stderr, "penstock engine: --%s: '%s': %s\n", option, text, why);
    return false;
}

static bool make_config(const struct arguments *a, struct pst_engine_server_config *config)
{
    static const char *const likes[] = {"vllm", "llamacpp"};
    static const char *const modes[] = {"slot", "token"};
    int like = choose("like", a->like, likes, 2);
    int mode = choose("mode", a->mode, modes, 2);
    const char *why;

    if (like < 0 || mode < 0 ||
        !read_law("service", a->service, PST_LAW_DURATION, &config->model.service) ||
        !read_law("output", a->output, PST_LAW_NUMBER, &config->output))
        return false;
    for (size_t i = 0; i < a->faults.count; i++) {
        if (pst_engine_fault_set(&config->faults, a->faults.items[i], &why) != PST_OK) {
            fprintf(stderr, "penstock engine: --fault: '%s': %s\n", a->faults.items[i], why);
            return false;
        }
    }
    config->listen = a->listen;
    config->like = like == 0 ? PST_ENGINE_LIKE_VLLM : PST_ENGINE_LIKE_LLAMACPP;
    config->model.mode = mode == 0 ? PST_ENGINE_SLOT : PST_ENGINE_TOKEN;
    config->model.seed = a->seed;
    config->model.requests_max = (uint32_t)a->requests_max;
    config->model.slots = (uint32_t)a->slots;
    config->model.admitted_max = (uint32_t)a->admitted_max;
    config->model.iteration_min = a->iteration_min;
    config->model.iteration_base = a->iteration_base;
    config->model.iteration_token = a->iteration_token;
    config->model.iteration_tokens_max = (uint32_t)a->chunk;
    config->model.kv_blocks = (uint32_t)a->kv_blocks;
    config->model.kv_block_tokens = (uint32_t)a->block_tokens;
    config->speed = a->speed;
    config->models = a->models.items;
    config->models_count = a->models.count;
    config->context_tokens = (uint32_t)a->context;
    config->cold_start = a->cold_start;
    config->shutdown_timeout = a->shutdown_timeout;
    config->cancel_lag = a->cancel_lag;
    return true;
}

static void say_listening(void *user, uint16_t port)
{
    const char *listen = ((struct program *)user)->listen;

    printf("listening on %.*s:%u\n", (int)(strrchr(listen, ':') - listen), listen, port);
    fflush(stdout);
}

static void stop(void *user)
{
    pst_loop_stop(((struct program *)user)->loop);
}

static void caught(void *user, int signal)
{
    struct pst_engine_server *server = ((struct program *)user)->server;
    struct pst_engine_stats stats;

    pst_engine_server_stats(server, &stats);
    printf("signal %d with %llu requests open\n", signal, (unsigned long long)stats.open);
    fflush(stdout);
    pst_engine_server_terminate(server);
}

static int serve(struct pst_engine_server_config config)
{
    static const int signals[] = {SIGTERM, SIGINT};
    struct program program = {.listen = config.listen};
    int code = PST_EXIT_FAILED, rc;

    config.listening = say_listening;
    config.ended = stop;
    config.user = &program;
    pst_fd_limit_raise();
    pst_fd_ignore_sigpipe();
    if (pst_loop_new(&program.loop) != PST_OK) {
        fprintf(stderr, "penstock engine: no event loop: %m\n");
        return PST_EXIT_FAILED;
    }
    rc = pst_engine_server_new(program.loop, &config, &program.server);
    if (rc == PST_E_INVALID) {
        fprintf(stderr,
                "penstock engine: --listen wants a loopback address and a port, --speed more "
                "than 0, and token mode an iteration that takes time\n");
        code = PST_EXIT_USAGE;
    } else if (rc != PST_OK) {
        fprintf(stderr, "penstock engine: %s: %m\n", config.listen);
    } else if (pst_loop_signals(program.loop, signals, PST_COUNT_OF(signals), caught, &program) ==
               PST_OK) {
        if (config.cold_start > 0) {
            printf("loading, then on port %u\n", pst_engine_server_port(program.server));
            fflush(stdout);
        }
        code = pst_loop_run(program.loop) == PST_OK ? PST_EXIT_OK : PST_EXIT_FAILED;
    }
    pst_engine_server_free(program.server);
    pst_loop_free(program.loop);
    return code;
}

int pst_cmd_engine(int argc, char **argv)
{
    struct arguments a = {
        .listen = "127.0.0.1:8000",
        .like = "vllm",
        .mode = "token",
        .service = "exp:100ms",
        .output = "lognormal:1:128",
        .slots = 16,
        .requests_max = 16384,
        .kv_blocks = 8192,
        .block_tokens = 16,
        .chunk = 2048,
        .seed = 1,
        .iteration_min = 5 * PST_MS,
        .iteration_base = 8 * PST_MS,
        .iteration_token = 40 * PST_US,
        .cancel_lag = 2 * PST_S,
        .speed = 1.0,
    };
    const struct pst_option options[] = {
        {"listen", PST_OPTION_TEXT, &a.listen, "ADDRESS",
         "Loopback address and port (default 127.0.0.1:8000); port 0 picks one.", 0, 0},
        {"like", PST_OPTION_TEXT, &a.like, "ENGINE",
         "Whose manners it has: vllm (default) or llamacpp.", 0, 0},
        {"mode", PST_OPTION_TEXT, &a.mode, "MODE",
         "token (default): continuous batching. slot: places with a service law.", 0, 0},
        {"model", PST_OPTION_LIST, &a.models, "NAME",
         "Serve this model; may be given again (default: model).", 0, 0},
        {"slots", PST_OPTION_NUMBER, &a.slots, "N", "Sequences that run together (default 16).", 1,
         1000000},
        {"max-num-queued", PST_OPTION_NUMBER, &a.admitted_max, "N",
         "Answer 503 beyond so many running and waiting (default: no bound).", 0, 1000000},
        {"requests-max", PST_OPTION_NUMBER, &a.requests_max, "N",
         "Requests it can hold at all (default 16384).", 1, 1000000},
        {"service", PST_OPTION_TEXT, &a.service, "LAW",
         "Slot mode: time that a request holds its place (default exp:100ms).", 0, 0},
        {"output", PST_OPTION_TEXT, &a.output, "LAW",
         "Tokens of an answer without max_tokens (default lognormal:1:128).", 0, 0},
        {"t-min", PST_OPTION_DURATION, &a.iteration_min, "DURATION",
         "Token mode: an iteration takes this at least (default 5ms).", 0, 0},
        {"t-base", PST_OPTION_DURATION, &a.iteration_base, "DURATION",
         "Token mode: fixed part of an iteration (default 8ms).", 0, 0},
        {"t-token", PST_OPTION_DURATION, &a.iteration_token, "DURATION",
         "Token mode: time of each token in an iteration (default 40us).", 0, 0},
        {"chunk", PST_OPTION_NUMBER, &a.chunk, "TOKENS",
         "Token mode: tokens of an iteration at most (default 2048).", 1, 1000000},
        {"kv-blocks", PST_OPTION_NUMBER, &a.kv_blocks, "N",
         "Token mode: blocks of context memory (default 8192).", 1, 100000000},
        {"block-size", PST_OPTION_NUMBER, &a.block_tokens, "TOKENS",
         "Token mode: tokens in a block (default 16).", 1, 1000000},
        {"context", PST_OPTION_NUMBER, &a.context, "TOKENS",
         "Answer 400 when prompt and output are longer (default: no limit).", 0, 100000000},
        {"cold-start", PST_OPTION_DURATION, &a.cold_start, "DURATION",
         "Load so long first: vllm's port refuses, llamacpp answers 503 (default 0s).", 0, 0},
        {"shutdown-timeout", PST_OPTION_DURATION, &a.shutdown_timeout, "DURATION",
         "vllm: streams may finish so long after SIGTERM; new requests get 500 (default 0s).", 0,
         0},
        {"cancel-lag", PST_OPTION_DURATION, &a.cancel_lag, "DURATION",
         "llamacpp: non-streaming requests notice a client that left so late (default 2s).", 0, 0},
        {"speed", PST_OPTION_REAL, &a.speed, "X", "Everything takes 1/X of its time (default 1).",
         0, 0},
        {"seed", PST_OPTION_NUMBER, &a.seed, "N", "Of all that is drawn (default 1).", 0, 0},
        {"fault", PST_OPTION_LIST, &a.faults, "FAULT", "Misbehave in this way; may be given again.",
         0, 0},
    };
    struct pst_text detail = {0};
    struct pst_usage usage = {
        .command = "engine",
        .operands = "",
        .summary = "A stand-in inference engine.",
        .options = options,
        .count = PST_COUNT_OF(options),
    };
    struct pst_engine_server_config config = {0};
    int first;

    write_detail(&detail);
    usage.detail = detail.at;
    first = pst_options_read(&usage, argc, argv);
    pst_text_done(&detail);
    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (first < argc) {
        fprintf(stderr, "penstock engine: '%s' is not expected here\n", argv[first]);
        return PST_EXIT_USAGE;
    }
    if (a.models.count == 0)
        a.models.items[a.models.count++] = "model";
    if (!make_config(&a, &config))
        return PST_EXIT_USAGE;
    return serve(config);
}
