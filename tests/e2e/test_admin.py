"""The admin and metrics listeners, reloads, and what `penstock check` says."""
import json
import shutil
import signal
import socket
import subprocess
from urllib.parse import quote

import pytest
from harness import config, wire
from harness.pages import fetch
from harness.place import HOST
from harness.process import BINARY, Process, run
from harness.waiting import eventually
from harness.wire import chat, post


def ok(call):
    call.stream() if call.json.get("stream") else call.answer()


def test_metrics_listener_serves_three_pages_only(gateway, upstream):
    gw = gateway([upstream(ok)])
    at = gw.ports["metrics"]
    for page in ("/metrics", "/healthz", "/readyz"):
        assert fetch(at, "GET", page)[0] == 200
    for method, page in (("GET", "/state"), ("POST", "/drain"), ("GET", "/"), ("POST", "/reload"),
                         ("POST", "/replicas/x/drain"), ("GET", "/events")):
        assert fetch(at, method, page)[0] in (404, 405), page
    assert fetch(at, "POST", "/metrics")[0] == 405
    for page in ("/metrics", "/healthz", "/readyz", "/state"):
        assert gw.admin("GET", page)[0] == 200


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize("compat", [False, True])
def test_promtool_accepts_the_metrics(gateway, upstream, compat):
    ups = [upstream(ok), upstream(lambda call: call.answer(500, {"error": {}}))]
    gw = gateway(ups, compat_metrics=compat)
    gw.together(10, lambda i: gw.ask(body=chat(stream=i % 2 == 0)))
    gw.ask("/nowhere")
    page = gw.metrics().text
    done = subprocess.run(["promtool", "check", "metrics"], input=page.encode(), capture_output=True)
    said = done.stderr.decode() + done.stdout.decode()
    # others' names are theirs to choose: the linter takes llm_d for a unit
    assert not [line for line in said.splitlines() if line and not (compat and line.startswith("llm_d_"))], said
    assert compat or done.returncode == 0
    if compat:
        assert "llm_d_epp_flow_control_queue_size" in page and "\ninference_queue_depth" in page


NAMES = """requests_total queue_depth queue_bytes queue_tokens queue_backlog_seconds queue_oldest_seconds
queue_wait_seconds inflight_requests time_to_first_token_seconds inter_token_seconds request_duration_seconds
tokens_total retries_total guard_dispatches_total replica_state replica_inflight""".split()


def test_metrics_have_their_names(gateway, upstream):
    gw = gateway([upstream(ok)])
    for i in range(3):
        gw.ask(body=chat(stream=True))
    text = gw.metrics().text
    for name in NAMES:
        assert f"# TYPE penstock_{name} " in text, name
    m = gw.metrics()
    assert m.sum("requests_total", pool="chat", **{"class": "medium"}, outcome="done") == 3
    assert m.sum("time_to_first_token_seconds_count") == 3
    assert m.sum("tokens_total") >= 9


def test_state_names_everything(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up])
    text = json.dumps(gw.state())
    for word in ("chat", "high", "medium", "low", up.url, "ready"):
        assert word in text, word


def test_readyz_and_healthz_without_replicas(gateway, upstream):
    gw = gateway([upstream(listen=False)], ready=0)
    assert gw.admin("GET", "/readyz")[0] == 200
    assert gw.admin("GET", "/healthz")[0] == 200


def test_admin_token(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up], admin_token={"env": "ADMIN"}, drain_token={"env": "DRAIN"},
                 env={"ADMIN": "admin-token", "DRAIN": "drain-token"})
    admin, drain = {"Authorization": "Bearer admin-token"}, {"Authorization": "Bearer drain-token"}
    assert gw.admin("GET", "/state", admin)[0] == 200
    for headers in (None, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic admin-token"}, drain):
        assert gw.admin("GET", "/state", headers)[0] in (401, 403), headers
        assert gw.admin("POST", "/reload", headers)[0] in (401, 403), headers
        assert gw.admin("POST", "/drain", headers)[0] in (401, 403), headers
    target = f"/replicas/{quote(up.url, safe='')}/drain"
    assert gw.admin("POST", target)[0] in (401, 403)
    assert gw.admin("POST", target, drain)[0] == 200
    said = gw.process.output()
    assert "admin-token" not in said and "drain-token" not in said


def test_admin_off_loopback_needs_a_token(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(config.text(config.build(["http://127.0.0.1:1"], admin="0.0.0.0:0")))
    code, out, err = run("check", file)
    assert code == 2 and "admin_token" in out + err


def test_explain_and_events(gateway, upstream):
    gw = gateway([upstream(ok)])
    assert gw.admin("GET", "/explain?pool=chat")[0] == 200
    assert gw.admin("GET", "/explain?pool=nothing")[0] == 404
    with wire.Client(gw.ports["admin"]) as c:
        r = c.request(wire.head("GET", "/events")).read_head()
        assert r.status == 200 and r.get("content-type").startswith("text/event-stream")


def test_admin_survives_strangers(gateway, upstream):
    gw = gateway([upstream(ok)])
    for raw in (b"\x00\xff\r\n\r\n", b"GET /state HTTP/1.1\r\n\r\n", b"GET " + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
                b"POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n"):
        for where in ("admin", "metrics"):
            s = wire.connect(gw.ports[where])
            try:
                s.sendall(raw)
                s.shutdown(socket.SHUT_WR)
                while s.recv(65536):
                    pass
            except OSError:
                pass
            s.close()
    assert gw.admin("GET", "/readyz")[0] == 200


# reload

def changed(gw, **keys):
    return config.merge(gw.config, keys)


def test_reload_applies_replicas_tenants_and_limits(gateway, upstream):
    a, b = upstream(ok), upstream(ok)
    gw = gateway([a])
    assert gw.ask().status == 200
    keys = changed(gw, limits={"body": "1MiB"}, auth="required", tenants=[
        {"name": "acme", "key_sha256": __import__("hashlib").sha256(b"k").hexdigest()}])
    keys["pools"][0]["replicas"]["static"] = [b.url]
    gw.reload(keys)
    gw.wait_replica(b.url, "ready")
    assert gw.ask().status == 401
    assert gw.ask(headers=[("Authorization", "Bearer k")]).status == 200
    assert len(b.calls) == 1 and len(a.calls) == 1
    assert gw.ask(body=b"x" * (2 << 20), headers=[("Authorization", "Bearer k")]).status == 413


def test_reload_applies_timeouts(gateway, upstream):
    """Towards clients on the next request of a connection, towards replicas at once."""
    up = upstream(ok)
    gw = gateway([up], timeouts={"body": "1h"}, pool_keys={"upstream_idle_timeout": "1h"})
    with gw.client() as c:
        assert c.ask().status == 200
        assert up.open_connections() >= 1
        keys = changed(gw, timeouts={"body": "200ms"})
        keys["pools"][0]["upstream_idle_timeout"] = "1ms"
        gw.reload(keys)
        eventually(lambda: up.open_connections() == 0, "the idle connection's end")
        c.request(wire.head("POST", "/v1/chat/completions", [("Content-Length", "10")]) + b"{")
        assert c.read().status == 408


def test_reload_by_admin(gateway, upstream):
    a, b = upstream(ok), upstream(ok)
    gw = gateway([a])
    keys = changed(gw)
    keys["pools"][0]["replicas"]["static"] = [b.url]
    gw.write(keys)
    assert gw.admin("POST", "/reload")[0] == 200
    gw.wait_replica(b.url, "ready")
    assert gw.ask().status == 200 and len(b.calls) == 1


def test_bad_reload_keeps_the_old(gateway, upstream):
    up = upstream(ok)
    gw = gateway([up])
    gw.reload(config.text(gw.config).replace("slots: 4", "slots: none"))
    gw.process.wait_line(lambda line: f"{gw.file}:" in line and "slots" in line)
    assert gw.ask().status == 200
    gw.write(config.text(gw.config) + "nonsense: 1\n")
    status, _, body = gw.admin("POST", "/reload")
    assert 400 <= status < 500 and b"nonsense" in body
    assert gw.ask().status == 200


def test_reload_names_what_needs_a_restart(gateway, upstream):
    gw = gateway([upstream(ok)])
    gw.reload(changed(gw, listen=f"{HOST}:1"))
    gw.process.wait_line(lambda line: "restart" in line and "listen" in line)
    gw.reload(changed(gw, limits={"tickets": 64}))
    gw.process.wait_line(lambda line: "restart" in line and "tickets" in line)
    gw.reload(changed(gw, limits={"head": "32KiB"}, seed=2))
    gw.process.wait_line(lambda line: "restart" in line and "limits.head" in line and "seed" in line)
    assert gw.ask().status == 200


def test_reload_keeps_requests_in_flight(gateway, upstream):
    up = upstream()
    gw = gateway([up], pool_keys={"slots": 1})
    a, b = gw.client(), gw.client()
    a.request(post(body=chat(stream=True)))
    call = up.take()
    b.request(post())
    gw.wait_queued(1)
    keys = changed(gw)
    keys["pools"][0]["slots"] = 2
    gw.reload(keys)
    second = up.take()
    second.answer()
    assert b.read().status == 200
    call.stream()
    assert a.read().clean
    a.close()
    b.close()


# check

def check(tmp_path, text):
    file = tmp_path / "c.yaml"
    file.write_text(text)
    code, out, err = run("check", file)
    return code, out + err, str(file)


def test_check_accepts_the_tests_own(tmp_path):
    code, said, _ = check(tmp_path, config.text(config.build(["http://127.0.0.1:1"])))
    assert code == 0, said


def test_check_says_everything_at_once(tmp_path):
    text = "\n".join([
        "listen: 127.0.0.1:99999",            # 1
        "admni: 127.0.0.1:9900",              # 2
        "classes:",                           # 3
        "  high: {target: 100, max_wait: 5s}",  # 4
        "  low: {ttl: 5 parsecs, on_full: spill}",  # 5
        "default_class: urgent",              # 6
        "types: {chat: nothing}",             # 7
        "pools:",                             # 8
        "  - name: chat",                     # 9
        "    models: [m]",                    # 10
        "    slots: 0",                       # 11
        "    lengths: {short: 3000, long: 2048}",  # 12
        "    replicas: {static: ['ftp://x']}",  # 13
        "    extra: 1",                       # 14
        "tenants: [{name: a, key_sha256: zz}]",  # 15
        "limits: {body: 12 bananas}",         # 16
    ]) + "\n"
    code, said, file = check(tmp_path, text)
    assert code == 2
    for line in (1, 2, 4, 5, 6, 7, 11, 12, 13, 14, 15, 16):
        assert f"{file}:{line}:" in said, (line, said)
    for row in said.splitlines():
        if row.startswith(file) and " errors, " not in row:
            _, line, column, rest = row.split(":", 3)
            assert int(line) > 0 and int(column) > 0 and rest.strip()
    assert "max_wait" not in said.split("\n")[0]
    assert "admin" in said, "what was meant is named"


@pytest.mark.parametrize("text", ["", "a: [", "\t", "- 1\n", "a: &x [*x]\n", "a: b: c\n", "\xff", "{}", "listen: *no\n"])
def test_check_of_nonsense(tmp_path, text):
    file = tmp_path / "c.yaml"
    file.write_bytes(text.encode("latin-1"))
    code, out, err = run("check", file)
    assert code == 2 and str(file) in out + err


def test_check_of_no_file(tmp_path):
    code, out, err = run("check", tmp_path / "absent.yaml")
    assert code == 2 and "absent.yaml" in out + err
    assert run("check")[0] == 2
    assert run("run")[0] == 2
    assert run("run", tmp_path / "absent.yaml")[0] == 2


def test_check_warns(tmp_path):
    code, said, file = check(tmp_path, config.text(config.build(
        ["http://127.0.0.1:1"], front_idle_timeout="10s", pool_keys={"ready": {"model": "listed"}})))
    assert code == 0 and "warning" in said and "front_idle_timeout" in said and "listed" in said


def test_check_json(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("listne: 1\n")
    code, out, _ = run("check", "--json", file)
    assert code == 2 and json.loads(out)


def test_usage():
    assert run("--help")[0] == 0
    assert run("version")[0] == 0
    assert run()[0] == 2
    assert run("no-such-command")[0] == 2
    for command in ("run", "engine", "load", "check", "drain"):
        code, out, err = run(command, "--help")
        assert code == 0 and command in out + err
        assert run(command, "--no-such-option")[0] == 2


def test_listen_address_in_use(tmp_path, gateway, upstream):
    up = upstream(ok)
    gw = gateway([up])
    file = tmp_path / "second.yaml"
    file.write_text(config.text(config.build([up], listen="%s:%d" % gw.data)))
    second = Process([BINARY, "run", file])
    try:
        assert second.wait() in (1, 2)
        assert str(gw.data[1]) in second.output()
    finally:
        second.kill()


def test_record_is_written(gateway, upstream, tmp_path):
    up = upstream(ok)
    gw = gateway([up], record=str(tmp_path / "rec"))
    gw.together(5, lambda i: gw.ask())
    gw.check_quiet()
    assert gw.process.stop(signal.SIGTERM) == 0
    assert (tmp_path / "rec").stat().st_size > 1000
    assert eventually(lambda: True, "")
