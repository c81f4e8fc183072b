"""Chains of stages in the core: they are admitted, kept in time and led along one way.

Start at `Chains.accept`. A domain without stages is not touched by any of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.changes import LogEntry
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.stages.admission import admit, as_admitted, is_awaited, place_in_time
from cosched.coscheduler.stages.guarantees import EQUAL, broken_guarantees
from cosched.coscheduler.stages.trial_plan import TrialPlan
from cosched.coscheduler.stages.way_genes import chosen_ways
from cosched.coscheduler.stages.ways import in_turn, in_way, turn_begins, waiting_stages, without_ways
from cosched.coscheduler.task import TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.attempts.lifecycle import AttemptLifecycle
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.stages.trial_plan import PlacedWay
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["Chains"]

_NOT_LED: Mapping[str, int] = {}
# A look at a chain takes 8 µs of a processor for each task of the plan, and 0.4 ms beside: 20 ms are for all of them.
_MOST_LOOKED_AT = 2500  # tasks of the plan, counted once for each chain
_OF_A_LOOK = 50  # tasks that would take as long as all else of one


class Chains:
    """Leads chains along their ways.

    Attributes:
        looked_at: the chain for which a better way was sought last; empty before the first.
    """

    def __init__(
        self, state: CoreState, queue: TaskQueue, view: PlanningView, lifecycle: AttemptLifecycle, *, guarantees: bool
    ) -> None:
        """Set up.

        Args:
            state: tasks and hosts.
            queue: what waits.
            view: of the plan.
            lifecycle: ends what a way has no use for.
            guarantees: whether the domain's policy follows plans, so that deadlines can be guaranteed.
        """
        self._state = state
        self._queue = queue
        self._view = view
        self._lifecycle = lifecycle
        self._guarantees = guarantees
        self.looked_at = ""

    def accept(self, task: Task, time: float) -> None:
        """Take note of a new stage, which is among the live tasks; with the last one the chain is admitted."""
        assert task.stage is not None
        if not task.stage.last:
            return  # none of them leaves before all are known
        chain = self._state.chain(task.stage.chain)
        admission = admit(self._view, self._state, chain, time)
        for each in as_admitted(chain, admission, may=self._guarantees):
            self._state.put(each)
            if each.stage is not None and not each.stage.unused:
                self._queue.add(each)
        for other, way in (admission.moved or {}).items():
            self._move(other, way)
        if admission.plan is not None:
            self._queue.adopt(admission.plan)
            self._queue.searched(each.id for each in chain)  # its place is found: it waits for no search
        self._state.replan()

    def left(self, task: Task) -> None:
        """Close the ways of a chain that differ from the chosen one in a stage that leaves now."""
        if task.stage is not None:
            for other in without_ways(waiting_stages(self._state, task.stage.chain), task):
                self._state.put(other)

    def protect(self, task: str, time: float) -> None:
        """Put a task that was inserted into the plan behind all others where it makes a guaranteed stage late.

        Elsewhere it keeps the hosts that it has now until the search finds better ones.
        """
        if not self._state.guaranteed or task not in self._queue.planned:
            return
        plan = self._queue.plan
        if self._state.guaranteed.isdisjoint(plan.tasks[plan.tasks.index(task) :]):
            return  # nothing stands behind it that it could delay
        problem = self._view.problem(time)
        before = self._view.problem(time, without=(task,))
        if problem is None or before is None:
            return
        inside = self._view.plan(problem, time)
        late = self._broken(problem, inside, time)
        if late <= self._broken(before, self._view.plan(before, time), time):
            if task in problem.tasks:  # else its hosts would be chosen anew as its deadline comes nearer, and be more
                self._queue.adopt(plan.with_choice(task, TaskPlan.of(problem, inside)))
            return
        self._queue.adopt(plan.reordered((*[name for name in plan.tasks if name != task], task)))
        self._make_room(task, time)

    def repair(self, time: float) -> None:
        """Find another place, or another way, for chains that are no longer planned to keep what was guaranteed.

        Hosts may have gone, a stage may have taken longer than predicted, or a restart may have forgotten the plan.
        """
        planned = [name for name in self._queue.planned if name in self._state.guaranteed]
        if not planned or not self._state.hosts.up():
            return
        problem, broken = self._view.problem(time), set(planned)
        if problem is not None:
            broken -= set(problem.tasks)  # those that no host can run now in their way
            broken |= self._broken(problem, self._view.plan(problem, time), time)
        stages = [self._state.tasks[name].stage for name in broken]
        for chain in sorted({stage.chain for stage in stages if stage is not None}):
            waiting = waiting_stages(self._state, chain)
            self._follow(chain, place_in_time(self._view, self._state, waiting, time) if waiting else None)

    def improve(self, time: float) -> None:
        """Lead one chain along a way of higher quality that is in time now.

        Runs may have ended sooner than predicted, hosts have come, or a better plan. Nobody else is made late by it:
        the chain goes into the holes of the plan without it. A few chains are looked at, of a long plan one or two, and
        the others next time.
        """
        left = _MOST_LOOKED_AT
        for chain in self._after_the_last():
            waiting = waiting_stages(self._state, chain)
            stage = waiting[0].stage if waiting else None
            if stage is None:
                continue
            better = [way for way in stage.open if stage.ways[way].quality > stage.quality]
            if not better or is_awaited(self._state, waiting):
                continue
            self.looked_at = chain
            trial = TrialPlan.now(self._view, self._state, time, waiting, {each.id for each in waiting})
            if trial is not None and (found := trial.best(waiting, better)) is not None:
                self._follow(chain, found)
                detail = f"quality {found[0].quality:g} in place of {stage.quality:g}: it is in time now"
                self._state.note(LogEntry(time, "better way", chain, detail))
                return
            left -= _OF_A_LOOK + len(self._queue.plan.tasks)
            if left <= 0:
                return

    def _after_the_last(self) -> tuple[str, ...]:
        """Return the chains, those first that came after the one which was looked at last."""
        chains = self._state.chains()
        first = chains.index(self.looked_at) + 1 if self.looked_at in chains else 0
        return (*chains[first:], *chains[:first])

    def led(self, problem: Problem, plan: Plan) -> Mapping[str, int]:
        """Return the chains that the search leads along another way than they have, with that way."""
        return chosen_ways(problem, plan, self._state)

    def lead(self, ways: Mapping[str, int], time: float) -> None:
        """Lead chains along other ways, as a plan has them that is taken over next."""
        for chain, way in ways.items():
            self._move(chain, way)
            self._state.note(LogEntry(time, "other way", chain, "the search found a better plan with it"))
        if ways:
            self._state.replan()

    def keeps_guarantees(
        self, problem: Problem, current: Plan, proposed: Plan, time: float, led: Mapping[str, int] = _NOT_LED
    ) -> bool:
        """Return whether a proposed plan makes no guaranteed stage late that is in time in the current one.

        Args:
            problem: in seconds from `time`.
            current: the plan in force.
            proposed: another one.
            time: epoch seconds.
            led: chains that have another way in it, which says by when each stage has to end.
        """
        if not self._state.guaranteed:
            return True
        late = broken_guarantees(problem, proposed, self._state, time, led)
        return late <= self._broken(problem, current, time)

    def cancel(self, task: Task, reason: str, time: float) -> None:
        """Cancel all of a chain, whichever of its tasks was named."""
        assert task.stage is not None
        for each in self._state.chain(task.stage.chain):
            if (live := self._state.tasks.get(each.id)) is not None:
                self._lifecycle.cancel(live, reason, time)

    def tend(self, time: float) -> None:
        """End the stages that no chosen way has, and begin turns, as chains have changed."""
        changed, ended = [], self._state.take_changed_chains()
        while ended:  # with the last stage of one, another may begin that comes after it
            changed += ended
            for chain in ended:
                self._end_unused(chain, time)
            ended = self._state.take_changed_chains()
        for chain in dict.fromkeys(changed):
            self._begin_turn(chain, time)

    def _begin_turn(self, chain: str, time: float) -> None:
        """Give the stages of a turn that begins now the deadlines that their model gives them from there on."""
        waiting = waiting_stages(self._state, chain)
        last = waiting[-1].stage if waiting else None
        if last is None or not last.last or not turn_begins(waiting) or self._state.predecessors(waiting[0]):
            return
        plan = self._queue.plan
        for task in in_turn(waiting, max(time, waiting[0].spec.begin or 0.0)):
            self._queue.change(self._state.tasks[task.id], task)
            self._state.put(task)
        self._queue.adopt(plan)  # they keep their places
        self._state.replan()

    def _end_unused(self, chain: str, time: float) -> None:
        """End stages that are not in the chosen way, once all before them have completed."""
        for task in self._state.chain(chain):
            if task.stage is None or not task.stage.unused or self._state.predecessors(task):
                continue
            why = "the way that was chosen has no such stage"
            self._lifecycle.ends.end_task(task.with_status(state=TaskState.COMPLETED, reason=why, finished=time))

    def _make_room(self, name: str, time: float) -> None:
        """Lead another chain along another way where a task with a deadline would be in time beside it."""
        task = self._state.tasks[name]
        if task.due is None or self._in_time(name, task.due, time):
            return
        for chain in reversed(self._state.chains()):
            waiting = waiting_stages(self._state, chain)
            stage = waiting[0].stage if waiting else None
            if stage is None or not stage.guaranteed or len(stage.open) < 2 or is_awaited(self._state, waiting):
                continue
            trial = TrialPlan.now(self._view, self._state, time, waiting, {each.id for each in waiting})
            if trial is None or (kept := trial.keeping(name, task.due)) is None:
                continue  # even without the chain it would be late
            if (found := kept.best(waiting, stage.open)) is not None:
                self._follow(chain, found)
                return

    def _in_time(self, name: str, due: float, time: float) -> bool:
        spans_of = {task: end for task, _, end, _ in self._view.spans(time) or ()}
        return time + spans_of.get(name, 0.0) <= due + EQUAL

    def _follow(self, chain: str, found: tuple[PlacedWay, TrialPlan] | None) -> None:
        """Take over a plan in which a chain has a place."""
        if found is None:
            return
        placed, trial = found
        if any(task.stage is not None and task.stage.way != placed.way for task in waiting_stages(self._state, chain)):
            self._move(chain, placed.way)
        self._queue.adopt(trial.task_plan())
        self._state.replan()

    def _move(self, chain: str, way: int) -> None:
        """Lead the stages of a chain that have not left along another way."""
        for task in waiting_stages(self._state, chain):
            moved = in_way(task, way)
            self._queue.remove(task.id)
            self._state.put(moved)
            if moved.stage is not None and not moved.stage.unused:
                self._queue.add(moved)
                self._queue.searched((moved.id,))

    def _broken(self, problem: Problem, plan: Plan, time: float) -> set[str]:
        return broken_guarantees(problem, plan, self._state, time)
