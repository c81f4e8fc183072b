"""A problem on shared hosts as the compiled code reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.licence_kernel import LicenceTables

__all__ = ["PackingTables"]


class PackingTables(NamedTuple):
    """A problem on shared hosts as the compiled code reads it. Rooms are those of `rooms.rooms_of`.

    Attributes:
        units: (W, U+1) when each unit of the resources that are rows is free for good, infinite for units that a room
            does not have; resource r has the columns begin[r] … begin[r+1]-1, and the last is nobody's.
        begin: (R_rows + 1,) see `units`.
        column: (L,) levels: for each amount of a row that tasks ask for the column of units that says when so much is
            free; those of resource r are first_level[r] … first_level[r+1]-1, and level 0 is for who asks for nothing.
        first_level: (R_rows + 1,) see `column`.
        levels: (S, R_rows) which level each shape asks for; one column of zeros where there are no rows.
        times: (L, W') when each level is free in each room. W' is W rounded up to whole vectors: what is there is
            never free.
        idle: (R, W') how much of each resource is free for good at the origin; rows first, then stairs.
        steps: (W, R_stairs, 2, L) first times and amounts of the other resources.
        step_count: (W, R_stairs) how many there are.
        share: (R, W') what a unit is of the whole room, 0 where it has none; rows first, then stairs.
        rank: (R,) in which place of the packing's resources each of these stands, for sums in the same order.
        until: (W,) when a room is gone.
        room_class: (W,) class of the room's host.
        demand: (S, R) what a shape takes of each of its hosts; rows first, then stairs.
        hosts: (S,) number of hosts of a shape.
        seconds: (S, K) run times by the slowest class.
        area: (S,) share of all cores that a shape takes.
        offered: (A, 2) when how much of all cores comes, or goes (below 0).
        release: (m,) earliest starts.
        deadline: (m,) deadlines.
        before: indices of predecessors, those of task j in before[first[j]:first[j+1]].
        first: (m+1,) see `before`.
        weight: (m,) how much lateness and a missed deadline count.
        waits: whether any task has a release or predecessors.
        weights: (5,) as in `ProblemTables`, and so are `waited` and `rate`.
        licences: what tasks hold of the domain's licences.
    """

    units: NDArray[np.float64]
    begin: NDArray[np.int64]
    column: NDArray[np.int64]
    first_level: NDArray[np.int64]
    levels: NDArray[np.int64]
    times: NDArray[np.float64]
    idle: NDArray[np.float64]
    steps: NDArray[np.float64]
    step_count: NDArray[np.int64]
    share: NDArray[np.float64]
    rank: NDArray[np.int64]
    until: NDArray[np.float64]
    room_class: NDArray[np.int64]
    demand: NDArray[np.int64]
    hosts: NDArray[np.int64]
    seconds: NDArray[np.float64]
    area: NDArray[np.float64]
    offered: NDArray[np.float64]
    release: NDArray[np.float64]
    deadline: NDArray[np.float64]
    before: NDArray[np.int64]
    first: NDArray[np.int64]
    weight: NDArray[np.float64]
    waits: bool
    weights: NDArray[np.float64]
    waited: NDArray[np.float64]
    rate: NDArray[np.float64]
    licences: LicenceTables
