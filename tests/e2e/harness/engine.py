"""`penstock engine`, the stand-in: its pages, its faults, its own account of what it saw."""
import json
import re
import socket

from .pages import fetch
from .place import HOST
from .process import BINARY, Process
from .waiting import eventually

LISTENING = re.compile(r"listening on (\S+):(\d+)")


class Engine:
    def __init__(self, *options, like="vllm", port=0, wait=True):
        self.options = options
        self.like = like
        self.process = None
        self.port = port or reserved_port()
        self.url = f"http://{HOST}:{self.port}"
        self.address = (HOST, self.port)
        self.start(wait)

    def start(self, wait=True):
        self.process = Process([BINARY, "engine", "--listen", f"{HOST}:{self.port}", "--like", self.like,
                                *self.options])
        if wait:
            self.process.wait_line(lambda line: LISTENING.search(line))
        return self

    def page(self, method, target, body=None):
        return fetch(self.address, method, target, body=body)

    def stats(self):
        return json.loads(self.page("GET", "/stats")[2])

    def fault(self, set=(), clear=()):
        status, _, body = self.page("POST", "/fault", json.dumps({"set": list(set), "clear": list(clear)}))
        assert status == 200, body

    def check_quiet(self):
        """Nothing open, nothing ever waited inside, and its account adds up."""
        s = eventually(self._quiet_stats, lambda: str(self.stats()))
        assert s["received"] == s["completed"] + s["failed"] + s["refused"] + s["cancelled"], s
        return s

    def _quiet_stats(self):
        s = self.stats()
        return s if s["open"] == 0 else None

    def kill(self):
        self.process.kill()

    def close(self):
        self.process.kill()
        text = self.process.output()
        assert "Sanitizer" not in text and "runtime error:" not in text, text


def reserved_port():
    """A port that is free now: engines of a test are killed and started again on the same one."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((HOST, 0))
        return s.getsockname()[1]
