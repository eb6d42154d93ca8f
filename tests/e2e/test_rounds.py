"""Rounds of load, real processes and sockets, twenty times as fast: replicas rise and fall, and no client notices."""
import pytest
from harness.rounds import MAX, SLOTS, TOKEN_S, Crowd, Fleet
from harness.waiting import eventually

SPEED = 20


@pytest.fixture
def fleet(tmp_path):
    made = []

    def make(**scaler):
        made.append(Fleet(tmp_path, SPEED, **scaler))
        return made[-1]

    yield make
    for f in made:
        f.end()


def check(f, crowds):
    """No error, none repeated, everything counted once, nobody stopped at work, every decision explained."""
    f.wait_alone()
    f.check_quiet()
    assert f.outcomes() == {("done", "none"): sum(c.answered for c in crowds)}
    assert f.metrics().sum("retries_total") == 0
    f.check_nobody_was_stopped_at_work()
    f.check_explained()
    assert f.stop() == 0


def test_a_peak_of_short_requests(fleet):
    f = fleet()
    calm = Crowd(f, 1, tokens=2)
    peak = [Crowd(f, SLOTS * MAX, tokens=2), Crowd(f, SLOTS * MAX, tokens=3, stream=False)]
    f.wait_served_by(MAX)
    for crowd in peak:
        crowd.leave()
    f.wait_alone()
    calm.leave()
    check(f, [calm, *peak])


def test_a_peak_of_long_sequences(fleet):
    """Prompts of some 2,000 tokens, answers of 60: 26 s each."""
    f = fleet()
    peak = Crowd(f, SLOTS * MAX + 2, tokens=60, prompt="word " * 2000)
    f.wait_served_by(MAX)
    peak.leave()
    check(f, [peak])


def test_a_falling_curve_under_streams_of_40_s(fleet):
    """Fewer and fewer clients, and some whose streams of 40 s never end all at once: a victim has one when it is chosen."""
    f = fleet(inflight_guard="100%")
    tokens = round(40 / TOKEN_S)
    steady = Crowd(f, SLOTS - 1, tokens=tokens)
    falling = Crowd(f, SLOTS * MAX, tokens=10)
    f.wait_served_by(MAX)
    for _ in range(SLOTS * MAX):
        before = falling.answered
        falling.leave(1)
        eventually(lambda b=before: falling.answered > b or falling.all_left(), "the next one is answered")
    falling.leave()
    eventually(lambda: any(r["state"] == "draining" and r["inflight"] > 0 for r in f.replicas().values()),
               lambda: f"one drains with work: {f.replicas()}\n{f.explained()}", 90, 0.01)
    f.wait_alone()
    steady.leave()
    check(f, [steady, falling])
