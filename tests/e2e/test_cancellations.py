"""A thousand clients that leave: queued, before the first byte, mid-stream, not streaming."""
import random
import threading

import pytest
from harness import llama, wire
from harness.waiting import eventually
from harness.wire import chat, post


def leave_at_random(gw, rng_seed, tasks, model, max_tokens, longest_s):
    """One client after another in this thread; how often each point was met."""
    rng = random.Random(rng_seed)
    met = {"before": 0, "mid": 0, "whole": 0, "refused": 0}
    for _ in range(tasks):
        stream = rng.random() < 0.6
        body = chat(f"tell me {rng.random()}", model=model, stream=stream, max_tokens=max_tokens)
        with gw.client() as c:
            c.request(post(body=body))
            patience = rng.choice([0, rng.uniform(0, longest_s), rng.uniform(0, longest_s), None])
            if patience is not None:
                c.sock.settimeout(patience or 1e-6)
            try:
                if c.read_head() is None:
                    met["before"] += 1
                    continue
                if c.response.status != 200:
                    met["refused"] += 1
                    c.sock.settimeout(20)
                    c.read()
                    continue
                for _ in range(rng.randrange(1, 12)):
                    if not c.piece():
                        break
                met["whole" if c.response.ending else "mid"] += 1
            except (TimeoutError, BlockingIOError):
                met["mid" if c.response else "before"] += 1
            if rng.random() < 0.3:
                c.reset()
    return met


def storm(gw, total, threads, model, max_tokens, longest_s):
    counts = gw.together(threads, lambda i: leave_at_random(gw, i, total // threads, model, max_tokens, longest_s))
    summed = {k: sum(c[k] for c in counts) for k in counts[0]}
    assert sum(summed.values()) == total
    return summed


@pytest.mark.parametrize("like,total", [("vllm", 1000), ("llamacpp", 200)])
def test_before_the_stand_in(gateway, engine, like, total):
    engines = [engine("--speed", "4", "--slots", "4", like=like) for _ in range(2)]
    gw = gateway(engines, pool_keys={"engine": like, "slots": 4})
    deepest = [0]
    stop = threading.Event()

    def watch():
        while not stop.is_set():
            deepest[0] = max(deepest[0], gw.metrics().sum("queue_depth"))
            stop.wait(0.05)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    met = storm(gw, total, 20, "m", 40, 0.3)
    stop.set()
    watcher.join()
    gw.check_quiet()
    assert met["before"] > total / 10 and met["mid"] > total / 10, met
    assert deepest[0] > 0, "nobody ever queued: nothing was cancelled there"
    assert sum(gw.outcomes().values()) == total
    assert gw.outcome("cancelled") > total / 5 and gw.outcome("failed") == 0, gw.outcomes()
    for e in engines:
        s = e.check_quiet()
        assert s["max_waiting_ever"] == 0, s
        assert s["ids_twice"] == 0, "a ticket ran twice"


def test_cancelled_in_the_queue_frees_its_place(gateway, engine):
    e = engine("--speed", "1", "--slots", "1")
    gw = gateway([e], pool_keys={"slots": 1})
    first = gw.client().request(post(body=chat(stream=True, max_tokens=2000)))
    first.read_head()
    leaving = [gw.client().request(post(body=chat(max_tokens=4))) for _ in range(30)]
    gw.wait_queued(30)
    for c in leaving:
        c.reset()
    gw.wait_queued(0)
    first.close()
    gw.check_quiet()
    s = e.check_quiet()
    assert s["max_waiting_ever"] == 0
    assert gw.outcomes() == {("cancelled", "client"): 31}


def test_llama(gateway):
    why = llama.missing()
    if why:
        pytest.skip(why)
    engine = llama.Llama(parallel=4)
    try:
        engine.wait_loaded()
        gw = gateway([engine], pool_keys={"engine": "llamacpp", "models": [llama.MODEL], "slots": 4})
        met = storm(gw, 60, 10, llama.MODEL, 24, 2.0)
        gw.check_quiet()
        assert met["before"] + met["mid"] > 20, met
        eventually(lambda: engine.slots_busy() == 0, "the engine's slots are free", 60)
        assert engine.metric("requests_deferred") == 0
        assert wire.MARK
    finally:
        engine.close()
