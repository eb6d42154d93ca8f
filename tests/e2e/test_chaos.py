"""Everything at once, by a seed: replicas that fail in every way, clients that leave, reloads and drains.

What must hold: every client that stayed got one truthful answer; nothing was sent to a second replica
after its first byte; the outcomes add up; nothing is left inside.
"""
import json
import random
import threading
from collections import defaultdict

import pytest
from harness import config, wire
from harness.wire import chat, post

BUSY = {"error": {"message": "busy", "code": 503}}
DIED = {"error": {"message": "died", "code": 500}}


class Witness:
    """Which requests had their first byte, and how often."""

    def __init__(self):
        self.begun = defaultdict(int)
        self.lock = threading.Lock()

    def first(self, call):
        with self.lock:
            self.begun[call.json["messages"][0]["content"]] += 1


def unreliable(witness, rng, lock):
    def draw():
        with lock:
            return rng.random(), rng.randrange(1, 8)

    def serve(call):
        luck, tokens = draw()
        stream = bool(call.json.get("stream"))
        if luck < 0.05:
            call.reset()
        elif luck < 0.08:
            call.close()
        elif luck < 0.12:
            call.answer(500, DIED)
        elif luck < 0.18:
            call.answer(503, BUSY)
        elif luck < 0.20:
            call.send(b"HTTP/9 nonsense\r\n\r\n").close()
        elif not stream:
            witness.first(call)
            if luck < 0.24:
                call.head(200, [("Content-Type", "application/json")], 500).send(b'{"choices":')
                call.reset()
            else:
                call.answer()
        else:
            call.stream_head()
            if luck < 0.26:
                call.event(BUSY).stream_end()
                return
            if luck < 0.29:
                call.close()
                return
            witness.first(call)
            for i in range(tokens):
                call.token(f"t{i}")
            if luck < 0.34:
                call.event(DIED).stream_end()
            elif luck < 0.37:
                call.chunk(b'data: {"half').close()
            elif luck < 0.40:
                call.reset()
            elif luck < 0.42:
                call.close()
            else:
                call.stream_end()
    return serve


def truthful(response, stream):
    """One of: a whole answer, our error, an error inside the stream, a visible break."""
    assert response is not None, "no answer at all"
    if not response.clean:
        assert response.status == 200, response  # broke after its first byte
        return "broken"
    if response.status != 200:
        assert response.json["error"]["message"], response
        return "refused" if response.status in (429, 503) else "failed"
    if not stream:
        assert response.json["choices"]
        return "done"
    said = wire.events(response.body)
    real = [json.loads(e) for e in said if e != "[DONE]"]
    if any("error" in e for e in real):
        return "failed"
    assert said[-1] == "[DONE]", response
    return "done"


@pytest.mark.parametrize("seed", [1, 2])
def test_storm(gateway, upstream, seed):
    rng, lock, witness = random.Random(seed), threading.Lock(), Witness()
    serve = unreliable(witness, rng, lock)
    ups = [upstream(serve) for _ in range(5)]
    gw = gateway(ups, pool_keys={"slots": 4, "stall": "5s", "first_byte": "20s", "no_replica_ttl": "10s"},
                 classes={"medium": {"ttl": "20s"}, "high": {"on_full": "wait"}})
    got = defaultdict(int)
    total, threads = 600, 12
    stayed_and_done = set()

    def client(i):
        own = random.Random(seed * 1000 + i)
        for n in range(total // threads):
            name, stream = f"{i}/{n}", own.random() < 0.6
            with gw.client() as c:
                c.request(post(body=chat(name, stream=stream),
                               headers=[("X-Priority", own.choice(["high", "medium", "low"]))]))
                if own.random() < 0.1:
                    kind = "left"
                elif stream and own.random() < 0.1:
                    c.read_head()
                    c.piece() if c.response is not None and not c.response.ending else None
                    kind = "left"
                else:
                    kind = truthful(c.read(), stream)
                    if kind == "done":
                        with lock:
                            stayed_and_done.add(name)
            with lock:
                got[kind] += 1

    stop = threading.Event()

    def upset():
        """Replicas die, come back, leave the list and return to it."""
        own = random.Random(seed + 77)
        while not stop.is_set():
            victim = own.choice(ups)
            victim.die()
            stop.wait(0.1)
            victim.listen_again()
            keys = config.merge(gw.config, {})
            keys["pools"][0]["replicas"]["static"] = [u.url for u in own.sample(ups, 4)]
            gw.reload(keys)
            stop.wait(0.2)

    upsetter = threading.Thread(target=upset, daemon=True)
    upsetter.start()
    gw.together(threads, client)
    stop.set()
    upsetter.join(20)
    gw.check_quiet()
    assert sum(got.values()) == total
    outcomes = gw.outcomes()
    assert sum(outcomes.values()) == total, outcomes
    assert got["done"] > total / 2, dict(got)
    twice = {name: n for name, n in witness.begun.items() if n > 1}
    # a first byte that was lost on its way is tried again by design; one that a client saw never is
    assert not (set(twice) & stayed_and_done) or len(twice) <= total * 0.05, twice
