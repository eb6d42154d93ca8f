"""The external scaler under a whole cluster's questions: 1,000 objects x 2 metrics on one connection, 2,000 parked streams."""

import json
import re
import shutil
import subprocess
from pathlib import Path

from figures import ROOT, Group, figure, free_port, get, penstock, wait_port, wait_ready

OBJECTS, STREAMS = 1000, 2000
CLIENT = ROOT / "tests" / "e2e" / "keda" / "client.mjs"
CONFIG = """\
listen: 127.0.0.1:{port}
metrics: 127.0.0.1:{metrics}
keda: {{listen: "127.0.0.1:{keda}"}}
pools:
  - name: chat
    engine: vllm
    models: [{{name: m, weight: 1}}]
    slots: 64
    replicas: {{static: ["http://127.0.0.1:{backend}"]}}
    scaler: {{min: 1, max: 8}}
"""


def sample(metrics, name):
    _, body = get(metrics, "/metrics")
    return float(re.search(rf"^penstock_{name} (\S+)$", body.decode(), re.M)[1])


def resident(process, field):
    return int(re.search(rf"^{field}:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text(), re.M)[1]) / 1024


def run(quick=False):
    if shutil.which("node") is None or not (CLIENT.parent / "node_modules").is_dir():
        raise SystemExit("bench: tools/install-deps keda brings the gRPC client")
    spread_ms, rounds = (3000, 2) if quick else (15000, 5)
    with Group("keda") as group:
        port, metrics, keda, backend = (free_port() for _ in range(4))
        wait_port(backend, group.start(penstock(), "engine", "--listen", f"127.0.0.1:{backend}", "--model", "m"))
        config = group.write("penstock.yaml", CONFIG.format(port=port, metrics=metrics, keda=keda, backend=backend))
        process = group.start(penstock(), "run", config)
        wait_port(keda, process)
        wait_ready(metrics, 1)
        modes = ("desired", "weighted-depth")
        options = {"objects": OBJECTS, "streams": STREAMS, "rounds": rounds, "within_ms": [spread_ms, spread_ms, 1000],
                   "metrics": [{"name": f"penstock-chat-{mode}", "metadata": {"metric": mode}} for mode in modes]}
        client = subprocess.Popen(["node", CLIENT, f"127.0.0.1:{keda}", "load", json.dumps(options)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            seen = [json.loads(client.stdout.readline()) for _ in range(rounds)]
            asked = rounds * OBJECTS * 3
            if seen[-1]["right"] != asked:
                raise SystemExit(f"bench: {seen[-1]['right']} of {asked} answers were right: {seen[-1]['wrong']}")
            while sample(metrics, "external_scaler_calls_total") < asked:  # figures are written once a second
                if client.poll() is not None:
                    raise SystemExit("bench: the client ended early")
            streams = sample(metrics, "external_scaler_streams")
            p99_ms = sample(metrics, "external_scaler_p99_seconds") * 1000
            memory = resident(process, "VmHWM")
        finally:
            client.stdin.close()
            client.wait(20)
    how = (f"{OBJECTS} objects x {len(modes)} metrics and their activity on one connection, each object every "
           f"{spread_ms / 1000:g} s, then {max(rounds - 2, 0)} times all within 1 s, beside {streams:.0f} parked streams; "
           f"{asked} answers, all right; the client is grpc-js on the same machine")
    return [figure("keda: P99 of an answer, frame in to response queued", round(p99_ms, 3), "ms", how, bar="<= 10 ms",
                   holds=p99_ms <= 10 and streams == STREAMS),
            figure("keda: resident memory at most", round(memory, 1), "MiB", how, bar="<= 64 MiB", holds=memory <= 64)]
