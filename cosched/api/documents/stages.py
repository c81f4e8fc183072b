"""Documents of tunable applications: stages, and the ways through them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ChainView", "StageView", "WayView"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageView:
    """A stage in one way through a tunable application; planned where it has not left.

    Attributes:
        hosts: how many it occupies.
        start: seconds since the epoch; null where nothing is planned.
        end: likewise.
    """

    name: str
    hosts: int
    seconds: float
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WayView:
    """A way through a tunable application, as it could be taken at present.

    Attributes:
        way: its number, from 0.
        quality: of what it computes, as its model says.
        control: the control parameters as the way sets them.
        stages: those that have not left.
        end: when the last of them would end, beside what is planned; null where hosts cannot run it now.
        late: seconds by which it would miss a deadline; 0 where it is in time.
        late_stage: the stage that would end later than its model says; empty where none would.
        open: whether it may still be taken: no stage has left in which it differs.
        chosen: whether it is the one that is taken.
    """

    way: int
    quality: float
    control: dict[str, float]
    stages: tuple[StageView, ...]
    end: float | None = None
    late: float = 0.0
    late_stage: str = ""
    open: bool = True
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainView:
    """The tunable application that a task is a stage of.

    Attributes:
        first: identifier of the task of the first stage.
        tasks: identifiers of the tasks of all stages, in order.
        index: this task's place among them, from 0.
        name: of the application's task.
        deadline: that its user asked for, seconds since the epoch; null for none.
        guaranteed: whether no later task makes it miss that, or what its model says.
        quality: of the way that was chosen.
        least_quality: it takes no way of less.
        ways: all that there are, the chosen one, too.
    """

    first: str
    tasks: tuple[str, ...]
    index: int
    name: str
    deadline: float | None
    guaranteed: bool
    quality: float
    least_quality: float
    ways: tuple[WayView, ...]
