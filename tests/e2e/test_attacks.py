"""Strangers on both sides who lie, stop in the middle, or ask for what they must not have."""
import json
import signal
import socket
import threading

import pytest
from harness import config, wire
from harness.upstream import token
from harness.waiting import eventually
from harness.wire import chat, post

STREAM = chat(stream=True)
EVENT = b"data: " + json.dumps(token("one")).encode() + b"\n\n"


# replicas that lie

@pytest.mark.parametrize("spare", [1, 40, 5000])
def test_events_of_a_promised_length_that_are_cut(gateway, upstream, spare):
    """An event of ours fits no promise of the replica's: the stream still ends visibly."""
    gw = gateway([upstream(lambda call: (
        call.head(200, [("Content-Type", "text/event-stream")], len(EVENT) + spare).send(EVENT), call.close()))])
    r = gw.ask(body=STREAM)
    assert r.status == 200 and r.body.startswith(EVENT)
    assert not r.clean or b'"error"' in r.body[len(EVENT):]
    gw.check_quiet()
    assert gw.outcome("failed") == 1


def test_the_replicas_word_on_retries_is_not_doubled(gateway, upstream):
    gw = gateway([upstream(lambda call: call.answer(500, {"error": {}}, [("x-should-retry", "true")]))])
    r = gw.ask()
    assert r.status == 500
    assert r.all("x-should-retry") == ["false"]


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_cut_at_every_byte(gateway, upstream, stream):
    """Never a clean end of half an answer."""
    whole = b"".join([
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" if stream else
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        *(b"%x\r\n%b\r\n" % (len(part), part)
          for part in ([EVENT, b"data: [DONE]\n\n"] if stream else [b'{"choices":', b"[]}"])),
        b"0\r\n\r\n"])
    cuts = list(range(0, len(whole), 3))
    at = iter(cuts)
    lock = threading.Lock()

    def answer(call):
        with lock:
            n = next(at, len(whole))
        call.send(whole[:n])
        call.close()

    gw = gateway([upstream(answer), upstream(answer)], pool_keys={"slots": 64})
    while True:
        with lock:
            if at.__length_hint__() == 0:
                break
        r = gw.ask(body=chat(stream=stream))
        whole_body = EVENT + b"data: [DONE]\n\n" if stream else b'{"choices":[]}'
        assert r.status in (200, 502)
        if r.status == 200 and r.clean:
            assert r.body == whole_body or b'"error"' in r.body, r
    gw.check_quiet()


# answers of ours

def test_every_answer_of_ours_has_a_request_id(gateway, upstream):
    gw = gateway([upstream(lambda call: call.answer())])
    with gw.client() as c:
        r = c.request(b"POST /v1/chat/completions HTTP/1.1\r\nX-Request-Id: mine\r\n\r\n").read()
        assert r.status == 400 and r.get("x-request-id")
    seen = r.get("x-request-id")
    assert gw.wait_access(lambda a: a["status"] == 400)["request_id"] == seen


def test_a_body_that_breaks_is_answered_like_any_other(gateway, upstream):
    """The answer has the client's id and the path's shape, and the record its status."""
    gw = gateway([upstream(lambda call: call.answer())])
    with gw.client() as c:
        c.request(wire.head("POST", "/v1/messages", [("Transfer-Encoding", "chunked"), ("X-Request-Id", "mine")]))
        r = c.send(b"zz\r\n").read()
    assert r.status == 400 and r.get("x-request-id") == "mine"
    assert r.json["type"] == "error"
    record = gw.wait_access(lambda a: a["request_id"] == "mine")
    assert record["status"] == 400 and record["outcome"] == "refused"


def test_a_body_that_stops_is_answered_408(gateway, upstream):
    gw = gateway([upstream(lambda call: call.answer())], timeouts={"body": "200ms"})
    with gw.client() as c:
        r = c.request(wire.head("POST", "/v1/chat/completions", [("Content-Length", 10), ("X-Request-Id", "slow")])
                      + b"{").read()
    assert r.status == 408 and r.get("x-request-id") == "slow"
    assert gw.wait_access(lambda a: a["request_id"] == "slow")["status"] == 408


def test_405_says_what_is_allowed(gateway, upstream):
    gw = gateway([upstream(lambda call: call.answer())])
    assert gw.ask("/v1/models").get("allow") == "GET"
    assert gw.get("/v1/chat/completions").get("allow") == "POST"


@pytest.mark.parametrize("headers, body", [
    ([("Content-Encoding", "gz\xffip")], b"{}"),
    ([("X-Priority", "h\xffgh"), ("X-Tenant", "\xc3")], json.dumps(chat(model="\U0001F600" * 60)).encode()),
    ([], json.dumps(chat(model='"}\r\nX: y\n')).encode()),
])
def test_what_strangers_say_is_echoed_as_json(gateway, upstream, headers, body):
    gw = gateway([upstream(lambda call: call.answer())])
    r = gw.ask(body=body, headers=headers)
    assert 400 <= r.status < 500
    json.loads(r.body.decode("utf-8"))
    gw.wait_access(lambda a: a["status"] == r.status)


# reloads at bad moments

def test_tenants_that_leave_while_a_body_arrives(gateway, upstream):
    import hashlib
    tenants = [{"name": f"t{i}", "key_sha256": hashlib.sha256(b"k%d" % i).hexdigest(), "weight": 3}
               for i in range(40)]
    u = upstream(lambda call: call.answer())
    gw = gateway([u], tenants=[{"name": "default"}, *tenants])
    data = json.dumps(chat()).encode()
    with gw.client() as c:
        c.request(wire.head("POST", "/v1/chat/completions",
                            [("Content-Length", len(data)), ("Authorization", "Bearer k39")]) + data[:5])
        gw.reload(config.build([u]))
        gw.process.wait_line(lambda line: "reloaded" in line)
        assert c.send(data[5:]).read().status == 200


def test_a_replica_drained_by_hand_can_be_removed_and_comes_back(gateway, upstream):
    a, b = upstream(lambda call: call.answer()), upstream(lambda call: call.answer())
    gw = gateway([a, b])
    assert gw.admin("POST", "/replicas/" + b.url.replace("/", "%2F").replace(":", "%3A") + "/drain")[0] == 200
    gw.reload(config.build([a]))
    eventually(lambda: b.url not in json.dumps(gw.state()["replicas"]), lambda: json.dumps(gw.state()["replicas"]))
    gw.reload(config.build([a, b]))
    gw.wait_ready(2)




# clients that take all there is

def test_idle_clients_leave_descriptors_for_replicas(gateway, upstream):
    u = upstream()
    gw = gateway([u], under=("prlimit", "--nofile=64:64"), pool_keys={"slots": 8})
    idle = [gw.client() for _ in range(80)]
    asking = idle[-8:]  # the first ones have made room
    for c in asking:
        c.request(post())
    for call in [u.take() for _ in asking]:  # each on a connection of its own
        call.answer()
    assert [c.read().status for c in asking] == [200] * 8
    for c in idle:
        c.close()
    assert gw.outcomes() == {("done", "none"): 8}


# words that fit

@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_a_refusal_inside_a_stream_says_what_it_is(gateway, upstream, path):
    """The same type as the status would have had."""
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 1},
                 classes={"medium": {"ttl": "500ms", "keepalive": {"after": "100ms", "every": "100ms"}}})
    with gw.client() as a, gw.client() as b:
        a.request(post())
        running = up.take()
        r = b.request(post(path, chat(stream=True, max_tokens=5))).read()
        running.answer()
        a.read()
    assert r.status == 200 and r.clean
    assert json.loads(wire.events(r.body)[-1])["error"]["type"] == "rate_limit_error"


# pages of strangers in an operator's browser

def test_admin_takes_no_orders_from_other_origins(gateway, upstream):
    gw = gateway([upstream(lambda call: call.answer())])
    host = "%s:%d" % gw.ports["admin"]
    status, _, body = gw.admin("POST", "/drain", {"Origin": "http://evil.example"})
    assert status == 403 and b"origin" in body
    assert gw.admin("POST", "/reload", {"Origin": "null"})[0] == 403
    assert gw.admin("POST", "/reload", {"Origin": "http://" + host})[0] == 200
    assert gw.ask().status == 200


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_an_objection_after_comments_is_the_streams_error(gateway, upstream, path):
    """The request is wrong, wherever it runs: it is not tried again, and the client reads why."""
    up = upstream()
    gw = gateway([up], classes={"medium": {"keepalive": {"after": "100ms", "every": "100ms"}}})
    why = {"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}}
    with gw.client() as c:
        c.request(post(path, chat(stream=True, max_tokens=5)))
        call = up.take()
        c.read_head()
        c.until(b"waiting")
        call.answer(400, json.dumps(why, indent=1).encode())
        r = c.read()
    assert r.clean and [json.loads(e) for e in wire.events(r.body)] == [why]
    assert (b"event: error\ndata: {" in r.body) == (path == "/v1/messages")
    assert len(up.calls) == 1
    assert gw.outcomes() == {("done", "none"): 1}
