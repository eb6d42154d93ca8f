"""The number by way of a real Prometheus: KEDA's own trigger in place of the push, and a floor by the clock beside it."""
import socket
import time

import pytest
import yaml
from cluster import HERE, Process, eventually
from harness.pages import fetch
from users import Users

CONFIG = """
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: penstock
    static_configs: [{targets: ["%s:9901"], labels: {namespace: inference}}]
"""


def prometheus(installed, port):
    folder = installed.cluster.folder
    config = folder / "prometheus.yaml"
    config.write_text(CONFIG % installed.gateway())
    server = Process(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/tsdb",
                      f"--web.listen-address=127.0.0.1:{port}"])
    return server


@pytest.fixture
def servers():
    started = []
    yield started
    for server in started:
        server.kill()


def test_prometheus_trigger(cluster, installed, servers):
    """Its number is followed, not below a floor by the clock; without it (no data is not zero) the number stays."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    servers.append(prometheus(installed, port))

    def known():
        try:
            return b'"value"' in fetch(("127.0.0.1", port), "GET", "/api/v1/query?query=penstock_scaler_replicas")[2]
        except OSError:
            return False
    eventually(known, lambda: servers[-1].output())
    text = cluster.kubectl("kustomize", "--load-restrictor", "LoadRestrictionsNone", str(HERE / "overlay/prometheus"))
    text = text.replace("@PROMETHEUS@", f"http://127.0.0.1:{port}")

    def by_the_clock(floor):
        installed.apply([yaml.safe_load(text.replace("@FLOOR@", str(floor)))])
    by_the_clock(6)
    installed.until_replicas(lambda n: n == 6, "the clock's floor", 180)
    by_the_clock(1)
    installed.until_replicas(lambda n: n < 6, "what Prometheus says")
    with Users(installed) as users:
        users.burst(480, 50)
        installed.until_replicas(lambda n: n >= 5, "a burst's replicas")
        servers[-1].stop()
    assert users.problems == []
    before, end = installed.replicas(), time.monotonic() + 10  # KEDA and the HPA ask every 2 s
    while time.monotonic() < end:
        assert installed.replicas() >= before, installed.tell("no data is not zero")
        time.sleep(0.2)
    servers.append(prometheus(installed, port))
    installed.until_replicas(lambda n: n < before, "fewer again", 180)
    servers[-1].stop()
