"""A program under test: started, read line by line, ended by its own pid only."""
import os
import signal
import subprocess
import threading
from pathlib import Path

from .waiting import GUARD_S

ROOT = Path(__file__).resolve().parents[3]
BINARY = os.environ.get("PENSTOCK", str(ROOT / "build" / "release" / "bin" / "penstock"))


class Process:
    def __init__(self, argv, env=None, cwd=None, stdin=subprocess.DEVNULL):
        self.argv = [str(a) for a in argv]
        self.lines = []
        self._more = threading.Condition()
        self._open = 2
        self.popen = subprocess.Popen(
            self.argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})}, cwd=cwd)
        for stream in (self.popen.stdout, self.popen.stderr):
            threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream):
        for raw in stream:
            with self._more:
                self.lines.append(raw.decode(errors="replace").rstrip("\n"))
                self._more.notify_all()
        with self._more:
            self._open -= 1
            self._more.notify_all()

    @property
    def pid(self):
        return self.popen.pid

    @property
    def running(self):
        return self.popen.poll() is None

    def output(self):
        return "\n".join(self.lines)

    def wait_line(self, matches, guard_s=GUARD_S):
        """The first line for which matches(line) is true; its value is returned."""
        seen = 0
        with self._more:
            while True:
                while seen < len(self.lines):
                    found = matches(self.lines[seen])
                    if found:
                        return found
                    seen += 1
                if self._open == 0:
                    raise AssertionError(f"{self.argv} ended without the line:\n{self.output()}")
                if not self._more.wait(guard_s):
                    raise AssertionError(f"{self.argv} never said it:\n{self.output()}")

    def send(self, number):
        self.popen.send_signal(number)

    def wait(self, guard_s=GUARD_S):
        code = self.popen.wait(guard_s)
        with self._more:
            while self._open and self._more.wait(GUARD_S):
                pass
        return code

    def stop(self, number=signal.SIGTERM, guard_s=GUARD_S):
        if self.running:
            self.send(number)
        return self.wait(guard_s)

    def kill(self):
        """For clean-up, whatever state it is in."""
        if self.running:
            self.popen.kill()
            self.popen.wait()


def run(*arguments, guard_s=60, env=None):
    """One command to its end: (exit code, stdout, stderr)."""
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, timeout=guard_s,
                          env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
