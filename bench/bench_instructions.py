"""User instructions per request beside HAProxy: callgrind, the difference of two run lengths. Repeatable."""

import re
import signal
import subprocess

from figures import Group, build_tool, figure, free_port, wait_port
from peers import gateway, haproxy

FEW, MANY = 500, 2500


def count(group, start, backend, requests, body):
    log = group.dir / f"callgrind{free_port()}"
    wrap = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={log}.out", f"--log-file={log}.log"]
    process, port = start(group, backend, wrap=wrap)
    done = subprocess.run(["h2load", "--h1", "-n", str(requests), "-c", "16", "-d", body, "-H",
                           "Content-Type: application/json", f"http://127.0.0.1:{port}/v1/chat/completions"],
                          stdout=subprocess.PIPE, check=True, timeout=300).stdout.decode()
    if f"{requests} succeeded" not in done:
        raise SystemExit(f"bench: not every request succeeded:\n{done}")
    group.stop(process, signal.SIGTERM if start is gateway else signal.SIGUSR1, 60)
    return int(re.findall(r"Collected : (\d+)", log.with_suffix(".log").read_text())[-1])


def run(quick=False):
    del quick  # it is short and repeatable as it is
    figures = []
    with Group("instructions") as group:
        backend = free_port()
        wait_port(backend, group.start(build_tool(group, "backend"), "-p", backend))
        for label, size in {"1 KiB": 1024, "32 KiB": 32768}.items():
            before, after = '{"model":"m","max_tokens":64,"messages":[{"role":"user","content":"', '"}]}'
            body = group.write(f"body{size}", before + "z" * (size - len(before) - len(after)) + after)
            per = {name: (count(group, start, backend, MANY, body) - count(group, start, backend, FEW, body)) / (MANY - FEW)
                   for name, start in {"haproxy": haproxy, "penstock": gateway}.items()}
            how = f"callgrind, ({MANY} - {FEW} requests); haproxy {per['haproxy']:.0f}, penstock {per['penstock']:.0f}"
            figures.append(figure(f"instructions: user, per request of {label} / HAProxy's",
                                  round(per["penstock"] / per["haproxy"], 2), "ratio", how, peer="haproxy"))
            figures.append(figure(f"instructions: user, per request of {label}", round(per["penstock"]), "instructions",
                                  how))
    return figures
