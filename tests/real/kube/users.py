"""Users of the gateway: streams and whole requests from threads, each of which must end well."""
import http.client
import json
import threading
import time

from cluster import eventually
from installation import GATEWAY_PORT

MODEL = "meta-llama/Llama-3.1-8B-Instruct"


class Users:
    """Everything asked in its `with`; problems lists what a client saw that was no whole, good answer."""

    def __init__(self, installed):
        self.installed = installed
        self.threads, self.problems, self.done = [], [], 0
        self.first = []  # of each stream: monotonic, when its first token came
        self.lock = threading.Lock()
        self.ending = threading.Event()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.ending.set()
        for t in self.threads:
            t.join(180)
        assert kind or not any(t.is_alive() for t in self.threads), "answers that never end"

    def _start(self, run, *args):
        thread = threading.Thread(target=run, args=args, daemon=True)
        self.threads.append(thread)
        thread.start()

    def stream(self, tokens, priority="low"):
        self._start(self._one, tokens, priority)

    def burst(self, count, tokens, priority="low"):
        """All in one moment: nobody asks before everybody is connected."""
        together = threading.Barrier(count)
        for _ in range(count):
            self._start(self._one, tokens, priority, together)

    def grow(self, engines):
        """A burst that needs so many engines, until they are there: users who wait for their answers ask for no more than they get."""
        self.burst(80 * engines, 50)
        self.installed.until_replicas(lambda n: n >= engines, f"{engines} replicas for a burst")
        self.installed.until_ready(engines)

    def steady(self, workers, tokens, priority="low"):
        """So many users, each asking again as soon as it was answered, until the end."""
        for _ in range(workers):
            self._start(self._again, tokens, priority)

    def _again(self, tokens, priority):
        while not self.ending.is_set():
            self._one(tokens, priority)

    def _one(self, tokens, priority, together=None):
        body = json.dumps({"model": MODEL, "stream": True, "max_tokens": tokens,
                           "messages": [{"role": "user", "content": "hello"}]})
        problem = None
        try:
            connection = http.client.HTTPConnection(self.installed.endpoint(), GATEWAY_PORT, timeout=150)
            if together:
                connection.connect()
                together.wait(60)
            connection.request("POST", "/v1/chat/completions", body,
                               {"Content-Type": "application/json", "X-Priority": priority})
            response = connection.getresponse()
            text = b""
            while chunk := response.read1(65536):
                if not text:
                    with self.lock:
                        self.first.append(time.monotonic())
                text += chunk
            events = [e for e in text.decode().split("\n\n") if e.startswith("data: ")]
            if response.status != 200:
                problem = f"{response.status} {text[:300]}"
            elif not events or events[-1] != "data: [DONE]" or any('"error"' in e for e in events):
                problem = f"broken stream of {len(events)} events, last {events[-1:]}"
            connection.close()
        except (OSError, http.client.HTTPException, threading.BrokenBarrierError, AssertionError) as e:
            problem = repr(e)
        with self.lock:
            self.done += 1
            if problem:
                self.problems.append(problem)

    def started(self, count):
        eventually(lambda: len(self.first) >= count, lambda: f"{count} first tokens, {len(self.first)} came; {self.problems[:3]}", 90)
