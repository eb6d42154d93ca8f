"""Priorities in front of four slot-mode engines at about twice their capacity: adaptive, fixed and FIFO.

200 high, 150 medium and 800 low requests a second; Pareto 2.5 service of mean 100 ms; 4 replicas of 14 slots, so 560 a
second can be served and 350 of them are high or medium. Low: max_wait 5 s, reject; the load does not retry.
"""

import os

from figures import BUILD, Group, figure, free_port, median, penstock, run_json, wait_port, wait_ready

RATES = {"high": 200, "medium": 150, "low": 800}
REPLICAS, SLOTS, SERVICE_S = 4, 14, 0.1
CAPACITY = REPLICAS * SLOTS / SERVICE_S
LOW_BAR = 0.90 * (CAPACITY - RATES["high"] - RATES["medium"])
WAIT_BARS = {"high": 20, "medium": 50}

# The first adaptive run is recorded, so that tools/check-replay can step it through every build's gate.
RECORDING = BUILD / "priority.rec"

CLASSES = """\
classes:
  high: {target: 100ms, max_wait: 5s, ttl: 30s, on_full: reject}
  medium: {target: 500ms, max_wait: 15s, ttl: 60s, on_full: reject}
  low: {target: 10s, max_wait: 5s, ttl: 10m, on_full: reject}
"""
ONE_CLASS = "classes:\n  all: {target: 10s, max_wait: 60s, ttl: 10m, on_full: reject}\ndefault_class: all\n"
POLICIES = {
    "adaptive": (CLASSES, "policy: adaptive"),
    "fixed": (CLASSES, "policy: fixed"),
    "fifo": (ONE_CLASS, f"policy: fixed\n    fixed: {{queues: [1800], in_flight: [{REPLICAS * SLOTS}]}}"),
}
CONFIG = """\
listen: 127.0.0.1:{port}
metrics: 127.0.0.1:{metrics}
{record}
{classes}
pools:
  - name: bench
    engine: openai
    models: [{{name: model, weight: 1}}]
    slots: {slots}
    slow_start: 0s
    ready: {{path: /health, model: completion}}
    {policy}
    replicas: {{static: [{replicas}]}}
tenants: [{{name: default, max_class: {top}}}]
"""


def one_run(policy, seed, seconds, warmup, record=None):
    """One gateway, four engines, one load; returns the load's report by class, and the gateway's exit."""
    classes, pool = POLICIES[policy]
    with Group(f"priority-{policy}") as group:
        engines = [free_port() for _ in range(REPLICAS)]
        for i, port in enumerate(engines):
            wait_port(port, group.start(penstock(), "engine", "--listen", f"127.0.0.1:{port}", "--mode", "slot", "--slots", SLOTS,
                                        "--service", f"pareto:2.5:{SERVICE_S * 1000:.0f}ms", "--seed", seed * 100 + i))
        port, metrics = free_port(), free_port()
        config = group.write("penstock.yaml", CONFIG.format(
            port=port, metrics=metrics, classes=classes, slots=SLOTS, policy=pool, record=f"record: {record}" if record else "",
            top="all" if policy == "fifo" else "high", replicas=", ".join(f"'http://127.0.0.1:{p}'" for p in engines)))
        gateway = group.start(penstock(), "run", config)
        wait_port(port, gateway)
        wait_ready(metrics, REPLICAS)
        report = run_json([penstock(), "load", "--url", f"http://127.0.0.1:{port}", "--duration", f"{seconds}s", "--warmup",
                           f"{warmup}s", "--seed", seed, "--quiet", "--json", "-",
                           *sum((["--traffic", f"class={name},rate={rate},prompt=16,output=4"] for name, rate in RATES.items()), [])],
                          seconds + 120)
        gateway.terminate()  # a drain: its grace is not waited for
        gateway.terminate()
        gateway.wait(30)
        group.processes.remove(gateway)
    return {row["class"]: row for row in report["classes"]}


def spread_of(values):
    return " ".join(f"{v:.1f}" for v in sorted(values))


def adaptive_figures(runs, how):
    figures = []
    for name, bar in WAIT_BARS.items():
        waits = [r[name]["wait_told_ms"]["p99"] for r in runs]
        refused = sum(r[name]["refused"] + r[name]["expired"] + r[name]["failed"] for r in runs)
        apart = median([abs(r[name]["wait_seen_ms"]["p99"] - r[name]["wait_told_ms"]["p99"]) for r in runs])
        figures += [
            figure(f"priority: adaptive, {name}, P99 queue wait", round(median(waits), 1), "ms",
                   f"{how}; runs {spread_of(waits)}", f"<= {bar} ms", median(waits) <= bar),
            figure(f"priority: adaptive, {name}, refused or failed", refused, "requests", how, "0", refused == 0),
            figure(f"priority: adaptive, {name}, P99 wait seen by the load - told", round(apart, 2), "ms",
                   f"{how}; per request, median {median([r[name]['wait_apart_ms']['p50'] for r in runs]):.2f} ms", "<= 2 ms",
                   apart <= 2)]
    low = [r["low"]["completed_per_s"] for r in runs]
    silent = sum(r["low"]["refused_without_retry_after"] for r in runs)
    lost = sum(r["low"]["expired"] + r["low"]["failed"] for r in runs)
    return figures + [
        figure("priority: adaptive, low, completed", round(median(low), 1), "per second", f"{how}; runs {spread_of(low)}",
               f">= {LOW_BAR:.0f} a second", median(low) >= LOW_BAR),
        figure("priority: adaptive, low, refused without Retry-After", silent, "requests", how, "0", silent == 0),
        figure("priority: adaptive, low, neither completed nor refused", lost, "requests", how, "0", lost == 0)]


def run(quick=False):
    count, seconds, warmup = (1, 15, 5) if quick else (5, 60, 10)
    count = int(os.environ.get("BENCH_RUNS", count))
    BUILD.mkdir(exist_ok=True)
    RECORDING.unlink(missing_ok=True)
    figures = []
    for policy in POLICIES:
        if policy != "adaptive":
            count = 1  # controls, without bars
        runs = [one_run(policy, seed, seconds, warmup, RECORDING if policy == "adaptive" and seed == 1 else None)
                for seed in range(1, count + 1)]
        how = f"median of {count} runs of {seconds} s, first {warmup} s cut"
        if policy == "adaptive":
            figures += adaptive_figures(runs, how)
            continue
        for name in RATES:  # what they show, beside it: no bars
            wait = median([r[name]["wait_told_ms"].get("p99", 0) for r in runs])
            figures.append(figure(f"priority: {policy}, {name}, P99 queue wait", round(wait, 1), "ms", how))
            figures.append(figure(f"priority: {policy}, {name}, completed",
                                  round(median([r[name]["completed_per_s"] for r in runs]), 1), "per second", how))
            figures.append(figure(f"priority: {policy}, {name}, refused",
                                  round(median([r[name]["refused"] / (seconds - warmup) for r in runs]), 1), "per second", how))
    return figures
