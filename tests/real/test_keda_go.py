"""The external scaler, asked by KEDA's own client package: the version of today, and one that knew integers only."""
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
E2E = HERE.parent / "e2e"
sys.path.insert(0, str(E2E))

from harness import config, keda  # noqa: E402
from harness.process import Process  # noqa: E402
from harness.waiting import eventually  # noqa: E402

# The fixtures of the end-to-end tests: their conftest is not ours.
spec = importlib.util.spec_from_file_location("e2e_conftest", E2E / "conftest.py")
e2e = importlib.util.module_from_spec(spec)
spec.loader.exec_module(e2e)
engine, gateway, upstream = e2e.engine, e2e.gateway, e2e.upstream

BIN = HERE.parents[1] / "build" / "real" / "bin"
CLIENTS = {"new": BIN / "keda-client", "old": BIN / "keda-client-old"}
pytestmark = pytest.mark.skipif(not all(c.exists() for c in CLIENTS.values()), reason="tools/real-parts: not installed")
MODES = ("desired", "backlog-seconds", "weighted-depth", "p99-wait")


@pytest.fixture
def scaled(gateway, upstream):  # noqa: F811
    pool = config.pool([upstream(lambda call: call.answer())], scaler={"min": 1, "max": 4, "out_above": "2500ms"})
    return gateway(pools=[pool], keda=keda.LISTEN, ready=1)


def ask(client, gateway, calls, **options):  # noqa: F811
    done = subprocess.run([client, keda.address(gateway), json.dumps({"calls": calls, **options})], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def asking(mode):
    metadata = {"pool": "chat", "metric": mode, "scalerAddress": "penstock:9910"}
    return [{"method": "GetMetricSpec", "metadata": metadata},
            {"method": "GetMetrics", "metadata": metadata, "name": f"penstock-chat-{mode}"},
            {"method": "IsActive", "metadata": metadata}]


def known(client, gateway):  # noqa: F811
    eventually(lambda: "message" in ask(client, gateway, asking("desired")[1:2])[0], lambda: f"known: {gateway.process.output()}")


@pytest.mark.parametrize("mode", MODES)
def test_both_versions_read_the_same(scaled, mode):
    known(CLIENTS["new"], scaled)
    (n_spec, n_value, n_active), (o_spec, o_value, o_active) = (
        [answer["message"] for answer in ask(CLIENTS[name], scaled, asking(mode))] for name in ("new", "old"))
    (n_spec,), (n_value,) = n_spec["metricSpecs"], n_value["metricValues"]
    assert n_active == o_active == {"result": True}
    assert n_spec["metricName"] == n_value["metricName"] == f"penstock-chat-{mode}"
    assert o_spec["metricSpecs"] == [{k: n_spec[k] for k in ("metricName", "targetSize")}]
    assert o_value["metricValues"] == [{k: n_value[k] for k in ("metricName", "metricValue")}]
    assert n_spec["targetSizeFloat"] > 0 and int(n_spec["targetSize"]) >= 1
    ratio_of_floats = n_value["metricValueFloat"] / n_spec["targetSizeFloat"]
    assert int(n_value["metricValue"]) / int(n_spec["targetSize"]) >= ratio_of_floats - 1e-9
    if mode == "desired":
        assert (n_value["metricValueFloat"], n_value["metricValue"]) == (1, "1")


def test_mistakes_are_told(scaled):
    for name in CLIENTS:
        wrong = ask(CLIENTS[name], scaled, [{"method": m, "metadata": {"pool": "no"}} for m in ("IsActive", "GetMetricSpec", "GetMetrics")])
        assert all(a["code"] == keda.INVALID_ARGUMENT and "'pool'" in a["details"] for a in wrong), wrong


def test_stream_ends_well(scaled):
    """As KEDA reads it: `true` at once, and at our end io.EOF, after which it comes back without a penalty."""
    parked = Process([CLIENTS["new"], keda.address(scaled), json.dumps({"calls": [{"method": "StreamIsActive"}]})],
                     stdin=subprocess.PIPE)
    parked.wait_line(lambda line: json.loads(line).get("message") == {"result": True})
    assert scaled.stop() == 0
    assert parked.wait_line(lambda line: json.loads(line).get("kind") == "end" and (json.loads(line),))[0]["code"] == keda.OK
    assert parked.wait() == 0


def test_many_objects_beside_parked_streams(scaled):
    known(CLIENTS["new"], scaled)
    calls = [{"method": "GetMetrics", "metadata": {"metric": mode}, "name": f"penstock-chat-{mode}"} for mode in MODES[:2]]
    answers = ask(CLIENTS["new"], scaled, calls, objects=1000, streams=2000)
    assert len(answers) == 2000 and all(len(a["message"]["metricValues"]) == 1 for a in answers)
