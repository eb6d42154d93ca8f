"""penstock sim: a scenario in virtual time. The real program; text, JSON, page, exit codes."""
import json
import os
import pty
import re
import signal
import subprocess
import time
from html.parser import HTMLParser

import pytest
from harness.process import BINARY
from harness.wire import chat

SCENARIO = """\
name: small
horizon: 20m
cut: 2m
seed: 7
classes:
  high: {target: 100ms, max_wait: 5s, ttl: 30s, on_full: reject}
  low:  {target: 10s, max_wait: 60s, ttl: 10m, on_full: wait}
pools:
  - name: chat
    slots: 4
    scaler: {min: 1, max: 4, cost_per_hour: 2.5 USD}
    life: {initial: 2, cold: 30s}
arrivals:
  chat: {class: high, rate: 8/s, service: "exp:100ms"}
  reports:
    class: low
    rate: 4/s
    burst: {every: 10m, offset: 2m, length: 60s, rate: 40/s}
    service: "exp:200ms"
policies:
  ours: {gate: adaptive, pilot: ahead}
  theirs: {gate: fifo, pilot: hpa-occupancy, target: 70%}
expect:
  ours:
    - high wait_p99 <= 10s
    - replica_hours <= 400% of theirs
"""
BREACHED = SCENARIO.replace("high wait_p99 <= 10s", "high wait_p99 <= 1us")


def line_of(text):
    return 1 + SCENARIO[:SCENARIO.index(text)].count("\n")


LINE_OF_BREACH = line_of("high wait_p99")


def sim(*arguments):
    return subprocess.run([BINARY, "sim", *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL)


@pytest.fixture
def scenario(tmp_path):
    """scenario(text): the path of a file with it."""
    def make(text=SCENARIO, name="small.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path
    return make


def test_text_compares_the_files_policies(scenario):
    done = sim(scenario())
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("small: 20 min, the first 2 min not counted; seed 7; ")
    assert max(map(len, lines)) <= 120 + len(str(scenario())), "only a verdict may be longer, by its file's name"
    for word in ("wait P50", "TTFT P50", "SLO", "refused", "expired", "replica-hours", "cost", "ups/burst"):
        assert word in done.stdout
    rows = [line.split()[0] for line in lines if line.startswith("  ")]
    assert [row for row in rows if row in ("ours", "theirs")] == ["ours", "theirs"] * 2, "once per class"
    assert done.stdout.endswith("2 expectations, 2 met, 0 breached\n")


def test_many_classes_keep_to_the_width(scenario):
    names = [f"a-class-with-a-long-name-{i}" for i in range(6)]
    text = SCENARIO[:SCENARIO.index("expect:")].replace("classes:\n", "classes:\n" + "".join(f"  {name}: {{target: 1s, max_wait: 5s, ttl: 30s}}\n" for name in names))
    lines = sim(scenario(text)).stdout.splitlines()
    assert max(map(len, lines)) <= 120
    head = " ".join(lines[1:lines.index("")])
    assert all(name in head for name in [*names, "high 100 ms", "low 10 s"])


def test_json_adds_up(scenario):
    done = sim(scenario(), "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["scenario"], result["seed"], result["seeds"]) == ("small", 7, 1)
    assert [run["policy"] for run in result["runs"]] == ["ours", "theirs"]
    for run in result["runs"]:
        assert "elapsed_s" not in run, "times are told only when asked for"
        for of in run["classes"].values():
            assert of["arrived"] == sum(of[k] for k in ("done", "refused", "expired", "cancelled", "failed"))
            assert of["wait_p50_s"] <= of["wait_p95_s"] <= of["wait_p99_s"]
            assert 0 <= of["attainment"] <= 1
        assert sum(run["replica_hours_by_state"].values()) == pytest.approx(run["replica_hours"])
        assert run["cost"] == pytest.approx(2.5 * run["replica_hours"], rel=1e-4)
    ours, theirs = result["runs"]
    assert ours["arrivals_total"] == theirs["arrivals_total"], "the same arrivals for all"
    assert ours["digest"] != theirs["digest"]
    assert [e["met"] for e in result["expectations"]] == [True, True]
    assert result["expectations"][1]["bound"] == pytest.approx(4 * theirs["replica_hours"])


def test_the_same_seed_gives_the_same_bytes(scenario, tmp_path):
    pages = [tmp_path / "a.html", tmp_path / "b.html"]
    outs = [sim(scenario(), "--json", "--seeds", 2, "--jobs", jobs, "--html", page).stdout
            for jobs, page in zip((1, 4), pages)]
    assert outs[0] == outs[1]
    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert sim(scenario(), "--json", "--seed", 8).stdout != sim(scenario(), "--json").stdout


def test_timing_is_there_when_asked_for(scenario):
    result = json.loads(sim(scenario(), "--json", "--timing").stdout)
    assert all(run["elapsed_s"] > 0 for run in result["runs"])


def test_a_breach_exits_1_and_names_its_line(scenario):
    path = scenario(BREACHED)
    done = sim(path)
    assert done.returncode == 1
    breach = next(line for line in done.stdout.splitlines() if line.startswith("BREACH"))
    assert re.match(rf"BREACH  {re.escape(str(path))}:{LINE_OF_BREACH}: ours: high wait_p99 <= 1us +\d", breach), breach
    failed = [e for e in json.loads(sim(path, "--json").stdout)["expectations"] if not e["met"]]
    assert [(e["line"], e["policy"], e["bound"]) for e in failed] == [(LINE_OF_BREACH, "ours", 1e-6)]


def test_what_was_not_run_is_not_judged(scenario):
    done = sim(scenario(BREACHED), "--compare", "theirs")
    assert done.returncode == 0
    assert done.stdout.endswith("\n2 expectations are of policies that were not run\n")


def test_policies_by_name_and_by_parts(scenario):
    names = ["theirs", "fifo+hpa-occupancy:70%", "adaptive+ahead@keda", "none+static"]
    done = sim(scenario(), "--json", "--compare", ",".join(names))
    assert done.returncode == 0, done.stderr
    runs = {run["policy"]: run for run in json.loads(done.stdout)["runs"]}
    assert list(runs) == names
    assert runs["theirs"]["digest"] == runs["fifo+hpa-occupancy:70%"]["digest"], "the same by either name"
    assert (runs["adaptive+ahead@keda"]["pilot"], runs["adaptive+ahead@keda"]["actuator"]) == ("ahead", "keda")
    assert runs["none+static"]["scale_ups"] == 0


@pytest.mark.parametrize("names", ["nobody", "ours,", "fifo+nobody", "fifo+kpa@nobody", "x" * 80])
def test_a_policy_that_is_none(scenario, names):
    done = sim(scenario(), "--compare", names)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"'{names.split(',')[-1]}': " in done.stderr


def test_a_grid_tries_a_peer_at_each_target(scenario):
    done = sim(scenario(), "--compare", "fifo+kpa:grid,theirs:grid,ours", "--json")
    assert done.returncode == 0, done.stderr
    names = [run["policy"] for run in json.loads(done.stdout)["runs"]]
    assert len(names) == len(set(names)) and names[-1] == "ours"
    kpa = [name for name in names if re.fullmatch(r"fifo\+kpa:[0-9.]+", name)]
    theirs = [name for name in names if re.fullmatch(r"theirs:[0-9.]+%", name)]
    assert len(kpa) > 2 and len(theirs) > 2 and len(names) == len(kpa) + len(theirs) + 1
    assert sim(scenario(), "--compare", kpa[0]).returncode == 0, "a row of it can be asked for by its name"


@pytest.mark.parametrize("names, why", [("ours:grid", "no grid"), (":grid", "GATE+PILOT"), ("l" * 47 + ":grid", "too long"),
                                        ("adaptive+qps", "needs a target"), (",,", "GATE+PILOT")])
def test_what_has_no_grid_and_no_target(scenario, names, why):
    text = SCENARIO.replace("policies:\n", "policies:\n  " + "l" * 47 + ": {gate: fifo, pilot: kpa}\n")
    done = sim(scenario(text), "--compare", names)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr


@pytest.mark.parametrize("horizon", ["1s", "1500ms", "10s"])
def test_short_ones_end(scenario, horizon):
    done = sim(scenario(SCENARIO[:SCENARIO.index("expect:")].replace("horizon: 20m\ncut: 2m", f"horizon: {horizon}")))
    assert done.returncode == 0, done.stderr


def test_one_that_cannot_run_stops_the_others(scenario):
    policies = "policies:\n  plain: {gate: none, pilot: kpa}\n"
    done = sim(scenario(SCENARIO.replace("policies:\n", policies).replace("20m", "1000h")), "--jobs", 2)
    assert (done.returncode, done.stdout) == (2, "")
    assert "plain: " in done.stderr


def test_a_file_without_policies_has_the_configurations_own(scenario):
    text = SCENARIO[:SCENARIO.index("policies:")]
    run, = json.loads(sim(scenario(text), "--json").stdout)["runs"]
    assert (run["gate"], run["pilot"], run["actuator"]) == ("adaptive", "ahead", "direct")


def test_the_first_replicas_are_there_at_once(scenario):
    text = SCENARIO.replace("min: 1", "min: 2").replace("cut: 2m\n", "")
    assert [run["replicas_min"] for run in json.loads(sim(scenario(text), "--json").stdout)["runs"]] == [2, 2]


def test_seeds_have_a_mean_and_an_interval(scenario):
    result = json.loads(sim(scenario(), "--json", "--seeds", 3).stdout)
    assert [run["seed"] for run in result["runs"]] == [7, 8, 9] * 2
    hours = [run["replica_hours"] for run in result["runs"] if run["policy"] == "ours"]
    ours = next(p for p in result["policies"] if p["policy"] == "ours")
    mean = sum(hours) / 3
    deviation = (sum((h - mean) ** 2 for h in hours) / 2) ** 0.5
    assert ours["replica_hours"]["mean"] == pytest.approx(mean)
    assert ours["replica_hours"]["half_width"] == pytest.approx(4.303 * deviation / 3 ** 0.5, rel=1e-3)
    text = sim(scenario(), "--seeds", 3).stdout
    assert "mean of 3 seeds from 7" in text
    assert re.search(r"^ +± ", text, re.M)


def test_the_worst_seed_is_the_one_that_counts(scenario):
    hours = [run["replica_hours"] for run in json.loads(sim(scenario(), "--json", "--seeds", 4).stdout)["runs"][:4]]
    bound = (max(hours) + sorted(hours)[-2]) / 2
    text = SCENARIO.replace("replica_hours <= 400% of theirs", f"replica_hours <= {bound:.9f}")
    done = sim(scenario(text), "--json", "--seeds", 4)
    assert done.returncode == 1
    verdict = json.loads(done.stdout)["expectations"][1]
    assert (verdict["met"], verdict["seed"]) == (False, 7 + hours.index(max(hours)))


def answer(call):
    call.answer()


class Page(HTMLParser):
    """What a page would load, its data, and the bytes of its scripts."""
    def __init__(self, text):
        super().__init__()
        self.loads, self.scripts, self._inside = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.loads += [(tag, name, value) for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]
        self._inside = dict(attrs) if tag in ("script", "style") else None

    def handle_data(self, data):
        if self._inside is not None:
            self.scripts.append((self._inside, data))

    def handle_endtag(self, tag):
        self._inside = None


def test_the_page_needs_nothing_else(scenario, tmp_path):
    html = tmp_path / "report.html"
    path = scenario(name="<!--<script>&.yaml")
    assert sim(path, "--html", html).returncode == 0
    text = html.read_text()
    page = Page(text)
    assert page.loads == []
    for pattern in (r"@import", r"url\(", r"\bfetch\(", r"XMLHttpRequest", r"\bimport\("):
        assert not re.search(pattern, text), pattern
    data = json.loads(next(body for attrs, body in page.scripts if attrs.get("id") == "data"))
    assert data["file"] == str(path), "a name of a file is no markup"
    assert [course["policy"] for course in data["courses"]] == ["ours", "theirs"], "all policies that were compared"
    for course in data["courses"]:
        assert len(course["at"]) == len(course["desired"]) == len(course["queued"][0]) > 100
        assert course["decisions"]
    decision = data["courses"][0]["decisions"][0]
    assert decision["winner"] in decision["terms"]
    assert "uPlot" in text and "The MIT License" in text


@pytest.mark.parametrize("good, bad", [("rate: 8/s", "rate: 8"), ("pilot: ahead", "pilot: nobody"), ("seed: 7", "sed: 7"),
                                      ("high wait_p99", "high weight_p99")])
def test_a_bad_file_exits_2_and_says_where(scenario, good, bad):
    path = scenario(SCENARIO.replace(good, bad))
    done = sim(path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{path}:{line_of(good)}:" in done.stderr and "error: " in done.stderr


def test_no_file(tmp_path):
    done = sim(tmp_path / "none.yaml")
    assert done.returncode == 2
    assert "none.yaml" in done.stderr
    assert sim().returncode == 2
    assert sim("--seeds", 0, "x").returncode == 2


def test_a_page_that_cannot_be_written(scenario, tmp_path):
    endless = scenario(SCENARIO.replace("20m", "8000h"))
    for path in (tmp_path / "no" / "such.html", tmp_path):
        done = sim(endless, "--html", path)
        assert done.returncode == 1
        assert f"{path}: " in done.stderr
    done = sim(scenario(), "--html", "/dev/full")
    assert done.returncode == 1
    assert "/dev/full: No space left" in done.stderr


def test_a_page_is_replaced_whole(scenario, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("x" * (1 << 22))
    assert sim(scenario(), "--html", page).returncode == 0
    assert page.read_text().startswith("<!") and "xxxx" not in page.read_text()


def test_a_closed_stdout_is_an_error_and_nobodys_file(scenario, tmp_path):
    page = tmp_path / "page.html"
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", BINARY, "sim", scenario(), "--html", page], capture_output=True, text=True)
    assert done.returncode == 1
    assert "standard output: Bad file descriptor" in done.stderr
    assert page.read_text().startswith("<!"), "the text went elsewhere"


def catches(pid, number):
    """Does the process have a handler for the signal yet?"""
    status = open(f"/proc/{pid}/status").read()
    return int(re.search(r"SigCgt:\t(\w+)", status)[1], 16) >> number - 1 & 1


def test_an_interrupt_ends_it_at_once(scenario):
    command = [BINARY, "sim", scenario(SCENARIO.replace("20m", "8000h"))]
    # Whoever runs the tests in the background has interrupts ignored, and children inherit that.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as running:
        guard = time.monotonic() + 60
        while not catches(running.pid, signal.SIGINT):
            assert running.poll() is None and time.monotonic() < guard
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert running.returncode == -signal.SIGINT
    assert (out, "interrupted" in err) == ("", True)


@pytest.mark.skipif("asan" in BINARY, reason="the sanitizer itself needs more address space than this leaves")
def test_little_memory_is_said(scenario):
    limited = ["sh", "-c", 'ulimit -v 24000; exec "$@"', "sh"]
    done = subprocess.run([*limited, BINARY, "sim", scenario(), "--jobs", "1"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "memory" in done.stderr


def test_progress_is_for_terminals(scenario):
    ours, theirs = pty.openpty()
    with subprocess.Popen([BINARY, "sim", scenario(), "--seeds", "5"], stdout=subprocess.PIPE, stderr=theirs, text=True) as running:
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 65536):
                seen += piece
        except OSError:  # the last writer is gone
            pass
        assert "runs done" not in running.stdout.read()
    os.close(ours)
    assert running.returncode == 0
    assert b"of 10 runs done" in seen
    assert seen.endswith(b"\x1b[J"), "nothing of it is left"


def test_a_recorded_gateway_is_a_stream(scenario, gateway, upstream, tmp_path):
    recording = tmp_path / "gateway.rec"
    g = gateway([upstream(answer)], record=str(recording))
    for priority in ("high", "high", "low"):
        assert g.ask(body=chat("x" * 400), headers=[("X-Priority", priority)]).status == 200
    assert g.stop() == 0
    text = SCENARIO[:SCENARIO.index("arrivals:")] + SCENARIO[SCENARIO.index("policies:"):]
    text = text.replace("cut: 2m\n", "").replace("  low: ", "  medium: {target: 1s, max_wait: 15s}\n  low: ")
    text += f"arrivals:\n  tuesday: {{class: high, recording: {recording.name}}}\n"
    done = sim(scenario(text), "--json")
    assert done.returncode == 0, done.stderr
    for run in json.loads(done.stdout)["runs"]:
        assert {name: of["done"] for name, of in run["classes"].items()} == {"high": 2, "medium": 0, "low": 1}


def test_a_recording_that_is_none(scenario, tmp_path):
    (tmp_path / "none.rec").write_text("nothing of the kind")
    text = SCENARIO.replace('rate: 8/s, service: "exp:100ms"', "recording: none.rec")
    done = sim(scenario(text))
    assert done.returncode == 2
    assert "none.rec: not a recording" in done.stderr
