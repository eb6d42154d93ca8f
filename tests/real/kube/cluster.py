"""A real control plane with KEDA for one test session, in which pods are processes; ended by the pids it wrote."""
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import urllib.parse
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BIN = ROOT / "build" / "real" / "bin"
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from harness import waiting  # noqa: E402
from harness.process import Process  # noqa: E402

API = {"pods": "/api/v1", "configmaps": "/api/v1", "events": "/api/v1", "deployments": "/apis/apps/v1",
       "scaledobjects": "/apis/keda.sh/v1alpha1", "horizontalpodautoscalers": "/apis/autoscaling/v2"}
PORTS = ("ETCD_PORT", "ETCD_PEER_PORT", "API_PORT", "CONTROLLER_PORT", "ADAPTER_PORT", "KEDA_GRPC_PORT")


def free_ports(names):
    """A port that nobody has for each name: all are held until the last one is found."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in names]
    ports = {name: str(s.getsockname()[1]) for name, s in zip(names, held)}
    for s in held:
        s.close()
    return ports


def pod_network():
    """Addresses that no other test of this machine gives to its pods: by our process id."""
    pid = os.getpid()
    return f"127.{64 + (pid >> 8) % 128}.{pid % 256}.0"


class Cluster:
    def __init__(self, folder, gpus=7):
        self.folder, self._tls = Path(folder), None
        self.env = {**os.environ, **free_ports(PORTS), "REAL_BIN": str(BIN),
                    "KUBECONFIG": str(self.folder / "kubeconfig")}
        self.folder.mkdir(parents=True, exist_ok=True)
        self._sh("up")
        self.runner = Process([BIN / "podrunner", "-logs", self.folder / "log", "-gpus", str(gpus),
                               "-network", pod_network()], env={"KUBECONFIG": self.env["KUBECONFIG"]})
        (self.folder / "pid" / "podrunner").write_text(str(self.runner.pid))

    def _sh(self, what):
        done = subprocess.run([HERE / "cluster.sh", what, str(self.folder)], env=self.env, cwd=HERE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout

    def close(self):
        if self.runner.running:
            self.runner.send(15)
            self.runner.popen.wait(30)
        (self.folder / "pid" / "podrunner").unlink(missing_ok=True)  # its number may be another's by now
        self._sh("down")

    def ask(self, path):
        """A GET of the API server as its administrator; None: there is no such thing."""
        port, pki = int(self.env["API_PORT"]), self.folder / "pki"
        if self._tls is None:
            self._tls = ssl.create_default_context(cafile=pki / "ca.crt")
            self._tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        connection = http.client.HTTPSConnection("localhost", port, timeout=30, context=self._tls)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            body = json.loads(response.read())
        finally:
            connection.close()
        assert response.status in (200, 404), body
        return body if response.status == 200 else None

    def kubectl(self, *args, text=None, check=True, namespace=None):
        done = subprocess.run([BIN / "kubectl", *(["-n", namespace] if namespace else []), *args], env=self.env,
                              input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert not check or done.returncode == 0, f"kubectl {args}: {done.stderr}"
        return done.stdout

    def get(self, namespace, kind, name=None, selector=None):
        path = f"{API[kind]}/namespaces/{namespace}/{kind}" + (f"/{name}" if name else "")
        return self.ask(path + ("?" + urllib.parse.urlencode({"labelSelector": selector}) if selector else ""))

    @property
    def server(self):
        return f"https://127.0.0.1:{self.env['API_PORT']}"


def eventually(condition, what, guard_s=120):
    """What a control plane shows changes seldom: it is looked at ten times a second."""
    return waiting.eventually(condition, what, guard_s, pause_s=0.1)


def is_ready(pod):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


def address(pod):
    return pod["status"].get("podIP")
