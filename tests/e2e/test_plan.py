"""penstock plan: how many replicas, and what an access log says. The real program; text, JSON, exit codes."""
import json
import math
import subprocess

import pytest
import yaml
from harness.process import BINARY, run

WORDS = ["--slots", "14", "--class", "high=100/s,exp:100ms,20ms,5s"]
BURSTS = ["--slots", "8", "--class", "high=20/s,exp:100ms,100ms,5s", "--class", "low=2/s,exp:200ms,5s,60s",
          "--burst", "low=100/s,10m,uniform:60s:90s", "--cold", "100s", "--cost", "2.5 USD"]
SCENARIO = """\
name: two-pools
horizon: 20m
cut: 2m
classes:
  high: {target: 100ms, max_wait: 5s, ttl: 30s}
  low:  {target: 10s, max_wait: 60s, ttl: 10m, on_full: wait}
pools:
  - name: fast
    slots: 4
  - name: batching
    slots: 16
    life: {engine: {}}
arrivals:
  chat: {pool: fast, class: high, rate: 20/s, service: "exp:100ms"}
  tail: {pool: fast, class: low, rate: 5/s, service: "pareto:1.8:100ms"}
  text: {pool: batching, class: high, rate: 2/s, prompt: "const:200", output: "const:50"}
"""


def plan(*arguments, text=None):
    return subprocess.run([BINARY, "plan", *map(str, arguments)], capture_output=True, text=True,
                          **({"input": text} if text is not None else {"stdin": subprocess.DEVNULL}))


def answer(*arguments):
    done = plan(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)["pools"]


def erlang_c_late(load, servers, target_services):
    """P(wait > target) of M/M/n, from the sum."""
    terms = [1.0]
    for k in range(servers):
        terms.append(terms[-1] * load / (k + 1))
    last = terms[-1] * servers / (servers - load)
    return last / (sum(terms[:-1]) + last) * math.exp(-(servers - load) * target_services)


# how many


def test_the_formula_is_asked_first_and_confirmed():
    one, = answer(*WORDS)
    high, = one["classes"]
    assert high["method"] == "formula" and "Erlang C" in high["reason"]
    assert high["load_slots"] == pytest.approx(10, rel=0.02)
    assert high["service_cv"] == pytest.approx(1)
    least = next(n for n in range(1, 10) if n * 14 > 10 and erlang_c_late(10, n * 14, 0.2) <= 0.01)
    assert one["replicas"] == high["formula_replicas"] == least and one["method"] == "formula"
    above, below = one["runs"]
    assert (above["replicas"], above["passes"]) == (least, True)
    assert (below["replicas"], below["passes"]) == (least - 1, False)
    assert one["target_utilisation"] == pytest.approx(high["load_slots"] / (14 * least))
    # what can be served in max_wait: slots / service x max_wait
    assert high["queue_requests"] == pytest.approx(least * 14 / 0.1 * 5, rel=0.01)
    assert one["warm_pool"] is None


def test_text_says_the_same():
    one, = answer(*WORDS)
    done = plan(*WORDS)
    assert done.returncode == 0 and done.stderr == ""
    assert f"replicas: {one['replicas']}, with 14 slots each, by formula" in done.stdout
    assert f"with {one['replicas']}: all in time" in done.stdout
    assert f"with {one['replicas'] - 1}: not enough" in done.stdout
    assert "high: " + one["classes"][0]["reason"] in done.stdout
    assert f"target utilisation: {100 * one['target_utilisation']:.0f} %" in done.stdout
    assert "arrivals do not vary" in done.stdout
    assert plan(*WORDS).stdout == done.stdout, "the same question has the same answer"
    assert plan(*WORDS, "--seed", "2").stdout != done.stdout


def test_bursts_are_simulated_and_warm_pools_compared():
    one, = answer(*BURSTS)
    high, low = one["classes"]
    assert high["method"] == "formula" and low["method"] == "bursts"
    assert "index of dispersion" in low["reason"] and low["formula_replicas"] is None
    assert one["method"] == "simulation" and one["runs"][0]["passes"] and not one["runs"][1]["passes"]
    assert one["replicas"] > high["formula_replicas"]
    warm = one["warm_pool"]
    assert [(o["warm"], o["more_ready"]) for o in warm["offers"]] == [(0, 0), (1, 0), (2, 0), (0, 1)]
    assert warm["verdict"] in ("not-needed", "worth-it", "ready-is-better", "too-little")
    none, one_warm, two_warm, ready = warm["offers"]
    assert none["replica_hours"] < one_warm["replica_hours"] < two_warm["replica_hours"]
    for offer in warm["offers"]:
        assert offer["cost"] == pytest.approx(2.5 * offer["replica_hours"], rel=1e-4)
    text = plan(*BURSTS).stdout
    assert ("Worth it" if warm["verdict"] == "worth-it" else "Not worth it") in text
    assert "none, but min" in text


def test_a_scenario_is_planned_pool_by_pool(tmp_path):
    file = tmp_path / "two.yaml"
    file.write_text(SCENARIO)
    fast, batching = answer(file)
    assert [c["method"] for c in fast["classes"]] == ["formula", "heavy-tail"]
    assert fast["classes"][1]["service_cv"] is None, "it is infinite"
    assert [c["method"] for c in batching["classes"]] == ["engine"]
    assert batching["classes"][0]["service_s"] is None and batching["plain_queue_replicas"] is None
    assert batching["target_utilisation"] is None
    assert fast["runs"][0]["passes"] and batching["runs"][0]["passes"]
    text = plan(file).stdout
    assert "two-pools, pool 1" in text and "two-pools, pool 2" in text
    shorter, _ = answer(file, "--horizon", "10m")
    assert shorter["span_s"] == 8 * 60


def test_show_prints_the_scenario_that_sim_runs(tmp_path):
    shown = plan(*BURSTS, "--show")
    assert shown.returncode == 0, shown.stderr
    scenario = yaml.safe_load(shown.stdout)
    assert list(scenario["classes"]) == ["high", "low"]
    assert scenario["pools"][0]["life"] == {"cold": "100000000us", "promote": "5000000us"}
    file = tmp_path / "shown.yaml"
    file.write_text(shown.stdout)
    assert subprocess.run([BINARY, "check", file], capture_output=True).returncode == 0
    assert [p["classes"][0]["method"] for p in answer(file)] == ["formula"]


@pytest.mark.parametrize("arguments, says", [
    ([], "--fit or --forecast is expected"),
    (["a.yaml", "b.yaml"], "one scenario FILE"),
    (["a.yaml", "--fit", "b"], "one of FILE, --fit and --forecast"),
    (["a.yaml", "--slots", "3"], "one or the other"),
    (["missing.yaml"], "missing.yaml"),
    (["--slots", "3"], "both needed"),
    (["--class", "a=1/s,exp:1s,1s,2s"], "both needed"),
    (["--slots", "0", *WORDS[2:]], "--slots"),
    (["--slots", "3", "--class", "a=1/s,exp:1s,1s"], "NAME=RATE,SERVICE,TARGET,MAX_WAIT"),
    (["--slots", "3", "--class", "a=1/s,exp:1s,1s,2s,3s"], "NAME=RATE,SERVICE,TARGET,MAX_WAIT"),
    (["--slots", "3", "--class", "a b=1/s,exp:1s,1s,2s"], "a name has"),
    (["--slots", "3", "--class", "a=0/s,exp:1s,1s,2s"], "above 0"),
    (["--slots", "3", "--class", "a=1,exp:1s,1s,2s"], "as 200/s"),
    (["--slots", "3", "--class", "a=1/s,exp:1,1s,2s"], "needs a unit"),
    (["--slots", "3", "--class", "a=1/s,magic:1s,1s,2s"], "not a law"),
    (["--slots", "3", "--class", "a=1/s,exp:1s,3s,2s"], "longer than it may wait"),
    (["--slots", "3", "--class", "a=1/s,exp:1s,1s,2s", "--class", "a=1/s,exp:1s,1s,2s"], "already"),
    ([*WORDS, "--burst", "low=1/s,1h,1m"], "no --class"),
    ([*WORDS, "--burst", "high=1/s,1m,1h"], "less long"),
    ([*WORDS, "--burst", "high=1/s,1h,1m", "--burst", "high=1/s,1h,1m"], "already"),
    ([*WORDS, "--cost", "much"], "2.5 USD"),
    (["--fit", "missing.log"], "missing.log"),
])
def test_bad_input_is_named(arguments, says):
    done = plan(*arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert says in done.stderr, done.stderr


def test_what_nothing_is_enough_for_is_said():
    done = plan("--slots", "1", "--class", "a=100000/s,exp:100ms,20ms,5s")
    assert done.returncode == 1 and done.stdout == ""
    assert "256 replicas are not enough" in done.stderr


# --fit


def line(at_s, service_s, class_="high", type_="chat", wait_s=0.0, outcome="done", status=200, **more):
    end = at_s + service_s + wait_s
    ms = round(end * 1000)
    day, ms = divmod(ms, 86400000)
    time = f"2026-11-{2 + day:02}T{ms // 3600000:02}:{ms // 60000 % 60:02}:{ms // 1000 % 60:02}.{ms % 1000:03}Z"
    return json.dumps({"time": time, "class": class_, "type": type_, "pool": "chat", "status": status, "tries": 1,
                       "outcome": outcome, "tokens_in": 7, "tokens_out": 9, "wait_ms": round(wait_s * 1e3, 3),
                       "duration_ms": round((service_s + wait_s) * 1e3, 3), **more})


EVEN = [line(60 + i * 0.5, 0.25, wait_s=0.1 * (i % 3)) for i in range(200)]


def test_fit_counts_what_it_cannot_use(tmp_path):
    log = tmp_path / "access.log"
    log.write_text("\n".join([
        "gateway ready", EVEN[0][:-3], '{"time": 5}', "[]", '{"time":"yesterday","duration_ms":1}', "",
        line(70, 0, pool="", outcome="refused", status=401),
        line(71, 0, outcome="refused", status=429), line(72, 3, outcome="failed", status=502), *EVEN]) + "\n")
    done = plan("--fit", log, "--json")
    assert done.returncode == 0 and done.stderr == ""
    said = json.loads(done.stdout)
    assert said["lines"] == 209 and said["wrong_lines"] == 5 and said["aside"] == 1
    assert said["requests"] == 202
    stream, = said["streams"]
    assert (stream["name"], stream["class"], stream["type"], stream["pool"]) == ("high-chat", "high", "chat", "chat")
    assert stream["requests"] == 202 and stream["served"] == 200
    assert stream["service"] == "const:250.000ms", "what it waited is no service"
    text = plan("--fit", log).stdout
    assert "5 lines could not be read; the first is line 1" in text and "1 requests never came to a pool" in text
    assert list(yaml.safe_load(text)) == ["arrivals"]
    assert plan("--fit", "-", text=log.read_text()).stdout == text


def test_fit_refuses_what_is_no_access_log(tmp_path):
    log = tmp_path / "other.log"
    log.write_text("127.0.0.1 - - GET / 200\n" * 3)
    done = plan("--fit", log)
    assert done.returncode == 2 and "not an access log of penstock; line 1" in done.stderr
    log.write_text("")
    assert plan("--fit", log).returncode == 2
    assert plan("--fit", tmp_path).returncode == 2


def test_fit_knows_types_classes_and_those_never_served(tmp_path):
    log = tmp_path / "access.log"
    log.write_text("\n".join(
        EVEN + [line(60 + i, 1, class_="vip", type_="no/good name", tokens_in=100 + i % 50) for i in range(100)]
        + [line(60 + i, 1, class_="vip", type_="no+good name") for i in range(40)]
        + [line(61, 0, class_="low", type_="other", outcome="refused", status=429)]))
    text = plan("--fit", log, "--slots", "8").stdout
    scenario = yaml.safe_load(text)
    assert list(scenario["arrivals"]) == ["high-chat", "vip-no-good-name", "vip-no-good-name-2"]
    assert "low: 1 requests, none of which was served" in text
    assert set(scenario["classes"]) == {"high", "vip", "low"}
    assert scenario["arrivals"]["vip-no-good-name"]["prompt"].startswith("lognormal:")
    assert scenario["types"] == {"chat": "high"}, "the other types are no names"
    file = tmp_path / "fitted.yaml"
    file.write_text(text)
    checked = subprocess.run([BINARY, "check", file], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_fit_of_a_gateways_own_log_runs(gateway, engine, tmp_path):
    """A real gateway, engine and load; what is printed is a scenario, and its load is the one that was sent."""
    log = tmp_path / "access.log"
    up = engine("--mode", "slot", "--slots", "16", "--service", "exp:50ms", "--model", "m")
    gw = gateway([up], access_log=str(log), pool_keys={"slots": 16})
    code, _, said = run("load", "--url", f"http://{gw.data[0]}:{gw.data[1]}", "--duration", "8s", "--quiet",
                        "--traffic", "class=high,rate=60,type=chat,model=m",
                        "--traffic", "class=low,rate=20,type=batch-report,model=m")
    assert code == 0, said
    done = plan("--fit", log, "--json")
    assert done.returncode == 0, done.stderr
    fitted = json.loads(done.stdout)
    gw.arrivals = fitted["requests"]  # each is one outcome: nothing is missing in the log, or counted twice
    assert fitted["wrong_lines"] == 0
    streams = {s["name"]: s for s in fitted["streams"]}
    assert set(streams) == {"high-chat", "low-batch-report"}
    assert streams["high-chat"]["requests"] == pytest.approx(480, rel=0.25)
    assert streams["low-batch-report"]["requests"] == pytest.approx(160, rel=0.4)
    service = {f["law"].split(":")[0]: f for f in streams["high-chat"]["service_fits"]}
    # what the gateway and the loopback add is on top of it; the mean's own error is 5 %
    assert service["exp"]["mean_s"] == pytest.approx(0.05, rel=0.4)
    assert service["exp"]["distance"] < 0.2
    file = tmp_path / "fitted.yaml"
    file.write_text(plan("--fit", log, "--slots", "16").stdout)
    code, out, said = run("sim", file, "--json")
    assert code == 0, said
    assert json.loads(out)["policies"][0]["policy"] == "configured"
    sized, = answer(file)
    assert sized["replicas"] >= 1
    assert sum(c["requests"] for c in sized["classes"]) == pytest.approx(fitted["requests"], rel=0.25)
