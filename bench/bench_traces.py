"""Real traces: replica-hours and attainment of the first class, beside peers at their best target of a printed grid.

Virtual time: nothing here depends on the machine. A peer's best target is the one at which most of all requests were
served within their class's target. Printed beside it: its cheapest target that serves the first class as well as we do.
"""

from figures import ROOT, figure, penstock, run_json

PEERS = ["hpa-queue", "kpa", "apa"]


def simulate(scenario, compare):
    return run_json([penstock(), "sim", ROOT / "scenarios" / f"{scenario}.yaml", "--compare", ",".join(compare), "--json"],
                    1800, breach_is_a_result=True)


def served(run):
    """Of all requests, served within their class's target."""
    classes = run["classes"].values()
    return sum(c["attainment"] * c["arrived"] for c in classes) / sum(c["arrived"] for c in classes)


def first(run):
    return next(iter(run["classes"].values()))["attainment"]


def show(run):
    shares = " ".join(f"{name} {c['attainment']:.2%}" for name, c in run["classes"].items())
    print(f"  {run['policy']:24} {run['replica_hours']:8.2f} replica-hours  {shares}  turns {run['direction_changes']}")


def beside_peers(scenario):
    report = simulate(scenario, ["ahead"] + [f"{peer}:grid" for peer in PEERS])
    for run in report["runs"]:
        show(run)
    ours, *others = report["runs"]
    for peer in PEERS:
        grid = [run for run in others if run["policy"].startswith(peer + ":")]
        best = max(grid, key=served)
        as_good = min((run for run in grid if first(run) >= first(ours)), key=lambda run: run["replica_hours"], default=None)
        cheapest = min(grid, key=lambda run: run["replica_hours"])
        less = 1 - ours["replica_hours"] / best["replica_hours"]
        how = (f"first class: ours {first(ours):.2%}, theirs {first(best):.2%} at {best['policy']}; cheapest of theirs as good as ours: "
               + (f"{as_good['replica_hours']:.2f} h at {as_good['policy']}" if as_good else "none")
               + f"; cheapest at all: {cheapest['replica_hours']:.2f} h with {first(cheapest):.2%} at {cheapest['policy']}")
        yield figure(f"{scenario}: replica-hours below {peer}", round(100 * less, 1), "%", how, bar=">= 25, first class no worse",
                     holds=less >= 0.25 and first(ours) >= first(best)
                     and (as_good is None or ours["replica_hours"] <= 0.75 * as_good["replica_hours"]), peer=peer)


def code_assistant():
    report = simulate("azure-code", ["ahead", "hpa-queue", "hpa-inflight", "kpa", "apa", "adaptive+static:grid"])
    for run in report["runs"]:
        show(run)
    for e in report["expectations"]:
        yield figure(f"azure-code: {e['policy']}: {e['text']}", e["value"], "", "virtual time, one seed", bar=f"{e['bound']}",
                     holds=e["met"])
    ours = report["runs"][0]
    static = [run for run in report["runs"] if "static" in run["policy"] and first(run) >= first(ours)]
    best = min(static, key=lambda run: run["replica_hours"])
    yield figure("azure-code: best static number in hindsight", best["replica_hours"], "h",
                 f"{best['policy']}, first class {first(best):.2%}; ours {ours['replica_hours']:.2f} h, {first(ours):.2%}")


def run(quick=False):
    yield from code_assistant()
    for scenario in ["mooncake"] if quick else ["mooncake", "r1-day"]:
        yield from beside_peers(scenario)
