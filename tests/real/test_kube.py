"""The whole loop on a real control plane: load, gateway, backlog, external scaler, KEDA, HPA, Deployment, engines
with a cold start, found by their pods, served, drained and gone. Nothing of ours and nothing of theirs is stubbed."""
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "kube"))

from cluster import BIN, ENGINE_PORT, Cluster, Installation, Names, address, eventually, is_ready  # noqa: E402
from harness.pages import Metrics, fetch  # noqa: E402
from users import Users  # noqa: E402

GUARD_S = 120
COST = "controller.kubernetes.io/pod-deletion-cost"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    c = Cluster(tmp_path_factory.mktemp("kube"), gpus=12)
    yield c
    c.close()


@pytest.fixture(scope="module")
def installed(cluster):
    names = Names()
    i = Installation(cluster, names)
    eventually(lambda: cluster.ready_pods("gateway"), lambda: logs(cluster, "a ready gateway"), GUARD_S)
    eventually(lambda: is_active_known(cluster), lambda: logs(cluster, "KEDA knows the scaler"), GUARD_S)
    yield i
    names.close()


def logs(cluster, what):
    tail = "\n".join(p.read_text(errors="replace")[-1500:] for p in sorted((cluster.folder / "log").glob("penstock*.log")))
    return f"{what}\n{tail}\n" + cluster.kubectl("get", "pods,scaledobject,hpa", namespace="inference", check=False)


def is_active_known(cluster):
    conditions = cluster.get("scaledobjects", "penstock-chat").get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def engines(cluster):
    return [p for p in cluster.pods("engine") if "deletionTimestamp" not in p["metadata"]]


def until_replicas(cluster, wanted, what, guard_s=GUARD_S):
    eventually(lambda: wanted(cluster.replicas("penstock-chat")), lambda: logs(cluster, what), guard_s)


def metrics(installed):
    return Metrics(fetch((installed.gateway(), 9901), "GET", "/metrics")[2].decode())


def settled_at_zero(cluster):
    until_replicas(cluster, lambda n: n == 0, "zero replicas again", 180)
    eventually(lambda: not cluster.pods("engine"), "no engine left", GUARD_S)


def test_zero_to_one_by_push(cluster, installed):
    """At zero replicas one request is enough: pushed, served after the cold start, nothing refused."""
    settled_at_zero(cluster)
    with Users(installed.gateway) as users:
        users.stream(5)
        until_replicas(cluster, lambda n: n >= 1, "one replica")
    assert users.problems == []


def test_from_one_to_the_number_decided_in_one_step(cluster, installed):
    """What the HPA sets is what was decided: no doubling, no 4 pods per 15 s in between."""
    seen = []
    with Users(installed.gateway) as users:
        users.stream(5)
        users.started(1)
        before = cluster.replicas("penstock-chat")
        for _ in range(80):
            users.stream(200, "low")

        def jumped():
            n = cluster.replicas("penstock-chat")
            if not seen or seen[-1] != n:
                seen.append(n)
            return n > before
        eventually(jumped, lambda: logs(cluster, "more replicas"), GUARD_S)
        decided = [int(value) for _, value in metrics(installed).all("penstock_scaler_replicas", kind="desired")]
    assert users.problems == []
    assert seen[1] - seen[0] > max(4, seen[0]) or seen[1] >= max(decided), f"steps {seen}, decided {decided}"


def test_scale_in_under_long_streams(cluster, installed):
    """The victims are those the scaler chose; streams of 40 s end whole; every preStop finishes."""
    with Users(installed.gateway) as users:
        for _ in range(80):
            users.stream(100, "low")
        until_replicas(cluster, lambda n: n >= 4, "a burst's replicas")
        for _ in range(4):
            users.stream(2000)
        users.started(60)
        peak = {p["metadata"]["name"] for p in engines(cluster)}
        marked = set()

        def fewer():
            now = engines(cluster)
            marked.update(p["metadata"]["name"] for p in now if COST in p["metadata"].get("annotations", {}))
            return len(now) <= 2
        eventually(fewer, lambda: logs(cluster, "fewer engines"), 180)
        left = peak - {p["metadata"]["name"] for p in engines(cluster)}
        assert left and left <= marked, f"left {left}, marked {marked}"
    assert users.problems == [] and users.done == 84
    said = "\n".join(cluster.runner.lines)
    assert "preStop" not in said, said


def test_scaler_gone_mid_burst(cluster, installed):
    """The gateway killed -9 in a burst: the engines stay what they are; the number goes on rising after."""
    with Users(installed.gateway) as users:
        users.steady(24, 60, "low")
        until_replicas(cluster, lambda n: n >= 3, "a burst's replicas")
        before = cluster.replicas("penstock-chat")
        pod = cluster.ready_pods("gateway")[0]["metadata"]["name"]
        cluster.kubectl("delete", "pod", pod, "--grace-period=0", "--force", namespace="inference")
        lowest = before
        end = time.monotonic() + 25  # KEDA asks every 2 s: a dozen answers, most of them UNAVAILABLE or fresh
        while time.monotonic() < end:
            lowest = min(lowest, cluster.replicas("penstock-chat"))
            time.sleep(0.5)
        assert lowest >= before
        eventually(lambda: cluster.ready_pods("gateway"), "a gateway again", GUARD_S)
    # What was in flight through the killed process ended visibly; nothing else did.
    assert len(users.problems) <= 24 + users.done // 2, users.problems[:5]


def test_rolling_update_of_engines_under_load(cluster, installed):
    with Users(installed.gateway) as users:
        users.steady(8, 40)
        until_replicas(cluster, lambda n: n >= 2, "replicas under load")
        eventually(lambda: len(cluster.ready_pods("engine")) >= 2, "ready engines", GUARD_S)
        cluster.kubectl("set", "env", "deployment/penstock-chat", "ROUND=2", namespace="inference")
        cluster.kubectl("rollout", "status", "deployment/penstock-chat", "--timeout=170s", namespace="inference")
    assert users.problems == []


def test_rolling_update_of_the_gateway_under_load(cluster, installed):
    """Two at once for the length of a drain: replicas are not reduced, streams end whole, slots are not doubled."""
    with Users(installed.gateway) as users:
        users.steady(8, 60)
        until_replicas(cluster, lambda n: n >= 2, "replicas under load")
        before = cluster.replicas("penstock-chat")
        over = []
        cluster.kubectl("set", "env", "deployment/penstock", "ROUND=2", namespace="inference")
        end = time.monotonic() + 60
        done = subprocess.Popen([BIN / "kubectl", "-n", "inference", "rollout", "status", "deployment/penstock",
                                 "--timeout=120s"], env=cluster.env, stdout=subprocess.PIPE, text=True)
        lowest = before
        while done.poll() is None and time.monotonic() < end + 60:
            lowest = min(lowest, cluster.replicas("penstock-chat"))
            for p in cluster.ready_pods("engine"):
                try:
                    stats = json.loads(fetch((address(p), ENGINE_PORT), "GET", "/stats")[2])
                except OSError:
                    continue
                if stats.get("waiting", 0) > 4:
                    over.append((p["metadata"]["name"], stats))
        assert done.returncode == 0
        assert lowest >= before and not over, (lowest, before, over[:3])
    assert users.problems == []


def test_eviction(cluster, installed):
    """A pod that is evicted is drained at once and replaced; its streams end whole."""
    with Users(installed.gateway) as users:
        users.steady(6, 60)
        until_replicas(cluster, lambda n: n >= 2, "replicas under load")
        eventually(lambda: len(cluster.ready_pods("engine")) >= 2, "ready engines", GUARD_S)
        name = cluster.ready_pods("engine")[0]["metadata"]["name"]
        cluster.kubectl("create", "--raw", f"/api/v1/namespaces/inference/pods/{name}/eviction", "-f", "-", text=json.dumps(
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "inference"}}))
        eventually(lambda: name not in [p["metadata"]["name"] for p in cluster.pods("engine")], "it left", GUARD_S)
    assert users.problems == []


def test_crash_looping_pod(cluster, installed):
    """An engine that dies again and again costs no request, and no runaway of replicas."""
    with Users(installed.gateway) as users:
        users.steady(6, 40)
        until_replicas(cluster, lambda n: n >= 2, "replicas under load")
        eventually(lambda: len(cluster.ready_pods("engine")) >= 2, "ready engines", GUARD_S)
        victim = cluster.ready_pods("engine")[0]
        most = 0
        for _ in range(3):
            fetch((address(victim), ENGINE_PORT), "POST", "/fault", body=json.dumps({"set": ["worker-dies"]}))
            end = time.monotonic() + 8
            while time.monotonic() < end:
                most = max(most, cluster.replicas("penstock-chat"))
                time.sleep(0.5)
            if not is_ready(cluster.get("pods", victim["metadata"]["name"])):
                continue
        assert most <= 12
    broken = [p for p in users.problems if "broken stream" not in p]
    assert broken == []  # before the first byte nothing is lost; after it, it ends visibly


def test_gpus_exhausted(cluster, installed):
    """More is wanted than the node has: pods stay Pending, nothing is lost, and scale-in works again after."""
    cluster.kubectl("patch", "deployment", "penstock-chat", "--type=json", "-p", json.dumps(
        [{"op": "replace", "path": "/spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu", "value": 4}]),
        namespace="inference")
    with Users(installed.gateway) as users:
        users.steady(40, 60, "low")
        eventually(lambda: any(c.get("reason") == "Unschedulable" for p in engines(cluster)
                               for c in p["status"].get("conditions", [])), lambda: logs(cluster, "a pod without a GPU"), 180)
        users.started(20)
    assert users.problems == []
    cluster.kubectl("patch", "deployment", "penstock-chat", "--type=json", "-p", json.dumps(
        [{"op": "replace", "path": "/spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu", "value": 1}]),
        namespace="inference")
    settled_at_zero(cluster)
