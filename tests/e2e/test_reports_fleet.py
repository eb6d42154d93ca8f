"""Public bug reports about kept connections, retries, readiness and drains."""
import json
import signal
import threading

from harness import config, wire
from harness.waiting import eventually
from harness.wire import chat, post


# keepalive

def test_B050(gateway, upstream):
    """The replica closes each kept connection as the next request is written: no client sees it."""
    up = upstream()

    def answer_once_a_connection(call):
        if call.connection.calls > 1:
            call.close()  # read, and not a byte of an answer
            return
        call.answer()

    up.handler = answer_once_a_connection
    gw = gateway([up], pool_keys={"slots": 1})
    for _ in range(30):
        assert gw.ask().status == 200
    served = sum(c.calls for c in up.connections)
    assert served > 30, "no connection was ever used again: nothing was tested"
    assert gw.outcomes() == {("done", "none"): 30}


def test_B050_second_loss_is_a_reset(gateway, upstream):
    """The replay goes to a new connection once; a loss there is an ordinary failure, bounded."""
    up = upstream(lambda call: call.answer())
    gw = gateway([up], pool_keys={"slots": 1})
    assert gw.ask().status == 200
    up.handler = lambda call: call.close()
    before = len(up.calls)
    r = gw.ask()
    assert r.status == 502
    assert len(up.calls) - before <= 4


def test_B052(gateway, upstream):
    """Kept for more than 75 s by default (the configured limit is what closes); a drain says close."""
    up = upstream(lambda call: call.answer())
    gw = gateway([up], timeouts={"idle": "300ms"}, drain={"grace": "5s"})
    with gw.client() as c:
        assert c.ask().status == 200
        assert c.at_end() == "cut"
    with gw.client() as c:
        assert c.ask().get("connection", "keep-alive").lower() == "keep-alive"
        drained = threading.Thread(target=lambda: gw.admin("POST", "/drain"), daemon=True)
        drained.start()
        eventually(lambda: gw.admin("GET", "/readyz")[0] == 503, "not ready")
        with gw.client() as d:
            r = d.ask()
            assert r.status == 200 and r.get("connection").lower() == "close"
            assert d.at_end() == "cut"
    drained.join(20)


def test_B052_default():
    """What `penstock check` would run with: the default in the documentation."""
    from harness.process import run
    code, out, _ = run("docs", "configuration")
    assert code == 0
    row = next(line for line in out.splitlines() if "idle" in line and "client" in line.lower())
    assert any(value in row for value in ("75s", "76s", "80s", "90s", "120s", "2m")), row


# ready

def test_B056(gateway, upstream):
    """A listing is not readiness: nothing is sent before /health says so and the model answered."""
    up = upstream(lambda call: call.answer())
    up.health = (503, b"warming")
    gw = gateway([up], ready=0)
    c = gw.client()
    c.request(post())
    gw.wait_queued(1)
    for _ in range(3):
        up.wait_probed()
    assert not up.calls
    up.health = (200, b"ok")
    assert c.read().status == 200
    c.close()
    assert any(method == "POST" for method, _ in up.probes), "the model was never asked"


def test_B056_model_does_not_answer(gateway, upstream):
    """/health 200 and a model that fails: not ready."""
    up = upstream(lambda call: call.answer())
    up.probe = lambda call: call.answer(500, {"error": {"message": "no"}})
    gw = gateway([up], ready=0)
    c = gw.client()
    c.request(post())
    gw.wait_queued(1)
    eventually(lambda: sum(m == "POST" for m, _ in up.probes) >= 2, "model probes")
    assert not up.calls
    up.probe = None
    assert c.read().status == 200
    c.close()


def test_B058(gateway, upstream):
    """Healthy and hung: after the silence the replica is out and its unsent work runs elsewhere."""
    good = upstream(lambda call: call.answer())
    bad = upstream()
    bad_probes = threading.Event()

    def never(call):
        bad_probes.set()
        call.wait_left(60)

    gw = gateway([good, bad], pool_keys={"stall": "500ms", "slots": 4, "first_byte": "20s", "ready":
                                         {"interval": "100ms", "timeout": "300ms"}})
    bad.probe = never
    streams = []
    # streams of the bad replica had a first event: then silence is a stall of the replica
    while True:
        c = gw.client()
        c.request(post(body=chat(stream=True)))
        try:
            call = bad.take(0.3)
        except AssertionError:
            c.close()
            continue
        call.stream_head()
        call.token("t0")
        c.read_head()
        c.until(b'"t0"')
        streams.append((c, call))
        break
    gw.wait_replica(bad.url, "suspect")
    for c, call in streams:
        call.wait_left()
        r = c.read()
        assert not r.clean or "error" in wire.events(r.body)[-1]
        c.close()
    answers = gw.together(20, lambda i: gw.ask())
    assert {r.status for r in answers} == {200}


def test_B059(gateway, upstream):
    """A saturated replica that misses probes while its streams move stays in, and nothing is cut."""
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 2, "ready": {"interval": "100ms", "timeout": "100ms"}})
    up.health = (200, b"ok")
    hold = threading.Event()
    original = up._answer_probe

    def late(call):
        up.probes.append((call.method, call.target))
        hold.wait(20)
        original(call)

    up._answer_probe = late
    c = gw.client()
    c.request(post(body=chat(stream=True)))
    call = up.take()
    call.stream_head()
    call.token("t0")
    c.read_head()
    before = len(up.probes)
    n = 0
    while len(up.probes) < before + 6:
        n += 1
        call.token(f"t{n}")
        c.until(b'"t%d"' % n)
        assert gw.replica_is(up.url, "ready"), "ejected while it streams"
    hold.set()
    call.stream_end()
    assert c.read().clean
    assert gw.outcomes() == {("done", "none"): 1}
    c.close()


# retry

def test_B070(gateway, upstream):
    """'Full' is no failure: the ticket waits, the other replica serves, the full one stays ready."""
    full = upstream(lambda call: call.answer(503, {"error": {"message": "engine is currently busy"}}))
    free = upstream(lambda call: call.answer())
    gw = gateway([full, free])
    answers = gw.together(30, lambda i: gw.ask())
    assert {r.status for r in answers} == {200}
    assert gw.ready() == 2
    assert gw.outcomes() == {("done", "none"): 30}


def test_B100(gateway, upstream):
    """Every replica refuses: attempts stay within 1.2 times the tickets, and the answer is truthful."""
    ups = [upstream(lambda call: call.answer(503, {"error": {"message": "engine is currently busy"}}))
           for _ in range(3)]
    gw = gateway(ups, pool_keys={"slots": 4}, classes={"medium": {"ttl": "2s"}})
    answers = gw.together(120, lambda i: gw.ask())
    assert {r.status for r in answers} <= {429, 503}
    assert all(r.get("retry-after") for r in answers)
    assert sum(len(u.calls) for u in ups) <= 1.2 * 120 + 12
    assert gw.ready() == 3


def test_B100_errors(gateway, upstream):
    """The same with 500s: tried once elsewhere within the budget, then passed on."""
    ups = [upstream(lambda call: call.answer(500, {"error": {"message": "boom"}})) for _ in range(3)]
    gw = gateway(ups, pool_keys={"slots": 4})
    answers = gw.together(100, lambda i: gw.ask())
    assert {r.status for r in answers} <= {500, 429, 503}
    assert sum(len(u.calls) for u in ups) <= 1.2 * 100 + 12
    assert all(r.get("x-should-retry") == "false" for r in answers if r.status == 500)


# drain

def replicas_of(gw, ups):
    keys = config.merge(gw.config, {})
    keys["pools"][0]["replicas"]["static"] = [u.url for u in ups]
    return keys


def test_B061(gateway, upstream):
    """A replica marked for removal gets nothing new at once; its stream runs to its end."""
    a, b = upstream(), upstream()
    gw = gateway([a])
    c = gw.client()
    c.request(post(body=chat(stream=True)))
    call = a.take()
    call.stream_head()
    call.token("t0")
    c.read_head()
    gw.reload(replicas_of(gw, [b]))
    b.handler = lambda call: call.answer()
    gw.wait_replica(b.url, "ready")
    for _ in range(5):
        assert gw.ask().status == 200
    assert len(a.calls) == 1
    call.token("t1").stream_end()
    r = c.read()
    assert r.clean and b'"t1"' in r.body
    c.close()
    assert gw.outcome("failed") == 0


def test_B061_deadline(gateway, upstream):
    """The drain's deadline: a terminal error event, not silence."""
    a = upstream()
    gw = gateway([a], drain={"deadline": "500ms"})
    c = gw.client()
    c.request(post(body=chat(stream=True)))
    call = a.take()
    call.stream_head()
    call.token("t0")
    c.read_head()
    c.until(b'"t0"')
    gw.process.send(signal.SIGTERM)
    r = c.read()
    assert not r.clean or "error" in json.loads(wire.events(r.body)[-1])
    call.wait_left()
    c.close()
    assert gw.process.wait() in (0, 1)


def test_B062(gateway, upstream):
    """A replica stops listening before any list says so: its refused connections reach no client."""
    a, b = upstream(lambda call: call.answer()), upstream(lambda call: call.answer())
    gw = gateway([a, b])
    done = threading.Event()
    answers = []

    def keep_asking(i):
        n = 0
        while n < 40:
            answers.append(gw.ask().status)
            n += 1
            if n == 10 and i == 0:
                a.stop_listening()
                done.set()

    gw.together(4, keep_asking)
    assert done.is_set() and set(answers) == {200} and len(answers) == 160
    gw.reload(replicas_of(gw, [b]))
    assert gw.ask().status == 200
    assert gw.outcomes() == {("done", "none"): 161}


# queue rows that need nothing else

def test_B064(gateway, upstream):
    """One status for one cause, wherever the expiry hits."""
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 1}, classes={"medium": {"ttl": "300ms"}})
    with gw.client() as a:
        a.request(post())
        running = up.take()
        answers = gw.together(5, lambda i: gw.ask())
        assert {r.status for r in answers} == {429}
        assert {r.get("x-llm-d-request-dropped-reason") for r in answers} == {"rejected-ttl-expired"}
        assert all(1 <= int(r.get("retry-after")) <= 59 for r in answers)
        running.answer()
        assert a.read().status == 200
    assert gw.outcomes() == {("expired", "ttl"): 5, ("done", "none"): 1}


def test_B064_empty_pool(gateway, upstream):
    up = upstream(listen=False)
    gw = gateway([up], ready=0, pool_keys={"no_replica_ttl": "300ms"})
    r = gw.ask()
    assert r.status == 503 and r.get("retry-after")
    assert r.get("x-llm-d-request-dropped-reason") == "rejected-no-endpoints"
    assert gw.outcomes() == {("expired", "no_replica"): 1}


def test_B065(gateway, upstream):
    """The engines' metrics pages fail: dispatch goes on by our own account."""
    up = upstream(lambda call: call.answer())
    original = up._answer_probe

    def no_metrics(call):
        if call.target == "/metrics":
            call.answer(500, b"")
        else:
            original(call)

    up._answer_probe = no_metrics
    gw = gateway([up], pool_keys={"engine": "vllm"})
    assert {r.status for r in gw.together(20, lambda i: gw.ask())} == {200}
