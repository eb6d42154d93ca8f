"""A real control plane with KEDA for one test session: pods are processes, names are answered here.

Cluster  starts and ends it by the pids it wrote; kubectl, and conditions on what kubectl shows
Names    a DNS server: A records of a name are the addresses of pods with certain labels
"""
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BIN = ROOT / "build" / "real" / "bin"
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from harness.process import BINARY, Process  # noqa: E402
from harness.waiting import eventually  # noqa: E402

NAMESPACE = "inference"


class Cluster:
    def __init__(self, folder, gpus=8):
        self.folder = Path(folder)
        self.env = {**os.environ, "REAL_BIN": str(BIN), "KUBECONFIG": str(self.folder / "kubeconfig")}
        self.folder.mkdir(parents=True, exist_ok=True)
        self._sh("up")
        self.runner = Process([BIN / "podrunner", "-logs", self.folder / "log", "-gpus", str(gpus)],
                              env={"KUBECONFIG": self.env["KUBECONFIG"]})
        (self.folder / "pid" / "podrunner").write_text(str(self.runner.pid))
        self.kubectl("create", "namespace", NAMESPACE)

    def _sh(self, what):
        done = subprocess.run([HERE / "cluster.sh", what, str(self.folder)], env=self.env, cwd=HERE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout

    def close(self):
        if self.runner.running:
            self.runner.send(15)
            self.runner.popen.wait(30)
        self._sh("down")

    def kubectl(self, *args, text=None, check=True, namespace=None):
        done = subprocess.run([BIN / "kubectl", *(["-n", namespace] if namespace else []), *args], env=self.env,
                              input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert not check or done.returncode == 0, f"kubectl {args}: {done.stderr}"
        return done.stdout

    def get(self, kind, name=None, selector=None, namespace=NAMESPACE):
        args = ["get", kind, *([name] if name else []), *(["-l", selector] if selector else []), "-o", "json"]
        return json.loads(self.kubectl(*args, namespace=namespace))

    def pods(self, component):
        return self.get("pods", selector=f"app.kubernetes.io/component={component}")["items"]

    def ready_pods(self, component):
        return [p for p in self.pods(component) if is_ready(p) and "deletionTimestamp" not in p["metadata"]]

    def replicas(self, deployment):
        return self.get("deployment", deployment)["spec"].get("replicas", 1)

    def token(self, account):
        return self.kubectl("create", "token", account, "--duration=2h", namespace=NAMESPACE).strip()


def is_ready(pod):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


def address(pod):
    return pod["status"].get("podIP")


class Names:
    """names[name] is called for the addresses of a name; no name, no data."""

    def __init__(self):
        self.names = {}
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        self.socket.close()

    def _serve(self):
        while True:
            try:
                question, peer = self.socket.recvfrom(4096)
            except OSError:
                return
            answer = self._answer(question)
            if answer:
                self.socket.sendto(answer, peer)

    def _answer(self, question):
        at, labels = 12, []
        while question[at]:
            labels.append(question[at + 1:at + 1 + question[at]].decode())
            at += 1 + question[at]
        kind = struct.unpack("!H", question[at + 1:at + 3])[0]
        asked = question[12:at + 5]
        of = self.names.get(".".join(labels).lower().rstrip("."))
        addresses = of() if of and kind == 1 else []
        records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 1, 4) + socket.inet_aton(a) for a in addresses)
        code = 0 if of else 3
        return (question[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(addresses), 0, 0) + asked + records)


class Installation:
    """The project's manifests under the overlay, in this cluster."""

    def __init__(self, cluster, names, overlay="overlay", penstock=None):
        self.cluster, self.names = cluster, names
        self.folder = cluster.folder / "penstock"
        self.folder.mkdir(exist_ok=True)
        self.values = {"BIN": str(penstock or BINARY), "DIR": str(self.folder), "DNS": str(names.port),
                       "API": self._server()}
        text = cluster.kubectl("kustomize", "--load-restrictor", "LoadRestrictionsNone", str(HERE / overlay))
        self.documents = [d for d in yaml.safe_load_all(self._filled(text)) if d]
        # What pods mount comes before the pods.
        self.apply(d for d in self.documents if d["kind"] in ("ServiceAccount", "ConfigMap"))
        shutil.copy(cluster.folder / "pki" / "ca.crt", self.folder / "ca.crt")
        (self.folder / "token").write_text(cluster.token("penstock"))
        (self.folder / "admin").write_text("an-admin-token-for-this-test")
        config = cluster.get("configmap", "penstock")["data"]["penstock.yaml"]
        (self.folder / "penstock.yaml").write_text(config)
        names.names["penstock.inference.svc.cluster.local"] = lambda: [
            address(p) for p in cluster.ready_pods("gateway")]
        names.names["penstock-chat.inference.svc.cluster.local"] = lambda: [
            a for p in cluster.pods("engine") if (a := address(p))]
        self.apply(self.documents)

    def apply(self, documents):
        self.cluster.kubectl("apply", "-f", "-", text=yaml.safe_dump_all(documents))

    def _server(self):
        return re.search(r"server: \"?(https://[^\"\s,}]+)", (self.cluster.folder / "kubeconfig").read_text()).group(1)

    def _filled(self, text):
        return re.sub(r"@(BIN|DIR|DNS|API)@", lambda m: self.values[m.group(1)], text)

    def gateway(self):
        """The address of a ready gateway."""
        return address(eventually(lambda: self.cluster.ready_pods("gateway"), "a ready gateway")[0])
