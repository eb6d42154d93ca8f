"""Public bug reports about limits, Expect, hop-by-hop headers, tokens and configuration."""
import base64
import json

import pytest
from harness import config, wire
from harness.process import run
from harness.waiting import eventually
from harness.wire import chat, head, post

MIB = 1 << 20


def test_B038(gateway, upstream):
    up = upstream(lambda call: call.answer())
    gw = gateway([up], limits={"head": None})
    big = [("Authorization", "Bearer " + "k" * 12 * 1024), ("Cookie", "c" * 6 * 1024)]
    assert gw.ask(headers=big).status == 200
    assert gw.ask(headers=[("X-Large", "x" * 31 * 1024)]).status == 200


def test_B038_beyond(gateway, upstream):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    gw.exact = False
    before = gw.metrics().sum("rejected_requests_total")
    with gw.client() as c:
        c.send(post(headers=[("X-Large", "x" * 80 * 1024)]))
        r = c.read()
        assert r.status == 431 and r.json["error"]["message"]
        assert r.get("connection").lower() == "close"
    assert gw.metrics().sum("rejected_requests_total") == before + 1
    gw.wait_access(lambda record: record["status"] == 431)


@pytest.mark.parametrize("size", [8_500_000, 31 * MIB])
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_B040(gateway, upstream, size, chunked):
    up = upstream(lambda call: call.answer())
    gw = gateway([up], limits={"body": None})
    image = "data:image/png;base64," + "A" * size
    body = {"model": "m", "messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": image}}, {"type": "text", "text": "what is it?"}]}]}
    data = json.dumps(body).encode()
    assert gw.ask(body=data, chunked=chunked).status == 200
    assert up.calls[-1].body == data


def test_B040_memory(gateway, upstream):
    """40 uploads at once of 4 MiB against 32 MiB: the memory stays bounded, each is answered truthfully."""
    up = upstream(lambda call: call.answer())
    gw = gateway([up], limits={"memory": "32MiB"})
    data = json.dumps(chat("y" * 4 * MIB)).encode()
    answers = gw.together(40, lambda i: gw.ask(body=data))
    assert {r.status for r in answers} <= {200, 429}
    assert any(r.status == 200 for r in answers)
    with open(f"/proc/{gw.process.pid}/status") as f:
        peak_kib = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
    if "asan" not in gw.process.argv[0]:
        assert peak_kib < 160 * 1024
    assert gw.metrics().sum("held_bytes") == 0


def test_B040_announced_is_not_held(gateway, upstream):
    """200 clients announce 31 MiB each and send a little: what is held is what came."""
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    gw.exact = False
    clients = [gw.client() for _ in range(200)]
    for c in clients:
        try:
            c.send(head("POST", "/v1/chat/completions", [("Content-Length", 31 * MIB)]) + b'{"x":"' + b"a" * 65536)
        except OSError:
            pass  # refused already: 2 GiB are reserved
    eventually(lambda: gw.metrics().sum("held_bytes") >= 60 * 65536, "bodies are read")
    with open(f"/proc/{gw.process.pid}/status") as f:
        resident_kib = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
    assert "asan" in gw.process.argv[0] or resident_kib < 150 * 1024
    eventually(lambda: gw.outcomes().get(("refused", "bytes_full"), 0) >= 200 - 67, "no more is promised than there is")
    for c in clients:
        c.reset()
    eventually(lambda: gw.metrics().sum("held_bytes") == 0, "given back")
    assert gw.ask().status == 200


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_B041(gateway, upstream, chunked):
    """A client that sends all of its body before it reads still reads the 413."""
    up = upstream(lambda call: call.answer())
    gw = gateway([up], limits={"body": "10MiB"})
    data = b"x" * (11 * MIB)
    with gw.client() as c:
        gw.arrived()
        c.method = "POST"
        raw = post(body=data, chunked=chunked)
        try:
            c.send(raw)
        except (BrokenPipeError, ConnectionResetError):
            pytest.fail("reset before the answer could be read")
        r = c.read()
        assert r.status == 413 and r.clean and r.json["error"]["message"]
    assert not up.calls


def test_B043(gateway, upstream):
    up = upstream(lambda call: call.answer())
    gw = gateway([up], limits={"body": "1MiB"})
    with gw.client() as c:
        c.request(head("POST", "/v1/chat/completions", [("Content-Length", 2 * MIB)]))
        r = c.read()
        assert r.status == 413 and r.get("connection").lower() == "close"
        assert c.at_end() == "cut"
    with gw.client() as c:  # a body that was read leaves the connection open
        assert c.ask("/v1/nowhere").status == 404
        assert c.ask().status == 200


def full(up, **more):
    """One slot, one ticket running, one queued in a class that may hold one: the next is refused."""
    return dict(pool_keys={"slots": 1, "policy": "fixed",
                           "fixed": {"queues": [1, 1, 1], "in_flight": [1, 1, 1]}}, **more)


def test_B043_refused_by_the_queue(gateway, upstream):
    up = upstream()
    gw = gateway([up], **full(up))
    with gw.client() as a, gw.client() as b, gw.client() as c:
        a.request(post())
        running = up.take()
        b.request(post())
        gw.wait_queued(1)
        c.request(head("POST", "/v1/chat/completions", [("Content-Length", 5 * MIB)]))
        r = c.read()
        if r.status == 429:  # refused on its head
            assert r.get("connection").lower() == "close"
            assert c.at_end() == "cut"
        running.answer()
        up.take().answer()
        assert a.read().status == b.read().status == 200


def test_B044(gateway, upstream):
    """The final 429 comes instead of 100, and no body byte is read."""
    up = upstream()
    gw = gateway([up], **full(up), default_pool="chat")
    with gw.client() as a, gw.client() as b, gw.client() as c:
        a.request(post())
        running = up.take()
        b.request(post())
        gw.wait_queued(1)
        c.request(head("POST", "/v1/chat/completions",
                       [("Expect", "100-continue"), ("Content-Length", 10 * MIB)]))
        r = c.read_head(skip_interim=False)
        assert r.status == 429, r
        c.read()
        assert r.get("connection").lower() == "close" and r.get("retry-after")
        running.answer()
        up.take().answer()
        assert a.read().status == b.read().status == 200


def test_B044_accepted(gateway, upstream):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    data = json.dumps(chat()).encode()
    with gw.client() as c:
        c.request(head("POST", "/v1/chat/completions",
                       [("Expect", "100-continue"), ("Content-Length", len(data))]))
        assert c.read_head(skip_interim=False).status == 100
        c.response = None
        c.send(data)
        assert c.read().status == 200
    assert up.calls[-1].get("expect") is None


def test_B044_unknown_expectation(gateway, upstream):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    assert gw.ask(headers=[("Expect", "something-else")]).status in (200, 417)


HOP = [("Keep-Alive", "timeout=5"), ("Proxy-Connection", "keep-alive"), ("Proxy-Authorization", "Basic x"),
       ("TE", "trailers"), ("Trailer", "X-T"), ("X-Private", "secret")]


def test_B049(gateway, upstream):
    up = upstream()
    gw = gateway([up], default_class="low")
    with gw.client() as c:
        c.request(post(headers=[("Connection", "close, X-Priority, Authorization, X-Private, Content-Type"),
                                ("X-Priority", "high"), ("Authorization", "Bearer k"), ("X-Kept", "yes"), *HOP]))
        call = up.take()
        for name, _ in HOP:
            assert call.get(name) is None, name
        assert call.get("connection", "keep-alive").lower() == "keep-alive"
        assert call.get("x-kept") == "yes"
        assert call.get("authorization") == "Bearer k"
        assert call.get("content-type") == "application/json"
        call.answer(200, headers=[("Connection", "X-Gone, Retry-After"), ("X-Gone", "1"), ("X-Stays", "2"),
                                  ("Keep-Alive", "timeout=5"), ("Proxy-Authenticate", "x")])
        r = c.read()
        for name in ("x-gone", "keep-alive", "proxy-authenticate"):
            assert r.get(name) is None, name
        assert r.get("x-stays") == "2"
    record = gw.wait_access(lambda record: record["status"] == 200)
    assert record["class"] == "high", record


@pytest.mark.parametrize("content,length", [
    ("漢" * 700, "mid"),
    ("漢" * 400, "short"),
    (" " * 2000, "short"),
    ("word " * 300, "short"),
    ("漢" * 3000, "long"),
    ([{"type": "text", "text": "look"},
      {"type": "image_url", "image_url": {"url": "data:image/png;base64," + base64.b64encode(b"i" * 90000).decode()}}],
     "short"),
], ids=["cjk-700", "cjk-400", "spaces", "words", "cjk-3000", "image"])
def test_B098(gateway, upstream, content, length):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    assert gw.ask(body=chat(content)).status == 200
    m = gw.metrics()
    seen = {labels["length"] for labels, value in m.all("penstock_queue_wait_seconds_count") if value}
    assert seen == {length}
    record = gw.wait_access(lambda record: record["status"] == 200)
    assert record["tokens_estimated"] > 0 and record["tokens_in"] == 3


def problems(tmp_path, text):
    file = tmp_path / "p.yaml"
    file.write_text(text)
    code, out, err = run("check", file)
    return code, out + err, str(file)


def line_of(text, part):
    return next(i for i, line in enumerate(text.splitlines(), 1) if part in line)


@pytest.mark.parametrize("key,value", [
    (("classes", "low", "max_wait"), 400), (("drain", "deadline"), 600), (("classes", "high", "ttl"), "30"),
    (("limits", "body"), 1000), (("classes", "high", "target"), "1.5"), (("limits", "head"), "64 kilo"),
])
def test_B101(tmp_path, key, value):
    keys = {key[-1]: value}
    for k in reversed(key[:-1]):
        keys = {k: keys}
    text = config.text(config.build(["http://127.0.0.1:1"], **keys))
    code, said, file = problems(tmp_path, text)
    assert code == 2, said
    line = line_of(text, key[0] if key[0] != "classes" else f"{key[1]}:")
    assert f"{file}:{line}:" in said
    assert "ms" in said or "MiB" in said, "the accepted forms are named"


def test_B103(tmp_path, gateway, upstream):
    up = upstream(lambda call: call.answer())
    whole = config.text(config.build(
        [up], tenants=[{"name": "default", "max_class": "high"}, {"name": "NO_NAME", "key_sha256": "ab" * 32}],
        pool_keys={"models": ["MODEL_A", "MODEL_B", "MODEL_C"]}))
    whole = (whole.replace("NO_NAME", "no").replace("MODEL_A", "1e3").replace("MODEL_B", "1.10")
             .replace("MODEL_C", "NO"))
    gw = gateway(raw=whole, ready=1)
    assert {m["id"] for m in gw.get("/v1/models").json["data"]} == {"1e3", "1.10", "NO"}
    assert gw.ask(body=chat(model="1e3")).status == 200
    for bad in ("0080", "0x50", "1e3", "no", "80 80"):
        text = config.text(config.build([up])).replace("slots: 4", f"slots: {bad}")
        code, said, file = problems(tmp_path, text)
        assert code == 2 and f"{file}:{line_of(text, 'slots:')}:" in said, (bad, said)
    port = config.text(config.build([up], listen="127.0.0.1:0080"))
    code, said, _ = problems(tmp_path, port)
    assert code in (0, 2)


def test_arrivals_are_counted_when_refused_early(gateway, upstream):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    assert gw.ask("/v1/nowhere").status == 404
    assert gw.ask(body=b"{not json").status == 400
    assert gw.ask(body=chat(model="unknown")).status == 404
    assert wire.events(b"") == []
