"""Rounds of load, real processes and sockets, twenty times as fast: replicas rise and fall, and no client notices.

Most of a round is waiting for averages to fade, which no speed changes: the three run beside each other.
"""
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness.rounds import MAX, SLOTS, TOKEN_S, Crowd, Fleet, falling_under_streams, settings

SPEED = 20


def short_requests(f):
    calm = Crowd(f, 1, tokens=2)
    peak = [Crowd(f, 4 * SLOTS * MAX, tokens=5), Crowd(f, 4 * SLOTS * MAX, tokens=6, stream=False)]
    f.wait_served_by(MAX)
    for crowd in peak:
        crowd.leave().join()
    f.wait_alone()
    calm.leave().join()
    return [calm, *peak]


def long_sequences(f):
    """Prompts of some 2,000 tokens, answers of 60: 26 s each."""
    peak = Crowd(f, 2 * SLOTS * MAX, tokens=60, prompt="word " * 2000)
    f.wait_served_by(MAX)
    peak.leave().join()
    return [peak]


def falling_curve(f):
    return falling_under_streams(f, tokens=round(40 / TOKEN_S))


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """All rounds, in threads of their own; each test waits for its own."""
    fleets = []

    def one(play, folder):
        f = Fleet(folder, settings(folder, SPEED))
        fleets.append(f)
        f.check(play(f))

    with ThreadPoolExecutor() as threads:
        yield {play: threads.submit(one, play, tmp_path_factory.mktemp(play.__name__))
               for play in (short_requests, long_sequences, falling_curve)}
    for f in fleets:
        f.end()


def test_a_peak_of_short_requests(begun):
    begun[short_requests].result()


def test_a_peak_of_long_sequences(begun):
    begun[long_sequences].result()


def test_a_falling_curve_under_streams_of_40_s(begun):
    begun[falling_curve].result()
