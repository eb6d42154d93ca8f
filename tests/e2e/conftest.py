"""Fixtures: programs and replicas that clean up after themselves, and the invariants after every test."""
import os

import pytest

from harness import config, process
from harness.engine import Engine
from harness.gateway import Gateway
from harness.upstream import Upstream


def pytest_configure(config):
    if not os.access(process.BINARY, os.X_OK):
        raise pytest.UsageError(f"{process.BINARY} is not there: build it, or name it in PENSTOCK")


@pytest.fixture
def upstream():
    """upstream(handler, …): a scripted replica."""
    made = []

    def make(*args, **kwargs):
        made.append(Upstream(*args, **kwargs))
        return made[-1]

    yield make
    for u in made:
        u.close()


@pytest.fixture
def engine():
    """engine(*options, like=…): a stand-in engine."""
    made = []

    def make(*options, **keys):
        made.append(Engine("--model", "m", *options, **keys))
        return made[-1]

    yield make
    for e in made:
        e.close()


@pytest.fixture
def gateway(tmp_path, upstream, engine):
    """gateway(replicas, **configuration): a running gateway. Ends with the invariants and exit 0."""
    made = []

    def make(replicas=(), ready=None, raw=None, env=None, under=(), **keys):
        folder = tmp_path / f"gateway{len(made)}"
        folder.mkdir()
        g = Gateway(folder, raw if raw is not None else config.build(replicas, **keys), env, under)
        made.append(g)
        g.wait_ready(len(replicas) if ready is None else ready)
        return g

    yield make
    try:
        for g in made:
            if g.process.running:
                g.check_quiet()
                assert g.stop() == 0, g.process.output()
            else:
                assert g.process.wait() in (0, 1), f"{g.process.wait()}: {g.process.output()}"
    finally:
        for g in made:
            g.process.kill()
