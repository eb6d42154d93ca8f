"""The project's manifests in a cluster, under an overlay, and what may be asked of what then runs."""
import json
import re
import shutil
import subprocess
import threading
import time

import yaml
from cluster import BIN, HERE, address, eventually, is_ready
from harness.nameserver import Nameserver
from harness.pages import Metrics, fetch
from harness.process import BINARY

GATEWAY_PORT, ENGINE_PORT = 21080, 21000  # of the overlays
COST = "controller.kubernetes.io/pod-deletion-cost"
ADMIN = "an-admin-token-for-this-test"


class Names(Nameserver):
    """The cluster's DNS: names[name] is called for the addresses of a name."""

    def __init__(self):
        self.names = {}
        super().__init__()

    def of(self, name):
        return self.names.get(name.lower(), list)()


class Installation:
    """One overlay of the manifests, in a namespace of its own."""

    def __init__(self, cluster, names, overlay, namespace):
        """What pods mount is there then; apply_those() applies the rest."""
        self.cluster, self.names, self.namespace = cluster, names, namespace
        self.folder = cluster.folder / namespace
        self.folder.mkdir()
        self.lock, self.found, self.looked = threading.Lock(), None, 0
        self.values = {"BIN": BINARY, "DIR": str(self.folder), "DNS": names.server, "API": cluster.server,
                       "NAMESPACE": namespace}
        cluster.kubectl("create", "namespace", namespace)
        self.text = cluster.kubectl("kustomize", "--load-restrictor", "LoadRestrictionsNone", str(HERE / overlay))
        self.apply_those(lambda d: d["kind"] in ("ServiceAccount", "ConfigMap"))
        self._files()
        names.names[f"penstock.{namespace}"] = lambda: [address(p) for p in self.gateways()]
        names.names[f"penstock-chat.{namespace}"] = lambda: [a for p in self.pods("engine") if (a := address(p))]

    def _files(self):
        """What pods mount."""
        shutil.copy(self.cluster.folder / "pki" / "ca.crt", self.folder / "ca.crt")
        self.give_token()
        (self.folder / "admin").write_text(ADMIN)
        (self.folder / "drain").write_text("a-drain-token-for-this-test")
        config = self.get("configmaps", "penstock")["data"]["penstock.yaml"]
        (self.folder / "penstock.yaml").write_text(config)

    def give_token(self, text=None):
        """The service account's token, as a kubelet projects it; or another text."""
        text = text or self.kubectl("create", "token", "penstock", "--duration=2h").strip()
        fresh = self.folder / "token.fresh"
        fresh.write_text(text)
        fresh.rename(self.folder / "token")

    def apply_those(self, wanted):
        """Applies those documents for which wanted(document) is true."""
        text = re.sub(r"@([A-Z]+)@", lambda m: self.values.get(m.group(1), m.group(0)), self.text)
        self.apply([d for d in yaml.safe_load_all(text) if d and wanted(d)])

    def apply(self, documents):
        self.kubectl("apply", "-f", "-", text=yaml.safe_dump_all(documents))

    def kubectl(self, *args, **more):
        return self.cluster.kubectl(*args, namespace=self.namespace, **more)

    def get(self, kind, name=None, selector=None):
        return self.cluster.get(self.namespace, kind, name, selector)

    def pods(self, component):
        return self.get("pods", selector=f"app.kubernetes.io/component={component}")["items"]

    def gateways(self):
        """As the Service has them: ready, and not going."""
        return [p for p in self.pods("gateway") if is_ready(p) and "deletionTimestamp" not in p["metadata"]]

    def endpoint(self):
        """A gateway's address as clients have it: by a list that is a moment old, as every node's is."""
        with self.lock:
            if time.monotonic() > self.looked + 0.2:
                self.found, self.looked = self.gateway(), time.monotonic()
            return self.found

    def gateway(self):
        return address(eventually(self.gateways, lambda: self.tell("a ready gateway"))[0])

    def engines(self):
        return [p for p in self.pods("engine") if "deletionTimestamp" not in p["metadata"]]

    def ready_engines(self):
        return [p for p in self.engines() if is_ready(p)]

    def replicas(self):
        return self.get("deployments", "penstock-chat")["spec"].get("replicas", 1)

    def until_replicas(self, wanted, what, guard_s=120):
        return eventually(lambda: wanted(self.replicas()), lambda: self.tell(what), guard_s)

    def until_ready(self, count):
        eventually(lambda: len(self.ready_engines()) >= count, lambda: self.tell(f"{count} ready engines"))

    def until_scaled(self):
        """KEDA has reached the scaler."""
        def is_known():
            conditions = self.get("scaledobjects", "penstock-chat").get("status", {}).get("conditions", [])
            return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
        eventually(is_known, lambda: self.tell("KEDA knows the scaler"))

    def settled(self, count=0):
        self.until_replicas(lambda n: n == count, f"{count} replicas again", 180)
        eventually(lambda: len(self.pods("engine")) == count, lambda: self.tell(f"no more than {count} engines"))

    def metrics(self):
        return Metrics(fetch((self.gateway(), 9901), "GET", "/metrics")[2].decode())

    def state(self):
        return json.loads(fetch((self.gateway(), 9900), "GET", "/state", {"Authorization": f"Bearer {ADMIN}"})[2])

    def explain(self):
        return fetch((self.gateway(), 9900), "GET", "/explain?pool=chat", {"Authorization": f"Bearer {ADMIN}"})[2].decode()

    def asks_keda(self):
        """The answer to a GetMetrics of KEDA's own client."""
        call = {"method": "GetMetrics", "metadata": {"pool": "chat", "metric": "desired"}, "name": "penstock-chat-desired"}
        done = subprocess.run([BIN / "keda-client", f"{self.gateway()}:9902", json.dumps({"calls": [call]})],
                              stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=30, check=True)
        return json.loads(done.stdout)

    def stats(self, pod):
        """What an engine counts; None: it does not answer now."""
        if not address(pod):
            return None
        try:
            return json.loads(fetch((address(pod), ENGINE_PORT), "GET", "/stats")[2])
        except OSError:
            return None

    def tell(self, what):
        """For a failure: what there is, and what was said."""
        said = [p.read_text(errors="replace")[-2500:] for p in sorted(self.cluster.folder.glob("log/penstock-*.log"))
                if not p.name.startswith("penstock-chat")]
        there = self.kubectl("get", "pods,scaledobject,hpa", check=False)
        return "\n".join([what, *said, there, *self.cluster.runner.lines[-20:]])
