"""The data plane's exact spellings: routes, models, classes, tenants, headers, errors, the access log."""
import hashlib
import json
import re

import pytest
from harness import config, wire
from harness.place import OTHER_HOST
from harness.wire import chat, head, post

OPENAI_TYPES = {"invalid_request_error", "authentication_error", "permission_error", "not_found_error",
                "rate_limit_error", "server_error", "api_error", "insufficient_quota", "overloaded_error",
                "service_unavailable_error", "timeout_error", "requests", "tokens"}


def ok(call):
    if call.body and json.loads(call.body).get("stream"):
        call.stream()
    else:
        call.answer()


def key(name, text, **more):
    return {"name": name, "key_sha256": hashlib.sha256(text.encode()).hexdigest(), **more}


def openai_error(r, status, code=None):
    assert r.status == status and r.clean, r
    assert r.get("content-type").startswith("application/json")
    assert set(r.json) == {"error"}, r.json
    error = r.json["error"]
    assert set(error) == {"message", "type", "param", "code"}, error
    assert error["message"] and error["type"] in OPENAI_TYPES
    if code:
        assert error["code"] == code
    return error


def anthropic_error(r, status):
    assert r.status == status and r.clean, r
    assert r.json["type"] == "error" and set(r.json["error"]) == {"type", "message"}
    return r.json["error"]


# models

def test_models_are_the_union(gateway, upstream):
    up = upstream(ok)
    pools = [config.pool([up], "a", ["llama", "org/model one"], aliases={"gpt-4": "llama"}),
             config.pool([f"http://{OTHER_HOST}:{up.port}"], "b", ["other"])]
    up2 = upstream(ok, host=OTHER_HOST, port=up.port)
    gw = gateway(pools=pools, ready=2)
    listed = gw.get("/v1/models").json
    assert listed["object"] == "list"
    assert {m["id"] for m in listed["data"]} == {"llama", "org/model one", "gpt-4", "other"}
    assert all(m["object"] == "model" for m in listed["data"])
    for target, name in (("/v1/models/llama", "llama"), ("/v1/models/org/model%20one", "org/model one"),
                         ("/v1/models/org%2Fmodel%20one", "org/model one"), ("/v1/models/gpt-4", "gpt-4")):
        assert gw.get(target).json["id"] == name
    gw.arrived()  # a listing is not counted, its refusal is
    openai_error(gw.get("/v1/models/nothing"), 404, "model_not_found")
    assert not [c for c in up.calls + up2.calls if c.method == "GET"]
    gw.ask(body=chat(model="other"))
    assert [c.json["model"] for c in up2.calls] == ["other"] and not up.calls


def test_alias_rewrites_only_the_model_value(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up], pool_keys={"aliases": {"short \"name\"": "m"}})
    body = (b'{ "messages": [{"role":"user","content":"model \\"short \\\\\\"name\\\\\\"\\""}],\t"x": {"model": "short"},\n'
            b'  "model" :  "short \\"name\\"" , "temperature": 0.70 }')
    assert gw.ask(body=body).status == 200
    assert up.calls[-1].body == body.replace(b'"model" :  "short \\"name\\""', b'"model" :  "m"')
    assert int(up.calls[-1].get("content-length")) == len(up.calls[-1].body)
    plain = b'{ "model":"m", "messages":[ ] }'
    assert gw.ask(body=plain).status == 200
    assert up.calls[-1].body == plain


def test_unknown_model_and_default_pool(gateway, upstream):
    up, up2 = upstream(ok), upstream(ok)
    gw = gateway(pools=[config.pool([up], "a", ["one"]), config.pool([up2], "b", ["two"])],
                 default_pool="b", ready=2)
    openai_error(gw.ask(body=chat(model="three")), 404, "model_not_found")
    openai_error(gw.ask(body=chat(model="")), 404)
    assert gw.ask(body={"messages": []}).status == 200
    assert len(up2.calls) == 1 and not up.calls


def test_no_model_without_default_pool(gateway, upstream):
    gw = gateway(pools=[config.pool([upstream(ok)], "a", ["one"]), config.pool([upstream(ok)], "b", ["two"])], ready=2)
    assert openai_error(gw.ask(body={"messages": []}), 400)["param"] in ("model", None)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"model": 3}', b'{"model": "m", "messages": [}', b"{} x", b"\xff\xfe"])
def test_bad_body_is_400(gateway, upstream, body):
    up = upstream(ok)
    gw = gateway([up])
    openai_error(gw.ask(body=body), 400)
    assert not up.calls


# routes

OPEN = ["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/embeddings",
        "/v1/rerank", "/v2/models/m/infer", "/generate", "/generate_stream", "/custom/path"]


def test_paths_and_methods(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up], pool_keys={"paths": ["/custom/path"]}, default_pool="chat")
    for path in OPEN:
        assert gw.ask(path, {"model": "m", "messages": [], "prompt": "x", "input": "x", "inputs": "x"}).status == 200, path
        assert up.calls[-1].target == path
        for method in ("HEAD", "GET", "PUT", "DELETE", "OPTIONS", "PATCH"):
            with gw.client() as c:
                r = c.request(head(method, path, [("Content-Length", 0)])).read()
                assert r.status == 405, (method, path, r)
    count = len(up.calls)
    for path in ("/", "/metrics", "/health", "/v1/load_lora_adapter", "/sleep", "/v1/chat/completions/", "/custom",
                 "/v1//chat/completions", "/v1/chat/../chat/completions", "/V1/chat/completions", "/admin", "/state",
                 "/v1/chat%2Fcompletions", "//v1/chat/completions", "/v2/models/m/unload", "/v2/models//infer"):
        assert gw.ask(path).status == 404, path
        assert gw.get(path).status == 404, path
    assert len(up.calls) == count


def test_query_is_kept_and_absolute_form(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up])
    assert gw.ask("/v1/chat/completions?api-version=1&x=%20").status == 200
    assert up.calls[-1].target == "/v1/chat/completions?api-version=1&x=%20"
    assert gw.ask("http://gateway.test/v1/chat/completions").status in (200, 400, 404)


def test_errors_are_shaped_by_path(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up], limits={"body": "1MiB"})
    openai_error(gw.ask(body=chat(model="nope")), 404)
    anthropic_error(gw.ask("/v1/messages", chat(model="nope")), 404)
    anthropic_error(gw.ask("/v1/messages", b"{"), 400)
    anthropic_error(gw.ask("/v1/messages", b"x" * (2 << 20)), 413)
    openai_error(gw.ask(body=b"x" * (2 << 20)), 413)
    openai_error(gw.ask("/nowhere"), 404)


def test_bytes_of_an_answer_pass_unchanged(gateway, upstream):
    up = upstream()
    gw = gateway([up])
    with gw.client() as c:
        c.request(post())
        call = up.take()
        data = b'{ "odd" :   "spacing\\u00e9" }\r\n '
        call.answer(201, data, [("X-One", "1"), ("X-Two", "a"), ("X-Two", "b"), ("Set-Cookie", "q=1")])
        r = c.read()
    assert r.status == 201 and r.body == data and r.all("x-two") == ["a", "b"] and r.get("set-cookie") == "q=1"


def test_interim_answers_are_dropped(gateway, upstream):
    up = upstream()
    gw = gateway([up])
    with gw.client() as c:
        c.request(post())
        call = up.take()
        call.send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
        call.answer()
        assert c.read_head(skip_interim=False).status == 200
        c.read()


def test_answer_to_the_end_of_the_connection(gateway, upstream):
    """An HTTP/1.0-style answer: whole when the replica closes, re-framed for the client."""
    up = upstream()
    gw = gateway([up])
    with gw.client() as c:
        c.request(post())
        call = up.take()
        call.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{\"a\":1}")
        call.close()
        r = c.read()
        assert r.clean and r.json == {"a": 1}
    assert gw.outcomes() == {("done", "none"): 1}


@pytest.mark.parametrize("status", [204, 304])
def test_answer_without_a_body(gateway, upstream, status):
    up = upstream()
    gw = gateway([up])
    with gw.client() as c:
        c.request(post())
        up.take().send(b"HTTP/1.1 %d Nothing\r\nX-A: b\r\n\r\n" % status).done()
        r = c.read()
        assert r.status == status and r.get("x-a") == "b" and r.get("transfer-encoding") is None
        c.request(post())
        up.take().answer()
        assert c.read().status == 200


# first byte of a stream

FIRST = {
    "/v1/chat/completions": ([b": hello\n\n"], b'data: {"choices":[]}\n\n', b"data: [DONE]\n\n"),
    "/v1/responses": ([b'event: response.created\ndata: {"type":"response.created"}\n\n'],
                      b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"x"}\n\n',
                      b'event: response.completed\ndata: {"type":"response.completed"}\n\n'),
    "/v1/messages": ([b'event: message_start\ndata: {"type":"message_start","message":{}}\n\n', b'event: ping\ndata: {"type":"ping"}\n\n'],
                     b'event: content_block_start\ndata: {"type":"content_block_start","index":0}\n\n',
                     b'event: message_stop\ndata: {"type":"message_stop"}\n\n'),
}


@pytest.mark.parametrize("path", FIRST)
def test_what_comes_before_the_first_byte_is_held(gateway, upstream, path):
    """Lost before it: nothing reached the client, the other replica serves. After it: as it came."""
    before, first, end = FIRST[path]
    lost = []

    def serve(call):
        call.stream_head()
        for piece in before:
            call.chunk(piece)
        if not lost:
            lost.append(call)
            call.reset()
            return
        call.chunk(first).chunk(end).last_chunk()

    gw = gateway([upstream(serve), upstream(serve)])
    r = gw.ask(path, {"model": "m", "messages": [], "input": "x", "stream": True})
    assert r.status == 200 and r.clean and r.body == b"".join(before) + first + end
    assert lost and gw.outcomes() == {("done", "none"): 1}


FAILURES = {
    "/v1/responses": b'event: response.failed\ndata: {"type":"response.failed","response":{"error":{"code":"server_error"}}}\n\n',
    "/v1/messages": b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n',
}


@pytest.mark.parametrize("path", FAILURES)
def test_failure_inside_a_stream_by_path(gateway, upstream, path):
    before, first, end = FIRST[path]

    def serve(call):
        call.stream_head()
        for piece in [*before, first, FAILURES[path]]:
            call.chunk(piece)
        call.last_chunk()

    gw = gateway([upstream(serve)])
    r = gw.ask(path, {"model": "m", "messages": [], "input": "x", "stream": True})
    assert r.body.endswith(FAILURES[path]) or not r.clean
    assert gw.outcomes() == {("failed", "broken"): 1}


@pytest.mark.parametrize("path", FAILURES)
def test_in_band_error_is_shaped_by_path(gateway, upstream, path):
    before, first, _ = FIRST[path]

    def serve(call):
        call.stream_head()
        for piece in [*before, first]:
            call.chunk(piece)
        call.close()

    gw = gateway([upstream(serve)])
    r = gw.ask(path, {"model": "m", "messages": [], "input": "x", "stream": True})
    if r.clean:
        assert b"error" in r.body.split(first)[1]
    assert gw.outcomes() == {("failed", "broken"): 1}


def test_accept_encoding_is_identity_where_events_are_read(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up])
    gw.ask(body=chat(stream=True), headers=[("Accept-Encoding", "gzip, br")])
    assert up.calls[-1].all("accept-encoding") == ["identity"]


# classes

def claimed(gw, up, headers=(), body=None):
    gw.ask(body=body or chat(), headers=[*headers, ("X-Request-Id", f"r{len(up.calls)}")])
    return gw.wait_access(lambda r: r["request_id"] == f"r{len(up.calls) - 1}")["class"]


def test_class_from_priority_type_and_default(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up])
    assert claimed(gw, up) == "medium"
    assert claimed(gw, up, [("X-Priority", "high")]) == "high"
    assert claimed(gw, up, [("X-Priority", "LOW")]) in ("low", "medium")
    assert claimed(gw, up, [("X-Priority", "urgent")]) == "medium"
    assert claimed(gw, up, [("X-Request-Type", "batch-report")]) == "low"
    assert claimed(gw, up, [("X-Request-Type", "chat"), ("X-Priority", "low")]) == "low"
    assert claimed(gw, up, [("X-Request-Type", "unheard-of")]) == "medium"
    assert claimed(gw, up, body=chat(priority=-100)) == "medium", "the body never sets the class"
    assert gw.metrics().sum("unlabelled_requests_total") >= 2


def test_class_is_clamped_by_the_tenant(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up], types={"chat": "high"}, compat_headers=["llm-d", "gateway", "smg"], tenants=[
        {"name": "default", "max_class": "medium"}, key("vip", "vip-key", max_class="high"),
        key("cheap", "cheap-key", max_class="low")])
    vip, cheap = ("Authorization", "Bearer vip-key"), ("Authorization", "Bearer cheap-key")
    assert claimed(gw, up, [("X-Priority", "high")]) == "medium"
    assert claimed(gw, up, [vip, ("X-Priority", "high")]) == "high"
    assert claimed(gw, up, [cheap, ("X-Priority", "high")]) == "low"
    assert claimed(gw, up, [cheap]) == "low"
    assert claimed(gw, up, [cheap, ("X-Request-Type", "chat")]) == "low"
    assert claimed(gw, up, [cheap, ("x-smg-priority", "high")]) == "low"
    assert claimed(gw, up, [cheap, ("x-llm-d-inference-objective", "high")]) == "low"
    assert claimed(gw, up, [vip, ("x-llm-d-inference-objective", "high")]) == "high"
    record = [r for r in gw.access() if r["tenant"] == "cheap"][0]
    assert record["class_claimed"] == "high" and record["class"] == "low"


def test_compat_headers_only_when_configured(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up])
    assert claimed(gw, up, [("x-smg-priority", "high"), ("x-llm-d-inference-objective", "high")]) == "medium"


def tenant_of(gw, up, headers):
    gw.ask(headers=[*headers, ("X-Request-Id", f"r{len(up.calls)}")])
    return gw.wait_access(lambda r: r["request_id"] == f"r{len(up.calls) - 1}")["tenant"]


@pytest.mark.parametrize("trusted", [True, False])
def test_x_tenant_only_from_trusted_peers(gateway, upstream, trusted):
    up = upstream(ok)
    gw = gateway([up], tenants=[{"name": "default", "max_class": "medium"}, key("acme", "k")],
                 trusted_peers=["127.0.0.0/8" if trusted else "10.0.0.0/8"])
    assert tenant_of(gw, up, [("X-Tenant", "acme")]) == ("acme" if trusted else "default")
    assert tenant_of(gw, up, [("Authorization", "Bearer k")]) == "acme"
    assert tenant_of(gw, up, [("Authorization", "bearer k")]) == "acme"
    assert tenant_of(gw, up, [("Authorization", "Bearer nobody")]) == "default"


def test_key_of_messages(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up], auth="required", tenants=[key("acme", "k")])
    body = {"model": "m", "max_tokens": 5, "messages": []}
    assert gw.ask("/v1/messages", body, [("x-api-key", "k")]).status == 200
    assert gw.ask("/v1/messages", body, [("Authorization", "Bearer k")]).status == 200
    anthropic_error(gw.ask("/v1/messages", body, [("x-api-key", "wrong")]), 401)
    openai_error(gw.ask(headers=[("x-api-key", "k")]), 401)


def test_auth_required(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up], auth="required", tenants=[key("acme", "k")])
    assert gw.ask(headers=[("Authorization", "Bearer k")]).status == 200
    for headers in ([], [("Authorization", "Bearer x")], [("Authorization", "Basic k")], [("Authorization", "k")]):
        r = gw.ask(headers=headers)
        openai_error(r, 401)
    assert len(up.calls) == 1


def test_upstream_auth_replaces_the_clients(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up], pool_keys={"upstream_auth": {"env": "ENGINE_AUTH"}}, env={"ENGINE_AUTH": "engine-secret"})
    assert gw.ask(headers=[("Authorization", "Bearer clients-own")]).status == 200
    seen = up.calls[-1].all("authorization")
    assert len(seen) == 1 and seen[0].endswith("engine-secret") and "clients-own" not in seen[0]
    posts = [p for p in up.probe_calls if p.method == "POST"]
    assert posts and all(p.all("authorization") == seen for p in posts)
    assert "engine-secret" not in gw.process.output() and "clients-own" not in gw.process.output()
    assert "engine-secret" not in json.dumps(gw.state())


# ids, tracing, timing, refusals

def test_request_id(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up])
    r = gw.ask(headers=[("X-Request-Id", "mine-1")])
    assert r.all("x-request-id") == ["mine-1"] and up.calls[-1].get("x-request-id") == "mine-1"
    a, b = gw.ask(), gw.ask()
    assert a.get("x-request-id") and a.get("x-request-id") != b.get("x-request-id")
    assert up.calls[-1].get("x-request-id") == b.get("x-request-id")
    assert gw.ask("/nowhere").get("x-request-id")
    assert gw.get("/v1/models").get("x-request-id")
    hostile = gw.ask(headers=[("X-Request-Id", "x" * 5000)])
    assert hostile.status == 200 and len(hostile.get("x-request-id")) <= 5000


def test_traceparent_is_carried(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up])
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    gw.ask(headers=[("traceparent", f"00-{trace}-00f067aa0ba902b7-01"), ("tracestate", "a=1")])
    call = up.calls[-1]
    assert call.get("traceparent").split("-")[1] == trace and call.get("tracestate") == "a=1"
    assert gw.wait_access(lambda r: r.get("trace_id") == trace)


def test_server_timing(gateway, upstream):
    gw = gateway([upstream(ok)])
    assert re.search(r"queue;dur=[0-9.]+", gw.ask().get("server-timing"))


def test_refusal_headers(gateway, upstream):
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 1, "policy": "fixed", "fixed": {"queues": [1, 1, 1], "in_flight": [1, 1, 1]}})
    with gw.client() as a, gw.client() as b:
        a.request(post())
        running = up.take()
        b.request(post())
        gw.wait_queued(1)
        r = gw.ask()
        openai_error(r, 429)
        after = int(r.get("retry-after"))
        assert 1 <= after <= 59
        assert 0 < int(r.get("retry-after-ms")) <= 59000
        assert r.get("x-llm-d-request-dropped-reason") == "rejected-saturated"
        assert r.get("x-should-retry") in (None, "true")
        running.answer()
        up.take().answer()
        assert a.read().status == b.read().status == 200
    assert gw.outcomes() == {("refused", "queue_full"): 1, ("done", "none"): 2}
    assert gw.metrics().sum("requests_total", pool="chat", outcome="refused") == 1  # by its head alone


@pytest.mark.parametrize("status", [503, 529])
def test_overload_status(gateway, upstream, status):
    up = upstream()
    gw = gateway([up], overload_status=status,
                 pool_keys={"slots": 1, "policy": "fixed", "fixed": {"queues": [1, 1, 1], "in_flight": [1, 1, 1]}})
    with gw.client() as a, gw.client() as b:
        a.request(post())
        running = up.take()
        b.request(post())
        gw.wait_queued(1)
        openai_error(gw.ask(), status)
        anthropic = gw.ask("/v1/messages", chat())
        anthropic_error(anthropic, status)
        assert anthropic.json["error"]["type"] == {503: "api_error", 529: "overloaded_error"}[status]
        running.answer()
        up.take().answer()
        a.read()
        b.read()


def test_keepalive_comments(gateway, upstream):
    """A waiting stream is committed with 200 and comments; then it runs as any other."""
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 1}, classes={"medium": {"keepalive": {"after": "100ms", "every": "100ms"}}})
    with gw.client() as a, gw.client() as b:
        a.request(post())
        running = up.take()
        b.request(post(body=chat(stream=True)))
        r = b.read_head()
        assert r.status == 200 and r.get("content-type").startswith("text/event-stream")
        while r.body.count(b"\n\n") < 3:
            b.piece()
        assert all(line.startswith(b":") for line in r.body.split(b"\n") if line)
        running.answer()
        up.take().stream()
        assert b.read().clean and wire.events(r.body)[-1] == "[DONE]"
        assert a.read().status == 200


def test_keepalive_then_refused(gateway, upstream):
    """Committed, then expired: an in-band error, and no Retry-After was promised."""
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 1},
                 classes={"medium": {"ttl": "600ms", "keepalive": {"after": "100ms", "every": "100ms"}}})
    with gw.client() as a, gw.client() as b:
        a.request(post())
        running = up.take()
        b.request(post(body=chat(stream=True)))
        r = b.read()
        assert r.status == 200 and r.get("retry-after") is None
        assert "error" in json.loads([e for e in wire.events(r.body) if e != "[DONE]"][-1])
        running.answer()
        a.read()
    assert gw.outcomes() == {("expired", "ttl"): 1, ("done", "none"): 1}


def test_access_log(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up], tenants=[{"name": "default", "max_class": "high"}, key("acme", "sk-secret-key")])
    gw.ask(body=chat("my very private prompt", user="someone", max_tokens=9),
           headers=[("Authorization", "Bearer sk-secret-key"), ("X-Request-Id", "one"), ("X-Request-Type", "analysis")])
    record = gw.wait_access(lambda r: r["request_id"] == "one")
    assert record["tenant"] == "acme" and record["model"] == "m" and record["type"] == "analysis"
    assert record["status"] == 200 and record["outcome"] == "done" and record["tries"] == 1
    assert record["replica"] == up.url and record["class"] == "medium"
    assert record["tokens_in"] == 3 and record["tokens_out"] == 1 and record["tokens_estimated"] > 0
    assert any("wait" in k for k in record) and any("duration" in k for k in record)
    said = gw.process.output()
    assert "private prompt" not in said and "sk-secret" not in said and "messages" not in said


def test_body_fields_that_shape_the_ticket(gateway, upstream):
    """n takes n slots: a request of four sequences fills a replica of four."""
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 4})
    with gw.client() as a, gw.client() as b:
        a.request(post(body=chat(n=4)))
        first = up.take()
        assert gw.metrics().sum("replica_inflight") == 4
        b.request(post())
        gw.wait_queued(1)
        assert len(up.calls) == 1
        first.answer()
        up.take().answer()
        assert a.read().status == b.read().status == 200
