"""Run times on many numbers of hosts at once: one array of clocks for all processors of all of them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cosched.evaluation.batch import Batch
from cosched.evaluation.expansion import Analysis
from cosched.evaluation.lanes import UnbatchableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation import frame
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.lanes import Value
    from cosched.evaluation.maxplus import Plan
    from cosched.language.linker import Linked

    Floats = NDArray[np.float64]

__all__ = ["times"]

# Clocks relative to the first are compared to this part of a microsecond, as in `cosched.evaluation.machine`.
_GRID = 2.0**20
_MOST_STATES = 64


def times(root: Linked, hardware: Hardware, counts: Sequence[int],
          initial: Sequence[Mapping[str, frame.Value]], steps: int) -> Floats:  # fmt: skip
    """Return the run time for each number of hosts, shape (len(counts),), microseconds.

    Args:
        root: the application.
        hardware: whose costs are used.
        counts: numbers of hosts; not empty.
        initial: variables of the application before `init`, for each of them.
        steps: as for `cosched.evaluation.profile`; a step that is recorded takes ten of them.

    Raises:
        UnbatchableError: the model is not for evaluation side by side, or has a fault.
    """
    hosts = np.array(counts, np.int64)
    batch = Batch(_analysis(root), hardware, hosts, steps // 10)
    with np.errstate(all="ignore"):  # what is not finite is looked for
        program = batch.run(root, _stacked(initial), hosts, batch.offset)
        clocks = _carried_out(program, batch)
    if not np.isfinite(clocks).all():
        raise UnbatchableError
    return clocks


@lru_cache(maxsize=64)
def _analysis(root: Linked) -> Analysis:  # noqa: ARG001  the key: it keeps the statements alive that are known by identity
    return Analysis()


def _stacked(initial: Sequence[Mapping[str, frame.Value]]) -> dict[str, Value]:
    if any(values.keys() != initial[0].keys() for values in initial):
        raise UnbatchableError
    stacked: dict[str, Value] = {}
    for name, first in initial[0].items():
        column = [values[name] for values in initial]
        if all(value == first for value in column):
            # A list is read by no array expression: whoever uses it goes the other way.
            stacked[name] = None if isinstance(first, tuple) else first
        else:
            try:
                stacked[name] = np.array(column, np.float64)
            except (TypeError, ValueError):
                raise UnbatchableError from None
    return stacked


def _carried_out(program: Sequence[Plan], batch: Batch) -> Floats:
    """Return the latest clock of each number of hosts after a program.

    Segments see the clocks through their differences alone. States of these differences are numbered as they are met,
    so a loop that has settled costs an addition a turn.
    """
    lapse = np.zeros(len(batch.hosts))
    states = [np.zeros(batch.processors)]
    known = {states[0].tobytes(): 0}
    steps: dict[tuple[int, int], tuple[int, Floats]] = {}
    state = 0
    for plan in program:
        step = steps.get((state, id(plan)))
        if step is None:
            after = plan.advance(states[state])
            least = np.minimum.reduceat(after, batch.offset)
            after -= np.repeat(least, batch.hosts)
            # Rounding keeps a settled loop from wandering in the last digit for ever.
            key = np.rint(after * _GRID).tobytes()
            number = known.get(key)
            if number is None:
                if len(states) >= _MOST_STATES:
                    known, states, steps = {}, [], {}
                    state = -1
                number = known[key] = len(states)
                states.append(after)
            step = steps[state, id(plan)] = (number, least)
        state = step[0]
        lapse = lapse + step[1]
    return lapse + np.maximum.reduceat(states[state], batch.offset)
