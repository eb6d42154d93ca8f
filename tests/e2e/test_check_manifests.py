"""What `penstock check` says of a cluster's manifests, alone and beside the configuration."""
import json
from pathlib import Path

import pytest
from harness.process import ROOT, run

CONFIG = """\
keda: {listen: '127.0.0.1:0'}
pools:
  - name: chat
    models: [m]
    slots: 8
    replicas: {static: ['http://10.0.0.1:8000']}
    scaler: {min: 2, max: 40, start_time: 7m}
"""
SCALED = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: chat}
spec:
  scaleTargetRef: {name: chat}
  maxReplicaCount: 40
  cooldownPeriod: 360
  triggers:
    - type: external-push
      metadata: {scalerAddress: penstock:9902, pool: chat}
"""


def write(folder, name, text):
    file = folder / name
    file.write_text(text)
    return file


def warnings(out, file):
    return [line for line in out.splitlines() if line.startswith(f"{file}:") and " warning: " in line]


@pytest.mark.parametrize("file", sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml")), ids=lambda f: Path(f).name)
def test_the_projects_own_manifests_are_well(file):
    code, out, err = run("check", file)
    assert code == 0, out + err
    assert [line for line in warnings(out, file) if "pays for a replica at night" not in line] == []
    assert ": ok, manifests; objects " in out


def test_a_manifest_is_measured_by_its_configuration(tmp_path):
    config, scaled = write(tmp_path, "penstock.yaml", CONFIG), write(tmp_path, "scaled.yaml", SCALED)
    alone = warnings(run("check", scaled)[1], scaled)
    code, out, _ = run("check", scaled, config)
    assert code == 0
    assert not [line for line in alone if ":7:19:" in line], "six minutes are long for a start of two"
    assert [line for line in warnings(out, scaled) if ":7:19:" in line and "takes 420s to start" in line]
    assert f"{config}: ok; " in out


def test_every_fault_of_a_bare_scaled_object_is_said(tmp_path):
    scaled = write(tmp_path, "scaled.yaml", SCALED)
    out = run("check", scaled)[1]
    for part in ("scaleUp lets a right number come in pieces", "comes on top of in_after", "scaleUp: the HPA ignores",
                 "scaleDown: the HPA ignores"):
        assert len([line for line in warnings(out, scaled) if part in line]) == 1, part


def test_several_files_are_several_objects_of_json(tmp_path):
    good, bad = write(tmp_path, "scaled.yaml", SCALED), write(tmp_path, "bad.yaml", "listne: 1\n")
    code, out, _ = run("check", "--json", good, bad)
    objects = [json.loads(line) for line in out.splitlines()]
    assert code == 2
    assert [(o["file"], o["kind"], o["ok"]) for o in objects] == [
        (str(good), "manifests", True), (str(bad), "configuration", False)]
    assert all(p["line"] > 0 and p["column"] > 0 for o in objects for p in o["problems"])
