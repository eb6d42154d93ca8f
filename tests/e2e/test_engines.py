"""What real engines do (the stand-in does the same, `--like vllm|llamacpp`), and what clients see of it."""
import json
import signal

import pytest
from harness import wire
from harness.waiting import eventually
from harness.wire import chat, post

QUICK = ["--speed", "20"]
SLOW_STREAM = chat(stream=True, max_tokens=2000)
POISON = "PLEASE-POISON-ME"


def served(gw, count, **body):
    answers = gw.together(count, lambda i: gw.ask(body=chat(f"number {i}", max_tokens=4, **body)))
    for r in answers:
        assert r.status == 200 and r.clean, r
        if body.get("stream"):
            said = wire.events(r.body)
            assert said[-1] == "[DONE]" and "error" not in json.loads(said[0]), r
    return answers


def open_stream(gw, body=SLOW_STREAM):
    c = gw.client()
    c.request(post(body=body))
    r = c.read_head()
    assert r.status == 200
    while len(wire.events(r.body)) < 3:
        assert c.piece()
    return c


@pytest.mark.parametrize("like", ["vllm", "llamacpp"])
@pytest.mark.parametrize("stream", [False, True])
def test_plain(gateway, engine, like, stream):
    engines = [engine(*QUICK, like=like) for _ in range(2)]
    gw = gateway(engines, pool_keys={"engine": like, "slots": 4})
    served(gw, 40, stream=stream)
    for e in engines:
        assert e.check_quiet()["max_waiting_ever"] == 0
    assert gw.outcomes() == {("done", "none"): 40}


@pytest.mark.parametrize("like", ["vllm", "llamacpp"])
def test_loading(gateway, engine, like):
    """A late engine gets nothing before it answers; its refused port or 503 Loading reaches no client."""
    early = engine(*QUICK, like=like)
    late = engine("--speed", "1", "--cold-start", "2s", like=like, wait=False)
    gw = gateway([early, late], ready=1, pool_keys={"engine": like})
    served(gw, 20)
    gw.wait_replica(late.url, "ready")
    served(gw, 20)
    s = late.check_quiet()
    assert s["refused"] == 0 and s["failed"] == 0, s


def test_what_another_gateway_runs_is_left_to_it(gateway, engine):
    """Two at once, for the length of a drain: the new one knows what the old one has before it sends anything."""
    e = engine("--slots", "4")
    old = gateway([e], pool_keys={"engine": "vllm", "slots": 4})
    streams = [open_stream(old) for _ in range(3)]
    served(gateway([e], pool_keys={"engine": "vllm", "slots": 4}), 8)
    for stream in streams:
        stream.close()
    assert e.check_quiet()["max_waiting_ever"] == 0


def test_accepted_but_queued_inside(gateway, engine):
    """200 at once is no first byte: killed while it holds only that, the request runs elsewhere."""
    a = engine("--slots", "1", "--speed", "1")
    gw = gateway([a])
    outside = wire.Client(a.address)
    outside.request(post(body=SLOW_STREAM))
    outside.read_head()
    eventually(lambda: outside.piece(), "the only place is taken by somebody else")
    with gw.client() as c:
        c.request(post(body=chat(stream=True, max_tokens=4)))
        eventually(lambda: a.stats()["waiting"] == 1, lambda: str(a.stats()))
        a.kill()
        gw.wait_queued(1)
        a.start()
        r = c.read()
        assert r.status == 200 and r.clean and wire.events(r.body)[-1] == "[DONE]"
    outside.close()
    assert gw.outcomes() == {("done", "none"): 1}


@pytest.mark.parametrize("fault", ["full", "full-event"])
@pytest.mark.parametrize("stream", [False, True])
def test_overload(gateway, engine, fault, stream):
    full, free = engine(*QUICK), engine(*QUICK)
    gw = gateway([full, free], pool_keys={"engine": "vllm", "slots": 4})
    full.fault(set=[fault])
    served(gw, 30, stream=stream)
    assert gw.ready() == 2
    s = full.stats()
    assert s["refused"] <= 6, s
    full.fault(clear=["all"])
    eventually(lambda: served(gw, 10, stream=stream) and full.stats()["completed"] > s["completed"],
               "it is asked again once it has room")


def test_dies_mid_stream(gateway, engine):
    """An error event and [DONE]: both pass on, the outcome is failed."""
    e = engine(*QUICK)
    gw = gateway([e], pool_keys={"engine": "vllm"})
    e.fault(set=["die-mid-stream"])
    r = gw.ask(body=chat(stream=True, max_tokens=20))
    said = wire.events(r.body)
    assert r.status == 200 and any("error" in json.loads(s) for s in said if s != "[DONE]")
    assert gw.outcomes() == {("failed", "broken"): 1}


@pytest.mark.parametrize("like", ["vllm", "llamacpp"])
def test_killed_mid_stream(gateway, engine, like):
    e, other = engine("--speed", "1", like=like), engine(*QUICK, like=like)
    gw = gateway([e], pool_keys={"engine": like})
    c = open_stream(gw)
    e.kill()
    r = c.read()
    assert not r.clean or "error" in json.loads([s for s in wire.events(r.body) if s != "[DONE]"][-1])
    gw.wait_replica(e.url, "loading")
    assert gw.outcomes() == {("failed", "broken"): 1}
    c.close()
    assert other.stats()["received"] == 0


def test_worker_dies(gateway, engine):
    """All in flight end in error events, /health 503, then nobody is there: new work runs elsewhere."""
    a, b = engine("--speed", "1"), engine(*QUICK)
    gw = gateway([a], pool_keys={"engine": "vllm"})
    c = open_stream(gw)
    keys = json.loads(json.dumps(gw.config))
    keys["pools"][0]["replicas"]["static"].append(b.url)
    gw.reload(keys)
    gw.wait_replica(b.url, "ready")
    a.fault(set=["worker-dies"])
    answers = [*gw.together(20, lambda i: gw.ask(body=chat(f"{i}", stream=True, max_tokens=4))), c.read()]
    failed = 0
    for r in answers:  # those that had begun on it fail visibly, every other one is served
        assert r.status == 200, r
        if not r.clean or any("error" in json.loads(e) for e in wire.events(r.body) if e != "[DONE]"):
            failed += 1
            assert len(wire.events(r.body)) > 1
    assert failed >= 1 and gw.outcome("failed") == failed
    c.close()


def test_frozen_worker(gateway, engine):
    """/health 200, no tokens: only the missing progress shows it."""
    a, b = engine("--speed", "1"), engine(*QUICK)
    gw = gateway([a], pool_keys={"engine": "vllm", "stall": "600ms"})
    c = open_stream(gw)
    keys = json.loads(json.dumps(gw.config))
    keys["pools"][0]["replicas"]["static"].append(b.url)
    gw.reload(keys)
    gw.wait_replica(b.url, "ready")
    a.fault(set=["freeze"])
    gw.wait_replica(a.url, "suspect")
    assert a.page("GET", "/health")[0] == 200
    served(gw, 10)
    r = c.read()
    assert not r.clean or "error" in wire.events(r.body)[-1]
    c.close()
    a.fault(clear=["all"])
    gw.wait_replica(a.url, "ready")


def test_hang_with_health_200(gateway, engine):
    """Accepts and never answers: never ready; found later: its work ends within first_byte, not for ever."""
    e = engine(*QUICK)
    gw = gateway([e], pool_keys={"engine": "vllm", "first_byte": "500ms"})
    e.fault(set=["hang"])
    r = gw.ask(body=chat(max_tokens=4))
    assert r.status == 504 and r.get("x-should-retry") == "false"


@pytest.mark.parametrize("fault", ["hang", "asleep", "error-all", "ready-early"])
def test_healthy_but_no_model_is_not_ready(gateway, engine, fault):
    options = ["--cold-start", "30s"] if fault == "ready-early" else []
    bad = engine("--speed", "1", *options, "--fault", fault)
    good = engine(*QUICK)
    gw = gateway([bad, good], ready=1, pool_keys={"engine": "vllm", "ready": {"timeout": "300ms"}})
    served(gw, 20)
    assert not gw.replica_is(bad.url, "ready")
    assert good.stats()["completed"] >= 20
    if fault == "hang":
        bad.fault(clear=["all"])
        gw.wait_replica(bad.url, "ready")


def test_first_request_kills_it(gateway, engine):
    """Healthy until the first request: the completion probe meets it, no client does."""
    bad, good = engine(*QUICK, "--fault", "crash-on=max_tokens"), engine(*QUICK)
    gw = gateway([bad, good], ready=1, pool_keys={"engine": "vllm"})
    eventually(lambda: not bad.process.running, "the probe killed it")
    served(gw, 20)
    assert gw.outcomes() == {("done", "none"): 20}


def test_sigterm_default(gateway, engine):
    """In-flight streams end in error events; new work runs elsewhere at once."""
    a, b = engine("--speed", "1"), engine(*QUICK)
    gw = gateway([a], pool_keys={"engine": "vllm"})
    c = open_stream(gw)
    keys = json.loads(json.dumps(gw.config))
    keys["pools"][0]["replicas"]["static"].append(b.url)
    gw.reload(keys)
    gw.wait_replica(b.url, "ready")
    a.process.send(signal.SIGTERM)
    r = c.read()
    assert not r.clean or "error" in r.body.decode()
    served(gw, 20)
    c.close()
    assert gw.outcome("failed") == 1


def test_sigterm_with_shutdown_timeout(gateway, engine):
    """/health stays 200 while new POSTs get 500: they run elsewhere; the open stream ends well."""
    a, b = engine("--speed", "4", "--shutdown-timeout", "60s"), engine(*QUICK)
    gw = gateway([a], pool_keys={"engine": "vllm"})
    c = open_stream(gw, chat(stream=True, max_tokens=200))
    keys = json.loads(json.dumps(gw.config))
    keys["pools"][0]["replicas"]["static"].append(b.url)
    gw.reload(keys)
    gw.wait_replica(b.url, "ready")
    a.process.send(signal.SIGTERM)
    served(gw, 40)
    r = c.read()
    assert r.clean and wire.events(r.body)[-1] == "[DONE]"
    c.close()
    assert gw.outcomes() == {("done", "none"): 41}


def test_open_streams_hang(gateway, engine):
    """The stall limit between events ends a stream that went silent."""
    e = engine(*QUICK)
    gw = gateway([e], pool_keys={"engine": "vllm", "stall": "600ms"})
    e.fault(set=["stall-after=3"])
    r = gw.ask(body=chat(stream=True, max_tokens=50))
    assert r.status == 200 and (not r.clean or "error" in json.loads(wire.events(r.body)[-1]))
    assert gw.outcome("failed") == 1
    e.fault(clear=["all"])
    eventually(lambda: e.stats()["open"] == 0, "upstream closed")


@pytest.mark.parametrize("fault", ["reset-before", "reset-after=2", "truncate", "slow-drip"])
@pytest.mark.parametrize("stream", [False, True])
def test_faults(gateway, engine, fault, stream):
    """Before the first byte nothing is lost; after it no silent truncation."""
    bad, good = engine(*QUICK), engine(*QUICK)
    gw = gateway([bad, good], pool_keys={"engine": "vllm"})
    bad.fault(set=[fault])
    answers = gw.together(20, lambda i: gw.ask(body=chat(f"{i}", stream=stream, max_tokens=12)))
    for r in answers:
        if fault in ("reset-before", "slow-drip"):
            assert r.status == 200 and r.clean, r
        if r.clean and r.status == 200:
            if stream:
                said = wire.events(r.body)
                assert said[-1] == "[DONE]" or "error" in json.loads(said[-1]), r
            else:
                assert r.json["choices"], r
    gw.check_quiet()
    for e in (bad, good):
        e.check_quiet()


def test_poison(gateway, engine):
    """One poisonous prompt beside 47 innocent ones over four engines: it alone is refused."""
    engines = [engine("--speed", "2", "--fault", f"crash-on={POISON}") for _ in range(4)]
    gw = gateway(engines, pool_keys={"engine": "vllm", "slots": 16})
    clients = []
    for i in range(47):
        c = gw.client()
        c.request(post(body=chat(f"innocent {i}", stream=i % 3 == 0, max_tokens=40)))
        clients.append(c)
        if i == 30:
            evil = gw.client()
            evil.request(post(body=chat(POISON, max_tokens=4)))
    r = evil.read()
    assert r.status == 502 and r.get("x-should-retry") == "false", r
    for _ in range(3):
        again = gw.ask(body=chat(POISON, max_tokens=4), headers=[("x-stainless-retry-count", "1")])
        assert again.status == 502 and again.get("x-should-retry") == "false"
    eventually(lambda: sum(not e.process.running for e in engines) == 2, "two are gone, and no third")
    lost = 0
    for i, c in enumerate(clients):
        answer = c.read()
        assert answer.status == 200, answer
        if i % 3:
            assert answer.clean and answer.json["choices"], "none that had no byte yet is lost"
        elif not answer.clean or "error" in json.loads([e for e in wire.events(answer.body) if e != "[DONE]"][-1]):
            lost += 1  # it had begun on a replica that died: that cannot be saved, and must be seen
            assert len(wire.events(answer.body)) > 1, answer
        c.close()
    evil.close()
    assert gw.outcome("failed") == 4 + lost
    assert gw.outcome("done") + gw.outcome("failed") == 47 + 4


def test_poison_before_any_first_byte(gateway, engine):
    """No innocent had its first byte: none is lost."""
    engines = [engine("--mode", "slot", "--service", "2s", "--fault", f"crash-on={POISON}") for _ in range(4)]
    gw = gateway(engines, pool_keys={"engine": "vllm", "slots": 16, "ready": {"timeout": "10s"}})
    clients = [gw.client().request(post(body=chat(f"innocent {i}", max_tokens=4))) for i in range(47)]
    eventually(lambda: sum(e.stats()["received"] for e in engines) >= 47, "all of them running")
    evil = gw.ask(body=chat(POISON, max_tokens=4))
    assert evil.status == 502 and evil.get("x-should-retry") == "false"
    assert {c.read().status for c in clients} == {200}
    for c in clients:
        c.close()
    eventually(lambda: sum(not e.process.running for e in engines) == 2, "two are gone, and no third")
    assert gw.outcomes() == {("done", "none"): 47, ("failed", "replica_died"): 1}


def test_engine_queue_stays_empty_under_pressure(gateway, engine):
    engines = [engine("--speed", "20", "--slots", "4") for _ in range(2)]
    gw = gateway(engines, pool_keys={"engine": "vllm", "slots": 4})
    served(gw, 100, stream=True)
    for e in engines:
        s = e.check_quiet()
        assert s["max_waiting_ever"] == 0, s


def test_first_byte_of_a_stream_is_the_first_data(gateway, engine):
    """time to first token counts from the first event, not from the early 200."""
    e = engine("--speed", "1")
    gw = gateway([e], pool_keys={"engine": "vllm"})
    gw.ask(body=chat(stream=True, max_tokens=4))
    record = gw.wait_access(lambda r: r["status"] == 200)
    assert record["ttft_ms"] > 0 and record["tokens_out"] == 4
