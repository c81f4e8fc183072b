"""What an application does on many numbers of hosts at once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cosched.evaluation.batch import Batch
from cosched.evaluation.expansion import Analysis
from cosched.evaluation.lanes import UnbatchableError
from cosched.evaluation.places import places

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation import frame
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.lanes import Value
    from cosched.evaluation.steps import Steps
    from cosched.language.linker import Linked

    Indices = NDArray[np.int64]

__all__ = ["program"]


def program(
    root: Linked, hardware: Hardware, hosts: Indices, initial: Sequence[Mapping[str, frame.Value]], steps: int
) -> list[Steps]:
    """Return what an application does on all numbers of hosts, as segments in order.

    Args:
        root: the application.
        hardware: whose costs are used.
        hosts: numbers of hosts, shape (counts,); not empty. Their processors are numbered through.
        initial: variables of the application before `init`, for each of them.
        steps: as for `cosched.evaluation.profile`; a step that is recorded takes ten of them.

    Raises:
        UnbatchableError: the model is not for evaluation side by side, or has a fault.
    """
    batch = Batch(_analysis(root), places(root), hardware, hosts, steps // 10)
    with np.errstate(all="ignore"):  # what is not finite is looked for
        return batch.run(root, _stacked(initial), hosts, batch.offset)


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
