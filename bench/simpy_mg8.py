"""M/G/8 with three classes in SimPy, non-preemptive priorities: the peer of bench_sim.py.

Run by a Python that has SimPy: simpy_mg8.py SECONDS SEED PARAMETERS, the last a JSON object {"rates": [per second],
"servers": n, "mean": s, "cv": x}. Prints {"arrivals": n, "elapsed_s": s, "mean_waits": [s]}; elapsed is the run alone, on
the clock of the processor.
"""

import json
import math
import random
import sys
import time

import simpy


def source(env, servers, rate, priority, service, until, draw, waits):
    while True:
        yield env.timeout(draw.expovariate(rate))
        if env.now >= until:
            return
        env.process(job(env, servers, priority, service(), waits[priority]))


def job(env, servers, priority, service, wait):
    arrived = env.now
    with servers.request(priority=priority) as turn:
        yield turn
        wait[0] += 1
        wait[1] += env.now - arrived
        yield env.timeout(service)


def main():
    until, seed, model = float(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    sigma = math.sqrt(math.log(1 + model["cv"] ** 2))
    mu = math.log(model["mean"]) - sigma**2 / 2
    draw = random.Random(seed)
    env = simpy.Environment()
    servers = simpy.PriorityResource(env, capacity=model["servers"])
    waits = [[0, 0.0] for _ in model["rates"]]
    for priority, rate in enumerate(model["rates"]):
        env.process(source(env, servers, rate, priority, lambda: draw.lognormvariate(mu, sigma), until, draw, waits))
    began = time.process_time()
    env.run()
    print(json.dumps({"arrivals": sum(n for n, _ in waits), "elapsed_s": time.process_time() - began,
                      "mean_waits": [total / max(n, 1) for n, total in waits]}))


if __name__ == "__main__":
    main()
