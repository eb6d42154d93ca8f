"""Where limits meet: time-outs, slabs, bytes, odd bodies, odd answers."""
import gzip
import json
import signal
import threading

import pytest
from harness import config, wire
from harness.upstream import completion
from harness.waiting import eventually
from harness.wire import chat, head, post

MIB = 1 << 20


def ok(call):
    call.stream() if call.json.get("stream") else call.answer()


# time-outs towards clients

def test_slow_head_is_408_or_closed(gateway, upstream):
    gw = gateway([upstream(ok)], timeouts={"head": "300ms"})
    gw.exact = False
    with gw.client() as c:
        c.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        r = c.read_head()
        assert r is None or r.status == 408
        if r is not None:
            c.read()
        assert c.at_end() in ("cut", "reset")
    assert gw.ask().status == 200


def test_slow_body_is_408(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up], timeouts={"body": "300ms"})
    gw.exact = False
    with gw.client() as c:
        c.send(head("POST", "/v1/chat/completions", [("Content-Length", 1000)]) + b'{"model":')
        r = c.read_head()
        assert r is None or r.status == 408
        if r is not None:
            c.read()
        assert c.at_end() in ("cut", "reset")
    gw.check_quiet()
    assert not up.calls and gw.metrics().sum("held_bytes") == 0


def test_client_leaves_inside_its_body(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up])
    gw.exact = False
    for leave in ("close", "reset", "half_close"):
        c = gw.client()
        c.send(head("POST", "/v1/chat/completions", [("Content-Length", 1000)]) + b'{"model":"m"')
        eventually(lambda: gw.metrics().sum("held_bytes") > 0, "bytes held")
        getattr(c, leave)()
        eventually(lambda: gw.metrics().sum("held_bytes") == 0, "bytes given back")
        c.close()
    assert not up.calls


# bounds

def test_slab_is_bounded(gateway, upstream):
    up = upstream()
    gw = gateway([up], limits={"tickets": 16}, pool_keys={"slots": 4})
    waiting = [gw.client().request(post()) for _ in range(16)]
    gw.wait_queued(12)
    r = gw.ask()
    assert r.status == 429 and r.get("retry-after")
    running = [up.take() for _ in range(4)]
    up.handler = ok
    for call in running:
        call.answer()
    assert {c.read().status for c in waiting} == {200}
    assert gw.ask().status == 200
    for c in waiting:
        c.close()


def test_bytes_are_bounded_before_they_are_read(gateway, upstream):
    """Reserved by Content-Length: what does not fit is refused, nothing of it read."""
    up = upstream()
    gw = gateway([up], limits={"memory": "4MiB", "body": "3MiB"}, pool_keys={"slots": 1})
    first = gw.client().request(post(body=chat("x" * 2 * MIB)))
    running = up.take()
    with gw.client() as c:
        c.request(head("POST", "/v1/chat/completions", [("Content-Length", 3 * MIB), ("Expect", "100-continue")]))
        r = c.read_head(skip_interim=False)
        assert r.status == 429 and r.get("retry-after"), r
        c.read()
    running.answer()
    assert first.read().status == 200
    first.close()
    gw.check_quiet()
    assert gw.outcomes() == {("done", "none"): 1, ("refused", "bytes_full"): 1}


def test_many_uploads_against_few_bytes(gateway, upstream):
    """Chunked uploads beyond the bound pause and go on, or are refused; none hangs, none is cut."""
    up = upstream(ok)
    gw = gateway([up], limits={"memory": "8MiB", "body": "4MiB"})
    data = json.dumps(chat("x" * 3 * MIB)).encode()
    answers = gw.together(12, lambda i: gw.ask(body=data, chunked=True))
    assert {r.status for r in answers} <= {200, 429}
    assert any(r.status == 200 for r in answers)
    assert all(call.body == data for call in up.calls)
    gw.check_quiet()
    assert gw.metrics().sum("held_bytes") == 0


# bodies

@pytest.mark.parametrize("depth", [60, 10000])
def test_deep_json(gateway, upstream, depth):
    up = upstream(ok)
    gw = gateway([up])
    body = b'{"model":"m","messages":[],"x":' + b"[" * depth + b"]" * depth + b"}"
    r = gw.ask(body=body)
    assert r.status in ((200,) if depth < 64 else (200, 400))


def test_duplicate_model_is_read_as_engines_do(gateway, upstream):
    """The last one counts: what is judged is what the engine will run."""
    a, b = upstream(ok), upstream(ok)
    gw = gateway(pools=[config.pool([a], "a", ["one"], aliases={"first": "one"}), config.pool([b], "b", ["two"])], ready=2)
    assert gw.ask(body=b'{"model":"one","messages":[],"model":"two"}').status == 200
    assert len(b.calls) == 1 and b.calls[0].json["model"] == "two" and not a.calls
    assert gw.ask(body=b'{"model":"two","messages":[],"model":"first"}').status == 200
    assert len(a.calls) == 1 and a.calls[0].json["model"] == "one"
    assert gw.ask(body=b'{"model":"two","messages":[],"model":"three"}').status == 404
    assert gw.ask(body=b'{"\\u006dodel":"\\u0074wo","messages":[]}').status == 200
    assert len(b.calls) == 2


def test_odd_numbers_in_the_body(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up])
    for more in ({"max_tokens": 10**18}, {"max_tokens": -1}, {"max_tokens": 1e300}, {"n": 0}, {"n": 10**12},
                 {"n": "4"}, {"stream": 1}, {"stream": None}, {"max_tokens": None}, {"best_of": 3.7}):
        assert gw.ask(body=chat(**more)).status in (200, 400), more
    gw.check_quiet()


def test_every_form_is_sized(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up])
    for path, body in (("/v1/completions", {"prompt": ["a b c"] * 3, "n": 1}),
                       ("/v1/embeddings", {"input": ["a", "b", "c", "d", "e", "f"]}),
                       ("/v1/embeddings", {"input": [1, 2, 3]}), ("/v1/embeddings", {"input": [[1, 2], [3]]}),
                       ("/v1/responses", {"input": [{"role": "user", "content": "hi"}], "instructions": "x"}),
                       ("/v1/messages", {"messages": [{"role": "user", "content": "hi"}], "system": "s", "max_tokens": 4}),
                       ("/v1/rerank", {"query": "q", "documents": ["a", "b"]})):
        assert gw.ask(path, {"model": "m", **body}).status == 200, path
        assert up.calls[-1].target == path
    records = [r for r in gw.access() if r["status"] == 200]
    assert all(r["tokens_estimated"] > 0 for r in records), records


# answers

def test_compressed_answer_passes_unchanged(gateway, upstream):
    up = upstream()
    gw = gateway([up])
    data = gzip.compress(b'{"choices":[]}')
    with gw.client() as c:
        c.request(post(headers=[("Accept-Encoding", "gzip")]))
        up.take().answer(200, data, [("Content-Encoding", "gzip")])
        r = c.read()
        assert r.body == data and r.get("content-encoding") == "gzip"


def test_a_stream_asked_for_and_json_answered(gateway, upstream):
    up = upstream(lambda call: call.answer())
    gw = gateway([up])
    r = gw.ask(body=chat(stream=True))
    assert r.status == 200 and r.json["choices"]
    assert gw.outcomes() == {("done", "none"): 1}


def test_a_stream_that_was_not_asked_for(gateway, upstream):
    up = upstream(lambda call: call.stream())
    gw = gateway([up])
    assert wire.events(gw.ask().body)[-1] == "[DONE]"


def test_stream_without_done(gateway, upstream):
    """A clean end of message without [DONE] is not a whole stream."""
    def without(call):
        call.stream_head()
        call.token("t0").last_chunk()
    gw = gateway([upstream(without)])
    r = gw.ask(body=chat(stream=True))
    assert r.status == 200 and b'"t0"' in r.body
    gw.check_quiet()


def test_long_prelude_before_the_first_event(gateway, upstream):
    """More than is held comes before any event: it goes on, nothing is lost."""
    prelude = b"".join(b": filler %d %b\n\n" % (i, b"p" * 1000) for i in range(150))

    def serve(call):
        call.stream_head()
        call.chunk(prelude)
        call.token("t0").stream_end()
    gw = gateway([upstream(serve)])
    r = gw.ask(body=chat(stream=True))
    assert r.status == 200 and r.clean and r.body.startswith(prelude) and r.body.endswith(b"data: [DONE]\n\n")


def test_one_huge_event(gateway, upstream):
    big = "y" * (3 * MIB)

    def serve(call):
        call.stream_head()
        call.token(big).stream_end()
    gw = gateway([upstream(serve)])
    r = gw.ask(body=chat(stream=True))
    assert r.clean and json.loads(wire.events(r.body)[0])["choices"][0]["delta"]["content"] == big


def test_huge_answer_head_is_bad_framing(gateway, upstream):
    def serve(call):
        call.head(200, [("X-Big", "h" * 300_000)], 2)
        call.send(b"{}")
        call.done()
    ups = [upstream(serve), upstream(ok)]
    gw = gateway(ups)
    for i in range(6):
        assert gw.ask(body=chat(f"number {i}")).status == 200


def test_bytes_behind_an_answer_end_the_connection(gateway, upstream):
    """What comes after a whole answer belongs to nobody: never to the next client."""
    def serve(call):
        data = b'{"a":1}'
        call.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n" + data
                  + b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"evil\":1}")
        call.done()
    gw = gateway([upstream(serve)])
    for i in range(10):
        assert gw.ask(body=chat(f"number {i}")).json == {"a": 1}


def test_early_answer_while_the_body_is_sent(gateway, upstream):
    """An engine that answers 413 before it read everything."""
    up = upstream()
    gw = gateway([up])
    raw = threading.Event()
    original = up._serve

    def serve(connection):
        if raw.is_set():
            connection.sock.recv(1000)
            connection.sock.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            connection.sock.settimeout(5)
            try:
                while connection.sock.recv(1 << 20):
                    pass
            except OSError:
                pass
            connection.shut()
        else:
            original(connection)
    up._serve = serve
    raw.set()
    for c in up.connections:
        c.shut()
    r = gw.ask(body=chat("b" * 8 * MIB))
    assert r.status == 413
    raw.clear()


# labels, logs

def test_hostile_text_in_labels_and_logs(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up])
    nasty = 'a"b\\c\u2028\u0007'
    assert gw.ask(body=chat(model=nasty)).status == 404
    assert gw.ask("/no\"where\\").status in (400, 404)
    gw.ask(headers=[("X-Request-Id", 'id"\\\t\xff'), ("X-Request-Type", '"\\'), ("X-Priority", '"\n'.strip())])
    with gw.client() as c:
        c.request(post(headers=[("X-Request-Id", "a b")])).read()
    gw.check_quiet()
    assert len(gw.access()) >= 3  # each line is JSON: it was parsed
    assert gw.metrics().samples


def test_ttl_asked_for_by_the_client(gateway, upstream):
    up = upstream()
    gw = gateway([up], compat_headers=["llm-d"], pool_keys={"slots": 1})
    with gw.client() as a:
        a.request(post())
        running = up.take()
        r = gw.ask(headers=[("x-llm-d-inference-ttl", "300ms")])
        assert r.status == 429
        running.answer()
        assert a.read().status == 200


def test_priorities_are_served_in_order(gateway, upstream):
    """One slot: what waits leaves it by class, then by arrival."""
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 1})
    order = ["low", "medium", "high", "low", "high", "medium"]
    first = gw.client().request(post(body=chat("first")))
    running = up.take()
    clients = []
    for i, name in enumerate(order):
        clients.append(gw.client().request(post(body=chat(f"{name} {i}"), headers=[("X-Priority", name)])))
        gw.wait_queued(i + 1)
    served = []
    for _ in order:
        running.answer()
        running = up.take()
        served.append(running.json["messages"][0]["content"].split()[0])
    running.answer()
    assert served == ["high", "high", "medium", "medium", "low", "low"]
    assert {c.read().status for c in (first, *clients)} == {200}
    for c in (first, *clients):
        c.close()


def test_one_tenants_flood_delays_that_tenant(gateway, upstream):
    """Two tenants of one class: ten of one, then two of the other, take turns."""
    import hashlib
    keys = [{"name": n, "key_sha256": hashlib.sha256(n.encode()).hexdigest()} for n in ("flood", "calm")]
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 1}, tenants=[{"name": "default"}, *keys])
    clients = [gw.client().request(post(body=chat("first")))]
    running = up.take()
    for i in range(10):
        clients.append(gw.client().request(post(body=chat("flood"), headers=[("Authorization", "Bearer flood")])))
    gw.wait_queued(10)
    for i in range(2):
        clients.append(gw.client().request(post(body=chat("calm"), headers=[("Authorization", "Bearer calm")])))
    gw.wait_queued(12)
    served = []
    for _ in range(12):
        running.answer()
        running = up.take()
        served.append(running.json["messages"][0]["content"])
    running.answer()
    assert served.index("calm") <= 2 and served[:6].count("calm") == 2, served
    assert {c.read().status for c in clients} == {200}
    for c in clients:
        c.close()


def test_fixed_refuses_and_promotes_nothing_early(gateway, upstream):
    """The baseline's bounds at the wire: 2 running, 3 queued in medium, the next is refused."""
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 8, "policy": "fixed",
                                  "fixed": {"queues": [2, 3, 4], "in_flight": [4, 2, 1]}})
    clients = [gw.client().request(post()) for _ in range(5)]
    gw.wait_queued(3)
    eventually(lambda: len(up.calls) == 2, "two running")
    r = gw.ask()
    assert r.status == 429 and r.get("x-llm-d-request-dropped-reason") == "rejected-saturated"
    running = [up.take() for _ in range(2)]
    up.handler = ok
    for call in running:
        call.answer()
    assert {c.read().status for c in clients} == {200}
    for c in clients:
        c.close()


def test_connection_close_is_honoured(gateway, upstream):
    gw = gateway([upstream(ok)])
    for body in (chat(), chat(stream=True)):
        with gw.client() as c:
            r = c.ask(body=body, headers=[("Connection", "close")])
            assert r.status == 200 and r.clean and r.get("connection").lower() == "close"
            assert c.at_end() == "cut"


@pytest.mark.parametrize("how", ["reset", "close"])
@pytest.mark.parametrize("boundary", [True, False])
def test_broken_stream_to_an_http10_client_is_visible(gateway, upstream, how, boundary):
    """Where the end of the connection is the end of the answer, a break must not look like one."""
    up = upstream()
    gw = gateway([up])
    with gw.client() as c:
        c.request(post(body=chat(stream=True), version="1.0"))
        call = up.take()
        call.stream_head()
        call.token("t0")
        c.read_head()
        c.until(b'"t0"')
        if not boundary:
            call.chunk(b'data: {"ha')
            c.until(b'{"ha')
        getattr(call, how)()
        r = c.read()
        if r.ending == "close":
            assert boundary and "error" in json.loads(wire.events(r.body)[-1]), r
        else:
            assert r.ending == "reset"
    assert gw.outcomes() == {("failed", "broken"): 1}


def test_broken_answer_to_an_http10_client_is_visible(gateway, upstream):
    up = upstream()
    gw = gateway([up])
    with gw.client() as c:
        c.request(post(version="1.0"))
        call = up.take()
        call.head(200, [("Content-Type", "application/json")])
        call.chunk(b'{"choices":[')
        c.read_head()
        c.until(b"choices")
        call.close()
        assert c.read().ending == "reset"


def waiting_commitment(gateway, upstream, **keys):
    """A stream committed by a comment while the one slot is taken: (gateway, replica, client, first, its call)."""
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 1}, classes={"medium": {"keepalive": {"after": "100ms", "every": "100ms"}}}, **keys)
    first = gw.client().request(post())
    running = up.take()
    c = gw.client()
    c.request(post(body=chat(stream=True)))
    assert c.read_head().status == 200
    while not c.response.body:
        c.piece()
    return gw, up, c, first, running


@pytest.mark.parametrize("answer", [(400, {"error": {"message": "too long", "code": 400}}),
                                    (500, {"error": {"message": "boom", "code": 500}})])
def test_committed_stream_and_an_error_status(gateway, upstream, answer):
    """The status cannot be passed on any more: its error is said in band."""
    gw, up, c, first, running = waiting_commitment(gateway, upstream)
    up.handler = lambda call: call.answer(*answer)
    running.answer()
    r = c.read()
    last = [e for e in wire.events(r.body) if e != "[DONE]"][-1]
    assert "error" in json.loads(last), r
    assert first.read().status == 200
    c.close()
    first.close()


def test_committed_stream_and_a_lost_replica(gateway, upstream):
    """Committed is not begun: it may still run elsewhere."""
    gw, up, c, first, running = waiting_commitment(gateway, upstream)
    lost = []

    def once(call):
        if not lost:
            lost.append(call)
            call.stream_head()
            call.reset()
        else:
            call.stream()
    up.handler = once
    running.answer()
    r = c.read()
    assert r.clean and wire.events(r.body)[-1] == "[DONE]" and b'"t2"' in r.body
    assert first.read().status == 200
    c.close()
    first.close()
    assert gw.outcomes() == {("done", "none"): 2}


def test_committed_stream_whose_client_leaves(gateway, upstream):
    gw, up, c, first, running = waiting_commitment(gateway, upstream)
    c.reset()
    gw.wait_queued(0)
    running.answer()
    assert first.read().status == 200
    first.close()
    gw.check_quiet()
    assert len(up.calls) == 1 and gw.outcomes() == {("done", "none"): 1, ("cancelled", "client"): 1}


def test_refusals_on_messages_have_its_shape(gateway, upstream):
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 1, "policy": "fixed", "fixed": {"queues": [1, 1, 1], "in_flight": [1, 1, 1]}})
    a, b = gw.client().request(post()), None
    running = up.take()
    b = gw.client().request(post())
    gw.wait_queued(1)
    r = gw.ask("/v1/messages", {"model": "m", "max_tokens": 3, "messages": []})
    assert r.status == 429 and r.json["type"] == "error" and r.json["error"]["type"] in ("rate_limit_error", "overloaded_error")
    assert r.get("retry-after")
    running.answer()
    up.take().answer()
    assert a.read().status == b.read().status == 200
    a.close()
    b.close()


def test_request_id_also_on_refusals_of_the_parser(gateway, upstream):
    gw = gateway([upstream(ok)])
    gw.exact = False
    with gw.client() as c:
        c.send(b"POST / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        r = c.read()
        assert r.status == 400 and r.get("content-type").startswith("application/json")


def test_reload_while_full_with_fewer_slots(gateway, upstream):
    """Nobody is cut; the next ones wait until the smaller number is reached."""
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 4})
    clients = [gw.client().request(post(body=chat(f"{i}"))) for i in range(6)]
    running = [up.take() for _ in range(4)]
    keys = config.merge(gw.config, {})
    keys["pools"][0]["slots"] = 1
    gw.reload(keys)
    gw.process.wait_line(lambda line: "reloaded" in line)
    for call in running[:3]:
        call.answer()
    gw.wait_inflight(1)
    assert up.nothing_waits(), "one is still running: no other may start"
    running[3].answer()
    up.take().answer()
    up.take().answer()
    assert {c.read().status for c in clients} == {200}
    for c in clients:
        c.close()


def test_a_replica_that_returns_while_it_drains(gateway, upstream):
    """Taken from the list with a stream on it, and put back: it is used again, the stream lives."""
    a, b = upstream(), upstream(ok)
    gw = gateway([a])
    c = gw.client()
    c.request(post(body=chat(stream=True)))
    call = a.take()
    call.stream_head()
    call.token("t0")
    c.read_head()
    with_b = config.merge(gw.config, {})
    with_b["pools"][0]["replicas"]["static"] = [b.url]
    gw.reload(with_b)
    gw.wait_replica(b.url, "ready")
    both = config.merge(gw.config, {})
    both["pools"][0]["replicas"]["static"] = [a.url]
    gw.reload(both)
    gw.wait_replica(a.url, "ready")
    a.handler = ok
    assert gw.ask().status == 200 and len(a.calls) == 2
    call.token("t1").stream_end()
    assert c.read().clean
    c.close()
    assert gw.outcomes() == {("done", "none"): 2}


def test_reload_adds_a_pool_and_refuses_to_take_one(gateway, upstream):
    a, b = upstream(ok), upstream(ok)
    gw = gateway([a])
    two = config.merge(gw.config, {})
    two["pools"].append(config.pool([b], "second", ["other"]))
    gw.reload(two)
    gw.process.wait_line(lambda line: "reloaded" in line or "restart" in line)
    if "reloaded" in gw.process.output():
        gw.wait_replica(b.url, "ready")
        assert gw.ask(body=chat(model="other")).status == 200 and len(b.calls) == 1
    assert gw.ask(body=chat(model="m")).status == 200


def test_idle_connections_close_when_it_drains(gateway, upstream):
    gw = gateway([upstream(ok)])
    with gw.client() as c:
        assert c.ask().status == 200
        gw.process.send(signal.SIGTERM)
        assert c.at_end() in ("cut", "reset")
    assert gw.process.wait() == 0


def test_long_prompts_wait_where_their_class_refuses(gateway, upstream):
    """`long: {on_full: wait}`: of a flood of long prompts none is refused while bytes last."""
    up = upstream(lambda call: call.answer(200, completion(prompt_tokens=3000)))  # estimates learn from it
    gw = gateway([up], pool_keys={"slots": 2}, classes={
        "medium": {"max_wait": "1ms", "on_full": "reject", "long": {"on_full": "wait"}}})
    words = "word " * 3000
    answers = gw.together(40, lambda i: gw.ask(body=chat(f"{i} {words}")))
    assert {r.status for r in answers} == {200}
    m = gw.metrics()
    assert sum(v for labels, v in m.all("penstock_queue_wait_seconds_count") if labels["length"] == "long") == 40


def test_short_prompts_pass_a_flood_of_long_ones(gateway, upstream):
    """Long prompts may hold half of the slots while shorter ones wait."""
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 4})
    words = "word " * 3000
    clients = [gw.client().request(post(body=chat(f"long {i} {words}"))) for i in range(12)]
    running = [up.take() for _ in range(4)]
    gw.wait_queued(8)
    shorts = [gw.client().request(post(body=chat(f"short {i}"))) for i in range(4)]
    gw.wait_queued(12)
    order = []
    for _ in range(12):
        running.pop(0).answer()
        call = up.take()
        order.append(call.json["messages"][0]["content"].split()[0])
        running.append(call)
    for call in running:
        call.answer()
    assert order[:4].count("short") >= 2 and order.index("long") >= 2, order
    assert {c.read().status for c in (*clients, *shorts)} == {200}
    for c in (*clients, *shorts):
        c.close()


def test_the_same_prefix_goes_to_the_same_replica(gateway, upstream):
    ups = [upstream(ok) for _ in range(4)]
    gw = gateway(ups)
    for _ in range(12):
        assert gw.ask(body=chat("the same beginning")).status == 200
    assert sorted(len(u.calls) for u in ups) == [0, 0, 0, 12]


def test_affinity_is_bounded_by_load(gateway, upstream):
    """A popular prefix does not pile up on one replica while others are free."""
    ups = [upstream() for _ in range(4)]
    gw = gateway(ups, pool_keys={"slots": 8})
    clients = [gw.client().request(post(body=chat("popular"))) for _ in range(8)]
    eventually(lambda: sum(len(u.calls) for u in ups) == 8, "all running")
    assert max(len(u.calls) for u in ups) <= 4, [len(u.calls) for u in ups]
    for u in ups:
        for _ in range(len(u.calls)):
            u.take().answer()
    assert {c.read().status for c in clients} == {200}
    for c in clients:
        c.close()
