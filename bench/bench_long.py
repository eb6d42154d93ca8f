"""A flood of long prompts beside short ones of the same class, and one tenant's flood beside another tenant.

Two slot-mode engines of 8 places; a request holds its place for 40 ms and 0.4 ms a prompt token, so a short prompt
takes about 50 ms and a long one of 4,000 tokens 1.6 s.
"""

import hashlib

from figures import Group, figure, free_port, penstock, run_json, wait_port, wait_ready

REPLICAS, SLOTS = 2, 8
CONFIG = """\
listen: 127.0.0.1:{port}
metrics: 127.0.0.1:{metrics}
classes:
  high: {{target: 100ms, max_wait: 5s, ttl: 30s, on_full: reject}}
  medium: {{target: 500ms, max_wait: 10s, ttl: 10m, on_full: reject, long: {{on_full: wait}}}}
pools:
  - name: bench
    engine: openai
    models: [{{name: model, weight: 1}}]
    slots: {slots}
    slow_start: 0s
    ready: {{path: /health, model: completion}}
    replicas: {{static: [{replicas}]}}
tenants:
  - {{name: one, key_sha256: "{one}", max_class: high, weight: 2}}
  - {{name: two, key_sha256: "{two}", max_class: high, weight: 1}}
  - {{name: default, max_class: high}}
"""


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def one_run(traffic, seconds, warmup):
    with Group("long") as group:
        engines = [free_port() for _ in range(REPLICAS)]
        for i, port in enumerate(engines):
            wait_port(port, group.start(penstock(), "engine", "--listen", f"127.0.0.1:{port}", "--mode", "slot", "--slots", SLOTS,
                                        "--service", "tokens:40ms:400us:0us", "--seed", i + 1))
        port, metrics = free_port(), free_port()
        config = group.write("penstock.yaml", CONFIG.format(
            port=port, metrics=metrics, slots=SLOTS, one=sha256("key-one"), two=sha256("key-two"),
            replicas=", ".join(f"'http://127.0.0.1:{p}'" for p in engines)))
        gateway = group.start(penstock(), "run", config)
        wait_port(port, gateway)
        wait_ready(metrics, REPLICAS)
        record = group.dir / "record.csv"
        run_json([penstock(), "load", "--url", f"http://127.0.0.1:{port}", "--duration", f"{seconds}s", "--warmup", f"{warmup}s",
                  "--drain", "5s", "--quiet", "--json", "-", "--record", record,
                  *sum((["--traffic", t] for t in traffic), [])], seconds + 120)
        gateway.terminate()
        gateway.terminate()
        gateway.wait(30)
        group.processes.remove(gateway)
        return record.read_text()


def rows_of(record, warmup):
    lines = record.splitlines()
    names = lines[0].split(",")
    rows = [dict(zip(names, line.split(","))) for line in lines[1:]]
    return [r for r in rows if int(r["intended_us"]) >= warmup * 1_000_000]


def ended_within(row, start, end):
    return row["outcome"] == "completed" and start * 1_000_000 <= int(row["intended_us"]) + int(row["total_us"]) < end * 1_000_000


def p95_wait_ms(rows):
    waits = sorted(int(r["wait_told_us"]) for r in rows if r["outcome"] == "completed")
    return waits[int(0.95 * len(waits))] / 1000


def run(quick=False):
    seconds, warmup = (15, 5) if quick else (40, 10)
    short = "class=medium,rate=100,prompt=64,output=4"
    calm = rows_of(one_run([short], seconds, warmup), warmup)
    flood = rows_of(one_run([short, "class=medium,rate=10,prompt=4000,output=4"], seconds, warmup), warmup)
    shorts = [r for r in flood if int(r["prompt_tokens"]) < 1000]
    longs = [r for r in flood if int(r["prompt_tokens"]) >= 1000]
    alone, beside = p95_wait_ms(calm), p95_wait_ms(shorts)
    bar = max(2 * alone, 20)
    refused = sum(r["outcome"] in ("refused", "expired") for r in longs)
    how = f"{seconds} s, first {warmup} s cut; 100 short prompts a second, 10 long ones beside them where 2 could be served"
    # Served in the window, whenever it was sent: the flood's own requests wait ten seconds.
    tenants = rows_of(one_run(["class=medium,rate=250,prompt=64,output=4,tenant=key-one",
                               "class=medium,rate=400,prompt=65,output=4,tenant=key-two"], seconds, warmup), 0)
    done = {n: sum(r["prompt_tokens"] == n and ended_within(r, warmup, seconds) for r in tenants) for n in ("64", "65")}
    share = done["64"] / max(1, sum(done.values()))
    return [figure("long: P95 wait of short prompts beside a flood of long ones", round(beside, 1), "ms",
                   f"{how}; {alone:.1f} ms without", f"<= {bar:.0f} ms", beside <= bar),
            figure("long: long prompts refused with on_full: wait", refused, "requests", how, "0", refused == 0),
            figure("long: share of the tenant of weight 2 beside a flood of one of weight 1", round(share, 3), "of what was served",
                   f"{seconds} s; {done['64']} and {done['65']} completed", ">= 0.60", share >= 0.60)]
