"""How soon a replica's connection closes when the client leaves: 1,000 clients at random moments, our own stamps.

Both ends live in this process, on one monotonic clock: from the client's close to the upstream's end of file, so the
time until the gateway reads the close is in it.
"""

import asyncio
import json
import random
import re
import time

from figures import Group, figure, free_port, get, penstock, wait_port, wait_ready

CLIENTS, TOGETHER = 1000, 32
CONFIG = """\
listen: 127.0.0.1:{port}
metrics: 127.0.0.1:{metrics}
pools:
  - name: bench
    engine: openai
    models: [{{name: m, weight: 1}}]
    slots: 24
    slow_start: 0s
    ready: {{path: /health, model: listed}}
    replicas: {{static: ["http://127.0.0.1:{upstream}"]}}
"""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n'


class Upstream:
    """Answers probes; holds what it is told to hold, and notes when its client goes."""

    def __init__(self):
        self.seen = {}  # request id -> (future of the moment of end of file, event: it arrived)

    def expect(self, name):
        self.seen[name] = (asyncio.get_running_loop().create_future(), asyncio.Event())
        return self.seen[name]

    async def serve(self, reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET"):
                    body = b'{"object":"list","data":[{"id":"m"}]}'
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                    continue
                length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
                body = json.loads(await reader.readexactly(length))
                name = re.search(rb"(?i)x-request-id: (\S+)", head)[1].decode()
                ended, arrived = self.seen[name]
                if body["user"] == "mid-stream":
                    writer.write(HEAD + b"%x\r\n%s\r\n" % (len(EVENT), EVENT))
                arrived.set()
                while await reader.read(4096):
                    pass
                ended.set_result(time.monotonic())
                return
        except (asyncio.IncompleteReadError, ConnectionError):
            if "ended" in locals() and not ended.done():
                ended.set_result(time.monotonic())
        finally:
            writer.close()


async def client(upstream, port, number, kind, seed):
    name = f"cancel-{number}"
    ended, arrived = upstream.expect(name)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"model": "m", "user": kind, "stream": kind != "non-streaming", "messages": []})
    writer.write(f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: {name}\r\nX-Priority: high\r\n"
                 f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
    queued = asyncio.ensure_future(arrived.wait())
    await asyncio.wait([queued], timeout=5)
    if not arrived.is_set():  # still in the queue: it must never get there
        writer.close()
        queued.cancel()
        return None
    if kind == "mid-stream":
        await reader.readuntil(b"content")
    await asyncio.sleep(random.Random(seed).uniform(0, 0.02))
    left = time.monotonic()
    writer.close()
    return await asyncio.wait_for(ended, 30) - left


async def measure(port, upstream_port):
    upstream = Upstream()
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", upstream_port)
    yield_ready = asyncio.get_running_loop().run_in_executor
    await yield_ready(None, lambda: wait_port(port["port"]))
    await yield_ready(None, lambda: wait_ready(port["metrics"], 1))
    kinds = ["before the first byte", "mid-stream", "non-streaming"]
    gate = asyncio.Semaphore(TOGETHER)

    async def one(n):
        async with gate:
            return await client(upstream, port["port"], n, kinds[n % 3], n)

    times = await asyncio.gather(*(one(n) for n in range(CLIENTS)))
    server.close()
    return sorted(t * 1000 for t in times if t is not None)


def run(quick=False):
    del quick
    with Group("cancel") as group:
        ports = {"port": free_port(), "metrics": free_port()}
        upstream = free_port()
        group.start(penstock(), "run", group.write("penstock.yaml", CONFIG.format(upstream=upstream, **ports)))
        times = asyncio.run(measure(ports, upstream))
        page = get(ports["metrics"], "/metrics")[1].decode()
        inflight = sum(float(v) for v in re.findall(r"penstock_inflight_requests\{.*\} (\S+)", page))
        cancelled = sum(float(v) for v in re.findall(r'penstock_requests_total\{.*outcome="cancelled".*\} (\S+)', page))
    how = f"{len(times)} clients that left before the first byte, mid-stream or non-streaming, {TOGETHER} at a time"
    p99 = times[int(0.99 * len(times))]
    return [figure("cancel: P99 from the client's close to the replica's end of file", round(p99, 2), "ms",
                   f"{how}; median {times[len(times) // 2]:.2f}, most {times[-1]:.2f} ms", "<= 100 ms", p99 <= 100),
            figure("cancel: in flight afterwards", inflight, "sequences", how, "0", inflight == 0),
            figure("cancel: requests counted as cancelled", cancelled, "requests", how, f"{CLIENTS}", cancelled == CLIENTS)]
