/* schema_signals.c - the rows of what is known beside our own accounting, and of what is exported. */
#include "config/schema_rows.h"
#include "core/export.h"

#define QUERY(name, signal, text)                                                                  \
    {                                                                                              \
        .key = name, .kind = PST_FIELD_TEXT, POOL(queries[signal]), .fallback_note = "none",       \
        .doc = text                                                                                \
    }

static const struct pst_field query_rows[] = {
    QUERY("gpu", PST_SIGNAL_GPU,
          "Utilisation of the pool's GPUs, 0 to 1, for `gpu_guard`; in place of `dcgm` and "
          "`nvidia_smi`."),
    QUERY("errors", PST_SIGNAL_ERRORS,
          "Share of answers that are errors, 0 to 1; no scale-in above 0.05."),
    QUERY("latency", PST_SIGNAL_LATENCY, "No scale-in while it is above 0."),
    QUERY("rollout", PST_SIGNAL_ROLLOUT, "No scale-in while it is above 0: a rollout runs."),
    QUERY("quota", PST_SIGNAL_QUOTA, "Replicas that could still be had."),
};
static const struct pst_section query_section = {
    .title = "pools[].signals.prometheus.queries",
    .doc = "PromQL, each of one value. An answer that is empty, NaN or old counts as not known, "
           "never as zero: no scale-in while `errors`, `latency` or `rollout` is asked for and not "
           "known.",
    NOWHERE,
    ROWS(query_rows)};

static const struct pst_field prometheus_rows[] = {
    {.key = "server",
     .kind = PST_FIELD_ENDPOINT,
     POOL(own.signals.prometheus),
     .required = true,
     .doc = "Its base URL."},
    {.key = "token_file",
     .kind = PST_FIELD_TEXT,
     POOL(own.signals.prometheus_token_file),
     .fallback_note = "none",
     .doc = "Bearer token, read again as it rotates."},
    {.key = "queries",
     .kind = PST_FIELD_SECTION,
     .section = &query_section,
     .fallback_note = "none",
     .doc = "What it is asked."},
};
static const struct pst_section prometheus_section = {
    .title = "pools[].signals.prometheus", .doc = "A Prometheus.", NOWHERE, ROWS(prometheus_rows)};

static const struct pst_field signals_rows[] = {
    {.key = "engine",
     .kind = PST_FIELD_PERIOD,
     POOL(own.signals.engine_every),
     .min = PST_S / 2,
     .max = 3600 * PST_S,
     .fallback_note = "`5s`; openai `off`",
     .doc = "How often each replica's own metrics are read. They lag, so they only correct what we "
            "count ourselves."},
    {.key = "engine_path",
     .kind = PST_FIELD_PATH,
     POOL(own.signals.engine_path),
     .fallback = "/metrics",
     .doc = "Where they are."},
    {.key = "dcgm",
     .kind = PST_FIELD_ENDPOINT,
     POOL(own.signals.dcgm),
     .fallback_note = "none",
     .doc =
         "Metrics page of a DCGM exporter: the mean utilisation of the pool's GPUs, for "
         "`gpu_guard`, and how much of their memory is in use, which `penstock explain` shows. "
         "They are those of `replicas.local.gpus`, or of the pods of `replicas.kubernetes`; else "
         "all on the page."},
    {.key = "nvidia_smi",
     .kind = PST_FIELD_SWITCH,
     POOL(own.signals.nvidia_smi),
     .fallback_note = "`true` with `replicas.local.gpus`",
     .doc = "The same from `nvidia-smi`, where it is installed."},
    {.key = "prometheus",
     .kind = PST_FIELD_SECTION,
     .section = &prometheus_section,
     .fallback_note = "none",
     .doc = "Queries to a Prometheus."},
    {.key = "every",
     .kind = PST_FIELD_DURATION,
     POOL(own.signals.every),
     .fallback = "5s",
     .min = PST_S,
     .max = 3600 * PST_S,
     .doc = "How often `dcgm`, `nvidia_smi` and `prometheus` are asked."},
};
const struct pst_section pst_schema_signals = {
    .title = "pools[].signals",
    .doc = "What is known beside our own accounting. What is missing or old holds the number of "
           "replicas; it never lowers it.",
    NOWHERE,
    ROWS(signals_rows)};

static const struct pst_choice modes[] = {{"desired", PST_EXPORT_DESIRED, NULL},
                                          {"backlog-seconds", PST_EXPORT_BACKLOG_SECONDS, NULL},
                                          {"weighted-depth", PST_EXPORT_WEIGHTED_DEPTH, NULL},
                                          {"p99-wait", PST_EXPORT_P99_WAIT, NULL},
                                          {NULL, 0, NULL}};
static const struct pst_choice bands[] = {{"exact", PST_EXPORT_EXACT, NULL},
                                          {"overshoot", PST_EXPORT_OVERSHOOT, NULL},
                                          {"hold", PST_EXPORT_HOLD, NULL},
                                          {NULL, 0, NULL}};

static const struct pst_field export_rows[] = {
    {.key = "mode",
     .kind = PST_FIELD_CHOICE,
     POOL(own.export_.mode),
     .choices = modes,
     .fallback = "desired",
     .doc = "What the HPA is given, where the trigger's metadata does not say: the decision "
            "itself, or one of the quantities behind simpler rules."},
    {.key = "band",
     .kind = PST_FIELD_CHOICE,
     POOL(own.export_.band),
     .choices = bands,
     .fallback = "exact",
     .doc = "What to do with a change that the HPA's tolerance would swallow: `exact` where the "
            "tolerance is 0, as in our manifests; else `overshoot` by at most a tenth and one, or "
            "`hold` until the change leaves the band."},
    {.key = "tolerance",
     .kind = PST_FIELD_SHARE,
     POOL(own.export_.tolerance_ppm),
     .fallback = "0.1",
     .max = PST_PPM / 2,
     .doc = "The HPA's tolerance, for `overshoot` and `hold`."},
};
const struct pst_section pst_schema_export = {
    .title = "pools[].export",
    .doc = "How the decision is told to whoever keeps the number of replicas.",
    NOWHERE,
    ROWS(export_rows)};
