"""What the demos share: programs on loopback that are ended by whoever started them."""
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PENSTOCK = Path(os.environ.get("PENSTOCK", ROOT / "build" / "release" / "bin" / "penstock"))

running = []


def start(*command, log):
    with open(log, "wb") as out:
        process = subprocess.Popen([str(c) for c in command], stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    running.append(process)
    return process


def stop(process, seconds=10):
    """Twice: the second signal ends a drain at once."""
    for _ in range(2):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            time.sleep(0.1)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    running.remove(process)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(port, path):
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        s.sendall(f"GET {path} HTTP/1.1\r\nHost: demo\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while chunk := s.recv(65536):
            data += chunk
    return data.partition(b"\r\n\r\n")[2].decode()


def wait_until(what, process, log, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            if what():
                return
        except OSError:
            pass
        time.sleep(0.05)
    sys.exit(f"demo: {process.args[0]} did not come up; its log:\n{Path(log).read_text(errors='replace')[-2000:]}")


def run(main):
    """main(), and whatever happens nothing is left running."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not PENSTOCK.exists():
        sys.exit(f"demo: {PENSTOCK} is missing; `make demo` builds it")
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("demo: interrupted")
    finally:
        for left in list(running):
            stop(left)
