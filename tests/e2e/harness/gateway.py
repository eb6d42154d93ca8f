"""`penstock run` with a configuration of its own; what must hold whenever it has become quiet."""
import json
import re
import signal
import threading

from . import config as config_
from . import wire
from .pages import Metrics, fetch
from .process import BINARY, Process
from .waiting import GUARD_S, eventually

LISTENING = re.compile(r"listening on (\S+):(\d+) for (requests|metrics|admin)")
PURPOSES = {"data": "requests", "metrics": "metrics", "admin": "admin"}
WRONG = re.compile(r"Sanitizer|runtime error:|assertion|PST_ASSERT|core dumped", re.I)


class Gateway:
    def __init__(self, folder, config, env=None, under=()):
        self.folder = folder
        self.file = folder / "penstock.yaml"
        self.config = config
        self.write(config)
        self.arrivals = 0
        self.exact = True  # every request that can be counted was counted by a Client
        self._lock = threading.Lock()
        self.process = Process([*under, BINARY, "run", self.file], env=env)
        self.ports = {}
        try:
            for name in ("data", "metrics", "admin"):
                if name == "data" or name in config:
                    self.ports[name] = self.process.wait_line(lambda line, n=name: listening(line, n))
        except BaseException:
            self.process.kill()
            raise

    def write(self, config):
        self.file.write_text(config if isinstance(config, str) else config_.text(config))

    # clients

    @property
    def data(self):
        return self.ports["data"]

    def arrived(self):
        with self._lock:
            self.arrivals += 1

    def client(self, **options):
        return wire.Client(self.data, self, **options)

    def ask(self, *args, **kwargs):
        """One POST on a connection of its own, to its end."""
        with self.client() as c:
            return c.ask(*args, **kwargs)

    def get(self, target, headers=(), **options):
        with self.client() as c:
            return c.get(target, headers, **options)

    def together(self, count, one):
        """one(i) in `count` threads; their results in order."""
        results = [None] * count
        failures = []

        def work(i):
            try:
                results[i] = one(i)
            except BaseException as e:  # noqa: B902 - reported below
                failures.append(e)

        threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(count)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(120)
            assert not t.is_alive(), "a client hangs"
        if failures:
            raise failures[0]
        return results

    # pages

    def metrics(self):
        status, _, body = fetch(self.ports["metrics"], "GET", "/metrics")
        assert status == 200
        return Metrics(body.decode())

    def admin(self, method, target, headers=None, body=None):
        return fetch(self.ports["admin"], method, target, headers, body)

    def state(self):
        status, _, body = self.admin("GET", "/state")
        assert status == 200, body
        return json.loads(body)

    def ready(self):
        return self.metrics().sum("replica_state", state="ready")

    def wait_ready(self, count=1):
        eventually(lambda: self.ready() == count,
                   lambda: f"{count} ready replicas: {self.metrics().all('penstock_replica_state')}\n"
                           f"{self.process.output()}")
        return self

    def replica_is(self, url, state):
        return self.metrics().sum("replica_state", replica=url, state=state) == 1

    def wait_replica(self, url, state, guard_s=GUARD_S):
        eventually(lambda: self.replica_is(url, state),
                   lambda: f"{url} {state}: {self.metrics().all('penstock_replica_state', replica=url)}", guard_s)
        return self

    def wait_queued(self, count):
        eventually(lambda: self.metrics().sum("queue_depth") == count,
                   lambda: f"{count} queued: {self.metrics().all('penstock_queue_depth')}")

    def wait_inflight(self, count):
        eventually(lambda: self.metrics().sum("inflight_requests") == count,
                   lambda: f"{count} in flight: {self.metrics().all('penstock_inflight_requests')}")

    def access(self):
        """The access log so far."""
        return [json.loads(line) for line in list(self.process.lines) if line.startswith("{")]

    def wait_access(self, matches, guard_s=GUARD_S):
        def line_matches(line):
            if line.startswith("{"):
                record = json.loads(line)
                return record if matches(record) else None
            return None
        return self.process.wait_line(line_matches, guard_s)

    # life

    def reload(self, config):
        self.write(config)
        self.process.send(signal.SIGHUP)

    def outcomes(self):
        """{(outcome, reason): count}, those that are not zero."""
        found = {}
        for labels, value in self.metrics().all("penstock_requests_total"):
            if value:
                key = labels["outcome"], labels["reason"]
                found[key] = found.get(key, 0) + int(value)
        return found

    def outcome(self, name):
        return sum(n for (outcome, _), n in self.outcomes().items() if outcome == name)

    def is_quiet(self):
        m = self.metrics()
        return m.sum("inflight_requests") == 0 and m.sum("queue_depth") == 0 and m.sum("replica_inflight") == 0

    def check_quiet(self):
        """Outcomes sum to arrivals, nothing in flight, no ticket left."""
        eventually(self.is_quiet, lambda: f"quiet: {json.dumps(self.state())}")
        if self.exact:
            def ended():
                m = self.metrics()
                return int(m.sum("requests_total") + m.sum("rejected_requests_total"))
            eventually(lambda: ended() >= self.arrivals,
                       lambda: f"{self.arrivals} outcomes: {self.outcomes()} "
                               f"{self.metrics().all('penstock_rejected_requests_total')}")
            assert ended() == self.arrivals, (
                self.arrivals, self.outcomes(), self.metrics().all("penstock_rejected_requests_total"))

    def stop(self, number=signal.SIGTERM):
        code = self.process.stop(number)
        wrong = [line for line in self.process.lines if WRONG.search(line)]
        assert not wrong, "\n".join(self.process.lines[-60:])
        return code


def listening(line, name):
    match = LISTENING.search(line)
    return (match[1].strip("[]"), int(match[2])) if match and match[3] == PURPOSES[name] else None
