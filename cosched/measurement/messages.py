"""Times of messages become the costs of sender, network and receiver.

The three add up to half of the time there and back, exactly, at every size that was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.measurement.segments import chosen_points, fitted_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.measurement.samples import Samples
    from cosched.measurement.segments import CostLine

__all__ = ["MESSAGE_SIZES", "MessageCosts", "message_costs"]

MESSAGE_SIZES = (0, *sorted({size for power in range(23) for size in (1 << power, 3 << power >> 1)}))
"""Bytes of the messages that are timed: powers of two and halves between, to 6 MiB."""
_LINES = 2  # as HMCL has them


@dataclass(frozen=True, slots=True)
class MessageCosts:
    """Costs of one kind of message.

    Attributes:
        parts: two lines for each part, named as in HMCL: COMM, TSEND, TRECV.
        worst: how far the parts together are off at worst, as a part of the time.
        sizes: how many were measured.
        points: (bytes, microseconds one way) of few sizes.
        send: the sender's part of the time, the median over the sizes.
        receive: the receiver's.
    """

    parts: dict[str, tuple[CostLine, CostLine]]
    worst: float
    sizes: int
    points: tuple[tuple[int, float], ...]
    send: float
    receive: float


def message_costs(samples: Samples, kind: str) -> MessageCosts:
    """Return the costs of messages of one kind.

    Args:
        samples: tests named "KIND TEST BYTES", in microseconds.
        kind: the first word of their names.
    """
    sizes = sorted({int(name.split()[2]) for name in samples if name.startswith(f"{kind} ")})
    there, send, receive = (
        [samples.value(f"{kind} {test} {size}") for size in sizes] for test in ("pingpong", "send", "receive")
    )
    sent = [min(cost, total) for cost, total in zip(send, there, strict=True)]
    received = [min(cost, total - first) for cost, total, first in zip(receive, there, sent, strict=True)]
    rest = [total - first - last for total, first, last in zip(there, sent, received, strict=True)]
    parts = {
        part: _pair(fitted_lines(sizes, costs, there, _LINES))
        for part, costs in (("COMM", rest), ("TSEND", sent), ("TRECV", received))
    }
    together = [sum(_cost(parts[part], size) for part in parts) for size in sizes]
    worst = max(abs(found - total) / total for found, total in zip(together, there, strict=True))
    chosen = chosen_points(sizes, there, float)
    send_share, receive_share = (float(np.median(np.array(part) / np.array(there))) for part in (sent, received))
    return MessageCosts(
        parts,
        worst,
        len(sizes),
        tuple((sizes[k], there[k]) for k in chosen),
        send_share,
        min(receive_share, 1 - send_share),
    )


def _pair(lines: Sequence[CostLine]) -> tuple[CostLine, CostLine]:
    return lines[0], lines[-1]


def _cost(lines: tuple[CostLine, CostLine], size: float) -> float:
    line = lines[0] if size <= lines[0].upto else lines[1]
    return line.base + line.a_byte * size
