"""One program of hosts of several kinds from the program of each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.evaluation.steps import COMPUTE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.steps import Steps

__all__ = ["merged"]


def merged(programs: Sequence[Sequence[Steps]], kind: NDArray[np.int64]) -> list[Steps]:
    """Return the program in which every processor does the work of its own kind of host.

    Each processor runs the same model, with the costs of its own host: so the programs have the same steps, and only
    the times of work differ.

    Args:
        programs: of the whole application, as if all hosts were of one kind; one for each kind.
        kind: of each processor.

    Raises:
        UserError: the steps themselves depend on the costs.
    """
    if len(programs) == 1:
        return list(programs[0])
    if len({len(program) for program in programs}) > 1:
        raise _differ()
    known: dict[tuple[int, ...], Steps] = {}
    made = []
    for segments in zip(*programs, strict=True):
        key = tuple(map(id, segments))
        if key not in known:
            known[key] = _segment(segments, kind)
        made.append(known[key])
    return made


def _segment(segments: Sequence[Steps], kind: NDArray[np.int64]) -> Steps:
    first = segments[0]
    work = first.kind == COMPUTE
    for other in segments[1:]:
        same = all(
            np.array_equal(getattr(first, name), getattr(other, name))
            for name in ("kind", "processor", "peer", "place")
        )
        if not same or not np.array_equal(first.amount[~work], other.amount[~work]):
            raise _differ()
    amounts = np.stack([segment.amount for segment in segments])
    return first.apart(amounts[kind[first.processor], np.arange(len(first))])


def _differ() -> UserError:
    return UserError(
        "who sends what to whom depends on what the work costs: that has no meaning on hosts of several "
        "kinds; take costs out of conditions, counts of turns and sizes"
    )
