"""Admission of chains: the way in which a new one is in time, with the others' ways changed where that helps.

Start at `admit`. It decides for the core, and beforehand for services, which refuse what cannot be guaranteed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.coscheduler.stages.trial_plan import TrialPlan, best_first
from cosched.coscheduler.stages.ways import in_way, waiting_stages
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.planning.task_plan import TaskPlan
    from cosched.coscheduler.stages.trial_plan import PlacedWay
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task

__all__ = [
    "Admission",
    "admit",
    "as_admitted",
    "first_late",
    "foresee",
    "is_awaited",
    "place_in_time",
    "placed_ways",
]


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer to a new chain.

    Attributes:
        placed: its way with its place; None where nothing can be said of it (no host is up, or none can run it).
        plan: what waits with the chain, as it is to be planned; None where the chain would make guaranteed ones late.
        moved: chains that are to take another way, with that way.
    """

    placed: PlacedWay | None
    plan: TaskPlan | None = None
    moved: Mapping[str, int] | None = None

    @property
    def in_time(self) -> bool:
        """Return whether all deadlines are met, the guaranteed ones of others, too."""
        return self.placed is not None and self.plan is not None and self.placed.late <= 0


def _awaited(state: CoreState, apart_from: Collection[str] = ()) -> set[str]:
    """Return the tasks that others with a deadline come after, directly or through further ones.

    A plan without such a task has no place for those behind it either, and what they are promised would not be checked.

    Args:
        state: the live tasks.
        apart_from: tasks whose own deadlines do not count.
    """
    found: set[str] = set()
    after = [task for task in state.tasks.values() if task.due is not None and task.id not in apart_from]
    while after:
        new = [name for name in state.predecessors(after.pop()) if name not in found]
        found.update(new)
        after += [state.tasks[name] for name in new]
    return found


def admit(view: PlanningView, state: CoreState, chain: Sequence[Task], time: float) -> Admission:
    """Find the best way of a chain in which its stages are in time and no guaranteed one becomes late.

    Where there is none behind all that is planned, it goes before waiting tasks that have no deadline. Then one other
    chain after another is tried in its other ways, the last to arrive first: each of them is as good as what was
    guaranteed. If nothing helps, the way is taken that is least late.

    Args:
        view: of the plan in force, which the chain is not in.
        state: the live tasks and hosts; it does not matter whether the chain's tasks are among them.
        chain: all of its tasks that have not left, in order.
        time: now, epoch seconds.
    """
    stage, mine = chain[0].stage, {task.id for task in chain}
    assert stage is not None
    trial = TrialPlan.now(view, state, time, chain, mine)
    if trial is None:
        return Admission(None)
    if (found := place_in_time(view, state, chain, time)) is not None:
        return Admission(found[0], found[1].task_plan())
    for other in reversed(state.chains()):
        if other != stage.chain and (moved := _with_moved(view, state, chain, other, time)) is not None:
            return moved
    late = next(iter(trial.place(chain, stage.open)), None)
    if late is None:
        return Admission(None)
    behind = trial.having(chain, late)
    keeps = behind.broken() & trial.promised.keys() <= trial.broken()
    return Admission(behind.decoded(chain, late), behind.task_plan() if keeps else None)


def place_in_time(
    view: PlanningView, state: CoreState, chain: Sequence[Task], time: float
) -> tuple[PlacedWay, TrialPlan] | None:
    """Return the best way of a chain that is in time, and the plan with it; None where there is none.

    It goes behind all that is planned, or else before waiting tasks without a deadline.
    """
    stage = chain[0].stage
    trial = TrialPlan.now(view, state, time, chain, {task.id for task in chain})
    if trial is None or stage is None:
        return None
    if (found := trial.best(chain, stage.open)) is not None:
        return found
    ahead = _before_undated(view, state, chain, time) if _is_dated(chain) else None
    return None if ahead is None else ahead.best(chain, stage.open)


def is_awaited(state: CoreState, chain: Sequence[Task]) -> bool:
    """Return whether a task with a deadline, of another chain or none, comes after one of this chain."""
    names = {task.id for task in chain}
    return not names.isdisjoint(_awaited(state, names))


def _is_dated(chain: Sequence[Task]) -> bool:
    """Return whether a chain has a deadline, of its user's or its model's."""
    stages = [task.stage for task in chain if task.stage is not None]
    if any(stage.deadline is not None for stage in stages):
        return True
    return any(min(way.due, way.within) < math.inf for stage in stages for way in stage.ways)


def _before_undated(view: PlanningView, state: CoreState, chain: Sequence[Task], time: float) -> TrialPlan | None:
    """Return the plan in force without a chain, and without undated waiting tasks: no deadline depends on them.

    Once a plan without the undated tasks is taken over, they follow behind it in their order. It is None where no task
    is undated.
    """
    undated = {task.id for task in state.tasks.values() if task.due is None and task.status.state is TaskState.QUEUED}
    if state.linked:
        undated -= _awaited(state, {task.id for task in chain})
    if not undated:
        return None
    return TrialPlan.now(view, state, time, chain, undated | {task.id for task in chain})


def placed_ways(view: PlanningView, state: CoreState, chain: Sequence[Task], time: float) -> list[PlacedWay]:
    """Return where the ways of a chain that are still open would run, each by itself, the best first.

    Like a chain that is admitted, they go before tasks without a deadline only where none of them is in time behind.

    Args:
        view: of the plan in force.
        state: the live tasks and hosts.
        chain: its tasks that have not left, in order, whether they are known here or not.
        time: now, epoch seconds.
    """
    stage = chain[0].stage
    trial = TrialPlan.now(view, state, time, chain, {task.id for task in chain})
    if trial is None or stage is None:
        return []
    found = {placed.way: placed for placed in trial.place(chain, stage.open)}
    late = [way for way, placed in found.items() if placed.late > 0]
    if len(late) == len(found) and (ahead := _before_undated(view, state, chain, time)) is not None:
        found |= {each.way: each for each in ahead.place(chain, late) if each.late < found[each.way].late}
    return best_first(list(found.values()), time)


def foresee(
    view: PlanningView, state: CoreState, chain: Sequence[Task], time: float
) -> tuple[Admission, list[PlacedWay]]:
    """Return how a new chain would be admitted, and all its ways as that plan has them; that of the admission first.

    Arguments as those of `admit`.
    """
    admission = admit(view, state, chain, time)
    if admission.placed is None:
        return admission, []
    if admission.in_time:
        ways = placed_ways(view, state, chain, time)
    else:  # it would go behind all that is planned
        trial, stage = TrialPlan.now(view, state, time, chain, {task.id for task in chain}), chain[0].stage
        ways = [] if trial is None or stage is None else trial.place(chain, stage.open)
    return admission, [admission.placed, *[each for each in ways if each.way != admission.placed.way]]


def first_late(view: PlanningView, state: CoreState, chains: Sequence[Sequence[Task]], time: float) -> int | None:
    """Return the place of the first of several new chains that is late behind those before it; None where none is."""
    every = [task for chain in chains for task in chain]
    trial = TrialPlan.now(view, state, time, every, {task.id for task in every})
    for place, chain in enumerate(chains):
        stage = chain[0].stage
        found = None if trial is None or stage is None else trial.best(chain, stage.open)
        if found is None:
            return place
        trial = found[1]
    return None


def _with_moved(
    view: PlanningView, state: CoreState, chain: Sequence[Task], other: str, time: float
) -> Admission | None:
    """Return the admission of a chain with another one led along another way; None where that does not help."""
    waiting = waiting_stages(state, other)
    stage = waiting[0].stage if waiting else None
    if stage is None or not stage.guaranteed or len(stage.open) < 2 or is_awaited(state, waiting):
        return None
    left_out = {task.id for task in (*chain, *waiting)}
    trial = TrialPlan.now(view, state, time, (*chain, *waiting), left_out)
    assert trial is not None, "hosts are up"
    first = chain[0].stage
    assert first is not None
    if (mine := trial.best(chain, first.open)) is None:
        return None
    theirs = mine[1].best(waiting, stage.open)
    if theirs is None:
        return None
    return Admission(mine[0], theirs[1].task_plan(), {other: theirs[0].way})


def as_admitted(chain: Sequence[Task], admission: Admission, *, may: bool = True) -> list[Task]:
    """Return the tasks of a chain as they were admitted.

    Deadlines are guaranteed where they are met, the domain `may` guarantee any, and shares grant each its claim.
    """
    if admission.placed is None:
        return [in_way(task, task.stage.way) for task in chain if task.stage is not None]
    claimed = all(task.status.claim != 0.0 for task in chain)
    way = [in_way(task, admission.placed.way) for task in chain]
    guaranteed = may and claimed and admission.in_time and any(task.spec.deadline is not None for task in way)
    return [in_way(task, admission.placed.way, guaranteed=guaranteed) for task in chain]
