"""One control plane for all tests that need one; most of them share the manifests with watched pods."""
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "kube"))

from cluster import BIN, Cluster  # noqa: E402
from installation import Installation, Names  # noqa: E402


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    if not (BIN / "kube-apiserver").exists():
        pytest.skip("tools/real-parts: not installed")
    c = Cluster(tmp_path_factory.mktemp("kube"), gpus=7)
    yield c
    c.close()


@pytest.fixture(scope="session")
def names():
    n = Names()
    yield n
    n.close()


@pytest.fixture(scope="session")
def installed(cluster, names):
    i = Installation(cluster, names, "overlay/watch", "inference")
    i.apply_those(lambda d: True)
    i.gateway()
    i.until_scaled()
    return i
