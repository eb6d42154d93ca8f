"""Public reports about the wire of an external scaler, by their ids, asked by a foreign gRPC client."""
import math

import pytest
from harness import keda
from test_keda import known, scaled  # noqa: F401 - a fixture

pytestmark = pytest.mark.skipif(keda.MISSING is not None, reason=str(keda.MISSING))


def test_B074_a_fraction_is_in_both_fields(scaled):  # noqa: F811
    g = scaled()
    known(g)
    assert g.ask().status == 200
    metadata, name = {"metric": "p99-wait"}, "penstock-chat-p99-wait"
    new, old = (keda.call(g, "GetMetrics", metadata, name, old=old)["metricValues"][0] for old in (False, True))
    assert new["metricValue"] == math.ceil(new["metricValueFloat"]) == old["metricValue"]
    spec = keda.call(g, "GetMetricSpec", {"metric": "backlog-seconds"})["metricSpecs"][0]
    assert (spec["targetSize"], spec["targetSizeFloat"]) == (2, 2.5)


def test_B077_the_target_needs_nothing_but_the_configuration(gateway, upstream):
    """No replica answers, nothing is known of the load, and a restart in between: the same name and target."""
    seen = []
    for _ in range(2):
        up = upstream(lambda call: call.answer())
        up.close()
        g = gateway([up], keda=keda.LISTEN, ready=0, pool_keys={"scaler": {"min": 0, "max": 4}})
        seen.append(keda.call(g, "GetMetricSpec")["metricSpecs"])
        assert g.stop() == 0
    assert seen[0] == seen[1] == [{"metricName": "penstock-chat-desired", "targetSize": 1, "targetSizeFloat": 1}]


def test_B080_a_connection_a_call(scaled):  # noqa: F811
    g = scaled()
    known(g)
    for method in ("IsActive", "GetMetrics"):
        answers = keda.ask(g, "connections", method=method, metadata={}, name="penstock-chat-desired", count=10, rounds=5)
        assert len(answers) == 50
        assert all(a.get("result") is True or len(a.get("metricValues", ())) == 1 for a in answers), answers
