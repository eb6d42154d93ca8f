"""The OpenAI SDK, unmodified, against the gateway: scripted replicas, then two real llama.cpp servers."""
import json
import re

import pytest
from harness import llama, sdk
from harness.waiting import eventually

pytestmark = pytest.mark.skipif(sdk.MISSING is not None, reason=str(sdk.MISSING))


def ok(call):
    call.stream() if call.json.get("stream") else call.answer()


def marked(up):
    """The SDK's requests carry no mark of the tests: its user agent tells them from probes."""
    probe = up._answer_probe

    def answer(call):
        if "OpenAI" in (call.get("user-agent") or "") and call.method == "POST":
            up.calls.append(call)
            up.handler(call)
        else:
            probe(call)
    up._answer_probe = answer
    return up


@pytest.fixture
def pair(gateway, upstream):
    def make(handler=ok, **keys):
        up = marked(upstream(handler))
        g = gateway([up], **keys)
        g.exact = False
        return g, up
    return make


def test_stream_complete_and_models(pair):
    gw, up = pair()
    said = sdk.run(gw, "stream")
    assert said["text"] == "t0t1t2"
    assert sdk.run(gw, "complete")["requestID"]
    assert sdk.run(gw, "models") == ["m"]
    assert sdk.run(gw, "model", model="m") == "m"
    assert gw.outcomes() == {("done", "none"): 2}


def test_errors_are_the_sdks_own_classes(pair):
    gw, up = pair()
    e = sdk.run(gw, "error", model="unknown")
    assert (e["class"], e["status"], e["code"]) == ("NotFoundError", 404, "model_not_found") and e["requestID"]
    assert "unknown" in e["message"]
    up.handler = lambda call: call.answer(400, {"error": {"message": "too long", "type": "invalid_request_error",
                                                          "param": None, "code": "context_length_exceeded"}})
    e = sdk.run(gw, "error")
    assert (e["class"], e["code"]) == ("BadRequestError", "context_length_exceeded")
    up.handler = lambda call: call.answer(500, {"error": {"message": "boom", "type": "server_error", "param": None, "code": None}})
    assert sdk.run(gw, "error", retries=3)["class"] == "InternalServerError"
    assert len([c for c in up.calls if c.get("x-stainless-retry-count") not in (None, "0")]) == 0, \
        "x-should-retry: false was not obeyed, or not sent"


def test_401(pair):
    gw, up = pair(auth="required", tenants=[{"name": "a", "key_sha256": "00" * 32}])
    assert sdk.run(gw, "error")["class"] == "AuthenticationError"


def test_429_is_retried_after_what_we_say(pair):
    """Refused, told when to come back, and served then: Retry-After is honoured."""
    gw, up = pair(pool_keys={"slots": 1, "policy": "fixed", "fixed": {"queues": [1, 1, 1], "in_flight": [1, 1, 1]}})
    up.handler = lambda call: up._waiting.put(call) or call.finished.wait(60)
    first = sdk.start(gw, "complete")
    running = up.take()
    second = sdk.start(gw, "complete")
    gw.wait_queued(1)
    e = sdk.run(gw, "error", retries=0)
    assert (e["class"], e["status"]) == ("RateLimitError", 429)
    patient = sdk.start(gw, "complete", retries=2)
    record = gw.wait_access(lambda r: r["status"] == 429)
    assert record["reason"] == "queue_full"
    eventually(lambda: gw.outcome("refused") >= 2, "the patient one was refused too")
    running.answer()
    up.take().answer()
    third = up.take()
    assert int(third.get("x-stainless-retry-count")) >= 1
    third.answer()
    for process in (first, second, patient):
        assert sdk.result(process)["text"] == "ok"


def test_error_inside_a_stream_raises(pair):
    gw, up = pair()

    def broken(call):
        call.stream_head()
        call.token("t0")
        call.close()

    up.handler = broken
    e = sdk.run(gw, "error", stream=True)
    assert "class" in e, f"a broken stream looked whole: {e}"


def test_abort_mid_stream_closes_upstream(pair):
    gw, up = pair()
    left = []

    def endless(call):
        call.stream_head()
        for i in range(3):
            call.token(f"t{i}")
        left.append(call.wait_left())

    up.handler = endless
    assert sdk.run(gw, "abort")["events"] == 2
    eventually(lambda: left, "upstream closed")
    eventually(lambda: gw.outcome("cancelled") == 1, "cancelled")


# the real thing

@pytest.fixture
def engines():
    why = llama.missing()
    if why:
        pytest.skip(why)
    made = []

    def make(**keys):
        made.append(llama.Llama(**keys))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def test_two_llama_servers_one_late(gateway, engines):
    """Streams and completes from both; the late one's "Loading model" reaches no client."""
    a, b = engines(), engines(start=False)
    a.wait_loaded()
    gw = gateway([a, b], ready=1, pool_keys={"engine": "llamacpp", "models": [llama.MODEL], "slots": 4})
    gw.exact = False
    early = sdk.start(gw, "many", model=llama.MODEL, count=6, max_tokens=24)
    b.start()
    gw.wait_replica(b.url, "ready", 60)
    late = sdk.start(gw, "many", model=llama.MODEL, count=8, max_tokens=24)
    for process in (early, late):
        for said in sdk.result(process, 240):
            assert "class" not in said, said
            assert said["text"] and said["finish"] in ("length", "stop")
    assert gw.outcomes() == {("done", "none"): 28}
    gw.wait_access(lambda r: r.get("replica") == b.url)
    # nothing but probes reached it before it was ready: it never had to answer a POST with 503
    assert all(r["status"] == 200 for r in gw.access())
    for engine in (a, b):
        assert engine.metric("requests_deferred") == 0
    assert not re.search("Loading", gw.process.output().replace("loading", ""))


def test_llama_usage_and_tokens(gateway, engines):
    a = engines().wait_loaded()
    gw = gateway([a], pool_keys={"engine": "llamacpp", "models": [llama.MODEL], "slots": 4})
    gw.exact = False
    said = sdk.run(gw, "complete", model=llama.MODEL, max_tokens=8)
    record = gw.wait_access(lambda r: r["status"] == 200)
    assert record["tokens_in"] == said["usage"]["prompt_tokens"]
    assert record["tokens_out"] == said["usage"]["completion_tokens"]
    assert json.dumps(record)
