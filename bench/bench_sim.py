"""The simulator beside SimPy, on the same model: scenarios/mg8.yaml, M/G/8 with three classes.

Arrivals a second of processor time: of SimPy its run alone, of penstock the whole process, start and reading included.
Rounds alternate, so that a busy machine is busy for all; the median of the rounds' ratios counts.
"""

import json
import os
import subprocess

from figures import BUILD, ROOT, figure, median, penstock

MODEL = {"rates": [13.6, 20.4, 34], "servers": 8, "mean": 0.1, "cv": 1.5}  # as the scenario has it
CLASSES = ["high", "medium", "low"]
SIMPY_SECONDS = 3000  # of virtual time; some 200,000 arrivals
BARS = {"gate": (15, "the whole gate"), "bare": (50, "the plain queue")}


def simpy_run(seed):
    done = subprocess.run([BUILD / "simpy" / "bin" / "python", ROOT / "bench" / "simpy_mg8.py", str(SIMPY_SECONDS), str(seed),
                           json.dumps(MODEL)], check=True, stdout=subprocess.PIPE, timeout=600)
    report = json.loads(done.stdout)
    return report["arrivals"] / report["elapsed_s"], report["mean_waits"]


def penstock_run(policy, seed):
    process = subprocess.Popen([penstock(), "sim", ROOT / "scenarios" / "mg8.yaml", "--compare", policy, "--seed", str(seed),
                                "--jobs", "1", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"bench: penstock sim ended with {process.returncode}")
    (run,) = json.loads(out)["runs"]
    waits = [run["classes"][name]["wait_mean_s"] for name in CLASSES]
    return run["arrivals_total"] / (usage.ru_utime + usage.ru_stime), waits


def check_same(simpy, ours):
    """Short runs know the lowest class's mean but roughly; the others agree within a tenth, or the models differ."""
    for name, theirs, here in list(zip(CLASSES, simpy, ours))[:2]:
        if abs(theirs - here) > 0.1 * here:
            raise SystemExit(f"bench: not the same model: {name} waits {theirs} s in SimPy, {here} s in penstock")


def run(quick=False):
    rounds = []
    for seed in range(1, 2 if quick else 6):
        simpy, waits = simpy_run(seed)
        rates = {"SimPy": simpy}
        for policy in BARS:
            rates[policy], ours = penstock_run(policy, seed)
            check_same(waits, ours)
        rounds.append(rates)
    how = f"median of {len(rounds)} rounds, processor time"
    for name in rounds[0]:
        yield figure(f"simulation, M/G/8, 3 classes: {name}", round(median([r[name] for r in rounds])), "arrivals/s", how)
    for policy, (bar, what) in BARS.items():
        ratio = median([r[policy] / r["SimPy"] for r in rounds])
        yield figure(f"simulation, {what} ÷ SimPy", round(ratio, 1), "x", how, bar=f">= {bar}", holds=ratio >= bar,
                     peer="SimPy 4.1.2")
