/* What a cluster is told: each fault has its place and its reason, and what is well has none. */
#include "config/manifest.h"
#include "faults.h"

/* A ScaledObject whose spec is the lines that follow, from line 4. */
#define SCALED "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: chat}\n"
#define PUSH   "[{type: external-push, metadata: {scalerAddress: \"p:9902\", pool: chat}}]"
#define UP     "scaleUp: {tolerance: \"0\", policies: [{type: Pods, value: 1000, periodSeconds: 15}]}"
#define DOWN   "scaleDown: {stabilizationWindowSeconds: 0, tolerance: \"0\"}"
#define BEHAVIOR(up, down)                                                                         \
    "  advanced: {horizontalPodAutoscalerConfig: {behavior: {" up ", " down "}}}\n"
#define SPEC "spec:\n  minReplicaCount: 2\n  triggers: " PUSH "\n" /* 4 to 6 */
#define GOOD BEHAVIOR(UP, DOWN)
#define QUERY(more)                                                                                \
    SCALED "spec:\n  minReplicaCount: 2\n" BEHAVIOR(                                               \
        UP, "scaleDown: {tolerance: \"0\"}") "  triggers:\n    - type: prometheus\n" more

#define HPA                                                                                        \
    "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: chat}\nspec:\n"
#define HPA_OF(name, target)                                                                       \
    HPA "  minReplicas: 2\n  metrics:\n    - external: {metric: {name: " name                      \
        "},\n       target: " target "}\n"
#define BEHAVED(up, down) "  behavior: {" up ", " down "}\n"
#define TRIGGER(metadata)                                                                          \
    SCALED "spec:\n  minReplicaCount: 2\n" GOOD                                                    \
           "  triggers: [{type: external-push, metadata: " metadata "}]\n"
#define OURS "  metrics: [{type: External, external: {metric: {name: s0-penstock-chat-desired}}}]\n"

/* A Deployment whose one container is an engine; its lines begin with the ninth. */
#define ENGINE(pod)                                                                                \
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: chat}\nspec:\n  template:\n    "      \
    "spec:\n"                                                                                      \
    "      " pod "\n      containers:\n"
#define GRACE "terminationGracePeriodSeconds: 660"
#define IMAGE "        - image: vllm/vllm-openai:v0.32.0\n"
#define STARTUP                                                                                    \
    "          startupProbe: {httpGet: {path: /health, port: 1}, failureThreshold: 180}\n"
#define READY "          readinessProbe: {httpGet: {path: /health, port: 1}}\n"
#define LIVE  "          livenessProbe: {httpGet: {path: /health, port: 1}}\n"
#define STOP  "          lifecycle: {preStop: {exec: {command: [sleep]}}}\n"
#define GATEWAY(pod)                                                                               \
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: gate}\nspec:\n  replicas: 2\n"        \
    "  template:\n    spec:\n      " pod                                                           \
    "\n      containers: [{image: \"penstock:1\", args: [run]}]\n"

#define CONFIG                                                                                     \
    "keda: {listen: \"127.0.0.1:1\"}\nclasses: {high: {}, medium: {}}\npools:\n"                   \
    "  - {name: chat, models: [m], slots: 1, replicas: {static: [\"http://h\"]}, "                 \
    "scaler: {min: 2, max: 50, start_time: 6m, in_after: 90s}}\n"

static const char config_text[] = CONFIG;

/* clang-format off */
static const struct row rows[] = {
    /* when KEDA asks */
    {"polls slower than a start", SCALED "spec:\n  minReplicaCount: 2\n  pollingInterval: 121\n" GOOD "  triggers: [{type: external, metadata: {}}]\n", W, 6, 20, "KEDA asks every 121 s, and a replica starts in 120s by default"},
    {"cools down before the next is there", SCALED "spec:\n  cooldownPeriod: 119\n  triggers: " PUSH "\n" GOOD, W, 5, 19, "the last replica goes after 119 s"},
    {"cools down to nothing while idle", SCALED SPEC GOOD "  idleReplicaCount: 0\n  cooldownPeriod: 119\n", W, 9, 19, "the last replica goes after 119 s"},
    {"from zero without a push", SCALED "spec:\n" GOOD "  triggers:\n    - type: external\n", W, 7, 13, "say external-push"},
    {"one replica", SCALED "spec:\n  minReplicaCount: 1\n  triggers: " PUSH "\n" GOOD, W, 5, 20, "pays for a replica at night"},
    {"a fallback", SCALED SPEC GOOD "  fallback: {failureThreshold: 3, replicas: 2}\n", W, 8, 13, "the number falls to the fallback's"},
    {"a fallback that lowers", SCALED SPEC GOOD "  fallback: {behavior: currentReplicasIfLower, replicas: 2}\n", W, 8, 24, "the number falls"},
    {"a number for a text", SCALED SPEC GOOD "  x: 1\n" "---\n" SCALED "spec:\n  triggers: [{type: cron, metadata: {desiredReplicas: 4}}]\n", W, 14, 55, "must be a text"},

    /* what the HPA makes of it */
    {"no behavior", SCALED SPEC, W, 5, 3, "scaleUp lets a right number come in pieces"},
    {"no behavior, down", SCALED SPEC, W, 5, 3, "scaleDown stabilisation of 300 s (300 by default) comes on top of in_after (60 s)"},
    {"no behavior, tolerance", SCALED SPEC, W, 5, 3, "scaleDown: the HPA ignores a change"},
    {"up waits", SCALED SPEC BEHAVIOR("scaleUp: {stabilizationWindowSeconds: 15, tolerance: \"0\", policies: [{type: Pods, value: 1000, periodSeconds: 15}]}", DOWN), W, 7, 95, "the scaler damps already"},
    {"up in pieces", SCALED SPEC BEHAVIOR("scaleUp: {tolerance: \"0\", policies: [{type: Pods, value: 4, periodSeconds: 15}]}", DOWN), W, 7, 93, "come in pieces"},
    {"up by doubling", SCALED SPEC BEHAVIOR("scaleUp: {tolerance: \"0\", policies: [{type: Percent, value: 100, periodSeconds: 15}]}", DOWN), W, 7, 93, "come in pieces"},
    {"never up", SCALED SPEC BEHAVIOR("scaleUp: {selectPolicy: Disabled, tolerance: \"0\"}", DOWN), W, 7, 81, "nothing is ever started"},
    {"the least of two", SCALED SPEC BEHAVIOR("scaleUp: {selectPolicy: Min, tolerance: \"0\", policies: [{type: Pods, value: 1000, periodSeconds: 15}, {type: Pods, value: 1, periodSeconds: 60}]}", DOWN), W, 7, 112, "come in pieces"},
    {"never down", SCALED SPEC BEHAVIOR(UP, "scaleDown: {stabilizationWindowSeconds: 0, selectPolicy: Disabled, tolerance: \"0\"}"), W, 7, 199, "nothing is ever taken away"},
    {"down in pieces", SCALED SPEC BEHAVIOR(UP, "scaleDown: {stabilizationWindowSeconds: 0, tolerance: \"0\", policies: [{type: Pods, value: 1, periodSeconds: 60}]}"), W, 7, 211, "fewer than were drained"},
    {"a tolerance", SCALED SPEC BEHAVIOR(UP, "scaleDown: {stabilizationWindowSeconds: 0, tolerance: \"0.05\"}"), W, 7, 196, "scaleDown: the HPA ignores a change"},
    {"an HPA of ours", HPA OURS "  maxReplicas: 50\n  minReplicas: 2\n", W, 5, 3, "come in pieces"},
    {"KEDA's HPA waits twice", HPA OURS BEHAVED(UP, "scaleDown: {stabilizationWindowSeconds: 300, tolerance: \"0\"}"), W, 6, 139, "comes on top of in_after"},
    {"an HPA out of Prometheus", HPA_OF("penstock_scaler_replicas", "{}") BEHAVED(UP, DOWN), W, 9, 139, "out of Prometheus the number is late"},
    {"an HPA with one", HPA OURS "  minReplicas: 1\n", W, 6, 16, "nothing serves while it is replaced"},
    {"an HPA on GPUs", HPA "  metrics: [{type: Pods, pods: {metric: {name: DCGM_FI_DEV_GPU_UTIL}}}]\n", W, 5, 48, "says nothing of who waits"},

    /* by way of Prometheus */
    {"an empty answer is zero", QUERY("      metadata: {query: x_penstock}\n"), W, 9, 17, "say ignoreNullValues: \"false\""},
    {"said to be zero", QUERY("      metadata: {query: x_penstock, ignoreNullValues: \"true\"}\n"), W, 9, 55, "counts as zero"},
    {"Value multiplies", QUERY("      metricType: Value\n      metadata: {query: penstock_scaler_replicas, threshold: \"1\"}\n"), W, 9, 19, "say AverageValue"},
    {"a threshold divides", QUERY("      metadata: {query: penstock_scaler_replicas, threshold: \"2\"}\n"), W, 9, 62, "divided by the threshold"},

    {"Value multiplies what is pushed", SCALED "spec:\n  minReplicaCount: 2\n" GOOD "  triggers:\n    - type: external-push\n      metricType: Value\n      metadata: {pool: chat}\n", W, 9, 19, "say AverageValue"},
    {"Value multiplies what is asked for", SCALED "spec:\n  minReplicaCount: 2\n" GOOD "  triggers:\n    - type: external\n      metricType: Value\n", W, 9, 19, "say AverageValue"},
    {"an HPA's Value multiplies", HPA_OF("penstock_scaler_replicas", "{type: Value, value: \"1\"}"), W, 8, 23, "say AverageValue"},
    {"an HPA's Value multiplies what KEDA tells", HPA_OF("s12-penstock-chat-p99-wait", "{type: Value, value: \"1\"}"), W, 8, 23, "say AverageValue"},
    {"an HPA's target divides", HPA_OF("penstock_scaler_replicas", "{type: AverageValue, averageValue: 500m}"), W, 8, 51, "divided by the threshold"},
    {"a backlog that is refused", CONFIG "---" HPA_OF("penstock_queue_backlog_seconds", "{type: Value, value: \"500\"}"), W, 8, 37, "no class waits longer than 15s"},
    {"a backlog under its other name", CONFIG "---" HPA_OF("queue_backlog_seconds", "{type: Value, value: \"500\"}"), W, 8, 37, "no class waits longer than 15s"},
    {"a depth that is refused", HPA_OF("penstock_queue_depth", "{type: AverageValue, averageValue: 100M}"), W, 8, 51, "requests are refused before 100M can wait"},
    {"a depth under its other name", HPA_OF("llm_d_epp_flow_control_queue_size", "{type: Value, value: 100M}"), W, 8, 37, "by default (limits.tickets)"},
    {"a query for a depth that is refused", QUERY("      metadata: {query: sum(penstock_queue_depth), threshold: \"100000000\"}\n"), W, 9, 63, "(limits.tickets)"},

    /* what the scaler would refuse */
    {"a key with a typing error", TRIGGER("{pool: chat, tolerence: \"0.1\"}"), W, 7, 59, "metadata key 'tolerence' is not known"},
    {"a metric with a typing error", TRIGGER("{pool: chat, metric: backlog-second}"), W, 7, 67, "'backlog-second' is none of desired"},
    {"a band that is none", TRIGGER("{band: none}"), W, 7, 53, "'none' is none of exact"},
    {"a tolerance that is none", TRIGGER("{tolerance: x}"), W, 7, 58, "'x' is no share"},
    {"which of two pools", "apiVersion: v1\nkind: ConfigMap\ndata:\n  p.yaml: |\n    pools:\n      - {name: a, models: [m], slots: 1, replicas: {static: [\"http://h\"]}}\n      - {name: b, models: [n], slots: 1, replicas: {static: [\"http://i\"]}}\n---\n" TRIGGER("{metric: desired}"), W, 15, 46, "metadata key 'pool' is missing"},

    /* engines */
    {"killed too early", ENGINE("terminationGracePeriodSeconds: 599") IMAGE STARTUP READY STOP, W, 7, 38, "a drain may take 600s by default (drain_deadline)"},
    {"killed after thirty seconds", ENGINE("hostNetwork: false") IMAGE STARTUP READY STOP, W, 7, 7, "killed 30 s after"},
    {"no preStop", ENGINE(GRACE) IMAGE STARTUP READY, W, 9, 11, "without a preStop"},
    {"a port is no model", ENGINE(GRACE) IMAGE STARTUP STOP "          readinessProbe: {tcpSocket: {port: 1}}\n", W, 12, 39, "a port opens before the model is loaded"},
    {"ready at once", ENGINE(GRACE) IMAGE STARTUP STOP, W, 9, 11, "without a readinessProbe"},
    {"B056 SGLang's list", ENGINE(GRACE) "        - image: lmsysorg/sglang:v1\n" STARTUP STOP "          readinessProbe: {httpGet: {path: /v1/models, port: 1}}\n", W, 12, 44, "SGLang lists its model while it still loads"},
    {"Triton is live at once", ENGINE(GRACE) "        - image: nvcr.io/nvidia/tritonserver:24-vllm\n" STARTUP STOP "          readinessProbe: {httpGet: {path: /v2/health/live, port: 1}}\n", W, 12, 44, "ask /v2/health/ready"},
    {"a command that asks nothing", ENGINE(GRACE) IMAGE STARTUP STOP "          readinessProbe: {exec: {command: [/bin/true]}}\n", W, 12, 34, "the command asks nothing"},
    {"a shell that asks nothing", ENGINE(GRACE) IMAGE STARTUP STOP "          readinessProbe: {exec: {command: [sh, -c, exit 0]}}\n", W, 12, 34, "the command asks nothing"},
    {"a startup that waits for a port, and then is killed", ENGINE(GRACE) IMAGE READY STOP "          startupProbe: {tcpSocket: {port: 1}, failureThreshold: 180}\n" LIVE, W, 12, 37, "the startupProbe does not wait for the model: a port opens"},
    {"by the livenessProbe", ENGINE(GRACE) IMAGE READY STOP "          startupProbe: {exec: {command: [sh, -c, \"true\"]}}\n" LIVE, W, 13, 26, "the livenessProbe kills it 30 s after its start"},
    {"no startupProbe", ENGINE(GRACE) IMAGE READY STOP, W, 9, 11, "without a startupProbe"},
    {"killed while it loads", ENGINE(GRACE) IMAGE READY STOP "          livenessProbe: {periodSeconds: 20, failureThreshold: 6}\n", W, 12, 26, "the livenessProbe kills it 120 s after its start, and loading takes 120s"},
    {"a startupProbe without patience", ENGINE(GRACE) IMAGE READY STOP "          startupProbe: {httpGet: {path: /health, port: 1}}\n", W, 12, 25, "the startupProbe kills it 30 s after its start"},
    {"an engine by its GPU", ENGINE(GRACE) "        - {image: own, resources: {limits: {nvidia.com/gpu: 1}}}\n", W, 9, 11, "without a readinessProbe"},
    {"a number set back", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: chat}\nspec:\n  replicas: 3\n  template: {spec: {" GRACE ", containers: [{image: vllm}]}}\n---\n" SCALED "spec: {scaleTargetRef: {name: chat}}\n", W, 5, 13, "leave `replicas` out"},

    /* the gateway */
    {"a gateway killed while it drains", GATEWAY("terminationGracePeriodSeconds: 169"), W, 8, 38, "its drain may take 170s by default"},
    {"two gateways that know nothing of each other", GATEWAY("terminationGracePeriodSeconds: 180"), W, 5, 13, "say gateways: 2"},

    /* measured by a configuration */
    {"its start time", CONFIG "---" SCALED "spec:\n  minReplicaCount: 2\n  pollingInterval: 361\n" GOOD "  triggers: [{type: external, metadata: {pool: chat}}]\n", W, 6, 20, "a replica starts in 360s:"},
    {"its in_after", CONFIG "---" SCALED SPEC, W, 5, 3, "on top of in_after (90 s)"},
    {"its max", CONFIG "---" SCALED SPEC "  maxReplicaCount: 49\n" GOOD, W, 7, 20, "stops at 49, and the scaler may ask for 50"},
    {"its queue's bound", CONFIG "---" QUERY("      metadata: {query: penstock_queue_backlog_seconds, threshold: \"16\"}\n"), W, 9, 68, "no class waits longer than 15s"},
    {"a pool that is none", CONFIG "---" SCALED "spec:\n  minReplicaCount: 2\n" GOOD "  triggers: [{type: external-push, metadata: {pool: chad}}]\n", W, 7, 53, "no configuration has a pool 'chad'"},

    /* files that are none */
    {"no YAML", "apiVersion: v1\nkind: [\n", E, 3, 1, "not YAML"},
    {"a key twice", "apiVersion: v1\nkind: A\nkind: B\n", E, 3, 1, "given twice"},
    {"a configuration within", "apiVersion: v1\nkind: ConfigMap\ndata:\n  p.yaml: |\n    pools:\n      - name: a\n        slots: x\n", E, 7, 16, "slots: 'x' cannot be read"},
};

/* Nothing to say. */
static const char *const quiet[] = {
    SCALED SPEC GOOD,
    SCALED SPEC GOOD "  fallback: {behavior: currentReplicasIfHigher, replicas: 2}\n",
    SCALED "spec:\n  cooldownPeriod: 120\n  triggers: " PUSH "\n" GOOD,
    SCALED SPEC BEHAVIOR("scaleUp: {tolerance: \"0\", policies: [{type: Percent, value: 10000, periodSeconds: 15}]}", DOWN),
    SCALED "spec:\n  minReplicaCount: 2\n  triggers: [{type: external-push, metadata: {band: overshoot}}]\n" BEHAVIOR("scaleUp: {policies: [{type: Pods, value: 1000, periodSeconds: 15}]}", "scaleDown: {stabilizationWindowSeconds: 0}"),
    QUERY("      metadata: {query: penstock_scaler_replicas, threshold: \"1\", ignoreNullValues: \"false\"}\n"),
    SCALED SPEC GOOD "  idleReplicaCount: 0\n  cooldownPeriod: 120\n",
    SCALED SPEC BEHAVIOR("scaleUp: {selectPolicy: Min, tolerance: \"0\", policies: [{type: Pods, value: 1000, periodSeconds: 15}, {type: Percent, value: 10000, periodSeconds: 15}]}", DOWN),
    SCALED "spec:\n  minReplicaCount: 2\n" GOOD "  triggers:\n    - type: external-push\n      metricType: AverageValue\n      metadata: {scalerAddress: \"p:9902\", caCert: x, pool: chat, metric: p99-wait, band: exact, toleranceFromEnv: X, tolerance: 10%}\n",
    QUERY("      metadata: {query: sum(penstock_queue_depth), threshold: \"10\", ignoreNullValues: \"false\"}\n"),
    QUERY("      metadata: {query: sum(others_penstock_queue_depth), threshold: \"100000000\", ignoreNullValues: \"false\"}\n"),
    HPA_OF("s0-penstock-chat-desired", "{type: AverageValue, averageValue: \"1\"}") "  maxReplicas: 50\n" BEHAVED(UP, DOWN),
    CONFIG "---" HPA_OF("queue_backlog_seconds", "{type: Value, value: 15000m}") "  maxReplicas: 50\n" BEHAVED(UP, "scaleDown: {tolerance: \"0\"}"),
    HPA_OF("other_queue_depth", "{type: Value, value: 100M}"),
    ENGINE(GRACE) "        - image: nvcr.io/nvidia/tritonserver:24-vllm\n" STARTUP STOP "          readinessProbe: {httpGet: {path: /v2/health/ready, port: 1}}\n          livenessProbe: {httpGet: {path: /v2/health/live, port: 1}}\n",
    ENGINE(GRACE) IMAGE STARTUP STOP "          readinessProbe: {exec: {command: [sh, -c, curl -f localhost/health]}}\n",
    ENGINE(GRACE) IMAGE READY STOP "          startupProbe: {tcpSocket: {port: 1}}\n          livenessProbe: {httpGet: {path: /health, port: 1}, failureThreshold: 180}\n",
    SCALED "spec:\n  triggers: [{type: cpu, metadata: {value: \"60\"}}]\n",
    HPA "  metrics: [{type: Resource, resource: {name: cpu}}]\n",
    ENGINE(GRACE) IMAGE STARTUP READY STOP,
    ENGINE("hostNetwork: false") "        - image: nginx:1\n",
    "apiVersion: v1\nkind: ConfigMap\ndata:\n  p.yaml: |\n    admin_token: {env: PST_TEST_NOT_SET}\n    pools: [{name: a, models: [m], slots: 1, replicas: {static: [\"http://h\"]}}]\n  script: |\n    a\tb\n",
    "---\n---\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Service, spec: {}}]\n",
};
/* clang-format on */

/* A configuration before a first "---" measures what follows it. */
static int read_row(const char *text, struct pst_problems *problems)
{
    const bool has_config = strncmp(text, config_text, sizeof config_text - 1) == 0;
    const char *manifests = has_config ? text + sizeof config_text - 1 + 3 : text;
    struct pst_config *config = NULL;
    struct pst_manifests_count count;
    struct pst_problems own = {0};
    struct pst_manifests *m = NULL;
    size_t file = SIZE_MAX;
    int rc;

    *problems = (struct pst_problems){0};
    assert_int_equal(pst_manifests_new(&m), PST_OK);
    assert_true(pst_manifests_is(manifests, strlen(manifests)));
    if (has_config) {
        assert_int_equal(pst_config_parse("c", config_text, sizeof config_text - 1, &config, &own),
                         PST_OK);
        assert_int_equal(pst_manifests_config(m, config), PST_OK);
    }
    rc = pst_manifests_add(m, manifests, strlen(manifests), problems, &file);
    if (file != SIZE_MAX)
        pst_manifests_judge(m, file, problems, &count);
    pst_manifests_free(m);
    pst_config_free(config);
    pst_problems_done(&own);
    return rc;
}

static void every_fault_has_its_place(void **state)
{
    (void)state;
    faults_check(rows, PST_COUNT_OF(rows), read_row);
}

static void what_is_well_is_not_talked_of(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(quiet); i++) {
        struct pst_problems problems;

        assert_int_equal(read_row(quiet[i], &problems), PST_OK);
        if (problems.count > 0)
            fail_msg("%zu: %u:%u: %s", i, problems.item[0].line, problems.item[0].column,
                     problems.item[0].message);
        pst_problems_done(&problems);
    }
}

static void a_configuration_is_no_manifest(void **state)
{
    static const char *const others[] = {CONFIG, "", "kind: 1\n", "pools:\n  - apiVersion: 1\n",
                                         "a: apiVersion\nkind: 1\n"};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(others); i++)
        assert_false(pst_manifests_is(others[i], strlen(others[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_has_its_place),
        cmocka_unit_test(what_is_well_is_not_talked_of),
        cmocka_unit_test(a_configuration_is_no_manifest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
