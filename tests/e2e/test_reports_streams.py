"""Public bug reports about streams, clients that leave, slots and back-pressure."""
import json
import random
import threading
import time

import pytest
from harness import upstream as replicas
from harness import wire
from harness.waiting import eventually
from harness.wire import chat, post

STREAM = dict(body=chat(stream=True))
MIB = 1 << 20


def open_stream(gw, up, tokens=1, body=None):
    """A stream of which the client has seen `tokens` events: (client, call)."""
    c = gw.client()
    c.request(post(body=body or chat(stream=True)))
    call = up.take()
    call.stream_head()
    for i in range(tokens):
        call.token(f"t{i}")
    if tokens:
        c.read_head()
        c.until(b'"t%d"' % (tokens - 1))
    return c, call


# cancel

@pytest.mark.parametrize("leave", ["close", "reset", "half_close"])
@pytest.mark.parametrize("tokens", [0, 2], ids=["before-first-byte", "mid-stream"])
def test_B001(gateway, upstream, leave, tokens):
    a, b = upstream(), upstream()
    gw = gateway([a, b])
    c = gw.client()
    c.request(post(**STREAM))
    eventually(lambda: a.calls or b.calls, "a call")
    up = a if a.calls else b
    call = up.take()
    call.stream_head()
    for i in range(tokens):
        call.token(f"t{i}")
    if tokens:
        c.read_head()
        c.until(b'"t1"')
    getattr(c, leave)()
    call.wait_left()
    record = gw.wait_access(lambda r: r["outcome"] == "cancelled")
    assert record["status"] == 499 and record["tries"] == 1
    gw.check_quiet()
    assert len(a.calls) + len(b.calls) == 1, "tried elsewhere"
    c.close()


def test_B002(gateway, upstream):
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 2})
    for _ in range(20):
        c = gw.client()
        c.request(post())
        call = up.take()  # at once or after the engine's lag: two slots, one client
        assert sum(not other.finished.is_set() for other in up.calls) == 1, "an orphan still runs"
        c.close()
        call.wait_left()
    assert gw.outcomes() == {("cancelled", "client"): 20}
    assert len(up.calls) == 20


def test_B002_queued(gateway, upstream):
    """Queued requests of clients that left are never sent."""
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 1})
    first = gw.client().request(post())
    call = up.take()
    for _ in range(10):
        c = gw.client()
        c.request(post())
        gw.wait_queued(1)
        c.close()
        gw.wait_queued(0)
    call.answer()
    assert first.read().status == 200
    gw.check_quiet()
    assert len(up.calls) == 1


# slots

def test_B004(gateway, upstream):
    """200 streams, their clients killed at random points; afterwards nothing is held."""
    rng = random.Random(4)

    def slowly(call):
        call.stream_head()
        try:
            for i in range(5):
                call.token(f"t{i}")
            call.stream_end()
        except OSError:
            pass

    ups = [upstream(slowly), upstream(slowly)]
    gw = gateway(ups, pool_keys={"slots": 8})

    def one(i):
        point = rng.choice(["head", "mid", "end", "never"])
        with gw.client() as c:
            c.request(post(**STREAM))
            if point == "head":
                return "left"
            if c.read_head().status != 200:
                c.read()
                return "refused"
            if point == "mid":
                c.piece()
                return "left"
            c.until(b"[DONE]")
            if point == "end":
                return "left"
            c.read()
            return "done"

    said = []
    for batch in range(10):
        said += gw.together(20, one)
    gw.check_quiet()
    assert sum(gw.outcomes().values()) == 200 == len(said)
    assert gw.outcome("done") >= said.count("done")
    state = gw.metrics()
    assert state.sum("replica_inflight") == 0 and state.sum("held_bytes") == 0


# sse

def test_B008(gateway, upstream):
    """An event is at the client before the next one is written; nothing is gathered into blocks."""
    up = upstream()
    gw = gateway([up])
    c, call = open_stream(gw, up, 0)
    for i in range(20):
        call.token(f"n{i}")
        if i == 0:
            assert c.read_head().status == 200
        c.until(b'"n%d"' % i)
    call.stream_end()
    c.read()
    assert c.response.ending == "chunked" and wire.events(c.response.body)[-1] == "[DONE]"


@pytest.mark.parametrize("headers", [[("X-Accel-Buffering", "no")], []], ids=["given", "absent"])
def test_B010(gateway, upstream, headers):
    up = upstream()
    gw = gateway([up])
    with gw.client() as c:
        c.request(post(**STREAM))
        call = up.take()
        call.stream_head(headers)
        call.token().stream_end()
        r = c.read()
    assert r.all("x-accel-buffering") == ["no"]
    assert r.get("content-type") == "text/event-stream"


def test_B011(gateway, upstream):
    """Silence inside a stream below the stall limit is no reason to cut it."""
    up = upstream()
    gw = gateway([up], pool_keys={"stall": "3s", "first_byte": "1s", "first_byte_stream": "1s"},
                 timeouts={"idle": "1s", "head": "1s", "body": "1s", "write_stall": "1s"})
    c, call = open_stream(gw, up)
    until = time.monotonic() + 1.7  # longer than every other limit
    eventually(lambda: time.monotonic() > until, "time to pass")
    call.token("late").stream_end()
    r = c.read()
    assert r.clean and b'"late"' in r.body


def test_B011_stall(gateway, upstream):
    """The documented limit fires: an error event in the stream, and the replica's connection closes."""
    up = upstream()
    gw = gateway([up], pool_keys={"stall": "500ms"})
    c, call = open_stream(gw, up)
    call.wait_left()
    r = c.read()
    failed_in_band_or_aborted(r)
    assert gw.outcome("failed") == 1
    c.close()


def failed_in_band_or_aborted(response):
    """Never a clean end that looks whole."""
    if response.clean:
        last = [e for e in wire.events(response.body) if e != "[DONE]"][-1]
        assert "error" in json.loads(last), response
    return response


@pytest.mark.parametrize("how", ["reset", "close"])
def test_B013(gateway, upstream, how):
    up = upstream()
    gw = gateway([up])
    c, call = open_stream(gw, up, 2)
    getattr(call, how)()
    r = failed_in_band_or_aborted(c.read())
    if r.clean:
        assert "[DONE]" not in wire.events(r.body)
        assert json.loads(wire.events(r.body)[-1])["error"]["message"]
    assert gw.outcomes() == {("failed", "broken"): 1}
    c.close()


@pytest.mark.parametrize("end", ["close", "chunk"])
def test_B014(gateway, upstream, end):
    """A raw JSON error tail without event framing is a failure, however the message ends."""
    up = upstream()
    gw = gateway([up])
    c, call = open_stream(gw, up, 3)
    call.chunk(b'{"error":{"code":503,"message":"engine is gone"}}')
    call.close() if end == "close" else call.last_chunk()
    r = c.read()
    assert b"engine is gone" in r.body or not r.clean or "error" in wire.events(r.body)[-1]
    gw.check_quiet()
    assert gw.outcome("failed") == 1 and gw.outcome("done") == 0
    c.close()


@pytest.mark.parametrize("how", ["reset", "close"])
def test_B016(gateway, upstream, how):
    """Nothing is appended to a partial line: the connection ends visibly."""
    up = upstream()
    gw = gateway([up])
    c, call = open_stream(gw, up, 1)
    call.chunk(b'data: {"cho')
    c.until(b'data: {"cho')
    getattr(call, how)()
    r = c.read()
    assert not r.clean
    assert r.body.endswith(b'data: {"cho')
    assert gw.outcomes() == {("failed", "broken"): 1}
    c.close()


def test_B016_length_not_kept(gateway, upstream):
    """A non-streaming answer cut inside its length is not completed."""
    up = upstream()
    gw = gateway([up])
    with gw.client() as c:
        c.request(post())
        call = up.take()
        call.head(200, [("Content-Type", "application/json")], 1000)
        call.send(b'{"id":"c1","choices":[')
        c.read_head()
        c.until(b"choices")
        call.close()
        assert not c.read().clean
    assert gw.outcomes() == {("failed", "broken"): 1}


def test_B017(gateway, upstream):
    """Multi-byte text split over writes arrives byte for byte, with everything that reads events on."""
    up = upstream()
    gw = gateway([up], pool_keys={"aliases": {"alias": "m"}})
    with gw.client() as c:
        c.request(post(body=chat("漢字 😀", stream=True, stream_options={"include_usage": True})))
        call = up.take()
        assert call.json["messages"][0]["content"] == "漢字 😀"
        call.stream_head()
        whole = b"".join(b"data: " + json.dumps(replicas.token(t), ensure_ascii=False).encode() + b"\r\n\r\n"
                         for t in ("龍", "😀", "e\u0301")) + b": comment\n\ndata: [DONE]\n\n"
        for byte in whole:
            call.chunk(bytes([byte]))
        call.last_chunk()
        assert c.read().body == whole


# back-pressure

def test_B019(gateway, upstream):
    """A client that does not read: the replica is held back, memory stays bounded, others are served."""
    sent = [0]
    stopped = threading.Event()

    def flood(call):
        if not call.json.get("stream"):
            call.answer()
            return
        call.stream_head()
        block = b"data: " + b"x" * 65000 + b"\n\n"
        call.sock.settimeout(2)
        try:
            while sent[0] < 200 * MIB:
                call.chunk(block)
                sent[0] += len(block)
        except OSError:
            pass
        stopped.set()

    up = upstream(flood)
    gw = gateway([up])
    c = gw.client(rcvbuf=65536)
    c.request(post(**STREAM))
    c.read_head()
    stopped.wait(60)
    assert sent[0] < 32 * MIB, "the whole answer was taken in"
    for _ in range(5):
        assert gw.ask().status == 200
    with open(f"/proc/{gw.process.pid}/status") as f:
        assert next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) < 200 * 1024
    c.close()
    gw.check_quiet()


def test_B020(gateway, upstream):
    """A client that stopped reading is dropped after the write stall, and its work cancelled."""
    left = threading.Event()

    def drip(call):
        call.stream_head()
        try:
            while True:
                call.chunk(b"data: " + b"y" * 60000 + b"\n\n")
        except OSError:
            left.set()

    up = upstream(drip)
    gw = gateway([up], timeouts={"write_stall": "500ms"})
    c = gw.client(rcvbuf=65536)
    c.request(post(**STREAM))
    c.read_head()
    assert left.wait(20), "the replica was never released"
    gw.check_quiet()
    assert gw.outcomes() == {("cancelled", "client"): 1}
    c.close()


def test_slow_client_is_no_stall_of_the_replica(gateway, upstream):
    """Three times the stall limit without reading a byte: the replica stays ready, and the answer whole."""
    blocks = [b"data: %d %b\n\n" % (i, b"s" * 50000) for i in range(200)]

    def fill(call):
        call.stream_head()
        for block in blocks:
            call.chunk(block)
        call.last_chunk()

    gw = gateway([upstream(fill)], pool_keys={"stall": "300ms"})
    with gw.client(rcvbuf=4096) as c:
        c.request(post(**STREAM))
        c.read_head()
        time.sleep(1)  # the client's own pause, not a wait for something
        assert c.read().body == b"".join(blocks)
    assert not any("suspect" in line for line in gw.process.lines)


def test_slow_reader_gets_everything(gateway, upstream):
    """Back-pressure, then reading on: not a byte is lost or doubled."""
    blocks = [b"data: %d %b\n\n" % (i, b"z" * 50000) for i in range(200)]

    def fill(call):
        call.stream_head()
        for block in blocks:
            call.chunk(block)
        call.last_chunk()

    up = upstream(fill)
    gw = gateway([up])
    with gw.client(rcvbuf=4096) as c:
        c.request(post(**STREAM))
        c.read_head()
        assert c.read().body == b"".join(blocks)


def test_slow_upload_reaches_the_replica_whole(gateway, upstream):
    """The replica reads a large body late."""
    up = upstream(lambda call: call.answer(200, {"n": len(call.body)}))
    gw = gateway([up])
    data = json.dumps(chat("q" * 8 * MIB)).encode()
    assert gw.ask(body=data).json == {"n": len(data)}
