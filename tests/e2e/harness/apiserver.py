"""The pods of a namespace as a Kubernetes API server tells them: list, watch, patch; over TLS, for whoever has the token."""
import copy
import json
import ssl
import subprocess
import threading
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from .place import HOST

PATH = "/api/v1/namespaces/llm/pods"


def later(seconds):
    return (datetime.now(timezone.utc) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


class ApiServer:
    FIRST = "token-1"

    def __init__(self, folder, token=FIRST):
        self.folder = folder
        self.pods = {}
        self.version = 100
        self.history = []  # (version, event); what came before `oldest` is compacted
        self.oldest = 0
        self.requests = []  # (method, path, query)
        self.patches = []  # (name, body)
        self.token_file = folder / "token"
        self.rotate(token)
        self.more = threading.Condition()
        self.ca_file = folder / "ca.pem"
        self._certificate()
        self.port = 0
        self.watches = set()
        self.start()

    @property
    def url(self):
        return f"https://{HOST}:{self.port}"

    def _certificate(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "key.pem", "-out",
                        "ca.pem", "-subj", "/CN=api", "-addext", f"subjectAltName=IP:{HOST}"],
                       cwd=self.folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def rotate(self, token, tell=True):
        """From now on only this token is taken; `tell`: its file has it, as another file of the same name."""
        self.token = token
        if tell:
            fresh = self.folder / "token.next"
            fresh.write_text(token + "\n")
            fresh.rename(self.token_file)

    def start(self):
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                api._serve(self)

            def do_PATCH(self):
                api._serve(self)

        self.stopping = False
        self.server = ThreadingHTTPServer((HOST, self.port), Handler)
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "ca.pem", self.folder / "key.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self):
        """Watches end in the middle, and nobody listens any more."""
        with self.more:
            self.stopping = True
            self.more.notify_all()
        self.server.shutdown()
        self.server.server_close()

    close = stop

    # pods

    def add(self, name, ip, port, hash="one", **status):
        pod = {"metadata": {"name": name, "namespace": "llm", "uid": f"uid-{name}-{self.version}", "creationTimestamp": later(0),
                            "labels": {"app": "m", "pod-template-hash": hash}, "annotations": {}},
               "spec": {"containers": [{"name": "engine", "ports": [{"containerPort": port}]}]},
               "status": {"phase": "Running", "podIP": ip, "containerStatuses": [
                   {"name": "engine", "restartCount": 0, "containerID": "x://1", "state": {"running": {}}}], **status}}
        self._say("ADDED", name, pod)

    def change(self, name, change):
        with self.more:
            pod = copy.deepcopy(self.pods[name])
        change(pod)
        self._say("MODIFIED", name, pod)

    def end(self, name, grace=30):
        """As `kubectl delete` does: it has until then."""
        self.change(name, lambda pod: pod["metadata"].update(deletionTimestamp=later(grace)))

    def remove(self, name):
        self._say("DELETED", name, None)

    def compact(self):
        """What was before now is forgotten: watches from there are answered 410."""
        with self.more:
            self.oldest = self.version + 1
            self.version += 2

    def _say(self, kind, name, pod):
        with self.more:
            self.version += 1
            shown = pod or self.pods[name]
            shown["metadata"]["resourceVersion"] = str(self.version)
            self.history.append((self.version, {"type": kind, "object": copy.deepcopy(shown)}))
            if pod is None:
                del self.pods[name]
            else:
                self.pods[name] = pod
            self.more.notify_all()

    # requests

    def _serve(self, h):
        parts = urlsplit(h.path)
        query = {k: v[0] for k, v in parse_qs(parts.query).items()}
        self.requests.append((h.command, parts.path, query))
        body = h.rfile.read(int(h.headers.get("Content-Length", 0)))
        if h.headers.get("Authorization") != f"Bearer {self.token}":
            self._answer(h, 401, {"code": 401})
        elif h.command == "PATCH":
            self._patch(h, parts.path.rsplit("/", 1)[1], json.loads(body))
        elif parts.path != PATH or query.get("labelSelector") != "app=m":
            self._answer(h, 404, {"code": 404})
        elif query.get("watch"):
            self._watch(h, int(query["resourceVersion"]))
        else:
            with self.more:
                listed = {"metadata": {"resourceVersion": str(self.version)}, "items": list(self.pods.values())}
                text = json.dumps(listed)
            self._answer(h, 200, text)

    def _answer(self, h, status, body):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        h.send_response(status)
        h.send_header("Content-Length", str(len(data)))
        h.end_headers()
        h.wfile.write(data)

    def _patch(self, h, name, body):
        self.patches.append((name, body))
        with self.more:
            pod = copy.deepcopy(self.pods.get(name))
        if pod is None or pod["metadata"]["uid"] != body["metadata"].get("uid", pod["metadata"]["uid"]):
            self._answer(h, 404 if pod is None else 409, {})
            return
        for key, value in body["metadata"]["annotations"].items():
            pod["metadata"]["annotations"].pop(key, None)
            if value is not None:
                pod["metadata"]["annotations"][key] = value
        self._say("MODIFIED", name, pod)
        self._answer(h, 200, pod)

    def _watch(self, h, seen):
        if seen < self.oldest:
            self._answer(h, 410, {"code": 410})
            return
        h.send_response(200)
        h.send_header("Transfer-Encoding", "chunked")
        h.end_headers()
        h.close_connection = True
        me = object()
        self.watches.add(me)
        try:
            while True:
                with self.more:
                    self.more.wait_for(lambda: self.stopping or me not in self.watches or self.version > seen)
                    if self.stopping or me not in self.watches:
                        return
                    events = [e for version, e in self.history if version > seen]
                    seen = self.version
                for event in events:
                    line = json.dumps(event).encode() + b"\n"
                    h.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
                    h.wfile.flush()
        except OSError:
            pass
        finally:
            self.watches.discard(me)

    def cut_watches(self):
        with self.more:
            self.watches.clear()
            self.more.notify_all()
