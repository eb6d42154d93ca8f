"""The headline scenarios, five seeds each: the worst seed of every bar.

Virtual time: nothing here depends on the machine. What each scenario expects, and of which policy, is written in it.
"""

from figures import ROOT, figure, penstock, run_json

SCENARIOS = ["headline", "headline-llm", "headline-llm-long", "headline-random", "headline-random-llm",
             "headline-random-llm-long"]


def run(quick=False):
    seeds = 1 if quick else 5
    for name in SCENARIOS:
        report = run_json([penstock(), "sim", ROOT / "scenarios" / f"{name}.yaml", "--seeds", seeds, "--json"], 1800,
                          breach_is_a_result=True)
        for e in report["expectations"]:
            yield figure(f"{name}: {e['policy']}: {e['text']}", e["value"], "", f"worst of {seeds} seeds, virtual time",
                         bar=f"{e['bound']}", holds=e["met"])
