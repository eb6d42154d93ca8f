"""An HTTP client that hides nothing: exact bytes out, and how exactly the answer ended."""
import json as json_
import socket
import struct

from .waiting import GUARD_S

MARK = ("x-test", "1")  # every request of a test carries it: what comes without it is a probe


def connect(address, rcvbuf=None):
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    if rcvbuf:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    sock.settimeout(GUARD_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.connect(tuple(address[:2]))
    return sock


def reset(sock):
    """Ends with RST instead of FIN."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def head(method, target, headers=(), version="1.1", host="gateway.test"):
    lines = [f"{method} {target} HTTP/{version}"]
    if host is not None:
        lines.append(f"Host: {host}")
    lines += [f"{n}: {v}" for n, v in (MARK, *headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def chat(content="hello", model="m", **fields):
    return {"model": model, "messages": [{"role": "user", "content": content}], **fields}


def post(target="/v1/chat/completions", body=None, headers=(), version="1.1", chunked=False, **options):
    """The bytes of a whole POST."""
    data = body if isinstance(body, bytes) else json_.dumps(chat() if body is None else body).encode()
    own = [("Content-Type", "application/json")] if not has(headers, "content-type") else []
    if chunked:
        return (head("POST", target, [*own, ("Transfer-Encoding", "chunked"), *headers], version, **options)
                + b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data))
    return head("POST", target, [*own, ("Content-Length", len(data)), *headers], version, **options) + data


def has(headers, name):
    return any(n.lower() == name for n, _ in headers)


class Response:
    """A head, and then as much of the body as was read.

    ending: None while it goes on; "length", "chunked", "close" (to the end of the connection, allowed
    for HTTP/1.0 only); or how it broke: "cut" (FIN inside the body), "reset".
    """

    def __init__(self, raw):
        self.raw = raw
        first, *rest = raw.decode("latin-1").rstrip("\r\n").split("\r\n")
        self.version, status, self.reason = (first.split(" ", 2) + [""])[:3]
        self.status = int(status)
        self.headers = []
        for line in rest:
            name, colon, value = line.partition(":")
            assert colon and name == name.strip(), f"bad header line {line!r}"
            self.headers.append((name, value.strip()))
        self.body = b""
        self.trailers = b""
        self.ending = None

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    def get(self, name, default=None):
        return next(iter(self.all(name)), default)

    @property
    def json(self):
        return json_.loads(self.body)

    @property
    def clean(self):
        return self.ending in ("length", "chunked", "close")

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:300]!r} ending={self.ending}>"


class Client:
    """One connection. Counts what it asks into `arrivals` of its gateway, when it has one."""

    def __init__(self, address, gateway=None, rcvbuf=None):
        self.sock = connect(address, rcvbuf)
        self.gateway = gateway
        self.buffer = b""
        self.method = "GET"
        self.response = None
        self._left = 0
        self._failed = None

    # out

    def send(self, data):
        """Raw bytes, not counted as an arrival."""
        self.sock.sendall(data)
        return self

    def request(self, data):
        """Bytes of one whole request (or its head)."""
        self.method, target = data[:4096].decode("latin-1").split(" ", 2)[:2]
        if self.gateway is not None and not (self.method == "GET" and target.startswith("/v1/models")):
            self.gateway.arrived()  # a listing is answered, not admitted
        return self.send(data)

    def ask(self, *args, **kwargs):
        """A POST and its whole answer."""
        return self.request(post(*args, **kwargs)).read()

    def get(self, target, headers=(), **options):
        return self.request(head("GET", target, headers, **options)).read()

    # in

    def _more(self):
        try:
            data = self.sock.recv(65536)
        except ConnectionResetError:
            self._failed = "reset"
            return False
        if not data:
            self._failed = self._failed or "cut"
        self.buffer += data
        return bool(data)

    def _line(self):
        while b"\r\n" not in self.buffer:
            if not self._more():
                return None
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def read_head(self, skip_interim=True):
        """The next response head; None when the connection ended before it."""
        while True:
            while b"\r\n\r\n" not in self.buffer:
                if not self._more():
                    assert not self.buffer, f"half a head: {self.buffer!r}"
                    return None
            raw, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
            response = Response(raw + b"\r\n\r\n")
            if not (skip_interim and 100 <= response.status < 200):
                break
        self.response = response
        lengths = response.all("content-length")
        codings = response.all("transfer-encoding")
        assert not (lengths and codings), f"both framings: {response}"
        assert len(lengths) <= 1 and len(codings) <= 1, f"framed twice: {response}"
        if self.method == "HEAD" or response.status in (204, 304) or response.status < 200:
            response.ending = "length"
        elif codings:
            assert codings[0].lower() == "chunked"
            self._left = None
        elif lengths:
            self._left = int(lengths[0])
            if self._left == 0:
                response.ending = "length"
        else:
            self._left = -1
        return response

    def piece(self):
        """The next bytes of the body, b"" at its end (see response.ending)."""
        r = self.response
        if r.ending:
            return b""
        if self._left is None:  # between chunks
            data = self._chunk()
        elif self._left < 0:
            if not self.buffer and not self._more():
                r.ending = "close" if self._failed == "cut" else self._failed
                return b""
            data, self.buffer = self.buffer, b""
        else:
            if not self.buffer and not self._more():
                r.ending = self._failed
                return b""
            data, self.buffer = self.buffer[:self._left], self.buffer[self._left:]
            self._left -= len(data)
            if self._left == 0:
                r.ending = "length"
        r.body += data
        return data

    def _chunk(self):
        r = self.response
        line = self._line()
        if line is None:
            r.ending = self._failed
            return b""
        size = int(line.split(b";")[0], 16)
        if size == 0:
            while True:
                line = self._line()
                if line is None:
                    r.ending = self._failed
                    return b""
                if not line:
                    r.ending = "chunked"
                    return b""
                r.trailers += line + b"\r\n"
        while len(self.buffer) < size + 2:
            if not self._more():
                r.ending = self._failed
                r.body += self.buffer[:size]
                return b""
        data, self.buffer = self.buffer[:size], self.buffer[size + 2:]
        return data

    def read(self):
        """The rest of the answer (its head too, if not read)."""
        if self.response is None or self.response.ending:
            if self.read_head() is None:
                return None
        while self.piece():
            pass
        return self.response

    def until(self, text):
        """Reads until the body holds these bytes."""
        while text not in self.response.body:
            assert self.piece(), f"ended without {text!r}: {self.response}"
        return self.response.body

    def at_end(self):
        """Reads to the end of the connection: "cut" for FIN, "reset"."""
        while self._more():
            pass
        return self._failed

    # end

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def close(self):
        self.sock.close()

    def reset(self):
        reset(self.sock)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()


def events(body):
    """Whole events of a stream, without comments: the text of their data lines."""
    found = []
    for block in body.replace(b"\r\n", b"\n").split(b"\n\n"):
        data = [line[5:].lstrip(b" ") for line in block.split(b"\n") if line.startswith(b"data:")]
        if data:
            found.append(b"\n".join(data).decode())
    return found
