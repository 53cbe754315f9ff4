"""Transactions that meet on one item, and transactions that come again with their token, at the request level (F-TX-1, F-TX-2)."""

from __future__ import annotations

import json
from typing import Any

import pytest

import sim

LATENCY_S = 0.02
COUNT = {"operation": "UpdateItem", "pk": "COUNT"}
PUT = {"operation": "PutItem"}


def run(*traffic: dict[str, Any], latency_ms: tuple[float, float] = (20, 20), **top: Any) -> dict[str, Any]:
    """Transactions that take 20 ms each, for two minutes on a roomy table of 30 partitions, unless said otherwise."""
    median, high = latency_ms
    made = {
        "format": 1,
        "level": "request",
        "duration": "2m",
        "fields": {"user": {"kind": "uniform", "count": 10**6}},
        "table": {
            "name": "t",
            "pk": "USER#{user}",
            "mode": "provisioned",
            "read_capacity": 30_000,
            "write_capacity": 30_000,
            "partitions": 30,
        },
        "calibration": {
            "latency_transaction_ms_p50": median,
            "latency_transaction_ms_p99": high,
            "latency_write_ms_p50": 20,
            "latency_write_ms_p99": 20,
        },
        "traffic": [{"name": "x", "operation": "TransactWriteItems", **one} for one in traffic],
        **top,
    }
    result: dict[str, Any] = json.loads(sim.run(sim.from_dict(made)).to_json())
    return result


def failures(result: dict[str, Any]) -> dict[str, float]:
    return {failure["error"]: failure["count"] for failure in result["failures"]}


@pytest.mark.parametrize("rate", [10, 50, 200])
def test_transactions_on_one_item_are_served_one_at_a_time(rate: float) -> None:
    """Whoever comes while another is at work is turned away: 1 / (1 + λ L) pass (Erlang's loss law for one server). All are charged."""
    result = run({"rate": rate, "actions": [PUT, COUNT]})
    found = result["traffic"]["x"]
    passing = 1 / (1 + rate * LATENCY_S)
    deviation = (passing * (1 - passing) / found["offered"]) ** 0.5
    assert found["succeeded"] / found["offered"] == pytest.approx(passing, abs=4 * deviation)
    assert failures(result) == {"TransactionCanceledException": found["failed"]}
    assert result["consumed"]["table"]["write_units"] == 4 * found["offered"]
    assert found["throttled"] == 0


def test_transactions_on_items_of_their_own_do_not_meet() -> None:
    """A million users, 200 a second, 20 ms: 4 others at work, each on one in a million."""
    result = run({"rate": 200, "actions": [PUT, PUT]})
    assert failures(result).get("TransactionCanceledException", 0) <= 1


def test_a_single_write_meets_a_transaction_and_a_read_does_not() -> None:
    """Transactions at work a fraction of the time refuse as large a fraction of the single writes (Poisson arrivals see averages).

    Of λ transactions a second a part a passes, so they are at work λ a L of the time. A transaction passes when neither a transaction nor a
    single write is at work: ongoing single writes are μ b L on average, b = 1 - λ a L.
    """
    result = run(
        {"rate": 10, "actions": [PUT, COUNT]},
        {"name": "single", "rate": 20, **COUNT},
        {"name": "read", "operation": "GetItem", "rate": 20, "pk": "COUNT"},
        duration="10m",
    )
    single, x = result["traffic"]["single"], result["traffic"]["x"]
    at_work = x["succeeded"] / 600 * LATENCY_S
    assert single["failed"] / single["offered"] == pytest.approx(at_work, abs=4 * (at_work / single["offered"]) ** 0.5)
    assert failures(result)["TransactionConflictException"] == single["failed"]
    assert failures(result)["TransactionCanceledException"] == x["failed"] > 0.3 * x["offered"]
    assert result["traffic"]["read"]["failed"] == 0
    assert any("TransactionConflictException" in sentence for sentence in result["explanation"])


def test_a_single_write_meets_no_other_single_write() -> None:
    result = run({"name": "single", "rate": 200, **COUNT}, {"rate": 1, "actions": [PUT, PUT]})
    assert failures(result) == {}


def test_a_transaction_of_reads_meets_writes() -> None:
    """Single writes at work 20 × 20 ms = 0.4 of them on average; a read transaction finds none with e^-0.4."""
    result = run(
        {"name": "single", "rate": 20, **COUNT},
        {"operation": "TransactGetItems", "rate": 20, "pk": "COUNT"},
        duration="10m",
    )
    found = result["traffic"]["x"]
    assert found["succeeded"] / found["offered"] == pytest.approx(2.718**-0.4, abs=0.03)
    assert result["traffic"]["single"]["failed"] == 0


def test_a_transaction_whose_answer_got_lost_is_paid_once_and_read_again() -> None:
    """Every answer takes 100 ms and the client waits 80: each transaction is applied once, 4 units, and then read until it is given up.

    Three attempts: the second and third find it applied (the delays bring them after 100 ms) and read two items at 2 units each.
    """
    result = run(
        {"rate": 5, "actions": [PUT, PUT], "client": {"delays": ["50ms", "50ms"], "timeout": "80ms"}, "ends": "100s"},
        latency_ms=(100, 100),
    )
    found = result["traffic"]["x"]
    assert found["attempts"] == 3 * found["offered"]
    assert failures(result) == {"RequestTimeout": found["offered"]}
    assert result["consumed"]["table"]["write_units"] == 4 * found["offered"]
    assert result["consumed"]["table"]["read_units"] == 2 * 2 * 2 * found["offered"]


def test_a_transaction_that_is_still_at_work_says_so() -> None:
    """The client waits 30 ms of 100 and asks again after 10: the first is still at work, at 40 ms and, 110 ms later, no more."""
    result = run(
        {"rate": 5, "actions": [PUT, PUT], "client": {"delays": ["10ms", "10ms"], "timeout": "30ms"}, "ends": "100s"},
        latency_ms=(100, 100),
    )
    found = result["traffic"]["x"]
    assert found["attempts"] == 3 * found["offered"]
    assert result["consumed"]["table"]["read_units"] == 4 * found["offered"]


def test_a_false_condition_cancels_and_is_charged() -> None:
    result = run({"rate": 50, "actions": [PUT, PUT], "condition_fails": 0.5})
    assert failures(result) == {"TransactionCanceledException": result["traffic"]["x"]["failed"]}
    assert result["traffic"]["x"]["failed"] > 0
    assert result["consumed"]["table"]["write_units"] == 4 * result["traffic"]["x"]["offered"]
