"""A problem with elastic tasks as the compiled code reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.problem_tables import ProblemTables

__all__ = ["STEP", "ElasticTables"]

STEP = np.dtype([("seconds", np.float64), ("wider", np.int64), ("narrower", np.int64)])


class ElasticTables(NamedTuple):
    """A problem with E elastic tasks on N identical hosts that are always there. Times are seconds.

    Attributes:
        plain: the problem without loans, which the promise is decoded from.
        before: of `plain`.
        first: of `plain`.
        bound: lower bound of the makespan.
        elastic: (m,) row of each task in the tables below, -1 for one that is not elastic.
        steps: (E, N+1) records: the run time on so many hosts, of which only a useful number is used (infinite on too
            few), and the next useful numbers above and below (0 for none).
        costs: (E, 3) seconds of a growth, of a shrinking, and until a host has drained.
        drain: the longest drain.
        costly: whether any change of hosts costs seconds.
        moments: ascending, the times at which tasks are released.
        payback: how many times its cost a change must save.
    """

    plain: ProblemTables
    before: NDArray[np.int64]
    first: NDArray[np.int64]
    bound: float
    elastic: NDArray[np.int64]
    steps: NDArray[Any]
    costs: NDArray[np.float64]
    drain: float
    costly: bool
    moments: NDArray[np.float64]
    payback: float
