"""A real Prometheus on loopback, and a page of metrics that the test writes, for it or in place of an exporter."""
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import yaml

from .engine import reserved_port
from .pages import fetch
from .place import HOST
from .process import Process
from .waiting import eventually

MISSING = None if shutil.which("prometheus") and shutil.which("promtool") else "prometheus is not installed"


class Page:
    """GET anything: `text` with `status`. Counts who asked, and keeps their heads."""

    def __init__(self, text=""):
        self.text = text
        self.status = 200
        self.heads = []
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                page.heads.append(dict(self.headers))
                body = page.text.encode()
                self.send_response(page.status)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer((HOST, 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://{HOST}:{self.port}/metrics"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def asked_again(self):
        before = len(self.heads)
        eventually(lambda: len(self.heads) >= before + 2, "it is asked again, and again")

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Prometheus:
    def __init__(self, folder, pages=(), past=None):
        """past: OpenMetrics text of what was measured long ago."""
        folder.mkdir()
        self.data = folder / "data"
        if past is not None:
            source = folder / "past"
            source.write_text(past)
            subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", source, self.data],
                           check=True, capture_output=True, timeout=120)
        self.file = folder / "prometheus.yml"
        self.file.write_text(yaml.safe_dump({
            "global": {"scrape_interval": "500ms"},
            "scrape_configs": [{"job_name": "pages", "static_configs":
                                [{"targets": [f"{HOST}:{p.port}" for p in pages]}]}]}))
        self.port = reserved_port()
        self.address = (HOST, self.port)
        self.url = f"http://{HOST}:{self.port}"
        self.process = None
        self.start()

    def start(self):
        self.process = Process(["prometheus", f"--config.file={self.file}", f"--storage.tsdb.path={self.data}",
                                "--storage.tsdb.retention.time=200d", "--log.level=warn",
                                f"--web.listen-address={HOST}:{self.port}"])
        eventually(self.is_ready, self.process.output, 60)

    def is_ready(self):
        try:
            return fetch(self.address, "GET", "/-/ready")[0] == 200
        except OSError:
            return False

    def kill(self):
        self.process.kill()
