"""The whole loop on a real control plane: load, gateway, backlog, external scaler, KEDA, HPA, Deployment, engines
with a cold start, found by their pods, served, drained and gone. Nothing of ours and nothing of theirs is stubbed."""
import json

from cluster import eventually
from installation import COST
from users import Users


def cost(pod):
    return COST in pod["metadata"].get("annotations", {})


def name(pod):
    return pod["metadata"]["name"]


def names(pods):
    return {name(p) for p in pods}


def said_of(cluster, pods):
    """What the kubelet said of pods that end."""
    return [line for line in cluster.runner.lines if any(p in line for p in pods)]


def test_zero_to_one_by_push(cluster, installed):
    """At zero replicas one request is enough: pushed, served after the cold start, nothing refused."""
    installed.settled(0)
    with Users(installed) as users:
        users.stream(100)
        installed.until_replicas(lambda n: n == 1, "one replica")
    assert users.problems == []


def test_from_one_to_the_number_decided_in_one_step(cluster, installed):
    """What the HPA sets is what was decided: no doubling, no 4 pods in 15 s, which are its own policies."""
    decided, seen = set(), []
    with Users(installed) as users:
        for _ in range(4):  # what an answer takes is known then
            users.stream(100)
        eventually(lambda: users.done == 4, lambda: installed.tell("answers"))
        seen.append(installed.replicas())
        users.burst(240, 100)

        def jumped():
            decided.add(int(installed.metrics().sum("scaler_replicas", kind="desired")))
            if installed.replicas() != seen[-1]:
                seen.append(installed.replicas())
            return any(after - before > max(4, before) for before, after in zip(seen, seen[1:]))
        eventually(jumped, lambda: installed.tell(f"more replicas: {seen}\n{installed.explain()}"))
        assert set(seen[1:]) <= decided, f"{seen}, decided {decided}"
    assert users.problems == []


def test_scale_in_under_long_streams(cluster, installed):
    """The victims are those that the scaler chose; streams of 40 s end whole; every preStop finishes."""
    with Users(installed) as users:
        users.burst(160, 100)
        installed.until_replicas(lambda n: n >= 6, "a burst's replicas")
        installed.until_ready(6)
        for _ in range(8):  # before the burst ends: on as many engines as there are
            users.stream(2000, "high")
        eventually(lambda: installed.metrics().sum("inflight_requests", **{"class": "high"}) == 8,
                   lambda: installed.tell("8 long streams"))
        peak, marked, busy, left = names(installed.ready_engines()), set(), set(), set()

        def a_busy_one_left():
            going = [p for p in installed.pods("engine") if cost(p)]
            marked.update(names(going))
            busy.update(name(p) for p in going if (installed.stats(p) or {}).get("running"))
            left.update(peak - names(installed.engines()))
            return left & busy
        eventually(a_busy_one_left, lambda: installed.tell(f"fewer engines\n{installed.explain()}"))
        assert left <= marked, f"left {left}, marked {marked}"
    assert users.problems == []
    eventually(lambda: not left & names(installed.pods("engine")), lambda: installed.tell(f"the end of {left}"))
    said = said_of(cluster, left)
    assert len([s for s in said if "preStop finished" in s]) == len(left) == len(said), said


def test_another_left_than_the_victim(cluster, installed):
    """Kubernetes ends pods that it thinks unready before those that are marked: then a marked one stays, and serves."""
    with Users(installed) as users:
        if len(installed.ready_engines()) < 3:
            for _ in range(80):
                users.stream(100)
            installed.until_ready(3)
            users.started(80)
        begun = len(users.first)
        users.stream(1000)  # whoever has it is no victim
        users.started(begun + 1)
        unready = next(p for p in installed.ready_engines() if (installed.stats(p) or {}).get("running"))
        condition = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        installed.kubectl("patch", "pod", name(unready), "--subresource=status", "-p", json.dumps(condition))
        marked = set()

        def left():
            marked.update(names(p for p in installed.pods("engine") if cost(p)))
            return name(unready) not in names(installed.engines())
        eventually(left, lambda: installed.tell(f"the unready one leaves first\n{installed.explain()}"))
        stay = names(installed.engines())
        assert name(unready) not in marked and marked & stay, f"{name(unready)} left, marked {marked}, there are {stay}"

        def undrained():
            there = installed.engines()
            going = {r["name"] for r in installed.state()["replicas"] if r["state"] == "draining"}
            return not going & names(there) and not any(cost(p) for p in there)
        eventually(undrained, lambda: installed.tell("who was drained and stays is used again"))
        users.stream(100)
    assert users.problems == []
