"""A day of load in a minute: crowds of clients before engines that penstock starts and stops by itself.

Everything takes 1/speed of its time: the engines' answers and cold start, and the scaler's and the drain's own times.
"""
import json
import os
import re
import signal
import threading
from pathlib import Path

from . import config, wire
from .engine import reserved_port
from .gateway import Gateway
from .place import HOST
from .process import BINARY
from .waiting import eventually

SLOTS, MAX = 4, 3
GUARD_S = 300  # averages fade over minutes
COLD_START_S, TOKEN_S = 10, 0.4
STARTED = re.compile(r"(chat-\d+) started \(pid (\d+), port (\d+)\)")
READY = re.compile(r"replica (chat-\d+): ready, was loading")
TERMINATED = re.compile(r"(chat-\d+)\b.*signal 15 with (\d+) requests open")


def seconds(unscaled_s, speed):
    return f"{unscaled_s * 1000 / speed:.0f}ms"


def settings(folder, speed, *options, local=None, scaler=None, **pool_keys):
    """One engine up to three, of four slots; a request holds one for 0.1 s, 1 ms a prompt's token and 0.4 s a token."""
    port = 20000 + (reserved_port() * 11) % 20000
    command = [BINARY, "engine", "--listen", HOST + ":{port}", "--model", "m", "--mode", "slot", "--slots", str(SLOTS),
               "--service", f"tokens:100ms:1ms:{TOKEN_S * 1000:.0f}ms", "--cold-start", seconds(COLD_START_S, speed),
               "--speed", str(speed), *options]
    pool = config.pool((), slots=SLOTS, scaler={
        "min": 1, "max": MAX, "start_time": seconds(COLD_START_S, speed), "warm_time": "1s", "start_timeout": "60s",
        "in_after": seconds(20, speed), "out_above": seconds(4, speed), "in_below": seconds(1, speed),
        "inflight_guard": "100%", "drain_deadline": seconds(60, speed), **(scaler or {})}, **pool_keys)
    pool["replicas"] = {"local": {"command": command, "host": HOST, "ports": f"{port}-{port + 2 * MAX}", **(local or {})}}
    state = folder / "state"
    state.mkdir(mode=0o700, exist_ok=True)
    classes = {"medium": {"target": seconds(0.5, speed), "max_wait": seconds(15, speed)}}
    ports = {name: f"{HOST}:{reserved_port()}" for name in ("listen", "metrics", "admin")}  # the same after a restart
    return config.build(pools=[pool], classes=classes, **ports, state=str(state), decision_log=str(folder / "decisions.log"),
                        record=str(folder / "recording"))


class Fleet(Gateway):
    """A gateway with engines of its own, and all that was seen of them."""

    def __init__(self, folder, settings_, ready=1):
        super().__init__(folder, settings_)
        if ready is not None:
            self.wait_ready(ready)

    def replicas(self):
        return {r["name"]: r for r in self.state()["replicas"]}

    def explained(self):
        return self.admin("GET", "/explain?pool=chat&decisions=9")[2].decode()

    def watch(self, matches):
        """An event that is set as soon as a replica is seen so."""
        seen = threading.Event()

        def look():
            try:
                while not seen.wait(0.02):
                    if any(map(matches, self.replicas().values())):
                        seen.set()
            except OSError:
                pass  # the gateway has ended
        threading.Thread(target=look, daemon=True).start()
        return seen

    def wait_served_by(self, count):
        """So many serve, and each of them did."""
        def serve():
            found = [r for r in self.replicas().values() if r["state"] == "ready" and r["dispatched"] > 0]
            return len(found) == count
        eventually(serve, lambda: f"{count} serve: {self.replicas()}\n{self.explained()}", GUARD_S)

    def wait_alone(self):
        """One replica is left, and no process of another."""
        eventually(lambda: len(self.replicas()) == 1 and len(self.pids()) == 1,
                   lambda: f"one is left: {self.replicas()}\n{self.explained()}", GUARD_S)

    def pids(self):
        """The engines that penstock knows of, by what it wrote down."""
        kept = json.loads((self.folder / "state" / "local-chat.json").read_text())
        return {e["pid"] for e in kept["engines"]}

    def started(self):
        return [m[1] for m in map(STARTED.search, self.process.lines) if m]

    def processes(self):
        """The engines that there are: who listens on one of our ports."""
        first, last = map(int, self.config["pools"][0]["replicas"]["local"]["ports"].split("-"))
        ours = [f"{HOST}:{port}\0" for port in range(first, last + 1)]
        pids = (int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit())
        return {pid for pid in pids if any(o in cmdline(pid) for o in ours)}

    def child(self):
        """The gateway's own process: the keeper's child that is no engine."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        found = [int(c) for c in children if cmdline(int(c)).startswith("penstock\0run")]
        assert len(found) == 1, children
        return found[0]

    def decisions(self):
        return [json.loads(line) for line in (self.folder / "decisions.log").read_text().splitlines()]

    def check(self, crowds):
        """No error, none repeated, everything counted once, nobody stopped at work, every decision explained."""
        self.wait_alone()
        self.check_quiet()
        assert self.outcomes() == {("done", "none"): sum(c.answered for c in crowds)}
        assert self.metrics().sum("retries_total") == 0
        self.check_nobody_was_stopped_at_work()
        self.check_explained()
        assert self.stop() == 0

    def check_explained(self):
        """Each number follows from its terms, unless a veto says why not; and time goes on in them."""
        kept = self.decisions()
        for d in kept:
            assert d["terms"][d["winner"]] == max(d["terms"].values())
            assert d["desired"] == max(d["terms"].values()) or d["vetoes"], d
            assert d["desired"] <= MAX
        assert [d["at_ms"] for d in kept] == sorted(d["at_ms"] for d in kept)
        numbers = [d["desired"] for d in kept]
        assert numbers[0] == 1 and max(numbers) == MAX and numbers[-1] == 1, numbers

    def check_nobody_was_stopped_at_work(self):
        """Those that served were drained first, and were idle when they were told to end."""
        served = {m[1] for m in map(READY.search, self.process.lines) if m}
        ends = eventually(lambda: self._ends() if served <= self._ends().keys() | self.replicas().keys() else None,
                          lambda: f"{served} ended: {self.process.output()}")
        gone = served - self.replicas().keys()
        assert len(gone) >= MAX - 1 and {ends[name] for name in gone} == {0}, ends
        for name in gone:
            said = [line for line in self.process.lines if name in line]
            order = [next(i for i, line in enumerate(said) if word in line)
                     for word in ("ready, was loading", "draining, was ready", "ended: exit status 0", "gone, was draining")]
            assert order == sorted(order), order
        assert not any("ended by itself" in line for line in self.process.lines)

    def _ends(self):
        return {m[1]: int(m[2]) for m in map(TERMINATED.search, self.process.lines) if m}

    def end(self):
        """Ends what a failed test left behind."""
        if self.process.running:
            self.process.stop()
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)


def cmdline(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


class Crowd:
    """So many clients, each asking again as soon as it was answered; they can leave one by one, after an answer."""

    def __init__(self, fleet, count, tokens, prompt="hello", stream=True):
        self.fleet = fleet
        self.body = wire.chat(prompt, max_tokens=tokens, stream=stream)
        self.tokens, self.stream = tokens, stream
        self.wrong, self.answered = [], 0
        self.lock = threading.Lock()
        self.places = [threading.Event() for _ in range(count)]
        self.threads = [threading.Thread(target=self.ask, args=(place,), daemon=True) for place in self.places]
        for t in self.threads:
            t.start()

    def ask(self, over):
        try:
            with self.fleet.client() as c:
                c.sock.settimeout(GUARD_S)
                while not over.is_set():
                    self.judge(c.ask(body=self.body))
        except Exception as e:  # noqa: B902 - a client's error is what is looked for
            self.wrong.append(repr(e))

    def judge(self, answer):
        """Whole: every token came, and its end."""
        with self.lock:
            self.answered += 1
        if answer is None or answer.status != 200 or not answer.clean:
            self.wrong.append(repr(answer))
        elif self.stream:
            said = wire.events(answer.body)
            words = [e for e in said[:-1] if json.loads(e).get("choices") and
                     json.loads(e)["choices"][0]["delta"].get("content")]
            if said[-1] != "[DONE]" or len(words) != self.tokens:
                self.wrong.append(repr(answer))
        elif answer.json["usage"]["completion_tokens"] != self.tokens:
            self.wrong.append(repr(answer))

    def forget(self):
        """Whatever they were answered: their gateway was killed."""
        self.leave()
        for t in self.threads:
            t.join(GUARD_S)
        self.wrong = []

    def staying(self):
        return sum(not p.is_set() for p in self.places)

    def leave(self, count=None):
        """So many of them, or all, go after their answer."""
        for place in [p for p in self.places if not p.is_set()][:count]:
            place.set()
        return self

    def join(self):
        """Returns when all have gone: each answer was whole."""
        for t in self.threads:
            t.join(GUARD_S)
            assert not t.is_alive(), "a client hangs"
        assert not self.wrong, self.wrong[:3]


def falling_under_streams(fleet, tokens):
    """Fewer and fewer clients, and at last some whose long streams go on all the time, on one replica each: a victim has
    one when it is chosen."""
    falling = Crowd(fleet, 5 * SLOTS * MAX, tokens=10)
    fleet.wait_served_by(MAX)
    drains_at_work = fleet.watch(lambda r: r["state"] == "draining" and r["inflight"] > 0)
    while falling.staying() > SLOTS:
        before = falling.answered
        falling.leave(4)
        eventually(lambda b=before: falling.answered > b, "the next one is answered", GUARD_S)
    eventually(lambda: fleet.metrics().sum("replica_inflight") <= SLOTS, "there is room on each of them", GUARD_S)
    steady = Crowd(fleet, MAX, tokens=tokens)
    falling.leave().join()
    eventually(drains_at_work.is_set, lambda: f"one drains with work: {fleet.replicas()}\n{fleet.explained()}", GUARD_S)
    fleet.wait_alone()
    steady.leave().join()
    return [steady, falling]
