"""What happens to a cluster while it serves: nothing is lost that could end within the drain deadline, and no number runs away."""
import json
import subprocess
import time

from cluster import BIN, address, eventually, is_ready
from harness.pages import fetch
from installation import ENGINE_PORT
from users import Users

UNAVAILABLE = 14


def lowest_while(installed, going, what, guard_s=120):
    """The fewest replicas that were asked for until going() is false."""
    low = installed.replicas()
    end = time.monotonic() + guard_s
    while going():
        low = min(low, installed.replicas())
        assert time.monotonic() < end, installed.tell(what)
        time.sleep(0.2)
    return low


def restarts(pod):
    return pod["status"]["containerStatuses"][0]["restartCount"]


def rollout(installed, deployment):
    installed.kubectl("set", "env", f"deployment/{deployment}", f"ROUND={time.monotonic()}")
    return subprocess.Popen([BIN / "kubectl", "-n", installed.namespace, "rollout", "status", f"deployment/{deployment}",
                             "--timeout=120s"], env=installed.cluster.env, stdout=subprocess.PIPE)


def test_scaler_gone_and_without_an_answer(cluster, installed):
    """Killed in a burst, it comes back without the right to see pods: it says UNAVAILABLE, and the engines stay."""
    with Users(installed) as users:
        users.steady(24, 50)
        users.grow(3)
        before = installed.replicas()
        installed.give_token("revoked")
        pod = installed.gateways()[0]["metadata"]["name"]
        installed.kubectl("delete", "pod", pod, "--grace-period=0", "--force")
        eventually(lambda: installed.gateways() and installed.asks_keda().get("code") == UNAVAILABLE,
                   lambda: installed.tell("UNAVAILABLE"))
        assert installed.metrics().all("penstock_scaler_replicas", kind="desired") == []
        end = time.monotonic() + 8  # KEDA and the HPA ask every 2 s
        low = lowest_while(installed, lambda: time.monotonic() < end, "the time of no answer")
        assert installed.asks_keda().get("code") == UNAVAILABLE
        installed.give_token()
        first = len(users.first)
        low = min(low, lowest_while(installed, lambda: len(users.first) < first + 30, "it serves again"))
        assert low >= before, f"{before} became {low}"
    assert len(users.problems) <= 24, users.problems[:5]  # those that it was killed with


def test_rolling_update_of_the_gateway_under_load(cluster, installed):
    """Two at once for the length of a drain: replicas are not reduced, streams end whole, slots are not doubled."""
    with Users(installed) as users:
        users.steady(24, 60)
        users.grow(2)
        for _ in range(3):
            users.stream(400)
        before, held = installed.replicas(), []
        rolling = rollout(installed, "penstock")

        def going():
            for stats in map(installed.stats, installed.ready_engines()):
                held.append((stats or {}).get("running", 0) + (stats or {}).get("waiting", 0))
            return rolling.poll() is None or len(installed.pods("gateway")) > 1
        low = lowest_while(installed, going, "the rollout")
        assert rolling.returncode == 0 and low >= before, f"{before} became {low}"
        # Both have more waiting than there are slots. Where the old one has all four, the new one has the one that keeps it
        # from starving; what it sees is a second old, in which the old one may have taken another: seldom more than that.
        assert len([h for h in held if h > 6]) * 10 <= len(held), sorted(held)
    assert users.problems == []


def test_rolling_update_of_engines_under_load(cluster, installed):
    with Users(installed) as users:
        users.steady(16, 40)
        users.grow(2)
        old = {p["metadata"]["name"] for p in installed.engines()}
        rolling = rollout(installed, "penstock-chat")
        assert rolling.wait(120) == 0
        assert not old & {p["metadata"]["name"] for p in installed.engines()}
    assert users.problems == []


def test_eviction(cluster, installed):
    """A pod that is evicted is drained at once and replaced; its streams end whole."""
    with Users(installed) as users:
        users.steady(16, 60)
        users.grow(2)
        name = installed.ready_engines()[0]["metadata"]["name"]
        evict = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": installed.namespace}}
        installed.kubectl("create", "--raw", f"/api/v1/namespaces/{installed.namespace}/pods/{name}/eviction", "-f", "-",
                          text=json.dumps(evict))
        eventually(lambda: name not in [p["metadata"]["name"] for p in installed.pods("engine")],
                   lambda: installed.tell("it left"))
    assert users.problems == []
    assert [line for line in cluster.runner.lines if name in line][-1].endswith("preStop finished")


def test_crash_looping_pod(cluster, installed):
    """Engines that die again and again cost what they had begun, and add no replica after replica."""
    with Users(installed) as users:
        users.steady(24, 50)
        users.grow(3)
        before = most = installed.replicas()
        crashes = 0
        while crashes < 2:
            victim = min(installed.ready_engines(), key=lambda p: -restarts(p))
            name, had = victim["metadata"]["name"], restarts(victim)
            try:
                fetch((address(victim), ENGINE_PORT), "POST", "/fault", body=json.dumps({"set": ["worker-dies"]}))
            except OSError:
                continue  # it was just ended

            def over():
                nonlocal most
                most = max(most, installed.replicas())
                pod = installed.get("pods", name)
                return pod is None or restarts(pod) > had and is_ready(pod)
            eventually(over, lambda: installed.tell(f"{name} comes back, or goes"))
            crashes += 1
        assert most <= before + 2, f"{before} became {most}"
    assert [p for p in users.problems if "broken stream" not in p] == []  # before the first byte nothing is lost


def test_gpus_exhausted(cluster, installed):
    """More is wanted than the node has: pods stay Pending, nothing is lost, and fewer are wanted again after."""
    with Users(installed) as users:
        for _ in range(4):  # what an answer takes is known then
            users.stream(50)
        eventually(lambda: users.done == 4, lambda: installed.tell("answers"))
        users.burst(800, 50)
        eventually(lambda: any(c.get("reason") == "Unschedulable" for p in installed.engines()
                               for c in p["status"].get("conditions", [])), lambda: installed.tell("a pod without a GPU"))
        most = installed.replicas()
    assert users.problems == []
    installed.until_replicas(lambda n: n < most - 1, "fewer again", 180)
