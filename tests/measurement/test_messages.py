from __future__ import annotations

import pytest

from cosched.measurement.messages import MESSAGE_SIZES, message_costs
from cosched.measurement.samples import Samples


def samples(**changed: float) -> Samples:
    """Return the times of messages that cost the sender 1 µs, the network 10 µs + 1 ns a byte, the receiver 2 µs."""
    found = Samples()
    for size in MESSAGE_SIZES:
        for test, cost in {"pingpong": 13 + 0.001 * size, "send": 1.0, "receive": 2.0, **changed}.items():
            found.add(f"shm {test} {size}", cost)
    return found


def test_the_parts_are_those_of_the_message() -> None:
    costs = message_costs(samples(), "shm")
    found = [(costs.parts[part][1].base, costs.parts[part][1].a_byte) for part in ("TSEND", "COMM", "TRECV")]
    assert [base for base, _ in found] == pytest.approx([1.0, 10.0, 2.0])
    assert [a_byte for _, a_byte in found] == pytest.approx([0.0, 0.001, 0.0], abs=1e-9)
    assert costs.worst == pytest.approx(0.0, abs=1e-9)
    assert costs.sizes == len(MESSAGE_SIZES)


def test_a_sender_that_is_busy_all_the_time_leaves_nothing_to_the_others() -> None:
    costs = message_costs(samples(send=1e9), "shm")
    assert all(line.base == line.a_byte == 0 for part in ("COMM", "TRECV") for line in costs.parts[part])
