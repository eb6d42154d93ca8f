"""The external scaler under a whole cluster's questions: 1,000 objects x 2 metrics on one connection, 2,000 parked streams;
and the push of `true` to all of them when a first request comes to no replica."""

import json
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from figures import ROOT, Group, figure, free_port, get, penstock, wait_port, wait_ready

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from harness.nameserver import Nameserver  # noqa: E402

OBJECTS, STREAMS, MODES = 1000, 2000, ("desired", "weighted-depth")
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
    replicas: {{{replicas}}}
    scaler: {{min: {min}, max: 8}}
"""


class Scaler:
    """A gateway with its external scaler, and one client process of it."""

    def __init__(self, group, minimum, replicas):
        self.port, self.metrics, self.keda = (free_port() for _ in range(3))
        config = group.write(f"penstock{self.port}.yaml", CONFIG.format(
            port=self.port, metrics=self.metrics, keda=self.keda, replicas=replicas, min=minimum))
        self.process = group.start(penstock(), "run", config, log=f"gateway{self.port}")
        wait_port(self.keda, self.process)

    def sample(self, name):
        _, body = get(self.metrics, "/metrics")
        return float(re.search(rf"^penstock_external_scaler_{name} (\S+)$", body.decode(), re.M)[1])

    def until(self, name, least, client):
        """Figures are written once a second."""
        while self.sample(name) < least:
            if client.poll() is not None:
                raise SystemExit("bench: the gRPC client ended early")

    def load(self, **options):
        options = {"objects": OBJECTS, "streams": STREAMS, "rounds": 0, "within_ms": [], **options, "metrics": [
            {"name": f"penstock-chat-{mode}", "metadata": {"metric": mode}} for mode in MODES]}
        return subprocess.Popen(["node", CLIENT, f"127.0.0.1:{self.keda}", "load", json.dumps(options)],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def leave(client):
    client.stdin.close()
    client.wait(20)


def questions(group, quick):
    spread_ms, within_ms = (3000, [3000, 1000]) if quick else (15000, [15000, 15000, 1000, 1000, 1000])
    backend = free_port()
    wait_port(backend, group.start(penstock(), "engine", "--listen", f"127.0.0.1:{backend}", "--model", "m"))
    scaler = Scaler(group, 1, f'static: ["http://127.0.0.1:{backend}"]')
    wait_ready(scaler.metrics, 1)
    client = scaler.load(rounds=len(within_ms), within_ms=within_ms)
    try:
        seen = [json.loads(client.stdout.readline()) for _ in within_ms]
        asked = len(within_ms) * OBJECTS * (len(MODES) + 1)
        if seen[-1]["right"] != asked:
            raise SystemExit(f"bench: {seen[-1]['right']} of {asked} answers were right: {seen[-1]['wrong']}")
        scaler.until("calls_total", asked, client)
        scaler.until("streams", STREAMS, client)
        p99_ms = scaler.sample("p99_seconds") * 1000
        status = Path(f"/proc/{scaler.process.pid}/status").read_text()
    finally:
        leave(client)
    memory = int(re.search(r"^VmHWM:\s+(\d+) kB", status, re.M)[1]) / 1024
    how = (f"{OBJECTS} objects x {len(MODES)} metrics and their activity on one connection, each object once in "
           f"{spread_ms / 1000:g} s, then {within_ms.count(1000)} times all within 1 s, beside {STREAMS} parked streams; "
           f"{asked} answers, all right; the client is grpc-js on the same machine")
    return [figure("keda: P99 of an answer, request read to response queued", round(p99_ms, 3), "ms", how, bar="<= 10 ms",
                   holds=p99_ms <= 10),
            figure("keda: resident memory at most", round(memory, 1), "MiB", how, bar="<= 64 MiB", holds=memory <= 64)]


def push(group):
    names = Nameserver()  # of no address: there is no replica, and none comes
    scaler = Scaler(group, 0, f'dns: {{name: engines.test, port: 9, server: "{names.server}"}}')
    client = scaler.load()
    try:
        scaler.until("streams", STREAMS, client)
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]})
        with socket.create_connection(("127.0.0.1", scaler.port), 5) as first:
            first.sendall((f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
            scaler.until("push_seconds", 1e-9, client)
        took_ms = scaler.sample("push_seconds") * 1000
    finally:
        leave(client)
        names.close()
    how = f"from the turn that admitted a first request, without a replica, to {STREAMS} streams of one connection told"
    return figure("keda: push of true at zero replicas", round(took_ms, 3), "ms", how, bar="<= 100 ms", holds=took_ms <= 100)


def run(quick=False):
    if shutil.which("node") is None or not (CLIENT.parent / "node_modules").is_dir():
        raise SystemExit("bench: tools/install-deps keda brings the gRPC client")
    with Group("keda") as group:
        return [*questions(group, quick), push(group)]
