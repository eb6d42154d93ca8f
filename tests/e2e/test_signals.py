"""What engines and others say of a pool: it corrects and it forbids; that it is missing is never zero."""
import json
import os
import threading
import time

import pytest

from harness import config, prometheus, wire
from harness.process import BINARY
from harness.place import HOST
from harness.engine import reserved_port
from harness.prometheus import Page, Prometheus
from harness.waiting import eventually

needs_prometheus = pytest.mark.skipif(prometheus.MISSING is not None, reason=str(prometheus.MISSING))

SOON = {"min": 1, "max": 4, "start_time": "1s", "warm_time": "1s", "in_after": "1s", "drain_deadline": "2s",
        "start_timeout": "30s", "stale_after": "3s"}


QUICK = ("--mode", "slot", "--service", "10ms")


def busy(*values):
    return "".join(f'DCGM_FI_DEV_GPU_UTIL{{gpu="{i}",UUID="GPU-{i}",device="nvidia{i}",'
                   f'modelName="NVIDIA H100 80GB HBM3",Hostname="node-1"}} {v}\n'
                   f'DCGM_FI_DEV_FB_USED{{gpu="{i}"}} 60000\nDCGM_FI_DEV_FB_FREE{{gpu="{i}"}} 20000\n'
                   for i, v in enumerate(values))


@pytest.fixture
def page():
    made = []

    def make(text=""):
        made.append(Page(text))
        return made[-1]

    yield make
    for p in made:
        p.close()


@pytest.fixture
def server(tmp_path):
    made = []

    def make(*args, **keys):
        made.append(Prometheus(tmp_path / f"prometheus{len(made)}", *args, **keys))
        return made[-1]

    yield make
    for p in made:
        p.kill()


@pytest.fixture
def two(gateway, upstream):
    """Two replicas of which one is enough: only a veto keeps the number at two."""
    def make(signals, scaler=None, **more):
        replicas = [upstream(lambda call: call.answer()) for _ in range(2)]
        pool = config.pool(replicas, scaler={**SOON, **(scaler or {})}, signals=signals)
        return gateway(pools=[pool], ready=2, **more)
    return make


def last(gw):
    status, _, body = gw.admin("GET", "/explain?pool=chat&decisions=1", {"Accept": "application/json"})
    assert status == 200, body
    kept = json.loads(body)["pools"][0]["decisions"]
    return kept[0] if kept else {"desired": None, "vetoes": None}


def wait_decided(gw, desired, *vetoes):
    eventually(lambda: last(gw)["desired"] == desired and sorted(last(gw)["vetoes"]) == sorted(vetoes),
               lambda: f"{desired} by {vetoes}: {last(gw)}\n{gw.process.output()}", 60)


# engines

def test_an_engine_that_sleeps_says_so_and_that_it_woke(gateway, engine):
    """Its /health says 200 all along, and nobody sends it anything: only its metrics know."""
    e = engine(*QUICK)
    gw = gateway(pools=[config.pool([e], engine="vllm", signals={"engine": "500ms"})], ready=1)
    e.fault(set=["asleep"])
    eventually(lambda: gw.ready() == 0, gw.process.output)
    e.fault(clear=["asleep"])
    gw.wait_ready(1)
    assert gw.ask().status == 200


@pytest.mark.parametrize("like", ["vllm", "llamacpp"])
def test_metrics_that_are_no_numbers_stop_nothing(gateway, engine, like):
    e = engine(*QUICK, like=like)
    gw = gateway(pools=[config.pool([e], engine=like, signals={"engine": "500ms"})], ready=1)
    e.fault(set=["nan-metrics"])
    for _ in range(5):
        assert gw.together(4, lambda i: gw.ask().status) == [200] * 4
    e.fault(clear=["nan-metrics"])
    assert gw.ask().status == 200
    assert gw.ready() == 1 and set(gw.outcomes()) == {("done", "none")}


@pytest.mark.parametrize("page,why", [
    ((404, b"no such page"), "an error status"),
    ((200, b""), "a page without a name that is known"),
    ((200, b"<html>\n"), "a page that breaks its format"),
    ((200, b"vllm:num_requests_running 3\nvllm:num_requests_wai"), "a page that breaks its format"),
    ((200, b"up 1\n"), "a page without a name that is known"),
])
def test_a_page_that_says_nothing_stops_nothing(gateway, upstream, page, why):
    u = upstream(lambda call: call.answer())
    u.health = page if page[0] == 200 else u.health
    pages = {"engine": "500ms", "engine_path": "/metrics"} if page[0] == 200 else \
        {"engine": "500ms", "engine_path": "/v1/models"}
    if page[0] != 200:
        u.listed = page
    gw = gateway(pools=[config.pool([u], engine="vllm", signals=pages)], ready=1)
    gw.process.wait_line(lambda line: f"its metrics cannot be read: {why}" in line)
    for _ in range(3):
        assert gw.ask().status == 200
    assert sum(why in line for line in gw.process.lines) == 1, "it is said once"
    assert gw.ready() == 1


def test_what_others_run_on_an_engine_takes_our_slots(gateway, upstream):
    """Four slots, and others run more than that: we send one at a time, until they have left."""
    u = upstream()
    u.health = (200, b"vllm:num_requests_running 9.0\nvllm:num_requests_waiting 0.0\n")
    gw = gateway(pools=[config.pool([u], engine="vllm", signals={"engine": "500ms"})], ready=1)
    eventually(lambda: u.probes.count(("GET", "/metrics")) >= 2, lambda: str(u.probes))
    clients = [gw.client() for _ in range(4)]
    for c in clients:
        c.request(wire.post())
    first = u.take()
    gw.wait_inflight(1)
    gw.wait_queued(3)
    u.health = (200, b"vllm:num_requests_running 1.0\nvllm:num_requests_waiting 0.0\n")
    gw.wait_inflight(4)
    for call in (first, u.take(), u.take(), u.take()):
        call.answer()
    for c in clients:
        assert c.read().status == 200
        c.close()


def test_b082_a_counter_that_begins_anew_is_a_restart_and_no_zero(gateway, engine):
    e = engine(*QUICK)
    gw = gateway(pools=[config.pool([e], engine="vllm", signals={"engine": "500ms"})], ready=1)
    for _ in range(10):
        assert gw.ask().status == 200
    e.kill()
    e.start()
    eventually(lambda: gw.ask().status == 200, gw.process.output)
    gw.wait_ready(1)
    assert set(gw.outcomes()) == {("done", "none")}


# others

def test_gpus_of_an_exporter_forbid_and_their_silence_holds(two, page):
    dcgm = page(busy(80, 60))
    gw = two({"dcgm": dcgm.url, "every": "1s"}, {"gpu_guard": 0.5})
    wait_decided(gw, 2, "gpu")
    assert last(gw)["inputs"]["gpu_memory"]["value"] == 0.75  # for people: it forbids nothing
    dcgm.text = busy(80, "NaN")
    wait_decided(gw, 2, "stale")
    dcgm.text = busy(80, 60)
    wait_decided(gw, 2, "gpu")
    dcgm.status = 503
    wait_decided(gw, 2, "stale")
    dcgm.status, dcgm.text = 200, busy(10, 30)
    wait_decided(gw, 1)
    said = [line for line in gw.process.lines if "signal gpu is" in line]
    assert len(said) == 4 and "a GPU does not say" in said[0] and "status 503" in said[2], said


@needs_prometheus
def test_b073_an_empty_answer_of_prometheus_holds(two, page, server):
    measured = page("busy 0.9\n")
    prom = server([measured])
    gw = two({"every": "1s", "prometheus": {"server": prom.url, "queries": {"gpu": "max(busy)"}}},
             {"gpu_guard": 0.5})
    wait_decided(gw, 2, "gpu")
    measured.text = "up_and_well 1\n"  # the target answers, and does not know it any more
    wait_decided(gw, 2, "stale")
    assert any("an empty answer" in line for line in gw.process.lines)
    measured.text = 'busy{gpu="0"} 0.9\n'
    wait_decided(gw, 2, "gpu")
    measured.text = "busy NaN\n"
    wait_decided(gw, 2, "stale")
    measured.text = "busy 0.1\n"
    wait_decided(gw, 1)


@needs_prometheus
def test_b083_a_prometheus_that_is_down_at_the_peak(gateway, engine, page, server):
    """What is needed is decided without it, and nothing is taken away until it is back."""
    measured = page("errors 0.2\n")
    prom = server([measured])
    replicas = [engine("--mode", "slot", "--slots", "1", "--service", "300ms") for _ in range(2)]
    signals = {"engine": "off", "every": "1s", "prometheus": {"server": prom.url, "queries": {"errors": "errors"}}}
    gw = gateway(pools=[config.pool(replicas, slots=1, signals=signals,
                                    scaler={**SOON, "out_above": "500ms", "in_below": "200ms"})], ready=2)
    wait_decided(gw, 2, "guard")
    prom.kill()
    wait_decided(gw, 2, "guard", "stale")
    over = threading.Event()

    def ask(_):
        with gw.client() as c:
            while not over.is_set():
                assert c.ask().status == 200

    def until_more():
        try:
            eventually(lambda: (last(gw)["desired"] or 0) > 2, lambda: str(last(gw)), 60)
        finally:
            over.set()

    gw.together(17, lambda i: ask(i) if i else until_more())
    assert set(gw.outcomes()) == {("done", "none")}
    eventually(lambda: last(gw)["desired"] == 2 and "stale" in last(gw)["vetoes"], lambda: str(last(gw)), 60)
    measured.text = "errors 0\n"
    prom.start()
    wait_decided(gw, 1)


@needs_prometheus
def test_a_token_and_a_program_are_the_keepers(two, server, page, tmp_path):
    """The process that parses requests asks nobody; what the other one hears, it is told."""
    measured = page(json.dumps({"status": "success", "data": {
        "resultType": "scalar", "result": [4102444800, "1"]}}))
    token = tmp_path / "token"
    token.write_text("sesam\n")
    gw = two({"every": "1s", "prometheus": {"server": measured.url.removesuffix("/metrics"),
                                            "token_file": str(token), "queries": {"rollout": "busy"}}})
    wait_decided(gw, 2, "rollout")
    assert {h.get("Authorization") for h in measured.heads} == {"Bearer sesam"}
    token.write_text("sesam, open\n".replace(", ", "-"))
    eventually(lambda: measured.heads[-1]["Authorization"] == "Bearer sesam-open", lambda: str(measured.heads[-1]))
    assert not any("sesam" in line for line in gw.process.lines)


SMI = """#!/bin/sh
# What the driver's program prints, on a machine without one.
cat {list}
"""


def test_nvidia_smi_where_there_is_one(gateway, tmp_path):
    """Of the four GPUs of the host two are the pool's; when one of them does not say, nothing is known."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program, gpus = folder / "nvidia-smi", tmp_path / "gpus"
    gpus.write_text("0, 100\n1, 70\n2, 50\n3, 100\n")
    program.write_text(SMI.format(list=gpus))
    program.chmod(0o755)
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    command = [str(BINARY), "engine", "--listen", f"{HOST}:{{port}}", "--model", "m", "--mode", "slot",
               "--slots", "4", "--service", "10ms"]
    first = reserved_port()
    pool = config.pool((), scaler={**SOON, "min": 1, "max": 2, "gpu_guard": 0.5, "cron": [
        {"from": "* * * * *", "until": "0 0 1 1 *", "replicas": 2}]}, signals={"every": "1s"})
    pool["replicas"] = {"local": {"command": command, "host": HOST, "ports": f"{first}-{first + 3}", "gpus": [1, 2]}}
    gw = gateway(pools=[pool], state=str(state), ready=2, env={"PATH": f"{folder}:{os.environ['PATH']}"})
    pool["scaler"].pop("cron")
    whole = dict(gw.config, pools=[pool])
    gw.reload(whole)
    wait_decided(gw, 2, "gpu")
    gpus.write_text("0, 0\n1, 0\n2, [N/A]\n3, 0\n")
    wait_decided(gw, 2, "stale")
    gpus.write_text("0, 100\n1, 0\n2, 40\n3, 100\n")
    wait_decided(gw, 1)


@needs_prometheus
def test_a_month_of_the_past_is_a_floor_now(gateway, upstream, server):
    """Four weeks in which this hour needed three, from a Prometheus that has kept them."""
    now = int(time.time()) // 300 * 300
    lines = ["# TYPE wanted gauge"]
    for week in range(4, 0, -1):
        for step in range(-24, 25):  # two hours before and after
            lines.append(f"wanted 3 {now - week * 7 * 86400 + step * 300}")
    prom = server(past="\n".join([*lines, "# EOF", ""]))
    pool = config.pool([upstream(lambda call: call.answer())], signals={"every": "1s", "prometheus": {"server": prom.url}},
                       scaler={**SOON, "profile": {"from": "prometheus", "query": "max(wanted)", "weeks": 4}})
    gw = gateway(pools=[pool], ready=1)
    eventually(lambda: last(gw)["desired"] == 3, lambda: f"{last(gw)}\n{gw.process.output()}", 60)
    assert last(gw)["winner"] == "profile"
