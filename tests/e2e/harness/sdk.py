"""The OpenAI SDK as a client: one node process a task."""
import json
import shutil
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "sdk"
MISSING = (None if shutil.which("node") and (FOLDER / "node_modules" / "openai").is_dir()
           else "npm ci in tests/e2e/sdk first")


def start(gateway, task, **options):
    url = "http://%s:%d/v1" % gateway.data
    return subprocess.Popen(["node", str(FOLDER / "client.mjs"), url, task, json.dumps(options)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


def result(process, guard_s=120):
    out, err = process.communicate(timeout=guard_s)
    assert process.returncode == 0, err.decode()
    return json.loads(out)


def run(gateway, task, **options):
    return result(start(gateway, task, **options))
