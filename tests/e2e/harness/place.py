"""Where this run lives: a loopback address of its own.

Tests kill replicas, and gateways go on probing ports that others then get: on an address of their own
two runs on one machine never meet.
"""
import os

_pid = os.getpid()
HOST = f"127.{100 + _pid % 100}.{_pid // 100 % 250}.{1 + _pid // 25000 % 250}"
OTHER_HOST = HOST.rsplit(".", 1)[0] + ".254"
