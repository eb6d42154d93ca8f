"""Replicas found by DNS, without rights, on the same control plane: beside the other installation, which goes to zero meanwhile."""
from cluster import address, eventually
from installation import Installation
from users import Users


def test_replicas_by_dns(cluster, names, installed):
    """More come and serve; one that Kubernetes ends has told the gateway before: no stream of it breaks."""
    dns = Installation(cluster, names, "overlay/dns", "by-dns")
    dns.apply_those(lambda d: d["metadata"]["name"] != "penstock-chat" or d["kind"] == "Service")
    dns.values["GATEWAYS"] = dns.gateway()
    dns.apply_those(lambda d: d["metadata"]["name"] == "penstock-chat")
    dns.until_scaled()
    with Users(dns) as users:
        for _ in range(60):
            users.stream(100)
        dns.until_replicas(lambda n: n >= 3, "a burst's replicas")
        dns.until_ready(3)
        for _ in range(6):
            users.stream(500)
        users.started(64)
        ending = max(dns.ready_engines(), key=lambda p: (dns.stats(p) or {}).get("running", 0))
        assert dns.stats(ending)["running"] > 0
        victim = ending["metadata"]["name"]
        dns.kubectl("delete", "pod", victim, "--wait=false")
        url = f"http://{address(ending)}:21000"
        eventually(lambda: [r["state"] for r in dns.state()["replicas"] if r["name"] == url] in (["draining"], []),
                   lambda: dns.tell(f"its preStop drains {url}: {dns.state()['replicas']}"))
        eventually(lambda: victim not in [p["metadata"]["name"] for p in dns.pods("engine")], lambda: dns.tell("it left"))
    assert users.problems == []
    said = [line for line in cluster.runner.lines if victim in line]
    assert len(said) == 1 and "preStop finished" in said[0], said
    dns.kubectl("delete", "scaledobject,deployment,daemonset", "--all", "--wait=false")
