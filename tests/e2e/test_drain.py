"""Leaving without loss: the whole gateway, one replica, two hundred replicas."""
import json
import signal
import threading
from urllib.parse import quote

import pytest
from harness import config, wire
from harness.process import Process, BINARY, run
from harness.waiting import eventually
from harness.wire import chat, post


def in_background(work):
    """(thread, results) of work()."""
    results = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    return thread, results


def drain(gw):
    return in_background(lambda: gw.admin("POST", "/drain"))


def not_ready(gw):
    eventually(lambda: gw.admin("GET", "/readyz")[0] == 503, "readyz 503")


def test_drain_returns_when_nothing_is_left(gateway, upstream):
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 1}, drain={"grace": "0s", "deadline": "30s"})
    a, b = gw.client(), gw.client()
    a.request(post(body=chat(stream=True)))
    running = up.take()
    b.request(post())
    gw.wait_queued(1)
    thread, results = drain(gw)
    not_ready(gw)
    assert gw.admin("GET", "/healthz")[0] == 200
    running.stream()
    assert a.read().clean
    second = up.take()
    assert thread.is_alive(), "returned with work in flight"
    second.answer()
    assert b.read().status == 200
    thread.join(20)
    assert results[0][0] == 200
    a.close()
    b.close()
    assert gw.admin("POST", "/drain")[0] == 200, "idempotent"
    assert gw.admin("GET", "/readyz")[0] == 503


def test_drain_grace_admits_with_connection_close(gateway, upstream):
    up = upstream(lambda call: call.answer())
    gw = gateway([up], drain={"grace": "2s", "deadline": "60s"})
    thread, results = drain(gw)
    not_ready(gw)
    with gw.client() as c:
        r = c.ask()
        assert r.status == 200 and r.get("connection").lower() == "close"
        assert c.at_end() == "cut"
    thread.join(20)
    assert results[0][0] == 200


def test_after_the_grace_503(gateway, upstream):
    up = upstream()
    gw = gateway([up], drain={"grace": "0s", "deadline": "30s"})
    a = gw.client()
    a.request(post())
    call = up.take()
    kept = gw.client()  # a connection from before
    thread, results = drain(gw)
    not_ready(gw)
    kept.request(post())
    r = kept.read()
    if r is not None:
        assert r.status == 503 and r.get("connection").lower() == "close"
        assert r.get("x-llm-d-request-dropped-reason")
        assert gw.outcome("refused") == 1
    else:
        gw.exact = False
    call.answer()
    assert a.read().status == 200
    thread.join(20)
    assert results[0][0] == 200
    a.close()
    kept.close()


def test_drain_deadline_says_how_many(gateway, upstream):
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 1}, drain={"grace": "0s", "deadline": "700ms"})
    a = gw.client()
    a.request(post(body=chat(stream=True)))
    call = up.take()
    call.stream_head()
    call.token("t0")
    a.read_head()
    thread, results = drain(gw)
    thread.join(20)
    status, _, body = results[0]
    assert status == 409 and 1 in json.loads(body).values(), body
    try:
        call.token("t1").stream_end()
    except OSError:
        pass
    a.read()
    a.close()


def test_queued_work_that_cannot_end_is_refused(gateway, upstream):
    """503 also for queued work, when the deadline will not let it end."""
    up = upstream(lambda call: call.answer())
    gw = gateway([up], pool_keys={"slots": 1}, drain={"grace": "0s", "deadline": "1s"})
    up.handler = None
    a, b = gw.client(), gw.client()
    a.request(post())
    call = up.take()
    b.request(post())
    gw.wait_queued(1)
    thread, results = drain(gw)
    r = b.read()
    assert r.status == 503
    thread.join(20)
    assert results[0][0] == 409
    try:
        call.answer()
    except OSError:
        pass
    a.read()
    a.close()
    b.close()


def test_sigterm_drains_and_exits_0(gateway, upstream):
    up = upstream()
    gw = gateway([up], drain={"grace": "0s", "deadline": "30s"})
    with gw.client() as c:
        c.request(post(body=chat(stream=True)))
        call = up.take()
        call.stream_head()
        call.token("t0")
        c.read_head()
        gw.process.send(signal.SIGTERM)
        not_ready(gw)
        call.token("t1").stream_end()
        r = c.read()
        assert r.clean and b'"t1"' in r.body
    assert gw.process.wait() == 0


def test_second_sigterm_ends_at_once(gateway, upstream):
    up = upstream()
    gw = gateway([up], drain={"grace": "0s", "deadline": "10m"})
    with gw.client() as c:
        c.request(post(body=chat(stream=True)))
        call = up.take()
        call.stream_head()
        call.token("t0")
        c.read_head()
        c.until(b'"t0"')
        gw.process.send(signal.SIGTERM)
        not_ready(gw)
        gw.process.send(signal.SIGTERM)
        gw.process.wait()
        assert not c.read().clean or "error" in wire.events(c.response.body)[-1]


def test_sigterm_after_drain_starts_no_new_grace(gateway, upstream):
    gw = gateway([upstream(lambda call: call.answer())], drain={"grace": "200ms", "deadline": "30s"})
    assert gw.admin("POST", "/drain")[0] == 200
    # a grace of its own would outlast this guard: 200 ms is over
    assert gw.process.stop() == 0


def drain_command(gw, *options):
    host, port = gw.ports["admin"]
    return Process([BINARY, "drain", "--admin", f"{host}:{port}", *options])


def test_drain_command(gateway, upstream):
    up = upstream()
    gw = gateway([up], drain={"grace": "0s", "deadline": "30s"})
    a = gw.client()
    a.request(post())
    call = up.take()
    command = drain_command(gw)
    not_ready(gw)
    assert command.running
    call.answer()
    assert a.read().status == 200
    a.close()
    assert command.wait() == 0, command.output()


def test_drain_command_deadline(gateway, upstream):
    up = upstream()
    gw = gateway([up], drain={"grace": "0s", "deadline": "500ms"})
    a = gw.client()
    a.request(post())
    call = up.take()
    command = drain_command(gw)
    assert command.wait() == 1, command.output()
    assert "1" in command.output()
    try:
        call.answer()
    except OSError:
        pass
    a.read()
    a.close()


def test_drain_command_without_a_gateway():
    assert run("drain", "--admin", "127.0.0.1:1")[0] == 1
    assert run("drain", "--no-such-option")[0] == 2


def test_drain_one_replica(gateway, upstream):
    a, b = upstream(), upstream(lambda call: call.answer())
    gw = gateway([a, b])
    streams = []
    while not a.calls and len(streams) < 30:
        c = gw.client()
        c.request(post(body=chat(f"number {len(streams)}", stream=True)))
        streams.append(c)
        eventually(lambda: len(a.calls) + len(b.calls) == len(streams), "a call")
    call = a.take()
    call.stream_head()
    call.token("t0")
    thread, results = in_background(lambda: gw.admin("POST", f"/replicas/{quote(a.url, safe='')}/drain"))
    gw.wait_replica(a.url, "draining")
    assert gw.admin("GET", "/readyz")[0] == 200
    assert {r.status for r in gw.together(10, lambda i: gw.ask())} == {200}
    assert len(a.calls) == 1
    call.stream_end()
    thread.join(20)
    assert results[0][0] == 200, results
    for c in streams:
        assert c.read().status == 200
        c.close()
    assert gw.outcome("failed") == 0
    assert gw.admin("POST", "/replicas/nothing/drain")[0] == 404


def test_two_hundred_drained_removals(gateway, upstream):
    """200 replicas leave under load, one list after another: no client sees an error, long streams included."""
    fleet = 6
    paced = threading.Event()

    def serve(call):
        if not call.json.get("stream"):
            call.answer()
            return
        call.stream_head()
        call.token("first")
        paced.wait(60)  # as long as its replica's removal and more takes
        call.token("last").stream_end()

    ups = [upstream(serve) for _ in range(fleet)]
    gw = gateway(ups, pool_keys={"slots": 8}, drain={"deadline": "60s"})
    removed = 0
    stop = threading.Event()
    wrong = []
    asked = [0]

    def keep_asking(i):
        n = 0
        while not stop.is_set():
            n += 1
            r = gw.ask(body=chat(f"{i} {n}"))
            if r is None or r.status != 200 or not r.clean:
                wrong.append(r)
            asked[0] += 1

    askers = [threading.Thread(target=keep_asking, args=(i,), daemon=True) for i in range(3)]
    for t in askers:
        t.start()
    streams = []
    current = list(ups)
    while removed < 200:
        if removed % 20 == 0:
            paced.set()
            for c in streams:
                r = c.read()
                if not (r.clean and b'"last"' in r.body):
                    wrong.append(r)
                c.close()
            paced.clear()
            streams = []
            for _ in range(6):
                c = gw.client()
                c.request(post(body=chat(stream=True)))
                c.read_head()
                streams.append(c)
        leaving, staying = current[:2], current[2:]
        fresh = [upstream(serve) for _ in leaving]
        current = staying + fresh
        keys = config.merge(gw.config, {})
        keys["pools"][0]["replicas"]["static"] = [u.url for u in current]
        gw.reload(keys)
        for u in fresh:
            gw.wait_replica(u.url, "ready")
        removed += len(leaving)
    paced.set()
    stop.set()
    for t in askers:
        t.join(30)
    for c in streams:
        r = c.read()
        if not (r.clean and b'"last"' in r.body):
            wrong.append(r)
        c.close()
    assert not wrong, (len(wrong), wrong[:3])
    assert asked[0] > 200
    gw.check_quiet()
    assert set(gw.outcomes()) == {("done", "none")}
