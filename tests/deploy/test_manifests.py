"""deploy/: what is there is valid for the oldest and the newest Kubernetes that the chart names, and says what we say."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
SCHEMAS = ROOT / "build" / "manifests" / "bin" / "python"
BINARY = os.environ.get("PENSTOCK", str(ROOT / "build" / "release" / "bin" / "penstock"))
FOREIGN = {"ScaledObject", "TriggerAuthentication", "ServiceMonitor", "PrometheusRule"}  # no part of Kubernetes itself

VALIDATE = """
import json, sys, kubernetes_validate
for document in json.load(sys.stdin):
    kubernetes_validate.validate(document, sys.argv[1], strict=True)
"""


def documents(path):
    return [d for d in yaml.safe_load_all(path.read_text()) if d]


def of_kind(path, kind):
    return [d for d in documents(path) if d["kind"] == kind]


@pytest.mark.parametrize("version", ["1.27", "1.35"])
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda p: p.name)
def test_schema(path, version):
    own = [d for d in documents(path) if d["kind"] not in FOREIGN]
    done = subprocess.run([SCHEMAS, "-c", VALIDATE, version], input=json.dumps(own), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_fault_is_found():
    """The validator above is no rubber stamp."""
    wrong = [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"prt": 1}]}}]
    done = subprocess.run([SCHEMAS, "-c", VALIDATE, "1.35"], input=json.dumps(wrong), text=True, capture_output=True)
    assert done.returncode != 0 and "prt" in done.stderr


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda p: p.name)
def test_every_reference_resolves(path):
    """Accounts, claims of configuration and targets that a manifest names are in it, or documented as the user's."""
    have = {(d["kind"], d["metadata"]["name"]) for d in documents(path)}
    for d in of_kind(path, "Deployment"):
        pod = d["spec"]["template"]["spec"]
        labels = d["spec"]["template"]["metadata"]["labels"]
        assert d["spec"]["selector"]["matchLabels"].items() <= labels.items()
        if "serviceAccountName" in pod:
            assert ("ServiceAccount", pod["serviceAccountName"]) in have
        for volume in pod.get("volumes", []):
            if "configMap" in volume:
                assert ("ConfigMap", volume["configMap"]["name"]) in have
    for d in of_kind(path, "Service"):
        assert any(d["spec"]["selector"].items() <= x["spec"]["template"]["metadata"]["labels"].items()
                   for x in of_kind(path, "Deployment")), d["metadata"]["name"]
    if of_kind(path, "Deployment"):
        for d in of_kind(path, "ScaledObject"):
            assert ("Deployment", d["spec"]["scaleTargetRef"]["name"]) in have


def test_no_more_rights_than_needed():
    roles = [d for p in MANIFESTS for d in documents(p) if d["kind"] in ("Role", "ClusterRole")]
    assert [r["kind"] for r in roles] == ["Role"]
    assert roles[0]["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]}]


@pytest.mark.parametrize("path", [p for p in MANIFESTS if p.name != "prometheus.yaml"], ids=lambda p: p.name)
def test_the_configuration_inside_is_accepted(path, tmp_path):
    """`penstock check` reads the ConfigMap's file without an error or a warning."""
    text = of_kind(path, "ConfigMap")[0]["data"]["penstock.yaml"]
    for name in set(re.findall(r"/etc/penstock/[\w./-]+", text)):
        file = tmp_path / Path(name).name
        file.write_text(f"a-token-of-some-length-{file.name}\n")
        text = text.replace(name, str(file))
    file = tmp_path / "penstock.yaml"
    file.write_text(text)
    done = subprocess.run([BINARY, "check", file], capture_output=True, text=True)
    assert done.returncode == 0 and "warning:" not in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda p: p.name)
def test_the_manifests_have_none_of_the_faults_we_warn_of(path):
    done = subprocess.run([BINARY, "check", path], capture_output=True, text=True)
    assert done.returncode == 0 and "warning:" not in done.stdout + done.stderr, done.stdout + done.stderr


def test_alert_rules(tmp_path):
    """Each alert fires when it should and not otherwise; and what the manifests carry is that very file."""
    rules = ROOT / "deploy" / "helm" / "penstock" / "rules.yaml"
    (tmp_path / "rules.yaml").write_text(rules.read_text())
    (tmp_path / "test.yaml").write_text((Path(__file__).parent / "rules_test.yaml").read_text())
    done = subprocess.run(["promtool", "test", "rules", "test.yaml"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    carried = [d["spec"] for p in MANIFESTS for d in of_kind(p, "PrometheusRule")]
    assert carried
    for spec in carried:
        *same, facts = spec["groups"]
        assert same == yaml.safe_load(rules.read_text())["groups"]
        assert facts["rules"] == [
            {"record": "penstock:slots", "expr": "vector(256)", "labels": {"namespace": "inference", "pool": "chat"}},
            {"record": "penstock:keda", "expr": "vector(1)", "labels": {"namespace": "inference"}}]
    alerts = {r["alert"] for g in yaml.safe_load(rules.read_text())["groups"] for r in g["rules"] if "alert" in r}
    assert alerts == {t["alertname"] for t in yaml.safe_load((Path(__file__).parent / "rules_test.yaml").read_text())["tests"]
                      for t in t["alert_rule_test"] if t.get("exp_alerts")}


@pytest.mark.parametrize("path", [p for p in MANIFESTS if of_kind(p, "ServiceMonitor")], ids=lambda p: p.name)
def test_a_gateway_is_the_job_that_the_alert_asks_for(path):
    """The operator makes `job` of the Service's label, not of the release's name."""
    monitor, = of_kind(path, "ServiceMonitor")
    service, = [s for s in of_kind(path, "Service") if "metrics" in [p["name"] for p in s["spec"]["ports"]]]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert service["metadata"]["labels"][monitor["spec"]["jobLabel"]] == "penstock"


def test_the_number_is_this_namespaces():
    query = of_kind(ROOT / "deploy" / "kubernetes" / "prometheus.yaml", "ScaledObject")[0]["spec"]["triggers"][0]["metadata"]["query"]
    assert query == 'max(penstock_scaler_replicas{namespace="inference", pool="chat", kind="desired"})'


def test_alert_rules_name_metrics_that_exist():
    known = set(re.findall(r"`(penstock_\w+)`", (ROOT / "docs" / "metrics.md").read_text()))
    named = set(re.findall(r"\bpenstock_\w+", (ROOT / "deploy" / "helm" / "penstock" / "rules.yaml").read_text()))
    assert {re.sub(r"_(bucket|sum|count)$", "", n) for n in named} <= known
