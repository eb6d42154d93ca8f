"""How soon the scaler acts on a host: from the gate's backlog past out_above to a recorded decision, and from the
promotion of a warm engine to its first token.

A burst of six times what one engine can do comes to one ready engine and one warm one, again and again. The gateway
records what it saw; `penstock sim --replay` finds the moments in that: both ends of a span are its own monotonic stamps,
to the event. The push of `true` at zero replicas is bench keda's.
"""

import json
import re
import subprocess
import time

from figures import Group, figure, free_port, get, median, penstock, run_json, wait_port

OUT_ABOVE_S, SLOTS, SERVICE_MS = 2, 4, 500
BARS_S = {"decided": 2, "promoted": 5}
CONFIG = """\
listen: 127.0.0.1:{port}
metrics: 127.0.0.1:{metrics}
admin: 127.0.0.1:{admin}
record: {folder}/recording
state: {folder}/state
pools:
  - name: chat
    engine: vllm
    models: [{{name: m, weight: 1}}]
    slots: {slots}
    replicas:
      local:
        command: [{binary}, engine, --listen, "127.0.0.1:{{port}}", --model, m, --cold-start, 5s, --mode, slot, --slots, "{slots}",
                  --service, {service}ms]
        ports: {first}-{last}
    scaler: {{min: 1, max: 3, warm: 1, out_above: {out_above}s, start_time: 5s, in_after: 10s, drain_deadline: 20s}}
"""


def wait_state(metrics, state, process, seconds=60):
    """Until a replica is in that state."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if re.search(rb'penstock_replica_state\{[^}]*state="%b"[^}]*\} 1' % state.encode(), get(metrics, "/metrics")[1]):
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise SystemExit(f"bench: no replica became {state}")


def one_run(seed, seconds):
    """One burst; what the recording says of it."""
    with Group("reaction") as group:
        port, metrics, admin = (free_port() for _ in range(3))
        first = 20000 + free_port() % 20000
        (group.dir / "state").mkdir(mode=0o700)
        config = group.write("penstock.yaml", CONFIG.format(
            port=port, metrics=metrics, admin=admin, folder=group.dir, binary=penstock(), slots=SLOTS, service=SERVICE_MS,
            first=first, last=first + 7, out_above=OUT_ABOVE_S))
        gateway = group.start(penstock(), "run", config)
        wait_port(port, gateway)
        wait_state(metrics, "ready", gateway)
        wait_state(metrics, "warm", gateway)
        rate = 6 * SLOTS * 1000 // SERVICE_MS
        report = run_json([penstock(), "load", "--url", f"http://127.0.0.1:{port}", "--duration", f"{seconds}s", "--seed", seed,
                           "--quiet", "--json", "-", "--traffic", f"class=low,rate={rate},prompt=16,output=4"], seconds + 120)
        gateway.terminate()  # a drain: its grace is not waited for
        gateway.terminate()
        gateway.wait(60)
        group.processes.remove(gateway)
        replay = json.loads(subprocess.run([penstock(), "sim", "--replay", group.dir / "recording", "--json"],
                                           stdout=subprocess.PIPE, check=True).stdout)
    if not replay["identical"] or replay["decided"]["count"] == 0 or replay["promoted"]["count"] == 0:
        raise SystemExit(f"bench: the burst had no effect: {replay}")
    failed = sum(row["failed"] for row in report["classes"])
    return replay, failed


def run(quick=False):
    count, seconds = 1 if quick else 3, 10
    runs = [one_run(seed, seconds) for seed in range(1, count + 1)]
    how = (f"{count} bursts of six times one engine's capacity, {seconds} s each, to one ready and one warm engine; the longest of "
           "all; both ends are events of the recording, replayed")
    figures = []
    for key, name in (("decided", "backlog past out_above to a recorded decision"),
                      ("promoted", "warm promotion to its first token")):
        spans = [replay[key]["longest_ns"] / 1e9 for replay, _ in runs]
        figures.append(figure(f"reaction: {name}", round(max(spans), 3), "s", f"{how}; median {median(spans):.3f}",
                              bar=f"<= {BARS_S[key]} s", holds=max(spans) <= BARS_S[key]))
    failed = sum(f for _, f in runs)
    figures.append(figure("reaction: requests that failed", failed, "requests", how, bar="0", holds=failed == 0))
    return figures
