"""Figures, processes and the numbers taken from them: what every bench needs."""

import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"


def penstock():
    path = Path(os.environ.get("PENSTOCK", BUILD / "release" / "bin" / "penstock"))
    if not path.exists():
        raise SystemExit(f"bench: {path} is missing; run `make build` first")
    return str(path)


def figure(name, value, unit, how, bar=None, holds=None, peer=None):
    """One row of build/bench.json. bar: what is aimed at, in words; holds: None where there is no bar."""
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "how": how, "peer": peer}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_port(port, process=None, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process is not None and process.poll() is not None:
            raise SystemExit(f"bench: {process.args[0]} ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return
        except OSError:
            time.sleep(0.02)
    raise SystemExit(f"bench: nothing listens on port {port}")


def get(port, path):
    """A small GET; returns status and body."""
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while chunk := s.recv(65536):
            data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


class Group:
    """Processes of one bench: started together, ended by their ids, in reverse order."""

    def __init__(self, name):
        self.processes = []
        self.dir = Path(tempfile.mkdtemp(prefix=f"penstock-{name}-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def start(self, *command, log=None, **kwargs):
        out = open(self.dir / (log or f"log{len(self.processes)}"), "wb")
        process = subprocess.Popen([str(c) for c in command], stdout=out, stderr=out, stdin=subprocess.DEVNULL, **kwargs)
        self.processes.append(process)
        return process

    def stop(self, process, how=signal.SIGTERM, seconds=20):
        process.send_signal(how)
        process.wait(seconds)
        self.processes.remove(process)

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path


def wait_ready(admin_port, replicas, seconds=30):
    """Until the gateway has so many ready replicas."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            _, body = get(admin_port, "/metrics")
            ready = re.findall(rb'penstock_replica_state\{[^}]*state="ready"[^}]*\} 1', body)
            if len(ready) >= replicas:
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise SystemExit("bench: the replicas did not become ready")


def build_tool(group, name):
    out = group.dir / name
    subprocess.run(["gcc", "-O2", "-w", "-o", out, ROOT / "bench" / "proxy" / f"{name}.c", "-lm"], check=True)
    return out


def median(values):
    return statistics.median(values)


def run_json(command, seconds, breach_is_a_result=False):
    """What the command printed. breach_is_a_result: exit 1 is a verdict on the figures, not a failure."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds)
    if done.returncode != 0 and not (breach_is_a_result and done.returncode == 1):
        raise SystemExit(f"bench: {' '.join(map(str, command))} failed:\n{done.stderr.decode(errors='replace')[-2000:]}")
    return json.loads(done.stdout)
