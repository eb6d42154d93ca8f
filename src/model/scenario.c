#include "model/scenario.h"

const char *const pst_scenario_gate_names[PST_SCENARIO_GATE_COUNT] = {
    [PST_SCENARIO_ADAPTIVE] = "adaptive",
    [PST_SCENARIO_FIXED] = "fixed",
    [PST_SCENARIO_FIFO] = "fifo",
    [PST_SCENARIO_NONE] = "none",
};

const char *const pst_scenario_pilot_names[PST_PILOT_COUNT] = {
    [PST_PILOT_AHEAD] = "ahead",
    [PST_PILOT_BACKLOG] = "backlog",
    [PST_PILOT_QPS] = "qps",
    [PST_PILOT_DEPTH] = "depth",
    [PST_PILOT_STATIC] = "static",
    [PST_PILOT_HPA_OCCUPANCY] = "hpa-occupancy",
    [PST_PILOT_HPA_INFLIGHT] = "hpa-inflight",
    [PST_PILOT_HPA_QUEUE] = "hpa-queue",
    [PST_PILOT_KPA] = "kpa",
    [PST_PILOT_APA] = "apa",
};

const char *const pst_scenario_actuator_names[PST_ACTUATOR_COUNT] = {
    [PST_ACTUATOR_DIRECT] = "direct",
    [PST_ACTUATOR_HPA] = "hpa",
    [PST_ACTUATOR_KEDA] = "keda",
    [PST_ACTUATOR_MARKED] = "marked",
};

const char *const pst_measure_names[PST_MEASURE_COUNT] = {
    [PST_MEASURE_WAIT_MEAN] = "wait_mean",
    [PST_MEASURE_WAIT_P50] = "wait_p50",
    [PST_MEASURE_WAIT_P95] = "wait_p95",
    [PST_MEASURE_WAIT_P99] = "wait_p99",
    [PST_MEASURE_TTFT_P50] = "ttft_p50",
    [PST_MEASURE_TTFT_P95] = "ttft_p95",
    [PST_MEASURE_TTFT_P99] = "ttft_p99",
    [PST_MEASURE_ATTAINMENT] = "attainment",
    [PST_MEASURE_IN_DEADLINE] = "in_deadline",
    [PST_MEASURE_ARRIVED] = "arrived",
    [PST_MEASURE_DONE] = "done",
    [PST_MEASURE_REFUSED] = "refused",
    [PST_MEASURE_EXPIRED] = "expired",
    [PST_MEASURE_FAILED] = "failed",
    [PST_MEASURE_REPLICA_HOURS] = "replica_hours",
    [PST_MEASURE_COST] = "cost",
    [PST_MEASURE_REPLICAS_MIN] = "replicas_min",
    [PST_MEASURE_REPLICAS_MAX] = "replicas_max",
    [PST_MEASURE_SCALE_UPS] = "scale_ups",
    [PST_MEASURE_SCALE_DOWNS] = "scale_downs",
    [PST_MEASURE_DIRECTION_CHANGES] = "direction_changes",
    [PST_MEASURE_DIRECTION_CHANGES_PER_HOUR] = "direction_changes_per_hour",
    [PST_MEASURE_UPS_PER_BURST] = "ups_per_burst",
    [PST_MEASURE_KILLED_IN_FLIGHT] = "killed_in_flight",
};

const char *pst_scenario_gate_name(enum pst_scenario_gate gate)
{
    return pst_scenario_gate_names[gate];
}

const char *pst_scenario_pilot_name(enum pst_scenario_pilot pilot)
{
    return pst_scenario_pilot_names[pilot];
}

const char *pst_scenario_actuator_name(enum pst_scenario_actuator actuator)
{
    return pst_scenario_actuator_names[actuator];
}

const char *pst_measure_name(enum pst_measure measure)
{
    return pst_measure_names[measure];
}

bool pst_measure_is_of_class(enum pst_measure measure)
{
    return measure < PST_MEASURE_REPLICA_HOURS;
}

uint64_t pst_scenario_target_scale(enum pst_scenario_pilot pilot)
{
    switch (pilot) {
    case PST_PILOT_HPA_OCCUPANCY:
        return PST_PPM;
    case PST_PILOT_QPS:
    case PST_PILOT_HPA_INFLIGHT:
    case PST_PILOT_HPA_QUEUE:
    case PST_PILOT_KPA:
    case PST_PILOT_APA:
        return 1000;
    case PST_PILOT_STATIC:
        return 1;
    case PST_PILOT_AHEAD:
    case PST_PILOT_BACKLOG:
    case PST_PILOT_DEPTH:
    case PST_PILOT_COUNT:
        break;
    }
    return 0;
}
