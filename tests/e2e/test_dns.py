"""Replicas by the addresses of a name: they come as the name server says, and leave when nobody answers there either."""
import pytest
from harness import config
from harness.nameserver import Nameserver
from harness.place import HOST
from harness.waiting import eventually

NETWORK = HOST.rsplit(".", 1)[0]


@pytest.fixture
def names():
    server = Nameserver()
    yield server
    server.close()


@pytest.fixture
def engines(upstream):
    """Three replicas on one port, each at an address of its own, that answer whatever they are asked."""
    first = upstream(lambda call: call.answer(), host=f"{NETWORK}.201")
    return [first] + [upstream(lambda call: call.answer(), host=f"{NETWORK}.{n}", port=first.port) for n in (202, 203)]


def found_by(gateway, names, engines):
    pool = config.pool([])
    pool["replicas"] = {"dns": {"name": "engines.test.", "port": engines[0].port, "server": names.server, "every": "100ms"}}
    return gateway(ready=len(names.addresses), pools=[pool])


def asked_again(names, times):
    until = names.asked + 2 * times  # A and AAAA
    eventually(lambda: names.asked >= until, "questions")


def test_come_and_go(gateway, names, engines):
    one, two, three = engines
    names.addresses = [one.host, two.host]
    gw = found_by(gateway, names, engines)
    assert {gw.ask().status for _ in range(8)} == {200}
    assert not three.calls
    names.addresses.append(three.host)
    gw.wait_replica(three.url, "ready")
    names.addresses.remove(one.host)
    asked_again(names, 6)
    assert gw.replica_is(one.url, "ready")  # it answers: DNS alone takes nobody away
    one.die()
    eventually(lambda: not gw.replica_is(one.url, "ready"), "the dead one takes no more")
    eventually(lambda: one.url not in [r["name"] for r in gw.state()["replicas"] if r["state"] != "gone"],
               lambda: f"it is gone: {gw.state()['replicas']}")
    assert {gw.ask().status for _ in range(8)} == {200}
    assert gw.ready() == 2


def test_silence_is_not_zero(gateway, names, engines):
    one, two, _ = engines
    names.addresses = [one.host, two.host]
    gw = found_by(gateway, names, engines)
    names.close()
    gw.process.wait_line(lambda line: "no answer about engines.test." in line)
    one.die()
    assert gw.ask().status == 200
    assert {r["name"] for r in gw.state()["replicas"] if r["state"] != "gone"} == {one.url, two.url}
    one.listen_again()  # nothing of it was forgotten
    gw.wait_replica(one.url, "ready")


def test_an_empty_answer_counts_like_any_other(gateway, names, engines):
    one, two, _ = engines
    names.addresses = [one.host, two.host]
    gw = found_by(gateway, names, engines)
    names.addresses = []
    asked_again(names, 6)
    assert gw.ready() == 2
    one.die()
    two.die()
    eventually(lambda: all(r["state"] == "gone" for r in gw.state()["replicas"]), lambda: str(gw.state()["replicas"]))
    names.addresses = [two.host]
    two.listen_again()
    gw.wait_replica(two.url, "ready")
    assert gw.ask().status == 200
