"""Configurations of the tests: small numbers, so that minutes become moments."""
import copy

import yaml

from .place import HOST

BASE = {
    "listen": f"{HOST}:0",
    "metrics": f"{HOST}:0",
    "admin": f"{HOST}:0",
    "access_log": "-",
    "classes": {
        "high": {"target": "100ms", "max_wait": "5s", "ttl": "30s", "on_full": "reject"},
        "medium": {"target": "500ms", "max_wait": "15s", "ttl": "60s", "on_full": "wait"},
        "low": {"target": "10s", "max_wait": "60s", "ttl": "10m", "on_full": "wait"},
    },
    "types": {"chat": "high", "analysis": "medium", "batch-report": "low"},
    "default_class": "medium",
    "tenants": [{"name": "default", "max_class": "high"}],
    "limits": {"body": "32MiB", "memory": "2GiB", "head": "64KiB"},
    "drain": {"grace": "0s", "deadline": "10s"},
}


def merge(into, more):
    """`more` over `into`; None takes a key away."""
    out = copy.deepcopy(into)
    for key, value in more.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = merge(out[key], value)
        else:
            out[key] = copy.deepcopy(value)
    return out


def pool(replicas, name="chat", models=("m",), **more):
    return merge({
        "name": name,
        "engine": "openai",
        "models": [m if isinstance(m, dict) else {"name": m} for m in models],
        "slots": 4,
        "ready": {"path": "/health", "model": "completion", "interval": "200ms", "timeout": "1s"},
        "replicas": {"static": [getattr(r, "url", r) for r in replicas]},
    }, more)


def build(replicas=(), pools=None, pool_keys=None, **top):
    whole = copy.deepcopy(BASE)
    whole["pools"] = pools if pools is not None else [pool(replicas, **(pool_keys or {}))]
    return merge(whole, top)


def text(config):
    return yaml.safe_dump(config, sort_keys=False, default_flow_style=None, width=1000)
