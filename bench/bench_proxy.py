"""CPU per proxied request beside HAProxy: 64 keep-alive connections, saturated, interleaved rounds."""

import os
import re
import subprocess

from figures import ROOT, Group, build_tool, figure, free_port, median, wait_port
from peers import gateway, haproxy, relay

BODIES = {"1 KiB": 1024, "32 KiB": 32768}


def measure(wrap, process, port, body, seconds):
    out = subprocess.run(
        ["taskset", "-c", "0", wrap, str(process.pid), "wrk", "-t1", "-c64", f"-d{seconds}s", "--latency", "-s",
         ROOT / "bench" / "proxy" / "post.lua", f"http://127.0.0.1:{port}", "--", str(body)],
        stdout=subprocess.PIPE, check=True, timeout=seconds + 60).stdout.decode()
    values = dict(re.findall(r"(\w+)=([0-9.]+)", out))
    if float(values["non2xx"]) > 0:
        raise SystemExit(f"bench: not every request was answered 2xx: {out}")
    return float(values["cpu_us_per_req"])


def run(quick=False):
    rounds, seconds = (1, 2) if quick else (5, 5)
    figures = []
    with Group("proxy") as group:
        wrap = build_tool(group, "cpuwrap")
        backend = free_port()
        wait_port(backend, group.start("taskset", "-c", "0", build_tool(group, "backend"), "-p", backend))
        sides = {"relay": relay(group, build_tool(group, "relay"), backend), "haproxy": haproxy(group, backend),
                 "penstock": gateway(group, backend)}
        for process, _ in sides.values():
            os.sched_setaffinity(process.pid, {1})
        for label, body in BODIES.items():
            seen = {name: [] for name in sides}
            for _ in range(rounds):
                for name, (process, port) in sides.items():
                    seen[name].append(measure(wrap, process, port, body, seconds))
            spread = (max(seen["relay"]) - min(seen["relay"])) / median(seen["relay"])
            ours, theirs, floor = (median(seen[n]) for n in ("penstock", "haproxy", "relay"))
            how = (f"median of {rounds} interleaved rounds, 64 connections, saturated; relay {floor:.1f}, "
                   f"haproxy {theirs:.1f}, penstock {ours:.1f} us; spread of the relay {spread:.0%}"
                   + (" (noisy)" if spread > 0.15 else ""))
            figures.append(figure(f"proxy: CPU per request of {label} / HAProxy's", round(ours / theirs, 2), "ratio", how,
                                  peer="haproxy"))
            figures.append(figure(f"proxy: CPU per request of {label}", round(ours, 1), "us", how))
    return figures
