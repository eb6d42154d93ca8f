"""CPU per streamed token and the delay added to it, beside HAProxy: aligned engine steps, 200 streams."""

import os
import re
import subprocess

from figures import Group, build_tool, figure, free_port, median, wait_port
from peers import gateway, haproxy

STREAMS, TOKENS_A_SECOND = 200, 50


def measure(tool, process, port, seconds):
    out = subprocess.run(["taskset", "-c", "0", tool, "-p", str(port), "-n", str(STREAMS), "-t", str(seconds), "-w", "1.5",
                          "-P", str(process.pid)], stdout=subprocess.PIPE, check=True, timeout=seconds + 60)
    values = dict(re.findall(r"([\w.]+)=([0-9.]+)", out.stdout.decode()))
    if float(values["errs"]) > 0:
        raise SystemExit(f"bench: streams broke: {out.stdout.decode()}")
    return float(values["proxy_cpu_us_per_token"]), float(values["p99"])


def run(quick=False):
    rounds, seconds = (1, 3) if quick else (5, 6)
    with Group("stream") as group:
        tool, backend = build_tool(group, "ssegen"), free_port()
        wait_port(backend, group.start("taskset", "-c", "0", build_tool(group, "backend"), "-p", backend, "-n", "100000", "-r",
                                       TOKENS_A_SECOND, "-b", 120, "-A"))
        sides = {"haproxy": haproxy(group, backend), "penstock": gateway(group, backend)}
        for process, _ in sides.values():
            os.sched_setaffinity(process.pid, {1})
        seen = {name: [] for name in sides}
        for _ in range(rounds):
            for name, (process, port) in sides.items():
                seen[name].append(measure(tool, process, port, seconds))
    cpu = {name: median([v[0] for v in values]) for name, values in seen.items()}
    p99 = {name: median([v[1] for v in values]) for name, values in seen.items()}
    how = (f"median of {rounds} interleaved rounds, {STREAMS} streams of {TOKENS_A_SECOND} tokens a second in aligned steps; "
           f"CPU haproxy {cpu['haproxy']:.1f}, penstock {cpu['penstock']:.1f} us; p99 from the engine's stamp "
           f"haproxy {p99['haproxy']:.0f}, penstock {p99['penstock']:.0f} us")
    return [figure("stream: CPU per token / HAProxy's", round(cpu["penstock"] / cpu["haproxy"], 2), "ratio", how,
                   peer="haproxy"),
            figure("stream: CPU per token", round(cpu["penstock"], 1), "us", how),
            figure("stream: P99 of a token's way / HAProxy's", round(p99["penstock"] / p99["haproxy"], 2), "ratio", how,
                   peer="haproxy")]
