"""Views of tunable applications: their ways, and where each would run now. Start at `chain_view`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.documents import ChainView, StageView, WayView
from cosched.coscheduler.stages.stage import NO_WORK
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.stages.stage import StageWork
    from cosched.coscheduler.stages.trial_plan import PlacedWay
    from cosched.coscheduler.task import Task

__all__ = ["chain_view", "way_views"]

_MOST_SHOWN = 50  # ways of a view
_ENDED_BADLY = (TaskState.FAILED, TaskState.CANCELLING, TaskState.CANCELLED)  # nothing is guaranteed any more


def way_views(chain: Sequence[Task], ways: Sequence[PlacedWay]) -> tuple[WayView, ...]:
    """Return the first of the placed ways of a chain, given by its tasks that have not left."""
    views = []
    for placed in ways[:_MOST_SHOWN]:
        works = _works(chain, placed.way)
        starts = zip(placed.starts, placed.ends, strict=True)
        stages = [
            StageView(name=work.name, hosts=work.hosts, seconds=end - start, start=start, end=end)
            for work, (start, end) in zip(works, starts, strict=True)
        ]
        views.append(_view(chain, placed.way, tuple(stages), placed))
    return tuple(views)


def chain_view(core: Coscheduler | None, task: Task, time: float) -> ChainView | None:
    """Return the chain of a task with all its ways; those still open as they would run. None for other tasks.

    Args:
        core: where the chain may be live; None where it is not.
        task: one of its tasks.
        time: now, epoch seconds.
    """
    stage = task.stage
    if stage is None:
        return None
    waiting = [] if core is None else core.waiting_stages(stage.chain)
    shown = {
        view.way: view
        for view in (way_views(waiting, core.ways(waiting, time)) if core is not None and waiting else ())
    }
    current = waiting[0].stage if waiting else stage
    assert current is not None
    ways: list[WayView] = []
    for way in range(len(stage.ways)):
        if way in shown or len(ways) >= _MOST_SHOWN:
            continue
        works = _works([task], way)
        stages = [StageView(name=each.name, hosts=each.hosts, seconds=each.profile.shortest) for each in works]
        is_open = bool(waiting) and way in current.open
        ways.append(_view([task], way, tuple(stages), None, is_open=is_open, chosen=way == current.way))
    first = int(stage.chain) if stage.chain.isdecimal() else task.number - stage.index
    return ChainView(
        first=stage.chain,
        tasks=tuple([str(first + place) for place in range(stage.count)]),
        index=stage.index,
        name=stage.title,
        deadline=stage.deadline,
        guaranteed=stage.guaranteed and task.status.state not in _ENDED_BADLY,
        quality=current.quality,
        least_quality=min(each.quality for each in stage.ways),
        ways=(*shown.values(), *ways),
    )


def _view(
    chain: Sequence[Task],
    way: int,
    stages: tuple[StageView, ...],
    placed: PlacedWay | None,
    *,
    is_open: bool = True,
    chosen: bool | None = None,
) -> WayView:
    stage, works = chain[0].stage, _works(chain, way)
    assert stage is not None
    return WayView(
        way=way,
        quality=stage.ways[way].quality,
        control=_control(works),
        stages=stages,
        end=None if placed is None else placed.end,
        late=0.0 if placed is None else placed.late,
        late_stage="" if placed is None or not placed.late_stages else placed.late_stages[0][0],
        open=is_open,
        chosen=(way == stage.way) if chosen is None else chosen,
    )


def _works(chain: Sequence[Task], way: int) -> list[StageWork]:
    """Return what the tasks of a chain run in a way."""
    stages = [task.stage for task in chain if task.stage is not None and task.stage.ways[way].work != NO_WORK]
    return [stage.works[stage.ways[way].work] for stage in stages]


def _control(works: Sequence[StageWork]) -> dict[str, float]:
    """Return the control parameters as the stages of a way know them."""
    return {name: float(work.parameters[name]) for work in works for name in work.control}
