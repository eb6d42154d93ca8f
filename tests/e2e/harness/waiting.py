"""Waiting for a condition, with a guard against hanging: the guard's length is never what is tested."""
import time

GUARD_S = 20.0


def eventually(condition, what, guard_s=GUARD_S, pause_s=0.005):
    """Returns the first true value of condition(); fails with `what` when the guard runs out."""
    end = time.monotonic() + guard_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"never happened: {what() if callable(what) else what}")
        time.sleep(pause_s)
