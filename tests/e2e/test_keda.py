"""KEDA's external scaler, asked by a foreign gRPC client (grpc-js): old and new messages, pushes, TLS, many objects."""
import math
import subprocess
import threading

import pytest
from harness import config, keda
from harness.nameserver import Nameserver
from harness.place import HOST
from harness.waiting import eventually

pytestmark = pytest.mark.skipif(keda.MISSING is not None, reason=str(keda.MISSING))

MODES = ("desired", "backlog-seconds", "weighted-depth", "p99-wait")
SCALER = {"min": 1, "max": 4, "out_above": "2500ms"}


@pytest.fixture
def scaled(gateway, upstream):
    """A gateway whose pool has one ready replica, and whose number is known."""
    def make(pool_keys=None, keda_keys=None, **keys):
        g = gateway([upstream(lambda call: call.answer())], keda={**keda.LISTEN, **(keda_keys or {})},
                    pool_keys={"scaler": SCALER, **(pool_keys or {})}, **keys)
        return g
    return make


@pytest.fixture
def nobody(gateway):
    """A gateway whose pool has no replica until the test names one."""
    servers = []

    def make(port=9, **scaler):
        servers.append(Nameserver())
        pool = config.pool([], scaler={"min": 0, "max": 4, **scaler})
        pool["replicas"] = {"dns": {"name": "engines.test", "port": port, "server": servers[-1].server, "every": "200ms"}}
        return gateway(pools=[pool], keda=keda.LISTEN, ready=0), servers[-1]

    yield make
    for s in servers:
        s.close()


def known(g, **metadata):
    """Waits until the pool's number is known."""
    name = keda.call(g, "GetMetricSpec", metadata)["metricSpecs"][0]["metricName"]
    return eventually(lambda: (v := keda.call(g, "GetMetrics", metadata, name)).get("metricValues"),
                      lambda: f"known: {g.process.output()}")[0]


def test_new_and_old_messages(scaled):
    g = scaled()
    known(g)
    calls = [{"metadata": {"metric": mode}} for mode in MODES]
    new, old = keda.ask(g, "rounds", calls=calls), keda.ask(g, "rounds", calls=calls, old=True)
    for mode, n, o in zip(MODES, new, old):
        (spec,), (value,) = n["spec"]["metricSpecs"], n["value"]["metricValues"]
        assert spec["metricName"] == value["metricName"] == f"penstock-chat-{mode}"
        assert spec["targetSize"] == max(1, math.floor(spec["targetSizeFloat"])) and spec["targetSizeFloat"] > 0
        assert value["metricValue"] >= value["metricValueFloat"] * spec["targetSize"] / spec["targetSizeFloat"] - 1e-9
        assert n["active"] == o["active"] == {"result": True}
        # Who reads only integers sees the same ones.
        assert o["spec"]["metricSpecs"] == [{k: spec[k] for k in ("metricName", "targetSize")}]
        assert o["value"]["metricValues"] == [{k: value[k] for k in ("metricName", "metricValue")}]
    assert new[0]["value"]["metricValues"][0]["metricValueFloat"] == 1
    assert new[0]["spec"]["metricSpecs"][0]["targetSizeFloat"] == 1
    assert new[1]["spec"]["metricSpecs"][0]["targetSizeFloat"] == 2.5


def test_wrong_questions(scaled):
    g = scaled()
    rows = [
        ("IsActive", {"pool": "no"}, "", keda.INVALID_ARGUMENT, "'pool'"),
        ("GetMetricSpec", {"metric": "qps"}, "", keda.INVALID_ARGUMENT, "'metric'"),
        ("GetMetrics", {"tolerance": "x"}, "", keda.INVALID_ARGUMENT, "'tolerance'"),
        ("IsActive", {"band": "x"}, "", keda.INVALID_ARGUMENT, "'band'"),
        ("GetMetricSpec", {"treshold": "5"}, "", keda.INVALID_ARGUMENT, "'treshold'"),
        ("GetMetrics", {}, "s0-penstock-chat-desired", keda.NOT_FOUND, "s0-penstock-chat-desired"),
    ]
    answers = keda.ask(g, "ask", calls=[{"method": m, "metadata": d, "name": n} for m, d, n, _, _ in rows])
    for (method, metadata, _, code, word), answer in zip(rows, answers):
        assert answer["code"] == code and word in answer["details"], (method, metadata, answer)
    assert keda.ask(g, "unknown")[0]["code"] == keda.UNIMPLEMENTED
    # KEDA's own keys, and the name in its own case, are no mistake.
    assert "metricSpecs" in keda.call(g, "GetMetricSpec", {"scalerAddress": "x:1", "tlsCertFile": "/x"})
    assert known(g) and keda.call(g, "GetMetrics", {}, "Penstock-Chat-Desired")["metricValues"]


def test_first_ticket_is_pushed(nobody, engine):
    e = engine()
    g, names = nobody(port=e.port)
    assert eventually(lambda: keda.call(g, "IsActive").get("result") is False or None, "known to be idle") is True
    parked = keda.start(g, "stream")
    parked.wait_line(lambda line: line == '"open"')
    eventually(lambda: g.metrics().sum("external_scaler_streams") == 1, "parked")
    answers = []
    asking = threading.Thread(target=lambda: answers.append(g.ask()), daemon=True)
    asking.start()
    parked.wait_seen(lambda thing: thing == {"result": True})
    assert keda.call(g, "IsActive") == {"result": True}
    assert known(g)["metricValue"] >= 1
    names.addresses.append(HOST)  # what KEDA made has come
    asking.join(60)
    assert answers and answers[0].status == 200
    assert not any(thing == {"result": False} for thing in parked.seen())
    assert parked.leave() == 0


def test_streams_end_well(scaled):
    g = scaled()
    parked = keda.start(g, "stream")
    parked.wait_seen(lambda thing: thing == {"result": True})  # min is 1
    assert g.stop() == 0
    assert parked.wait_seen(lambda thing: isinstance(thing, dict) and "end" in thing)["end"]["code"] == keda.OK
    assert parked.wait() == 0


def certificates(folder, name):
    """An authority of its own, a server's certificate, and a client's."""
    def openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    openssl("req", "-x509", *new_key, "-keyout", f"{name}-ca.key", "-out", f"{name}-ca.pem", "-subj", f"/CN={name}")
    for who in ("server", "client"):
        openssl("req", "-x509", *new_key, "-keyout", f"{name}-{who}.key", "-out", f"{name}-{who}.pem", "-subj", f"/CN={who}",
                "-CA", f"{name}-ca.pem", "-CAkey", f"{name}-ca.key", "-addext", "subjectAltName=DNS:scaler.test",
                "-addext", "basicConstraints=critical,CA:FALSE")
    return {key: str(folder / f"{name}-{file}") for key, file in
            (("ca", "ca.pem"), ("cert", "client.pem"), ("key", "client.key"), ("server", "server.pem"), ("server_key", "server.key"))}


def client_side(made):
    return {key: made[key] for key in ("ca", "cert", "key")}


def test_mutual_tls_and_rotation(scaled, tmp_path):
    first, second = certificates(tmp_path, "first"), certificates(tmp_path, "second")
    in_use = tmp_path / "in-use"
    in_use.mkdir()

    def use(made):
        for name, source in (("cert", "server"), ("key", "server_key"), ("ca", "ca")):
            staged = tmp_path / f"staged-{name}"
            staged.write_bytes(open(made[source], "rb").read())
            staged.rename(in_use / name)
    use(first)
    g = scaled(keda_keys={"cert": str(in_use / "cert"), "key": str(in_use / "key"), "client_ca": str(in_use / "ca")})

    def spec(**options):
        return keda.call(g, "GetMetricSpec", deadline_ms=5000, **options)
    assert "metricSpecs" in spec(**client_side(first))
    assert spec()["code"] == keda.UNAVAILABLE  # plaintext
    assert spec(ca=first["ca"])["code"] == keda.UNAVAILABLE  # no certificate
    assert spec(ca=first["ca"], cert=second["cert"], key=second["key"])["code"] == keda.UNAVAILABLE  # another's
    held = keda.start(g, "stream", **client_side(first))
    held.wait_seen(lambda thing: thing == {"result": True})
    use(second)
    eventually(lambda: "metricSpecs" in spec(**client_side(second)), lambda: f"rotated: {g.process.output()}")
    assert spec(**client_side(first))["code"] == keda.UNAVAILABLE
    assert not any("end" in thing for thing in held.seen() if isinstance(thing, dict))  # what was open stays
    assert held.leave() == 0


def test_many_objects_on_one_connection(scaled):
    """1,000 objects x 2 metrics and their activity, twice, beside 2,000 parked streams: each has its one answer."""
    g = scaled()
    known(g)
    client = keda.start(g, "load", objects=1000, streams=2000, rounds=2, within_ms=[3000, 1000], metrics=[
        {"name": f"penstock-chat-{mode}", "metadata": {"metric": mode}} for mode in MODES[:2]])
    last = client.wait_seen(lambda thing: thing["round"] == 1, guard_s=120)
    assert (last["right"], last["wrong"]) == (6000, {})
    eventually(lambda: client.seen() and g.metrics().sum("external_scaler_streams") == 2000, "parked")
    assert last["pushed"] == 2000  # each heard that it is active, once
    assert client.leave() == 0
    eventually(lambda: g.metrics().sum("external_scaler_streams") == 0, "gone")
