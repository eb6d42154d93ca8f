"""Replicas that are pods, as an API server tells of them. A real cluster is in tests/real."""
import os
import signal
from pathlib import Path

import pytest
from harness import config
from harness.apiserver import ApiServer
from harness.place import HOST
from harness.waiting import eventually
from harness.wire import chat, post

NETWORK = HOST.rsplit(".", 1)[0]


@pytest.fixture
def api(tmp_path):
    server = ApiServer(tmp_path)
    yield server
    server.close()


@pytest.fixture
def engines(upstream):
    """Three replicas on one port, each at an address of its own; the tests answer."""
    first = upstream(host=f"{NETWORK}.211")
    return [first] + [upstream(host=f"{NETWORK}.{n}", port=first.port) for n in (212, 213)]


def watching(gateway, api, engines, ca_file=None, **pool_keys):
    """A gateway that follows the pods that there are."""
    pool = config.pool([], **pool_keys)
    pool["replicas"] = {"kubernetes": {
        "namespace": "llm", "selector": "app=m", "port": engines[0].port, "server": api.url,
        "token_file": str(api.token_file), "ca_file": str(ca_file or api.ca_file)}}
    return gateway(ready=0 if ca_file else len(api.pods), pools=[pool])


def add(api, name, engine, **more):
    api.add(name, engine.host, engine.port, **more)


def replicas(gw):
    return {r["name"]: r["state"] for r in gw.state()["replicas"] if r["state"] != "gone"}


def until(gw, expected):
    eventually(lambda: replicas(gw) == expected, lambda: f"{expected}: {replicas(gw)}\n{gw.process.output()}")


def served_by(gw, engine):
    """One request, which this engine must get."""
    with gw.client() as client:
        client.request(post())
        engine.take().answer()
        assert client.read().status == 200


def test_come_drain_and_go(gateway, api, engines):
    one, two, _ = engines
    add(api, "m-1", one)
    gw = watching(gateway, api, engines)
    client = gw.client()
    client.request(post(body=chat(stream=True)))
    call = one.take()
    call.stream_head().token("t0")
    add(api, "m-2", two)
    until(gw, {"m-1": "ready", "m-2": "ready"})
    api.end("m-1", grace=300)
    until(gw, {"m-1": "draining", "m-2": "ready"})
    for _ in range(4):
        served_by(gw, two)
    call.token("t1").stream_end()  # what runs there ends there
    assert client.read().clean
    client.close()
    api.remove("m-1")
    until(gw, {"m-2": "ready"})
    assert gw.outcomes() == {("done", "none"): 5}


def test_a_pod_that_says_it_crashed(gateway, api, engines):
    """No connection breaks: the pod's word is enough."""
    one, two, _ = engines
    add(api, "m-1", one)
    gw = watching(gateway, api, engines)
    with gw.client() as client:
        client.request(post())
        lost = one.take()
        add(api, "m-2", two)
        until(gw, {"m-1": "ready", "m-2": "ready"})

        def restart(pod):
            pod["status"]["containerStatuses"][0].update(restartCount=1, containerID="x://2")

        api.change("m-1", restart)
        two.take().answer()
        assert client.read().status == 200
        lost.finished.set()
    until(gw, {"m-1": "ready", "m-2": "ready"})  # the next process answered its probe
    assert gw.outcomes() == {("done", "none"): 1}


def test_b104_what_nobody_saw(gateway, api, engines):
    """The API server is away, and its past with it: what went meanwhile is found out, what is there stays."""
    one, two, three = engines
    add(api, "m-1", one)
    add(api, "m-2", two)
    gw = watching(gateway, api, engines)
    api.stop()
    gw.process.wait_line(lambda line: "the 2 that are known stay" in line)
    assert replicas(gw) == {"m-1": "ready", "m-2": "ready"}
    with gw.client() as client:  # and work goes on
        client.request(post())
        eventually(lambda: one.calls or two.calls, "a call")
        (one if one.calls else two).take().answer()
        assert client.read().status == 200
    api.remove("m-1")
    add(api, "m-3", three, hash="two")
    api.compact()
    api.start()
    until(gw, {"m-2": "ready", "m-3": "ready"})
    gw.process.wait_line(lambda line: "answers again" in line)
    add(api, "m-4", one, hash="two")  # and the watch goes on
    until(gw, {"m-2": "ready", "m-3": "ready", "m-4": "ready"})


def test_a_token_rotates(gateway, api, engines):
    one, two, three = engines
    add(api, "m-1", one)
    gw = watching(gateway, api, engines)
    api.rotate("token-2")
    api.cut_watches()
    add(api, "m-2", two)
    until(gw, {"m-1": "ready", "m-2": "ready"})
    api.rotate("token-3", tell=False)  # refused, until its file says so too
    api.cut_watches()
    gw.process.wait_line(lambda line: "401" in line and "the 2 that are known stay" in line)
    add(api, "m-3", three)
    assert replicas(gw) == {"m-1": "ready", "m-2": "ready"}
    api.rotate("token-3")
    until(gw, {"m-1": "ready", "m-2": "ready", "m-3": "ready"})
    for token in (api.FIRST, "token-2", "token-3"):
        assert token not in gw.process.output()


def test_marks_of_a_gateway_that_crashed(gateway, api, engines):
    """Who was to leave was its to know: the keeper takes that back, and the next gateway begins with all of them."""
    for name, engine in (("m-1", engines[0]), ("m-2", engines[1])):
        add(api, name, engine)
    gw = watching(gateway, api, engines, scaler={"min": 1, "max": 2, "start_time": "1s", "in_after": "1s", "drain_deadline": "1s"})
    eventually(lambda: api.patches, lambda: f"a mark: {gw.process.output()}")
    (marked, _), = api.patches
    until(gw, {name: "draining" if name == marked else "ready" for name in ("m-1", "m-2")})
    keeper = gw.process.pid
    child, = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    eventually(lambda: len(api.patches) > 1, lambda: f"it is taken back: {gw.process.output()}")
    name, body = api.patches[1]
    assert name == marked and list(body["metadata"]["annotations"].values()) == [None]
    assert gw.stop() == 0


def test_a_server_that_is_not_the_cluster_s(gateway, api, engines, tmp_path):
    """Its certificate is of another authority: it is told nothing, the token least of all."""
    other = tmp_path / "other"
    other.mkdir()
    impostor = ApiServer(other)
    add(impostor, "m-1", engines[0])
    gw = watching(gateway, impostor, engines, ca_file=api.ca_file)
    gw.process.wait_line(lambda line: "pods: list:" in line and "certificate" in line)
    assert replicas(gw) == {}
    assert not impostor.requests
    impostor.close()
