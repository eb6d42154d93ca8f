"""A foreign gRPC client asks the external scaler: one node process a task, a line of JSON for each thing seen."""
import json
import re
import shutil
import subprocess
from pathlib import Path

from .place import HOST
from .process import Process

FOLDER = Path(__file__).resolve().parents[1] / "keda"
MISSING = (None if shutil.which("node") and (FOLDER / "node_modules" / "@grpc" / "grpc-js").is_dir()
           else "npm ci in tests/e2e/keda first")
LISTENING = re.compile(r"listening on (\S+):(\d+) for KEDA")
LISTEN = {"listen": f"{HOST}:0"}

# Statuses of gRPC.
OK, INVALID_ARGUMENT, NOT_FOUND, UNIMPLEMENTED, UNAVAILABLE = 0, 3, 5, 12, 14


def address(gateway):
    return gateway.process.wait_line(lambda line: (m := LISTENING.search(line)) and f"{m[1]}:{m[2]}")


def start(gateway, task, **options):
    """The running client, as a Process whose lines are what it saw; its stdin ends what would wait for ever."""
    return Client([address(gateway), task, json.dumps(options)])


def ask(gateway, task, **options):
    """All that it saw, to its end."""
    done = subprocess.run(["node", FOLDER / "client.mjs", address(gateway), task, json.dumps(options)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def call(gateway, method, metadata=None, name=None, **options):
    return ask(gateway, "ask", calls=[{"method": method, "metadata": metadata or {}, "name": name}], **options)[0]


class Client(Process):
    def __init__(self, arguments):
        super().__init__(["node", FOLDER / "client.mjs", *arguments], stdin=subprocess.PIPE)

    def seen(self):
        return [json.loads(line) for line in list(self.lines)]

    def wait_seen(self, matches, **guard):
        """The first thing seen for which matches(thing) is true."""
        def line_matches(line):
            thing = json.loads(line)
            return (thing,) if matches(thing) else None
        return self.wait_line(line_matches, **guard)[0]

    def leave(self):
        self.popen.stdin.close()
        return self.wait()
