"""HAProxy and the gateway in front of one backend, set up alike."""

from figures import free_port, penstock, wait_port, wait_ready

HAPROXY = """\
global
    nbthread 1
    maxconn 11000
    no strict-limits
defaults
    mode http
    timeout connect 5s
    timeout client 600s
    timeout server 600s
    timeout queue 600s
    timeout http-keep-alive 600s
    option http-keep-alive
    option http-no-delay
    option abortonclose
    http-reuse always
    no log
frontend fe
    bind 127.0.0.1:{port}
    http-request set-priority-class int(-10) if {{ req.hdr(X-Priority) high }}
    default_backend be
backend be
    balance leastconn
    server s1 127.0.0.1:{backend} maxconn {slots} pool-max-conn 2000
"""

PENSTOCK = """\
listen: 127.0.0.1:{port}
metrics: 127.0.0.1:{metrics}
pools:
  - name: bench
    engine: openai
    models: [{{name: m, weight: 1}}]
    slots: {slots}
    slow_start: 0s
    ready: {{path: /health, model: listed}}
    replicas: {{static: ["http://127.0.0.1:{backend}"]}}
"""


def haproxy(group, backend, slots=2000, wrap=()):
    port = free_port()
    config = group.write(f"haproxy{port}.cfg", HAPROXY.format(port=port, backend=backend, slots=slots))
    process = group.start(*wrap, "haproxy", "-db", "-f", config)
    wait_port(port, process, 60)
    return process, port


def gateway(group, backend, slots=2000, wrap=()):
    port, metrics = free_port(), free_port()
    config = group.write(f"penstock{port}.yaml",
                         PENSTOCK.format(port=port, metrics=metrics, backend=backend, slots=slots))
    process = group.start(*wrap, penstock(), "run", config, log=f"gateway{port}")
    wait_port(port, process, 60)
    wait_ready(metrics, 1, 60)
    return process, port


def relay(group, tool, backend):
    port = free_port()
    process = group.start(tool, port, backend)
    wait_port(port, process)
    return process, port
