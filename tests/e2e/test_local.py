"""replicas.local: engines as processes of this host, through every way in which one of the three can go."""
import collections
import json
import os
import re
import signal
from pathlib import Path

import pytest
from harness import config
from harness.engine import reserved_port
from harness.gateway import Gateway
from harness.pages import fetch
from harness.place import HOST
from harness.process import BINARY
from harness.waiting import eventually

MARKER = "sesam-" + "of-an-engine"
ENGINE = [BINARY, "engine", "--listen", HOST + ":{port}", "--like", "vllm", "--model", "m", "--speed", "20"]
STARTED = re.compile(r"(chat-\d+) started \(pid (\d+), port (\d+)\)")


def range_of_ports(count):
    """So many ports in a row, of which this run's address has no other use."""
    first = 20000 + (reserved_port() * 7) % 20000
    return f"{first}-{first + count - 1}"


class Local(Gateway):
    """A gateway with a keeper: what is known of both, and of the engines."""

    @property
    def keeper(self):
        return self.process.pid

    @property
    def child(self):
        children = Path(f"/proc/{self.keeper}/task/{self.keeper}/children").read_text().split()
        found = [int(c) for c in children if cmdline(int(c))[:2] == ["penstock", "run"]]
        assert len(found) == 1, (children, self.process.output())
        return found[0]

    def kept(self):
        file = self.folder / "state" / "local-chat.json"
        return json.loads(file.read_text())["engines"]

    def engines(self):
        return {e["pid"] for e in self.kept()}

    def started(self):
        return [m[1] for m in map(STARTED.search, self.process.lines) if m]

    def vetoes(self):
        status, _, body = self.admin("GET", "/explain?pool=chat")
        assert status == 200, body
        return body.decode()

    def wait_engines(self, condition, what):
        return eventually(lambda: condition(self.engines()),
                          lambda: f"{what}: {self.kept()}\n{self.process.output()}")


def cmdline(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def runs(pid):
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def asked(g):
    """How many requests its only engine has got."""
    status, _, body = fetch((HOST, g.kept()[0]["port"]), "GET", "/stats")
    assert status == 200, body
    return json.loads(body)["received"]


def settings(folder, command=None, scaler=None, **local):
    ports = {name: f"{HOST}:{reserved_port()}" for name in ("listen", "metrics", "admin")}
    pool = config.pool([], engine="vllm", scaler={"min": 2, "max": 4, **(scaler or {})})
    pool["replicas"] = {"local": {"command": command or ENGINE, "host": HOST, "ports": range_of_ports(8),
                                  "env": {"TOKEN": MARKER}, "stop_timeout": "5s", **local}}
    return config.build(pools=[pool], state=str(folder / "state"), **ports)


@pytest.fixture
def local(tmp_path):
    """local(…): `penstock run` with engines of its own. What it leaves behind is ended."""
    made = []

    def make(ready=2, again=None, **keys):
        folder = again.folder if again else tmp_path / f"local{len(made)}"
        folder.mkdir(exist_ok=True)
        made.append(Local(folder, again.config if again else settings(folder, **keys)))
        if ready is not None:
            made[-1].wait_ready(ready)
        return made[-1]

    yield make
    wrong = []
    for g in made:
        if g.process.running:
            wrong += [] if g.stop() == 0 else [g.process.output()]
    for g in made:
        for pid in g.engines():
            if runs(pid):
                wrong.append(f"engine {pid} is left")
                os.killpg(pid, signal.SIGKILL)
    assert not wrong, "\n".join(wrong)


def test_served_and_stopped(local):
    g = local()
    assert {g.ask().status for _ in range(8)} == {200}
    pids = g.engines()
    assert len(pids) == 2 and all(map(runs, pids))
    g.check_quiet()
    assert g.stop() == 0
    assert not any(map(runs, pids))
    assert g.kept() == []


def test_crashed_engine_is_replaced(local):
    g = local()
    victim, other = sorted(g.engines())
    os.kill(victim, signal.SIGKILL)
    g.wait_engines(lambda pids: victim not in pids and len(pids) == 2, "another one")
    g.wait_ready(2)
    assert other in g.engines()
    assert any("ended by itself: signal 9" in line for line in g.process.lines)
    assert g.ask().status == 200


def test_killed_keeper_leaves_its_engines_to_the_next(local):
    g = local()
    pids, child = g.engines(), g.child
    os.kill(g.keeper, signal.SIGKILL)
    g.process.wait()
    eventually(lambda: not runs(child), "the gateway drains and ends too")
    assert all(map(runs, pids))
    again = local(again=g)
    assert again.engines() == pids
    assert again.started() == []
    assert again.ask().status == 200


def test_killed_gateway_is_started_again_and_told(local):
    g = local()
    pids, first, keeper = g.engines(), g.child, g.keeper
    for _ in range(2):
        child = g.child
        os.kill(child, signal.SIGKILL)
        eventually(lambda: new_child(g, child),
                   lambda: g.process.output())
    assert g.child != first and g.keeper == keeper and g.process.running
    eventually(lambda: answers(g), lambda: g.process.output())
    g.wait_ready(2)
    assert g.engines() == pids and len(g.started()) == 2
    assert g.ask().status == 200


def new_child(g, old):
    try:
        return g.child != old
    except (AssertionError, OSError):
        return False


def answers(g):
    try:
        g.metrics()
        return True
    except OSError:
        return False


def test_kept_at_exit(local):
    g = local(on_exit="keep")
    pids = g.engines()
    assert g.stop() == 0
    assert all(map(runs, pids))
    again = local(again=g)
    assert again.engines() == pids and again.started() == []
    again.config["pools"][0]["replicas"]["local"]["on_exit"] = "stop"
    again.reload(again.config)
    again.process.wait_line(lambda line: "reloaded" in line)
    assert again.stop() == 0
    assert not any(map(runs, pids))


def test_pool_that_is_no_more(local, upstream):
    """Its engines are ended by whoever starts next, also where nothing else needs a keeper."""
    g = local(on_exit="keep")
    pids = g.engines()
    assert g.stop() == 0
    replica = upstream(lambda call: call.answer())
    g.config["pools"][0]["replicas"] = {"static": [replica.url]}
    again = Local(g.folder, g.config)
    try:
        again.wait_ready(1)
        eventually(lambda: not any(map(runs, pids)), lambda: again.process.output())
        eventually(lambda: not (g.folder / "state" / "local-chat.json").exists(), "the file goes too")
        assert again.stop() == 0
    finally:
        again.process.kill()
        (g.folder / "state" / "local-chat.json").write_text('{"engines": []}')  # for the fixture


def test_pool_that_comes_back(local):
    """By a reload: its engines of before are ended, and the file speaks of those of now, also at the end."""
    g = local(on_exit="keep")
    pids = g.engines()
    assert g.stop() == 0
    chat = g.config["pools"][0]
    mine = {"command": [*ENGINE, "--model", "o"], "host": HOST, "ports": range_of_ports(2), "stop_timeout": "5s"}
    other = config.pool([], name="other", models=["o"], engine="vllm", scaler={"min": 1, "max": 1})
    other["replicas"] = {"local": mine}
    again = Local(g.folder, {**g.config, "pools": [other]})
    try:
        again.process.wait_line(lambda line: "chat is no pool of local engines any more" in line)
        again.reload({**g.config, "pools": [other, chat]})
        again.process.wait_line(lambda line: "reloaded" in line)
        again.wait_ready(3)
        kept = again.wait_engines(lambda now: len(now - pids) == 2 and now - pids, "two new ones")
        eventually(lambda: not any(map(runs, pids)), lambda: again.process.output())
        assert again.stop() == 0
        assert again.engines() == kept and all(map(runs, kept))
    finally:
        again.process.kill()
    for pid in kept:
        os.killpg(pid, signal.SIGKILL)
    eventually(lambda: not any(map(runs, kept)), "all have ended")


def test_second_one_on_the_same_state(local):
    g = local()
    pids = g.engines()
    with pytest.raises(AssertionError, match="another penstock uses this folder"):
        Local(g.folder, g.config)
    assert g.engines() == pids and all(map(runs, pids))
    assert g.ask().status == 200


def test_never_ready_engine_is_given_up(local):
    """It runs and never listens: cancelled at the start's time-out, tried again with back-off, never too many."""
    g = local(ready=None, command=["sleep", "600", "{port}"], scaler={"start_timeout": "1s"})
    eventually(lambda: len(g.started()) >= 4, lambda: g.process.output())
    assert len(g.engines()) <= 4
    eventually(lambda: "back_off" in g.vetoes(), lambda: g.vetoes())
    assert any("is not ready after" in line and "(start_timeout: 1.0 s)" in line for line in g.process.lines)


def test_why_an_engine_is_not_ready_is_said_once(local):
    other = ENGINE[:-3] + ["another", *ENGINE[-2:]]
    g = local(ready=None, command=other, scaler={"min": 1, "max": 1})
    g.process.wait_line(lambda line: "replica chat-1: its model's check: status 404" in line)
    before = g.engines()
    eventually(lambda: asked(g) >= 3, lambda: g.process.output())
    assert sum("its model's check" in line for line in g.process.lines) == 1
    assert g.engines() == before


def test_crash_loop_backs_off(local):
    g = local(ready=None, command=["sh", "-c", "exit 3", "{port}"])
    eventually(lambda: "back_off" in g.vetoes(), lambda: f"{g.vetoes()}\n{g.process.output()}")
    names = collections.Counter(g.started())
    assert set(names) <= {"chat-1", "chat-2", "chat-3", "chat-4"}  # of all tries: names, ports and logs stay few
    assert len(g.kept()) <= 4


def test_command_that_is_not_there(local):
    g = local(ready=None, command=["/nowhere/vllm", "serve", "{port}"])
    g.process.wait_line(lambda line: "cannot be started: /nowhere/vllm: No such file or directory" in line)
    eventually(lambda: "back_off" in g.vetoes(), lambda: f"{g.vetoes()}\n{g.process.output()}")
    assert g.engines() == set()


def test_gpus_are_the_quota(local):
    always = {"from": "0 0 * * *", "until": "0 0 * * *", "replicas": 3}
    g = local(ready=1, gpus=[3], scaler={"min": 1, "cron": [always]})
    eventually(lambda: "quota" in g.vetoes(), lambda: g.vetoes())
    assert len(g.engines()) == 1
    assert g.kept()[0]["gpus"] == [3]
    pid, = g.engines()
    assert "CUDA_VISIBLE_DEVICES=3" in Path(f"/proc/{pid}/environ").read_text().split("\0")


def test_engines_inherit_no_secrets(local, monkeypatch):
    monkeypatch.setenv("PST_TEST_OURS", "ours")
    monkeypatch.setenv("PST_TEST_PLAIN", "plain")
    g = local(ready=1, env={"THEIRS": {"env": "PST_TEST_OURS"}}, scaler={"min": 1})
    pid, = g.engines()
    inherited = Path(f"/proc/{pid}/environ").read_text().split("\0")
    assert "THEIRS=ours" in inherited and "PST_TEST_PLAIN=plain" in inherited
    assert "PST_TEST_OURS=ours" not in inherited


def test_damaged_state(local):
    """Garbage is put aside and said; a stranger that has the pid of a dead engine is left alone."""
    g = local()
    assert g.stop() == 0
    file = g.folder / "state" / "local-chat.json"
    whole = json.loads(file.read_text())
    whole["engines"] = [{"number": 1, "pid": os.getpid(), "start": 5, "port": 5, "revision": 1, "warm": False,
                         "stopping": True, "gpus": []}]
    file.write_text(json.dumps(whole))
    again = local(again=g)
    assert os.getpid() not in again.engines()
    assert again.stop() == 0
    file.write_text("engines: [")
    again = local(again=g)
    assert any("is damaged" in line for line in again.process.lines)
    assert (g.folder / "state" / "local-chat.json.broken").exists()


def memory_holds(pid, text):
    """Is it anywhere in a process's memory? As root only."""
    found = False
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights = line.split()[:2]
            begin, end = (int(x, 16) for x in span.split("-"))
            if "r" not in rights or "w" not in rights or end - begin > 1 << 28:
                continue
            try:
                memory.seek(begin)
                found |= text.encode() in memory.read(end - begin)
            except (OSError, ValueError):
                pass  # a mapping that is not memory
    return found


def test_the_process_that_parses_requests_holds_no_secret(local):
    g = local()
    child = g.child
    status = Path(f"/proc/{child}/status").read_text()
    assert re.search(r"^NoNewPrivs:\s1$", status, re.M)
    assert re.search(r"^Seccomp:\s2$", status, re.M)
    assert MARKER not in Path(f"/proc/{child}/environ").read_text()
    assert MARKER not in " ".join(cmdline(child)) + " ".join(cmdline(g.keeper))
    if os.geteuid() == 0:
        assert memory_holds(g.keeper, MARKER)  # the search does find it
        assert not memory_holds(child, MARKER)
        g.reload(g.config)
        g.process.wait_line(lambda line: "reloaded" in line)
        assert not memory_holds(g.child, MARKER)
        os.kill(child, signal.SIGKILL)  # the keeper knows more by now than at its start
        eventually(lambda: new_child(g, child), lambda: g.process.output())
        eventually(lambda: answers(g), lambda: g.process.output())
        g.wait_ready(2)
        assert not memory_holds(g.child, MARKER)
