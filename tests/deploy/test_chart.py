"""deploy/helm: what cannot work is refused, and the text of an engine's preStop ends when the engine is idle, not before."""
import http.server
import os
import shutil
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
HELM = ROOT / "build" / "real" / "bin" / "helm"

# What runs, what waits.
PAGES = {
    "vllm": """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a\\nb"} %d.0
vllm:num_requests_waiting{engine="0",model_name="a\\nb"} %d.0
vllm:num_requests_waiting_by_reason{reason="capacity"} 7.0
""",
    "sglang": """sglang:num_running_reqs{model_name="m"} %d.0
sglang:num_queue_reqs{model_name="m"} %d.0
""",
    "tgi": "tgi_batch_current_size %d\ntgi_queue_size %d\n",
    "triton": """nv_trt_llm_request_metrics{model="m",request_type="max",version="1"} 9
nv_trt_llm_request_metrics{model="m",request_type="scheduled",version="1"} %d
nv_trt_llm_request_metrics{model="m",request_type="waiting",version="1"} 0
nv_inference_pending_request_count{model="m",version="1"} %d
""",
    "llamacpp": "llamacpp:requests_processing %d\nllamacpp:requests_deferred %d\n",
}


def template(chart=ROOT / "deploy" / "helm" / "penstock", **values):
    if not HELM.exists():
        pytest.skip(f"no {HELM.relative_to(ROOT)}: tools/real-parts builds it")
    sets = [f"--set={name.replace('__', '.')}={value}" for name, value in values.items()]
    return subprocess.run([HELM, "template", "penstock", chart, "--kube-version=1.35.5", *sets],
                          capture_output=True, text=True)


def pre_stop(engine, manifest="watch"):
    if engine == "vllm":
        text = (ROOT / "deploy" / "kubernetes" / f"{manifest}.yaml").read_text()
    else:
        done = template(pool__engine=engine)
        assert done.returncode == 0, done.stderr
        text = done.stdout
    engine, = [d for d in yaml.safe_load_all(text)
               if d and d["kind"] == "Deployment" and d["metadata"]["name"] == "penstock-chat"]
    return engine["spec"]["template"]["spec"]["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]


class Pages(http.server.ThreadingHTTPServer):
    """Answers in their order, (status, page) each; the last one from then on."""
    daemon_threads = True

    def __init__(self, address, answers, port=0):
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, port), Handler)
        self.answers, self.asked, self.posted = answers, 0, []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        at = self.server.asked
        self.server.asked += 1
        status, page = self.server.answers[min(at, len(self.server.answers) - 1)]
        self.send_response(status if self.path == "/metrics" else 404)
        self.send_header("Content-Length", str(len(page) + (status == 200 and page.endswith("cut"))))
        self.end_headers()
        self.wfile.write(page.encode())

    def do_POST(self):
        self.server.posted.append((self.path, self.headers["Authorization"]))
        self.send_response(self.server.answers[0][0])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def programs(directory, *names, pause="exit 0"):
    """A PATH with these and a `sleep` that does not: the answers, not the time, say when the loop ends."""
    for name in names:
        (directory / name).symlink_to(shutil.which(name))
    (directory / "sleep").write_text(f"#!/bin/sh\n{pause}\n")
    (directory / "sleep").chmod(0o755)
    return {"PATH": str(directory)}


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("engine", PAGES)
def test_an_engine_ends_when_a_page_says_that_it_is_idle(engine, address, tmp_path):
    page = PAGES[engine]
    busy = [(200, page % (3, 0)), (200, page % (0, 2)), (200, page % (10, 0)),  # it works
            (500, page % (0, 0)), (200, ""), (200, "up 0\n"), (200, page % (0, 0) + "cut")]  # it does not say
    server = Pages(address, [*busy, (200, page % (0, 0))])
    env = {**programs(tmp_path, "curl", "grep"), "POD_IP": address, "PORT": str(server.server_port)}
    done = subprocess.run(pre_stop(engine), env=env, capture_output=True, text=True, timeout=60)
    server.shutdown()
    assert (done.returncode, server.asked) == (0, len(busy) + 1), done.stderr


def test_one_that_loads_has_nothing_to_end(tmp_path):
    """Its port is not open yet: a start that is cancelled keeps no GPU for the length of a grace period."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    env = {**programs(tmp_path, "curl", "grep"), "POD_IP": "127.0.0.1", "PORT": str(port)}
    assert subprocess.run(pre_stop("vllm"), env=env, timeout=60, stderr=subprocess.DEVNULL).returncode == 0


def test_without_curl_it_says_so_and_goes_on(tmp_path):
    """Up to the grace period's end; here, to the third pause."""
    env = programs(tmp_path, "grep", pause=f'echo >>{tmp_path}/paused; [ "$(grep -c "" {tmp_path}/paused)" -lt 3 ] || kill "$PPID"')
    done = subprocess.run(pre_stop("vllm"), env={**env, "POD_IP": "127.0.0.1", "PORT": "1"}, capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGTERM and "curl: not found" in done.stderr


@pytest.mark.parametrize("answers, rc", [([200], 0), ([404, 200], 0), ([200, 404], 0), ([None, 200], 0),
                                         ([404, 401], 1), ([409], 1), ([None], 1), ([], 1)])
def test_by_dns_one_gateway_that_drained_it_is_enough_and_none_is_said(answers, rc, tmp_path):
    """None: nobody listens there."""
    addresses = [f"127.{100 + os.getpid() % 100}.{os.getpid() // 100 % 250}.{i + 1}" for i in range(len(answers))]
    env = programs(tmp_path, "curl", "awk", "sort", "cat")
    (tmp_path / "getent").write_text("#!/bin/sh\n" + "".join(f"echo {a} STREAM\necho {a} DGRAM\n" for a in addresses))
    (tmp_path / "getent").chmod(0o755)
    (tmp_path / "token").write_text("secret")
    servers = [Pages(a, [(status, "")], 9900) for a, status in zip(addresses, answers) if status]
    env = {**env, "POD_IP": "fd00::1", "PORT": "8000", "GATEWAYS": "gateways", "DRAIN_TOKEN": str(tmp_path / "token")}
    done = subprocess.run(pre_stop("vllm", "dns"), env=env, capture_output=True, text=True, timeout=60)
    for server in servers:
        server.shutdown()
        server.server_close()
    assert done.returncode == rc, done.stderr
    assert ("no gateway of gateways drained this engine" in done.stderr) == (rc == 1)
    assert [s.posted for s in servers] == [[("/replicas/http%3A%2F%2F[fd00::1]%3A8000/drain", "Bearer secret")]] * len(servers)


DNS = {"discovery": "dns", "drainToken__secretName": "tokens"}


@pytest.mark.parametrize("values, said", [
    ({"discovery": "dns"}, "drainToken.secretName"),
    ({**DNS, "scaling__warm": 1}, "only with discovery: watch"),
    ({**DNS, "engine__enabled": "false"}, "found with discovery: watch"),
    ({"discovery": "consul"}, "watch or dns"),
    ({"scaling__trigger": "cron"}, "push or prometheus"),
    ({"pool__engine": "openai"}, "use discovery: dns"),
    ({"engine__enabled": "false"}, "engine.deployment"),
    ({"gateway__replicas": 2}, "config.gateways"),
])
def test_what_cannot_work_is_refused(values, said):
    done = template(**values)
    assert done.returncode != 0 and said in done.stderr, done.stderr


@pytest.mark.parametrize("values", [
    DNS, {**DNS, "pool__engine": "openai"}, {"scaling__warm": 1}, {"gateway__replicas": 2, "config__gateways": 2},
    {"engine__enabled": "false", "engine__deployment": "mine", "pool__engine": "openai"}])
def test_what_works_is_not(values):
    done = template(**values)
    assert done.returncode == 0, done.stderr


def rendered(kind, name, **values):
    done = template(**values)
    assert done.returncode == 0, done.stderr
    one, = [d for d in yaml.safe_load_all(done.stdout) if d and (d["kind"], d["metadata"]["name"]) == (kind, name)]
    return one


def configuration(**values):
    return yaml.safe_load(rendered("ConfigMap", "penstock", **values)["data"]["penstock.yaml"])


def test_a_pools_own_keys_go_over_what_the_values_make():
    made, given = configuration(), configuration(pool__config__no_replica_ttl="10m", pool__config__scaler__max=9, config__drain__grace="3s")
    pool, = made["pools"]
    pool["no_replica_ttl"], pool["scaler"]["max"], made["drain"]["grace"] = "10m", 9, "3s"
    assert given == made


def seconds(text):
    return int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


@pytest.mark.parametrize("values", [{}, DNS])
def test_times_agree(values):
    """A start is given up when its probe gives up; no stream is cut by the shorter of two times."""
    engine = rendered("Deployment", "penstock-chat", **values)["spec"]["template"]["spec"]
    gateway = rendered("Deployment", "penstock", **values)["spec"]["template"]["spec"]
    config = configuration(**values)
    startup, ready = engine["containers"][0]["startupProbe"], gateway["containers"][0]["readinessProbe"]
    scaler, deadline = config["pools"][0]["scaler"], seconds(config["drain"]["deadline"])
    assert seconds(scaler["start_timeout"]) == startup["periodSeconds"] * startup["failureThreshold"]
    assert seconds(scaler["drain_deadline"]) <= deadline < gateway["terminationGracePeriodSeconds"]
    assert seconds(scaler["drain_deadline"]) < engine["terminationGracePeriodSeconds"]
    assert ready["failureThreshold"] > 1 and ready["failureThreshold"] * ready["periodSeconds"] + ready["timeoutSeconds"] < 10  # drain.grace


def test_images_are_pulled_with_the_secrets_and_two_releases_keep_apart():
    spec = rendered("DaemonSet", "penstock-chat-prepull", **{"imagePullSecrets[0]__name": "registry"})["spec"]
    pod = spec["template"]
    assert pod["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["selector"]["matchLabels"] == pod["metadata"]["labels"]
    assert spec["selector"]["matchLabels"]["app.kubernetes.io/instance"] == "penstock"


def test_an_engines_security_context_is_the_users():
    def container(**values):
        return rendered("Deployment", "penstock-chat", **values)["spec"]["template"]["spec"]["containers"][0]
    assert "securityContext" not in container()
    assert container(engine__securityContext__runAsUser=1000)["securityContext"] == {"runAsUser": 1000}


def test_an_engine_that_is_not_ready_holds_no_node_up():
    assert rendered("PodDisruptionBudget", "penstock-chat")["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


@pytest.mark.parametrize("values, said, unsaid", [
    ({}, ["claim `models`", "No alerts", "penstock explain\n", "get scaledobject penstock-chat"], ["Secret"]),
    ({**DNS, "monitoring__rules": "true"}, ["Secret `tokens`", "get prometheusrule penstock", "--token-file"], ["No alerts"]),
    ({"engine__modelVolume__enabled": "false", "scaling__enabled": "false"}, ["penstock explain"], ["claim", "scaledobject"]),
])
def test_what_comes_next_is_said(values, said, unsaid, tmp_path):
    """helm prints notes only where there is a cluster: here they are in a ConfigMap."""
    chart = tmp_path / "penstock"
    shutil.copytree(ROOT / "deploy" / "helm" / "penstock", chart)
    notes = (chart / "templates" / "NOTES.txt").read_text().replace("\n", "\n    ")
    (chart / "templates" / "notes.yaml").write_text(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: notes}}\ndata:\n  notes: |\n    {notes}\n")
    notes = rendered("ConfigMap", "notes", chart=chart, **values)["data"]["notes"]
    assert all(s in notes for s in said) and not any(s in notes for s in unsaid), notes
