"""What goes wrong with engines, their numbers and penstock itself while load rises and falls: nothing runs away, nothing
falls to zero, every engine is known to somebody, and why is said. What needs no load is in test_local.py."""
import json
import os
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from harness import wire
from harness.pages import fetch
from harness.place import HOST
from harness.rounds import MAX, SLOTS, Crowd, Fleet, cmdline, settings
from harness.waiting import eventually

SPEED = 20
BURST = 8 * SLOTS * MAX


@pytest.fixture
def fleet(tmp_path):
    """fleet(engine options, …): a gateway with engines of its own; what is left of them is ended."""
    made = []

    def make(*options, again=None, serving=1, **keys):
        folder = again.folder if again else tmp_path
        made.append(Fleet(folder, again.config if again else settings(folder, SPEED, *options, **keys), serving))
        return made[-1]

    yield make
    for f in made:
        f.end()


def says(f, *vetoes):
    eventually(lambda: all(f"      {v}: " in f.explained() for v in vetoes),
               lambda: f"{vetoes}: {f.explained()}\n{f.process.output()}", 60)


def is_there(pid):
    return "penstock" in cmdline(pid)


def answers(f):
    try:
        return f.metrics()
    except OSError:
        return None


def burst(f):
    """More than one engine can do."""
    return Crowd(f, BURST, tokens=5)


@pytest.mark.parametrize("options", [["--fault", "hang"], ["--fault", "error-all"], ["--fault", "asleep"],
                                     ["--fault", "ready-early", "--cold-start", "10m"]], ids=lambda o: o[1])
def test_engines_that_lie_about_readiness(fleet, options):
    """/health 200, and no model: never ready, given up in time, tried again ever later, never too many; the client waits."""
    f = fleet(*options, serving=None, scaler={"min": 0, "start_timeout": "1s"},
              ready={"path": "/health", "model": "completion", "interval": "200ms", "timeout": "300ms"}, no_replica_ttl="5s")
    answer = f.ask()
    assert answer.status == 503 and answer.get("retry-after"), answer
    with f.client() as c:
        c.request(wire.post())
        says(f, "back_off")
        assert f.ready() == 0 and f.started()
        assert len(f.processes()) <= MAX and len(f.replicas()) <= MAX
        assert all(r["dispatched"] == 0 for r in f.replicas().values())
    assert not any("ready, was" in line for line in f.process.lines)


def test_the_others_crash_at_their_start(fleet, tmp_path):
    """One engine serves, none comes beside it: tries grow rare, the number stays, and the burst is served by the one."""
    f = fleet()
    f.config["pools"][0]["replicas"]["local"]["command"] = ["sh", "-c", "exit 3", "{port}"]
    f.reload(f.config)
    f.process.wait_line(lambda line: "reloaded" in line)
    before = len(f.started())
    crowd = burst(f)
    says(f, "back_off")
    crowd.leave().join()
    tries = len(f.started()) - before
    assert 1 <= tries <= 8, f.started()
    assert f.ready() == 1 and f.outcomes() == {("done", "none"): crowd.answered}
    assert len(f.pids()) == 1 == len(f.processes())


def test_fewer_places_than_max(fleet):
    """Two ports for up to three engines: two serve, and that no more can be had is said."""
    f = fleet()
    ports = f.config["pools"][0]["replicas"]["local"]["ports"].split("-")
    assert f.stop() == 0
    f.config["pools"][0]["replicas"]["local"]["ports"] = f"{ports[0]}-{int(ports[0]) + 1}"
    f = fleet(again=f)
    crowd = burst(f)
    f.wait_served_by(2)
    says(f, "quota")
    crowd.leave().join()
    assert len(f.started()) == 2 == len(f.processes())
    assert f.outcomes() == {("done", "none"): crowd.answered}


def test_metrics_of_nan(fleet):
    """What engines say of themselves is no number: our own accounting goes on, out and in."""
    f = fleet("--fault", "nan-metrics", signals={"engine": "500ms"}, engine="vllm")
    url, = (r["url"] for r in f.replicas().values())
    assert fetch((HOST, int(url.rsplit(":", 1)[1])), "GET", "/metrics")[2].count(b" NaN\n") > 5
    crowd = burst(f)
    f.wait_served_by(MAX)
    crowd.leave().join()
    f.check([crowd])


class Prometheus:
    """It answers every query with one value, until it is gone."""

    def __init__(self, value):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                sample = {"metric": {}, "value": [time.time(), value]}
                body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": [sample]}}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.handler, self.port = Handler, 0
        self.start()

    def start(self):
        self.server = HTTPServer((HOST, self.port), self.handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def test_prometheus_is_gone_at_the_peak(fleet):
    """More come all the same; none goes while the guard that it feeds is not known; once it answers again, they do."""
    prometheus = Prometheus("0.1")
    f = fleet(scaler={"gpu_guard": "80%", "stale_after": "2s"}, signals={"every": "1s", "prometheus": {
        "server": f"http://{HOST}:{prometheus.port}", "queries": {"gpu": "busy"}}})
    prometheus.stop()
    crowd = burst(f)
    f.wait_served_by(MAX)
    crowd.leave().join()
    says(f, "stale")
    ticks = f.metrics().sum("replica_seconds_total", state="ready")
    eventually(lambda: f.metrics().sum("replica_seconds_total", state="ready") > ticks + 12 * MAX,
               "a dozen seconds without load", 60)
    assert f.ready() == MAX
    prometheus.start()
    f.check([crowd])
    prometheus.stop()


@pytest.mark.parametrize("who", ["keeper", "gateway"])
@pytest.mark.parametrize("moment", ["starting", "serving"])
def test_killed_in_a_burst(fleet, who, moment):
    """SIGKILL while engines start, or while all of them serve: no other engine is started for one that runs, none is
    forgotten, none falls to zero, and the burst that comes next is served."""
    f = fleet("--cold-start", "2s")
    crowd = burst(f)
    if moment == "starting":
        eventually(lambda: len(f.processes()) == MAX, lambda: f.process.output(), 60)
    else:
        f.wait_served_by(MAX)
    before, child = f.processes(), f.child()
    os.kill(f.process.pid if who == "keeper" else child, signal.SIGKILL)
    crowd.forget()  # their gateway has died, or drains because nobody is above it
    if who == "keeper":
        f.process.wait()
        eventually(lambda: not is_there(child), "the gateway ends too")
        assert before <= f.processes()  # engines outlive it
        f = fleet(again=f, serving=None)
    else:
        f.arrivals = 0  # the one that died has taken its counts along
        eventually(lambda: answers(f), lambda: f.process.output())
    crowd = burst(f)
    f.wait_served_by(MAX)
    assert f.processes() == f.pids() == before
    crowd.leave().join()
    f.wait_alone()
    assert f.processes() == f.pids() and f.pids() < before
    assert f.outcomes() == {("done", "none"): crowd.answered}
    numbers = [d["desired"] for d in f.decisions()]
    assert min(numbers) == 1 and max(numbers) == MAX
    assert f.stop() == 0
    assert f.processes() == f.pids() == set()
