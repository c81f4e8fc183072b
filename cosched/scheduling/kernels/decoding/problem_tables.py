"""A problem as the compiled code reads it: contiguous arrays, hosts by free time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.availability_kernel import WindowTables
    from cosched.scheduling.kernels.decoding.licence_kernel import LicenceTables


__all__ = ["ProblemTables"]


class ProblemTables(NamedTuple):
    """A problem as the compiled code reads it.

    A plan has one number for each task, its host count; on several classes the number encodes the class too (see
    `host_counts.encoded_choices`).

    Attributes:
        seconds: (K, m, W) run times on 1 … W hosts, the most that any task can use; K = 1 on identical hosts.
        host_class: (N,) index into the first axis of `seconds`; hosts are ascending by free time, then by index.
        host_index: (N,) index of each host in the problem.
        free: (N,) ascending free times.
        release: (m,) earliest starts.
        deadline: (m,) deadlines.
        before: indices of predecessors, those of task j in before[first[j]:first[j+1]].
        first: (m+1,) see `before`.
        base: above every host count, see above.
        unavailability: (A, 3) when hosts are not there: host, begin and end.
        windows: when they are there.
        weight: (m,) how much lateness and a missed deadline count.
        waits: whether any task has a release or predecessors.
        due: whether any task has a deadline.
        weights: (5,) as of `objective_terms.term_weights`.
        waited: (m,) as in `Slowdowns`, or empty where nobody asks for slowdown; likewise `rate`.
        licences: what tasks hold of the domain's licences.
        within: seconds; what is done beyond them costs a trace, see `objective_kernel.compare_children`.
    """

    seconds: NDArray[np.float64]
    host_class: NDArray[np.int64]
    host_index: NDArray[np.int64]
    free: NDArray[np.float64]
    release: NDArray[np.float64]
    deadline: NDArray[np.float64]
    before: NDArray[np.int64]
    first: NDArray[np.int64]
    base: int
    unavailability: NDArray[np.float64]
    windows: WindowTables
    weight: NDArray[np.float64]
    waits: bool
    due: bool
    weights: NDArray[np.float64]
    waited: NDArray[np.float64]
    rate: NDArray[np.float64]
    licences: LicenceTables
    within: float
