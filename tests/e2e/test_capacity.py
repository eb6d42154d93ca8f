"""Replicas that come with load and go without it: engines of this host, started and stopped by the program."""
import json
import os
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from harness import config
from harness.engine import reserved_port
from harness.pages import fetch
from harness.place import HOST
from harness.process import BINARY
from harness.waiting import eventually

SLOTS = 2
QUICK = {"start_time": "1s", "warm_time": "200ms", "in_after": "1s", "drain_deadline": "5s", "start_timeout": "30s"}


def ports(count=4):
    """A range of free ports: the first is reserved by the system's choice, the others are its neighbours."""
    first = reserved_port()
    return f"{first}-{first + count - 1}"


@pytest.fixture
def ended():
    """Gateways whose engines must not outlive the test, also where it failed."""
    gateways = []
    yield gateways
    for line in (line for gw in gateways for line in gw.process.lines):
        started = re.search(r"started \(pid (\d+),", line)
        if started and is_engine(started[1]):
            os.kill(int(started[1]), signal.SIGKILL)


def is_engine(pid):
    try:
        return "--listen" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


@pytest.fixture
def local(ended, gateway, tmp_path):
    """local(scaler keys, engine options): a gateway whose replicas are its own engines."""
    def make(scaler, *options, ready=None, **pool):
        state = tmp_path / "state"
        state.mkdir(mode=0o700, exist_ok=True)
        command = [str(BINARY), "engine", "--listen", f"{HOST}:{{port}}", "--model", "m", "--mode", "slot",
                   "--slots", str(SLOTS), *options]
        chat_pool = config.pool((), slots=SLOTS, scaler={**QUICK, **scaler}, **pool)
        chat_pool["replicas"] = {"local": {"command": command, "host": HOST, "ports": ports()}}
        made = gateway(pools=[chat_pool], state=str(state), decision_log=str(tmp_path / "decisions.log"),
                       record=str(tmp_path / "recording"), ready=scaler["min"] if ready is None else ready)
        ended.append(made)
        return made
    return make


class Load:
    """So many clients, each asking again as soon as it was answered, until told to stop."""

    def __init__(self, gateway, clients):
        self.statuses = []
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.ask, args=(gateway,), daemon=True) for _ in range(clients)]
        for t in self.threads:
            t.start()

    def ask(self, gateway):
        with gateway.client() as c:
            while not self.over.is_set():
                self.statuses.append(c.ask().status)

    def stop(self):
        self.over.set()
        for t in self.threads:
            t.join(60)
            assert not t.is_alive(), "a client hangs"
        assert set(self.statuses) == {200}, self.statuses


def decisions(gateway, count=256):
    status, _, body = gateway.admin("GET", f"/explain?pool=chat&decisions={count}", {"Accept": "application/json"})
    assert status == 200, body
    return json.loads(body)["pools"][0]["decisions"]


def explained(gateway):
    return gateway.admin("GET", "/explain?pool=chat&decisions=5")[2].decode()


def wait_ready(gateway, count, guard_s=60):
    eventually(lambda: gateway.ready() == count,
               lambda: f"{count} ready:\n{explained(gateway)}\n{gateway.process.output()}", guard_s)


def replicas(gateway):
    return {r["name"]: r for r in gateway.state()["replicas"]}


def test_load_brings_replicas_and_its_end_lets_them_go(local):
    gw = local({"min": 1, "max": 3}, "--service", "200ms")
    load = Load(gw, 3 * SLOTS)
    wait_ready(gw, 3)
    served = {name: r["url"] for name, r in replicas(gw).items()}
    eventually(lambda: all(r["dispatched"] > 0 for r in replicas(gw).values()), "each of them serves")
    load.stop()
    wait_ready(gw, 1)
    eventually(lambda: len(replicas(gw)) == 1, lambda: str(replicas(gw)))
    gone = set(served) - set(replicas(gw))
    assert len(gone) == 2
    assert gw.outcomes() == {("done", "none"): len(load.statuses)}
    for name in gone:  # drained first, and then stopped
        said = [line for line in gw.process.lines if f"{name}" in line]
        order = [next(i for i, line in enumerate(said) if word in line)
                 for word in ("started", "ready, was loading", "draining, was ready", "gone, was draining")]
        assert order == sorted(order), said

    kept = decisions(gw)
    assert [d["pool"] for d in kept] == ["chat"] * len(kept)
    numbers = [d["desired"] for d in reversed(kept)]
    assert numbers[0] == 1 and max(numbers) == 3 and numbers[-1] == 1
    for d in kept:  # the number follows from the terms, unless a veto says why it does not
        assert d["terms"][d["winner"]] == max(d["terms"].values())
        assert d["desired"] == max(d["terms"].values()) or d["vetoes"], d
    log = [json.loads(line) for line in (gw.folder.parent / "decisions.log").read_text().splitlines()]
    assert [d["desired"] for d in log] == numbers
    m = gw.metrics()
    assert m.sum("scaler_decisions_total") == len(kept)
    assert m.sum("scaler_replicas", kind="desired") == 1
    assert m.sum("replica_seconds_total", state="ready") > 0


def test_a_first_request_wakes_an_empty_pool(local):
    gw = local({"min": 0, "max": 2}, "--service", "10ms", "--cold-start", "300ms")
    assert replicas(gw) == {}
    assert gw.ask().status == 200
    assert len(replicas(gw)) == 1
    wait_ready(gw, 0)  # and goes, once nothing came for in_after
    eventually(lambda: replicas(gw) == {}, lambda: str(replicas(gw)))
    assert gw.ask().status == 200


def test_a_warm_replica_is_promoted(local):
    gw = local({"min": 1, "max": 2, "warm": 1}, "--service", "200ms", "--cold-start", "500ms")
    eventually(lambda: gw.metrics().sum("replica_state", state="warm") == 1, lambda: str(replicas(gw)))
    warm = next(name for name, r in replicas(gw).items() if r["state"] == "warm")
    load = Load(gw, 2 * SLOTS)
    eventually(lambda: replicas(gw)[warm]["state"] == "ready", lambda: explained(gw), 60)
    eventually(lambda: replicas(gw)[warm]["dispatched"] > 0, "it serves")
    # Its place is filled again.
    eventually(lambda: gw.metrics().sum("replica_state", state="warm") == 1, lambda: str(replicas(gw)), 60)
    load.stop()


def test_an_engine_that_crashes_is_replaced(local, tmp_path):
    """And all that gate and scaler said of it is said again by its recording."""
    gw = local({"min": 2, "max": 3}, "--service", "50ms")
    load = Load(gw, SLOTS)
    name = next(iter(replicas(gw)))
    pid = next(int(line.split("(pid ")[1].split(",")[0]) for line in gw.process.lines
               if f"{name} started (pid" in line)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: name not in replicas(gw), lambda: str(replicas(gw)))
    wait_ready(gw, 2)
    load.stop()  # a request that died before its first byte ran elsewhere
    gw.check_quiet()
    assert gw.stop() == 0
    done = subprocess.run([BINARY, "sim", "--replay", tmp_path / "recording", "--json"], capture_output=True,
                          text=True, timeout=60)
    replayed = json.loads(done.stdout)
    assert done.returncode == 0 and replayed["identical"] and not replayed["cut"], done
    assert replayed["events"] > 0 and replayed["scaler_events"] > 0 and replayed["scaler_actions"] >= 3


def test_a_reload_goes_through_the_keeper(local):
    gw = local({"min": 1, "max": 3}, "--service", "50ms")
    gw.config["pools"][0]["scaler"]["min"] = 2
    gw.reload(gw.config)
    wait_ready(gw, 2)
    gw.config["pools"][0]["slots"] = "many"
    gw.write(gw.config)
    status, _, body = gw.admin("POST", "/reload")
    assert status == 409 and b"slots" in body, body
    gw.config["pools"][0].update(slots=SLOTS, scaler={**QUICK, "min": 3, "max": 3})
    gw.write(gw.config)
    assert gw.admin("POST", "/reload")[0] == 200
    wait_ready(gw, 3)
    assert gw.ask().status == 200


def test_explain_answers_on_the_command_line(gateway, engine):
    gw = gateway([engine()])
    address = "{}:{}".format(*gw.ports["admin"])

    def explain(*options):
        done = subprocess.run([BINARY, "explain", "--admin", address, *options], capture_output=True, text=True,
                              timeout=30)
        return done.returncode, done.stdout, done.stderr

    eventually(lambda: decisions(gw), "a decision")
    code, out, _ = explain("--pool", "chat", "--decisions", "1")
    assert code == 0 and "acts: nobody; this is advice" in out and "s ago: 1, was 1, by min" in out
    code, out, _ = explain("--json", "--decisions", "1")
    assert code == 0 and json.loads(out)["pools"][0]["decisions"][0]["winner"] == "min"
    code, out, err = explain("--pool", "nobody")
    assert code == 1 and out == "" and "no such pool" in err
    assert explain("--decisions", "x")[0] == 2
    assert explain("word")[0] == 2


def test_the_decision_log_is_opened_again_after_rotation(gateway, engine, tmp_path):
    log = tmp_path / "logs" / "decisions.log"
    log.parent.mkdir()
    gw = gateway([engine()], decision_log=str(log))
    eventually(lambda: log.read_text(), "a decision")
    log.rename(log.with_suffix(".1"))
    gw.process.send(signal.SIGUSR1)
    eventually(log.exists, "opened again")
    kept = [json.loads(line) for line in log.with_suffix(".1").read_text().splitlines()]
    assert kept[0]["pool"] == "chat" and kept[0]["winner"] == "min"


def test_the_warm_up_is_served_before_the_first_request(gateway, engine):
    """Three prompts of ours, one by one, then the replica is ready: it has seen the probe and them."""
    e = engine()
    gw = gateway([e], pool_keys={"warmup": {"prompts": ["one", "two", "three"], "max_tokens": 2, "timeout": "10s"}})
    before = json.loads(fetch(e.address, "GET", "/stats")[2])["completed"]
    assert before == 1 + 3
    assert gw.ask().status == 200
