"""A falling curve at its own pace: replicas leave while streams of 40 s run on them, and none is cut."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from harness.rounds import TOKEN_S, Fleet, falling_under_streams, settings  # noqa: E402


def test_a_falling_curve_under_streams_of_40_s(tmp_path):
    f = Fleet(tmp_path, settings(tmp_path, speed=1))
    try:
        f.check(falling_under_streams(f, tokens=round(40 / TOKEN_S)))
    finally:
        f.end()
