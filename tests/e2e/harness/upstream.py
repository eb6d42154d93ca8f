"""A scripted replica: exact bytes at the moment the test says, and a record of what reached it.

Probes (whatever does not carry the tests' mark) are answered here; the tests' own requests go to
`handler`, or are handed to the test by take().
"""
import json
import queue
import socket
import struct
import threading

from . import wire
from .place import HOST
from .waiting import GUARD_S, eventually


class Call:
    """One request of a test as the replica sees it, and the pen to answer it."""

    def __init__(self, connection, raw_head, body, trailers):
        self.connection = connection
        self.sock = connection.sock
        self.raw_head = raw_head
        self.body = body
        self.trailers = trailers
        first, *rest = raw_head.decode("latin-1").rstrip("\r\n").split("\r\n")
        self.method, self.target, self.version = first.split(" ")
        self.headers = [(n, v.strip()) for n, _, v in (line.partition(":") for line in rest)]
        self.fresh = connection.calls == 0  # the first on its connection
        self.finished = threading.Event()
        self.keep = True

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    def get(self, name, default=None):
        return next(iter(self.all(name)), default)

    @property
    def json(self):
        return json.loads(self.body)

    # the answer

    def send(self, data):
        if self.connection.upstream.dead:  # nothing comes from the dead: as if all ended at one moment
            raise BrokenPipeError
        self.sock.sendall(data)
        return self

    def head(self, status=200, headers=(), length=None):
        """length None: chunked."""
        framing = ("Transfer-Encoding", "chunked") if length is None else ("Content-Length", length)
        lines = [f"HTTP/1.1 {status} Reason"] + [f"{n}: {v}" for n, v in (*headers, framing)]
        return self.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def chunk(self, data):
        return self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def last_chunk(self):
        self.send(b"0\r\n\r\n")
        return self.done()

    def event(self, data):
        text = data if isinstance(data, str) else json.dumps(data)
        return self.chunk(b"data: " + text.encode() + b"\n\n")

    def stream_head(self, headers=()):
        return self.head(200, [("Content-Type", "text/event-stream"), *headers])

    def token(self, text="x"):
        return self.event(token(text))

    def stream_end(self):
        return self.event("[DONE]").last_chunk()

    def answer(self, status=200, body=None, headers=()):
        """A whole answer with a length."""
        data = body if isinstance(body, bytes) else json.dumps(completion() if body is None else body).encode()
        self.head(status, [("Content-Type", "application/json"), *headers], len(data))
        self.send(data)
        return self.done()

    def stream(self, tokens=3):
        self.stream_head()
        for i in range(tokens):
            self.token(f"t{i}")
        return self.stream_end()

    def stream_at_once(self, tokens=3):
        """A whole stream in one write: what sees its first byte can have all of it."""
        events = [b"data: " + json.dumps(token(f"t{i}")).encode() + b"\n\n" for i in range(tokens)]
        body = b"".join(events) + b"data: [DONE]\n\n"
        self.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%b"
                  % (len(body), body))
        return self.done()

    # the end

    def done(self):
        """The answer is whole; the connection may carry another."""
        self.finished.set()
        return self

    def close(self):
        self.keep = False
        self.connection.shut()
        return self.done()

    def reset(self):
        self.keep = False
        self.connection.rst()
        return self.done()

    def wait_left(self, guard_s=GUARD_S):
        """Until the gateway closed the connection. Reads; nothing may come but the end."""
        self.sock.settimeout(guard_s)
        try:
            extra = self.sock.recv(65536)
        except ConnectionResetError:
            extra = b""
        assert not extra, f"more bytes instead of a close: {extra!r}"
        self.keep = False
        self.done()
        return self


def completion(text="ok", prompt_tokens=3, completion_tokens=1):
    return {"id": "c1", "object": "chat.completion", "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens,
                      "total_tokens": prompt_tokens + completion_tokens}}


def token(text="x"):
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m",
            "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


class Connection:
    def __init__(self, upstream, sock):
        self.upstream = upstream
        self.sock = sock
        self.calls = 0
        self.open = True

    def shut(self):
        self.open = False
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()

    def rst(self):
        self.open = False
        try:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.sock.shutdown(socket.SHUT_RD)  # wakes a reader, which would keep the socket alive
        except OSError:
            pass
        self.sock.close()


class Upstream:
    def __init__(self, handler=None, host=HOST, port=0, listen=True):
        self.handler = handler
        self.health = (200, b"ok")
        self.listed = (200, json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode())
        self.probe = None  # probe(call): answers a model probe; None: well
        self.probes = []   # (method, target) of whatever was a probe
        self.probe_calls = []
        self.calls = []    # every call of a test, in order of arrival
        self.connections = []
        self._waiting = queue.Queue()
        self._lock = threading.Lock()
        self.dead = False
        self.host = host
        self._bind(port)
        if listen:
            self.listen()

    def _bind(self, port):
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((self.host, port))
        self.port = self.listener.getsockname()[1]

    def listen(self):
        self.listener.listen(512)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()
        return self

    @property
    def url(self):
        return f"http://[{self.host}]:{self.port}" if ":" in self.host else f"http://{self.host}:{self.port}"

    def take(self, guard_s=GUARD_S):
        """The next call, for the test to answer."""
        try:
            return self._waiting.get(timeout=guard_s)
        except queue.Empty:
            raise AssertionError("no call reached the replica") from None

    def nothing_waits(self):
        return self._waiting.empty()

    def stop_listening(self):
        """New connections are refused; open ones live."""
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()

    def listen_again(self):
        self.dead = False
        self._bind(self.port)
        return self.listen()

    def die(self):
        """As kill -9 does: refused from now on, open connections reset."""
        self.dead = True
        self.stop_listening()
        for c in list(self.connections):
            if c.open:
                c.rst()

    def close(self):
        self.stop_listening()
        for c in list(self.connections):
            if c.open:
                c.shut()
        while not self._waiting.empty():
            self._waiting.get().finished.set()

    def open_connections(self):
        return sum(c.open for c in list(self.connections))

    def wait_probed(self):
        """Until a probe that was not there yet has come."""
        before = len(self.probes)
        eventually(lambda: len(self.probes) > before, "another probe")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # the replica's side

    def _accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(self, sock)
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            buffer = b""
            while True:
                message, buffer = read_message(connection.sock, buffer)
                if message is None:
                    break
                call = Call(connection, *message)
                connection.calls += 1
                if wire.has(call.headers, wire.MARK[0]):
                    with self._lock:
                        self.calls.append(call)
                    if self.handler is not None:
                        self.handler(call)
                    else:
                        self._waiting.put(call)
                        call.finished.wait()
                else:
                    self._answer_probe(call)
                if not call.keep:
                    break
        except OSError:
            pass
        connection.shut()

    def _answer_probe(self, call):
        self.probes.append((call.method, call.target))
        self.probe_calls.append(call)
        if call.target == "/v1/models":
            call.answer(*self.listed)
        elif call.method == "GET":
            call.answer(*self.health)
        elif self.probe is not None:
            self.probe(call)
        else:
            call.answer(200, completion())


def read_message(sock, buffer):
    """(head, body, trailers) of the next request, and what came behind it; None at the end."""

    def more():
        nonlocal buffer
        data = sock.recv(65536)
        buffer += data
        return data

    while b"\r\n\r\n" not in buffer:
        if not more():
            return None, b""
    raw, buffer = buffer.split(b"\r\n\r\n", 1)
    fields = {}
    for line in raw.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        fields[name.strip().lower()] = value.strip()
    assert not (b"content-length" in fields and b"transfer-encoding" in fields), raw
    body = b""
    trailers = b""
    if fields.get(b"transfer-encoding", b"").lower() == b"chunked":
        while True:
            while b"\r\n" not in buffer:
                if not more():
                    return None, b""
            line, buffer = buffer.split(b"\r\n", 1)
            size = int(line.split(b";")[0], 16)
            if size == 0:
                break
            while len(buffer) < size + 2:
                if not more():
                    return None, b""
            body += buffer[:size]
            buffer = buffer[size + 2:]
        while True:
            while b"\r\n" not in buffer:
                if not more():
                    return None, b""
            line, buffer = buffer.split(b"\r\n", 1)
            if not line:
                break
            trailers += line + b"\r\n"
    else:
        size = int(fields.get(b"content-length", b"0"))
        parts = [buffer]
        have = len(buffer)
        while have < size:
            data = sock.recv(262144)
            if not data:
                return None, b""
            parts.append(data)
            have += len(data)
        whole = b"".join(parts)
        body, buffer = whole[:size], whole[size:]
    return (raw + b"\r\n\r\n", body, trailers), buffer
