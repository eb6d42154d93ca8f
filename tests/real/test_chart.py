"""deploy/, judged by a real API server, a real Helm and our own check."""
import subprocess

import pytest
import yaml
from cluster import BIN, ROOT
from harness.process import run

FILES = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
FOREIGN = {"ServiceMonitor", "PrometheusRule"}  # of an operator that is not here

pytestmark = pytest.mark.skipif(not (BIN / "helm").exists(), reason="tools/real-parts: not installed")


def done(*argv):
    result = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, result.stdout
    return result.stdout


def test_lint():
    assert "0 chart(s) failed" in done(BIN / "helm", "lint", "--strict", "deploy/helm/penstock")


def test_rendered_is_what_the_chart_says():
    done("tools/render-manifests", "--check")


@pytest.fixture(scope="module")
def empty(cluster):
    cluster.kubectl("create", "namespace", "dry-run")
    return "dry-run"


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_a_server_takes_it(cluster, empty, file):
    documents = [d for d in yaml.safe_load_all(file.read_text()) if d and d["kind"] not in FOREIGN]
    for d in documents:
        d["metadata"]["namespace"] = empty
    said = cluster.kubectl("apply", "--dry-run=server", "-f", "-", namespace=empty, text=yaml.safe_dump_all(documents))
    assert len([line for line in said.splitlines() if line.endswith("created (server dry run)")]) == len(documents), said


def test_check_misses_the_behaviour(tmp_path):
    """Without scaleUp of its own an HPA stops short of what was decided: `penstock check` says so."""
    documents = list(yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "watch.yaml").read_text()))
    scaled = next(d for d in documents if d["kind"] == "ScaledObject")
    for faulty in (False, True):
        if faulty:
            del scaled["spec"]["advanced"]
        file = tmp_path / f"{faulty}.yaml"
        file.write_text(yaml.safe_dump(scaled))
        code, out, err = run("check", file)
        assert code == 0, out + err
        assert ("scaleUp" in out) == faulty, out
