"""The failure table, row by row, before and after the first byte, with real sockets."""
import hashlib
import json
import threading

import pytest
from harness import wire
from harness.waiting import eventually
from harness.wire import chat, post

BUSY = {"error": {"message": "engine is currently busy", "type": "ServiceUnavailableError", "code": 503}}
DIED = {"error": {"message": "EngineCore encountered an issue", "type": "InternalServerError", "code": 500}}
LOADING = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
STREAM = chat(stream=True)


def pair(gateway, upstream, bad, **keys):
    """A gateway over one replica that behaves as `bad` says and a good one; slots enough for both."""
    good = upstream(lambda call: call.stream() if call.json.get("stream") else call.answer())
    worse = upstream(bad)
    gw = gateway([worse, good], **keys)
    return gw, worse, good


def ask_until_bad(gw, worse, body=None, most=30):
    """Asks until the bad replica was met; all answers."""
    answers = []
    for i in range(most):
        varied = json.loads(json.dumps(body or chat()))
        varied["messages"][0]["content"] = f"number {i}"  # the same prompt would go to the same replica
        answers.append(gw.ask(body=varied))
        if worse.calls:
            return answers
    raise AssertionError("the bad replica was never chosen")


# connection refused, 503 Loading

def test_refused_before_first_byte(gateway, upstream):
    gw, worse, good = pair(gateway, upstream, lambda call: call.answer())
    worse.stop_listening()
    for c in worse.connections:
        if c.open:
            c.shut()
    answers = gw.together(20, lambda i: gw.ask())
    assert {r.status for r in answers} == {200}
    gw.wait_replica(worse.url, "loading")
    assert gw.outcomes() == {("done", "none"): 20}
    worse.listen_again()
    gw.wait_replica(worse.url, "ready")


@pytest.mark.parametrize("stream", [False, True])
def test_503_loading(gateway, upstream, stream):
    gw, worse, good = pair(gateway, upstream, lambda call: call.answer(503, LOADING))
    worse.health = (200, b"ok")
    answers = ask_until_bad(gw, worse, chat(stream=stream))
    assert {r.status for r in answers} == {200}
    assert len(worse.calls) == 1
    assert gw.outcome("done") == len(answers)


def test_loading_is_at_once_and_for_all(gateway, upstream):
    """No half rule: both replicas load again, and the ticket waits at the head of its queue."""
    a = upstream(lambda call: call.answer(503, LOADING))
    b = upstream(lambda call: call.answer(503, LOADING))
    gw = gateway([a, b])
    a.health = b.health = (503, json.dumps(LOADING).encode())
    with gw.client() as c:
        c.request(post())
        gw.wait_replica(a.url, "loading").wait_replica(b.url, "loading")
        gw.wait_queued(1)
        assert len(a.calls) == len(b.calls) == 1
        status, _, _ = gw.admin("GET", "/readyz")
        assert status == 200, "no replica is no reason to leave the load balancer"
        a.handler = lambda call: call.answer()
        a.health = (200, b"ok")
        assert c.read().status == 200


# reset of a reused connection

def test_reused_connection_same_replica_once(gateway, upstream):
    up = upstream(lambda call: call.answer())
    gw = gateway([up], pool_keys={"slots": 1})
    assert gw.ask().status == 200
    lost = []

    def lose_reused(call):
        if call.connection.calls > 1:
            lost.append(call)
            call.reset()
        else:
            call.answer()

    up.handler = lose_reused
    assert gw.ask().status == 200
    assert len(lost) == 1
    assert gw.outcomes() == {("done", "none"): 2}


# full

@pytest.mark.parametrize("status", [429, 503, 529])
def test_full_as_status(gateway, upstream, status):
    gw, worse, good = pair(gateway, upstream, lambda call: call.answer(status, BUSY, [("Retry-After", "2")]))
    answers = ask_until_bad(gw, worse)
    assert {r.status for r in answers} == {200}
    for _ in range(5):
        assert gw.ask().status == 200
    assert len(worse.calls) == 1, "its slots fell to what it had in flight, until Retry-After"
    assert gw.ready() == 2


def test_full_as_first_event(gateway, upstream):
    """200, an error event, [DONE]: nothing of it reaches the client."""
    def busy_inside(call):
        call.stream_head()
        call.event(BUSY).stream_end()

    gw, worse, good = pair(gateway, upstream, busy_inside)
    answers = ask_until_bad(gw, worse, STREAM)
    for r in answers:
        assert r.status == 200 and r.clean and b"busy" not in r.body and b'"t2"' in r.body
    assert gw.outcome("done") == len(answers)


def test_full_waits_in_the_queue(gateway, upstream):
    """One replica: full once, then free. The client waits and is served."""
    tries = []

    def full_once(call):
        tries.append(call)
        if len(tries) == 1:
            call.answer(503, BUSY)
        else:
            call.answer()

    up = upstream(full_once)
    gw = gateway([up])
    assert gw.ask().status == 200
    assert len(tries) == 2


def test_full_until_ttl(gateway, upstream):
    up = upstream(lambda call: call.answer(429, BUSY))
    gw = gateway([up], classes={"medium": {"ttl": "600ms"}})
    r = gw.ask()
    assert r.status == 429 and r.get("retry-after")
    assert gw.outcomes() == {("expired", "ttl"): 1}


# 500 and other 5xx, bad framing

@pytest.mark.parametrize("status", [500, 502, 504])
def test_5xx_goes_elsewhere(gateway, upstream, status):
    gw, worse, good = pair(gateway, upstream, lambda call: call.answer(status, DIED))
    answers = ask_until_bad(gw, worse)
    assert {r.status for r in answers} == {200}
    assert gw.metrics().sum("retries_total") == 1


def test_5xx_everywhere_is_passed_on(gateway, upstream):
    ups = [upstream(lambda call: call.answer(500, DIED, [("X-Engine", "yes")])) for _ in range(3)]
    gw = gateway(ups)
    r = gw.ask()
    assert r.status == 500 and r.json == DIED and r.get("x-engine") == "yes"
    assert r.get("x-should-retry") == "false"
    assert sum(len(u.calls) for u in ups) == 2, "once elsewhere, no more"
    assert gw.outcomes() == {("failed", "passed_on"): 1}


@pytest.mark.parametrize("answer", [
    b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}", b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
], ids=["not-http", "both-framings", "bad-length", "101", "bad-chunk"])
def test_bad_framing_goes_elsewhere(gateway, upstream, answer):
    def send_raw(call):
        call.send(answer)
        call.wait_left()

    gw, worse, good = pair(gateway, upstream, send_raw)
    answers = ask_until_bad(gw, worse)
    assert {r.status for r in answers} == {200}


def test_bad_framing_everywhere(gateway, upstream):
    def send_raw(call):
        call.send(b"HTTP/1.1 abc\r\n\r\n")
        call.close()

    ups = [upstream(send_raw), upstream(send_raw)]
    gw = gateway(ups)
    r = gw.ask()
    assert r.status == 502 and r.json["error"]["message"]
    assert sum(len(u.calls) for u in ups) == 2


def test_failing_fast_does_not_attract(gateway, upstream):
    """A replica that fails at once has one slot until a success: most work goes to the slow good one."""
    gate = threading.Event()

    def good_and_slow(call):
        gate.wait(20)
        call.answer()

    bad = upstream(lambda call: call.answer(500, DIED))
    good = upstream(good_and_slow)
    gw = gateway([bad, good], pool_keys={"slots": 20})
    gate.set()
    for _ in range(10):
        gw.ask()
    gate.clear()
    before = len(bad.calls)
    clients = [gw.client().request(post()) for _ in range(10)]
    eventually(lambda: len(good.calls) >= 10, lambda: f"good {len(good.calls)}, bad {len(bad.calls)}")
    assert len(bad.calls) - before <= 5
    gate.set()
    assert {c.read().status for c in clients} == {200}
    for c in clients:
        c.close()


# reset, cut, error event before the first byte

def reset_at_once(call):
    call.reset()


def cut_at_once(call):
    call.close()


def cut_after_head(call):
    call.stream_head()
    call.close()


def reset_after_role(call):
    call.stream_head()
    call.chunk(b": comment\n\n")
    call.reset()


def died_event(call):
    call.stream_head()
    call.event(DIED).stream_end()


@pytest.mark.parametrize("bad", [reset_at_once, cut_at_once, cut_after_head, reset_after_role, died_event])
def test_lost_before_first_byte(gateway, upstream, bad):
    gw, worse, good = pair(gateway, upstream, bad)
    answers = ask_until_bad(gw, worse, STREAM)
    for r in answers:
        assert r.status == 200 and r.clean and wire.events(r.body)[-1] == "[DONE]" and b'"t2"' in r.body
    assert gw.outcome("done") == len(answers)


@pytest.mark.parametrize("bad", [reset_at_once, died_event])
def test_lost_everywhere_is_bounded(gateway, upstream, bad):
    ups = [upstream(bad) for _ in range(5)]
    gw = gateway(ups)
    r = gw.ask(body=STREAM)
    assert r.status == 502 and r.json["error"]["message"]
    # a loss of a reused connection is tried again on a fresh one, outside of the count
    assert sum(call.fresh for u in ups for call in u.calls) <= 3
    assert gw.outcome("failed") == 1


# … and after it

@pytest.mark.parametrize("how", ["error event", "error event without end", "reset", "cut"])
def test_lost_after_first_byte(gateway, upstream, how):
    """Nothing is tried again; an error event passes on; the outcome is failed even when [DONE] follows."""
    a, b = upstream(), upstream()
    gw = gateway([a, b])
    with gw.client() as c:
        c.request(post(body=STREAM))
        eventually(lambda: a.calls or b.calls, "a call")
        call = (a if a.calls else b).take()
        call.stream_head()
        call.token("t0")
        c.read_head()
        c.until(b'"t0"')
        if how == "error event":
            call.event(DIED).stream_end()
        elif how == "error event without end":
            call.event(DIED)
            call.close()
        elif how == "reset":
            call.reset()
        else:
            call.close()
        r = c.read()
    if how == "error event":
        assert r.clean and json.loads(wire.events(r.body)[1]) == DIED
    elif r.clean:
        assert "error" in json.loads([e for e in wire.events(r.body) if e != "[DONE]"][-1])
    assert len(a.calls) + len(b.calls) == 1
    assert gw.outcomes() == {("failed", "broken"): 1}


def test_crash_mid_stream_takes_down_none_of_the_unstarted(gateway, upstream):
    """The replica dies with streams before and after their first byte: the former run elsewhere."""
    a = upstream()
    gw = gateway([a], pool_keys={"slots": 4})
    started, waiting = gw.client(), gw.client()
    started.request(post(body=STREAM))
    call = a.take()
    call.stream_head()
    call.token("t0")
    started.read_head()
    started.until(b'"t0"')
    waiting.request(post(body=chat("another", stream=True)))
    a.take()
    a.die()
    r = started.read()
    assert not r.clean or "error" in wire.events(r.body)[-1]
    gw.wait_queued(1)
    a.handler = lambda call: call.stream()
    a.listen_again()
    r = waiting.read()
    assert r.status == 200 and r.clean and wire.events(r.body)[-1] == "[DONE]"
    started.close()
    waiting.close()
    assert gw.outcomes() == {("failed", "broken"): 1, ("done", "none"): 1}


# stall of the replica, first_byte limit

def test_replica_stall_moves_unstarted_work(gateway, upstream):
    a, b = upstream(), upstream()
    gw = gateway([a], pool_keys={"stall": "400ms", "slots": 4, "ready": {"interval": "100ms", "timeout": "200ms"}})
    first, second = gw.client(), gw.client()
    first.request(post(body=STREAM))
    call = a.take()
    call.stream_head()
    call.token("t0")
    first.read_head()
    second.request(post(body=chat("second", stream=True)))
    hung = a.take()
    original = a._answer_probe
    a.probe = lambda call: call.wait_left(60)
    keys = json.loads(json.dumps(gw.config))
    keys["pools"][0]["replicas"]["static"].append(b.url)
    gw.reload(keys)
    gw.wait_replica(a.url, "suspect")
    moved = b.take()
    hung.wait_left()
    moved.stream()
    assert second.read().clean
    r = first.read()
    assert not r.clean or "error" in wire.events(r.body)[-1]
    call.wait_left()
    a.probe = None
    first.close()
    second.close()
    assert original


@pytest.mark.parametrize("stream", [False, True])
def test_first_byte_limit(gateway, upstream, stream):
    a, b = upstream(), upstream()
    limit = {"first_byte_stream": "400ms"} if stream else {"first_byte": "400ms"}
    gw = gateway([a, b], pool_keys=limit)
    with gw.client() as c:
        c.request(post(body=chat(stream=stream)))
        eventually(lambda: a.calls or b.calls, "a call")
        call = (a if a.calls else b).take()
        if stream:
            call.stream_head()  # a head is no first byte
        call.wait_left()
        r = c.read()
    assert r.status == 504 and r.get("x-should-retry") == "false" and r.json["error"]["message"]
    assert len(a.calls) + len(b.calls) == 1
    assert gw.outcomes() == {("failed", "first_byte"): 1}


# crash

def poison_fleet(upstream, count, poison="POISON"):
    """Replicas that die, all of their connections with them, as soon as they read the poison."""
    ups = []
    hold = threading.Event()
    seen = set()

    def make():
        def serve(call):
            if poison in call.body.decode():
                up.killed += 1
                up.die()
                call.done()
                return
            again = call.body in seen  # moved here from a replica that died
            seen.add(call.body)
            if not again:
                hold.wait(30)
            call.stream_at_once() if call.json.get("stream") else call.answer()
        up = upstream(serve)
        up.killed = 0
        return up

    for _ in range(count):
        ups.append(make())
    return ups, hold


def test_poison_kills_two_replicas_at_most(gateway, upstream):
    ups, hold = poison_fleet(upstream, 4)
    gw = gateway(ups, pool_keys={"slots": 16})
    clients = []
    for i in range(47):
        c = gw.client()
        c.request(post(body=chat(f"innocent {i}", stream=i % 2 == 0)))
        clients.append(c)
    eventually(lambda: sum(len(u.calls) for u in ups) == 47, "all innocent ones running")
    evil = gw.client()
    evil.request(post(body=chat("POISON")))
    r = evil.read()  # nobody has had a first byte by then but those who were moved
    hold.set()
    assert r.status == 502 and r.get("x-should-retry") == "false", r
    assert r.json["error"]["code"] == "replica_died"
    for i, c in enumerate(clients):
        answer = c.read()
        assert answer.status == 200 and answer.clean, (i, answer)
        c.close()
    evil.close()
    assert sorted(u.killed for u in ups) == [0, 0, 1, 1], gw.process.output()
    for _ in range(3):  # the client's own retries inherit the count
        again = gw.ask(body=chat("POISON"), headers=[("x-stainless-retry-count", "1")])
        assert again.status == 502 and again.get("x-should-retry") == "false"
    assert sum(u.killed for u in ups) == 2
    assert gw.outcomes() == {("done", "none"): 47, ("failed", "replica_died"): 4}
    assert hashlib


# a healthy fleet that is only busy

def test_saturated_fleet_is_never_ejected(gateway, upstream):
    """All slots full, probes late, refusals now and then: every replica stays ready."""
    hold = threading.Event()

    def busy(call):
        hold.wait(30)
        call.answer()

    ups = [upstream(busy), upstream(busy)]
    gw = gateway(ups, pool_keys={"slots": 4, "ready": {"interval": "100ms", "timeout": "100ms"}})
    clients = [gw.client().request(post()) for _ in range(20)]
    eventually(lambda: sum(len(u.calls) for u in ups) == 8, "all slots in use")
    originals = [u._answer_probe for u in ups]
    late = threading.Event()

    def later(original, up):
        def answer(call):
            up.probes.append((call.method, call.target))
            late.wait(20)
            original(call)
        return answer

    for u, original in zip(ups, originals):
        u._answer_probe = later(original, u)
    for u in ups:
        for _ in range(4):
            u.wait_probed()
    assert gw.ready() >= 1, "more than half was ejected"
    late.set()
    hold.set()
    assert {c.read().status for c in clients} == {200}
    for c in clients:
        c.close()
    assert gw.outcomes() == {("done", "none"): 20}


def test_500_to_everything_on_a_healthy_probe(gateway, upstream):
    """/health 200 and every POST 500: suspect; its work runs elsewhere."""
    bad = upstream(lambda call: call.answer(500, DIED))
    bad.probe = None
    good = upstream(lambda call: call.answer())
    gw = gateway([bad, good])
    bad.probe = lambda call: call.answer(500, DIED)
    answers = [gw.ask() for _ in range(30)]
    assert {r.status for r in answers} == {200}
    assert len(bad.calls) <= 3 + 3, "a replica that fails everything is still asked"


def test_nothing_is_sent_to_a_replica_that_is_not_ready(gateway, upstream):
    cold = upstream(lambda call: call.answer())
    cold.health = (503, json.dumps(LOADING).encode())
    warm = upstream(lambda call: call.answer())
    gw = gateway([cold, warm], ready=1, pool_keys={"slots": 2})
    assert {r.status for r in gw.together(30, lambda i: gw.ask())} == {200}
    assert not cold.calls and len(warm.calls) == 30


def test_4xx_of_the_engine_passes_unchanged(gateway, upstream):
    said = {"object": "error", "message": "too long", "type": "BadRequestError", "code": 400}
    up = upstream(lambda call: call.answer(400, said))
    gw = gateway([up])
    r = gw.ask()
    assert r.status == 400 and r.json == said
    assert len(up.calls) == 1
    assert gw.outcomes() == {("done", "none"): 1}
