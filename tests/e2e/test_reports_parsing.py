"""Public bug reports about reading requests: h1parse, trailers, http10, paths, ipv6, encoding, upgrade."""
import gzip
import json
import socket

import pytest
from harness import wire
from harness.wire import chat, head, post

GOTCHA = b"GET / HTTP/1.1\r\nHost: a\r\nX: gotcha\r\n\r\n"


def refused_and_closed(gw, up, raw):
    """400, Connection: close, the connection really closed, and the replica saw nothing."""
    gw.exact = False
    before = len(up.calls)
    with gw.client() as c:
        c.send(raw)
        r = c.read()
        assert r is not None and r.status == 400, (raw, r)
        assert r.get("connection", "").lower() == "close"
        assert r.json["error"]["message"]
        try:
            c.half_close()
        except OSError:
            pass
        assert c.at_end() in ("cut", "reset")
        assert b"HTTP/1.1" not in c.buffer, "the rest was read as another request"
    assert len(up.calls) == before, up.calls
    assert gw.ask().status == 200  # others are served


@pytest.mark.parametrize("coding", ["chunked,", "chunked ", "chunked, gzip", "chunked  ,  gzip"])
def test_B022(gateway, upstream, coding):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    raw = head("POST", "/v1/chat/completions", [("Transfer-Encoding", coding), ("Content-Length", 50)])
    refused_and_closed(gw, up, raw + b"0\r\n\r\n" + GOTCHA)


def test_B023(gateway, upstream):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    raw = head("POST", "/v1/chat/completions", [("Content-Length", 0), ("Transfer-Encoding", "chunked")])
    refused_and_closed(gw, up, raw + b"%x\r\n%b\r\n0\r\n\r\n" % (len(GOTCHA), GOTCHA))


@pytest.mark.parametrize("body", [
    b"2;\nxx\r\n45\r\n0\r\n\r\n" + GOTCHA,
    b"2;a=b\nxx\r\n0\r\n\r\n",
    b"2;" + b"x" * 70000 + b"\r\nxx\r\n0\r\n\r\n",
], ids=["lone-lf", "lf-in-value", "too-long"])
def test_B025(gateway, upstream, body):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    refused_and_closed(gw, up, head("POST", "/v1/chat/completions", [("Transfer-Encoding", "chunked")]) + body)


@pytest.mark.parametrize("line", [b"2\r;x=y", b"2 \r ;x", b"2\r\r", b"2;x\ry"])
def test_B026(gateway, upstream, line):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    raw = head("POST", "/v1/chat/completions", [("Transfer-Encoding", "chunked")])
    refused_and_closed(gw, up, raw + line + b"\r\n{}\r\n0\r\n\r\n")


@pytest.mark.parametrize("trailer", [b"Content-Length: 5", b"Host: evil", b" bad", b"bad name: x", b"X-A: " + b"a" * 100000])
def test_B028(gateway, upstream, trailer):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    gw.exact = False
    body = json.dumps(chat()).encode()
    with gw.client() as c:
        c.send(head("POST", "/v1/chat/completions", [("Transfer-Encoding", "chunked")])
               + b"%x\r\n%b\r\n0\r\n" % (len(body), body) + trailer + b"\r\n\r\n")
        r = c.read()
        assert r is None or r.status in (200, 400, 431), r
    for call in up.calls:
        assert not call.trailers
        assert call.get("host") != "evil" and len(call.all("host")) == 1
        assert call.body == body


def test_B029(gateway, upstream):
    up = upstream()
    gw = gateway([up])
    with gw.client() as c:
        c.request(post())
        call = up.take()
        first = call.connection
        data = json.dumps({"choices": []}).encode()
        call.head(200, [("Content-Type", "application/json"), ("Trailer", "X-Foo")])
        call.chunk(data).send(b"0\r\nX-Foo: bar\r\n\r\n")
        call.done()
        r = c.read()
        assert r.clean and r.body == data
        c.request(post())
        call = up.take()
        assert call.connection is first, "the connection could have been used again"
        call.answer()
        assert c.read().status == 200


@pytest.mark.parametrize("keep", [(), (("Connection", "keep-alive"),)], ids=["plain", "keep-alive"])
def test_B031(gateway, upstream, keep):
    up = upstream(lambda call: call.stream(3))
    gw = gateway([up])
    for raw in (head("GET", "/v1/models", keep, version="1.0"),
                post(body=chat(stream=True), headers=keep, version="1.0")):
        with gw.client() as c:
            r = c.request(raw).read()
            assert r.status == 200 and r.get("transfer-encoding") is None
            if r.get("content-length") is None or not keep:
                assert r.get("connection", "close").lower() == "close"
                assert c.at_end() == "cut"
            assert r.ending in ("length", "close")
            assert b"\r\n0\r\n" not in r.body and r.body.strip().endswith((b"}", b"[DONE]"))


def test_B032(gateway, upstream):
    up = upstream(lambda call: call.answer())
    gw = gateway([up], pool_keys={"models": [{"name": "meta-llama/Llama-3"}]}, default_pool="chat")
    target = "/v2/models/meta-llama%2FLlama-3/infer?x=%2f"
    assert gw.ask(target, {"inputs": []}).status == 200
    assert up.calls[-1].target == target
    for escaped in ("/v1/models/meta-llama%2FLlama-3", "/v1/models/meta-llama/Llama-3",
                    "/v1/models/meta-llama%2fLlama-3"):
        r = gw.get(escaped)
        assert r.status == 200 and r.json["id"] == "meta-llama/Llama-3", r
    assert not [c for c in up.calls if c.method == "GET"]


@pytest.mark.parametrize("host", ["[2001:1122::3344]", "[::1]:8080", "[2001:1122::3344]:80", "gateway", "gateway:8080"])
def test_B034(gateway, upstream, host):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    assert gw.ask(host=host).status == 200


@pytest.mark.parametrize("host", ["[::1", "a b", "[::1]x", "a@b", "a/b"])
def test_B034_malformed(gateway, upstream, host):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    refused_and_closed(gw, up, post(host=host))


def test_B035(gateway, upstream):
    try:
        up = upstream(lambda call: call.answer(), host="::1")
    except OSError:
        pytest.skip("this machine has no ::1")
    gw = gateway([up])
    assert gw.ask().status == 200
    assert up.calls[-1].get("host") == f"[::1]:{up.port}"
    assert all(p.get("host") == f"[::1]:{up.port}" for p in up.probe_calls)


@pytest.mark.parametrize("coding,body", [
    ("zstd", bytes.fromhex("28b52ffd") + b"\x04\x00\x01\x00\x00" + b"x" * 20),
    ("gzip", gzip.compress(json.dumps(chat()).encode())),
    ("br", b"\x8b\x00\x80"),
])
def test_B037(gateway, upstream, coding, body):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    r = gw.ask(body=body, headers=[("Content-Encoding", coding)])
    if r.status == 415:
        assert coding in r.json["error"]["message"]
        assert not up.calls
    else:
        assert r.status == 200 and json.loads(up.calls[-1].body) == chat()


def test_B037_identity(gateway, upstream):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    assert gw.ask(headers=[("Content-Encoding", "identity")]).status == 200


@pytest.mark.parametrize("connection", ["keep-alive, Upgrade", "UPGRADE", "upgrade"])
def test_B046(gateway, upstream, connection):
    """No websocket route exists: refused in our own words, nothing upstream, no 101."""
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    r = gw.get("/v1/realtime", [("Connection", connection), ("Upgrade", "websocket"),
                                ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-WebSocket-Version", "13")])
    assert r.status in (400, 404, 405, 426) and r.json["error"]["message"]
    assert not up.calls


def test_B047(gateway, upstream):
    """A replica's 101 is refused, also when the client asked for an upgrade on an open path."""
    def switch(call):
        call.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        call.close()
    up = upstream(switch)
    gw = gateway([up])
    r = gw.ask(headers=[("Connection", "Upgrade"), ("Upgrade", "websocket")])
    assert r.status == 502 and r.clean
    assert all(call.get("upgrade") is None for call in up.calls)


BAD_HEADS = {
    "obs-fold": b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\nContent-Length: 2\r\n\r\n{}",
    "no-host": b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
    "two-hosts": b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 2\r\n\r\n{}",
    "te-in-1.0": b"POST /v1/chat/completions HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "two-lengths": b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "length-list": b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 2\r\n\r\n{}",
    "length-sign": b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: +2\r\n\r\n{}",
    "bare-cr": b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nX-A: b\rc\r\nContent-Length: 2\r\n\r\n{}",
    "bare-lf": b"POST /v1/chat/completions HTTP/1.1\nHost: a\nContent-Length: 2\n\n{}",
    "nul": b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nX-A: b\0c\r\nContent-Length: 2\r\n\r\n{}",
    "space-colon": b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length : 2\r\n\r\n{}",
    "te-te": b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "te-vt": b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "not-http": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
}


@pytest.mark.parametrize("name", BAD_HEADS)
def test_guard_refuses(gateway, upstream, name):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    refused_and_closed(gw, up, BAD_HEADS[name])


def test_pipelined_requests_are_answered_in_order(gateway, upstream):
    up = upstream(lambda call: call.answer(200, {"said": call.json["messages"][0]["content"]}))
    gw = gateway([up])
    with gw.client() as c:
        for i in range(3):
            gw.arrived()
        c.method = "POST"
        c.send(b"".join(post(body=chat(f"number {i}")) for i in range(3)))
        for i in range(3):
            assert c.read().json == {"said": f"number {i}"}


def test_request_cut_into_single_bytes(gateway, upstream):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    with gw.client() as c:
        gw.arrived()
        c.method = "POST"
        for byte in post(body=chat("é漢"), chunked=True):
            c.send(bytes([byte]))
        assert c.read().status == 200
    assert up.calls[-1].json == chat("é漢")


def test_two_families_of_listeners(gateway, upstream):
    """The data plane on an IPv6 literal."""
    if not socket.has_ipv6:
        pytest.skip("no IPv6")
    try:
        wire.connect(("::1", 1)).close()
    except ConnectionRefusedError:
        pass
    except OSError:
        pytest.skip("this machine has no ::1")
    up = upstream(lambda call: call.answer())
    gw = gateway([up], listen="[::1]:0")
    assert gw.ask().status == 200
