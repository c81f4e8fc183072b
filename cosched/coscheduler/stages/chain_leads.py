"""Leads that stay for their whole chain: they go on with the next stage, on as many hosts as that has.

Each stage is a task, planned like any other stage. Its program says when it is done with one; start at
`ChainLeads.handle`. The lead then becomes the next stage's, keeps its host and the workers that this has room for, and
is given the others as soon as their hosts are idle, before what waits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import LogEntry
from cosched.coscheduler.elastic.wishes import staying
from cosched.coscheduler.sharing.shares import share_user
from cosched.coscheduler.stages.kept_hosts import kept_by_leads
from cosched.coscheduler.task import TaskState
from cosched.counts import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.attempts.lifecycle import AttemptLifecycle
    from cosched.coscheduler.events import StageDone
    from cosched.coscheduler.planning.planning_view import PlanningView
    from cosched.coscheduler.planning.task_queue import TaskQueue
    from cosched.coscheduler.stages.chains import Chains
    from cosched.coscheduler.stages.stage import StageInChain
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task

__all__ = ["ChainLeads"]

_OVER = "its stage is over"


class ChainLeads:
    """Has leads go on with the stages of their chains."""

    def __init__(
        self, state: CoreState, queue: TaskQueue, view: PlanningView, lifecycle: AttemptLifecycle, chains: Chains
    ) -> None:
        self._state = state
        self._queue = queue
        self._view = view
        self._lifecycle = lifecycle
        self._chains = chains

    def handle(self, event: StageDone) -> None:
        """Take a lead's word that it is done with a stage."""
        lead = self._state.attempts.get(event.attempt)
        if lead is None or lead.lead is None or lead.task != event.stage or lead.state is not AttemptState.RUNNING:
            return
        elastic = self._state.tasks[lead.task].spec.elastic
        over = lead.lead.stage_done is not None or lead.lead.gathers
        if elastic is None or not elastic.whole_chain or over:
            return
        status = replace(lead.lead, stage_done=event.time, revision=lead.lead.revision + 1)
        self._state.put_attempt(replace(lead, lead=status))

    def tend(self, time: float) -> None:
        """Let leads go on that are done with their stage, and begin stages once all their workers run."""
        for name in list(self._state.elastic):
            lead = self._state.attempt_of(name)
            if lead is None or lead.lead is None or lead.state is not AttemptState.RUNNING:
                continue
            if self._lifecycle.workers.ending(name):
                continue
            if lead.lead.stage_done is not None and (following := self._following(name)) is not None:
                self._go_on(lead, following, time)
            elif lead.lead.gathers:
                self._begin(lead, time)

    def goes_on(self, task: Task) -> bool:
        """Return whether another stage comes after one in the way that is chosen."""
        chain = () if task.stage is None else self._state.chain(task.stage.chain)
        return any(each.stage is not None and _follows(each.stage, task.stage) for each in chain)

    def _following(self, name: str) -> Task | None:
        """Return the stage that comes next in the chosen way and may be begun; None where there is none."""
        stage = self._state.tasks[name].stage
        for task in () if stage is None else self._state.chain(stage.chain):
            if task.stage is not None and _follows(task.stage, stage):
                return None if task.status.held_by else task
        return None

    def _go_on(self, lead: Attempt, following: Task, time: float) -> None:
        """Have a lead go on with the next stage, if hosts can be named for it."""
        assert lead.lead is not None
        done, workers = lead.lead.stage_done, self._state.workers_of(lead.task)
        assert done is not None
        count = following.spec.count
        kept = [each.hosts[0] for each in staying(workers)][: count - 1]
        seconds = self._state.corrections.expected_run_time(following, count)
        more, wait = self._others(lead, count - 1 - len(kept), seconds, time)
        if len(kept) + len(more) < count - 1 or self._lacks_room(following, count - len(lead.reckoned_hosts)):
            kept, more = [], ()  # who waits for hosts keeps none but its own, else two leads could wait for each other
        grace = 0.0 if following.spec.elastic is None else following.spec.elastic.grace
        for each in workers:
            if each.state is not AttemptState.CANCELLING and each.hosts[0] not in kept:
                self._lifecycle.cancels.give_up(replace(each, leave_by=time + grace), _OVER, time)
        if len(kept) + len(more) < count - 1:
            self._state.put_attempt(replace(lead, lead=replace(lead.lead, promised=())))
            return
        self._pass(lead, following, (*kept, *more), wait + seconds, time)

    def _pass(self, lead: Attempt, following: Task, promised: tuple[str, ...], seconds: float, time: float) -> None:
        """Give a lead to the next stage, and end the stage that it is done with."""
        assert lead.lead is not None
        before, done = self._state.tasks[lead.task], lead.lead.stage_done
        assert before.stage is not None
        assert done is not None
        stays = replace(lead.lead, job_of=lead.lead.job_of or lead.uuid)
        ended = replace(
            lead,
            uuid=str(uuid5(UUID(lead.uuid), str(before.stage.index))),
            state=AttemptState.COMPLETED,
            finished=done,
            lead=stays,
        )
        status = replace(
            lead.lead,
            promised=promised,
            most=None,
            enough=None,
            revision=lead.lead.revision + 1,
            stage_done=None,
            gathers=True,
        )
        going_on = replace(lead, task=following.id, predicted=seconds, created=time, started=None, lead=status)
        self._queue.remove(following.id)
        hosts = (*lead.hosts, *promised)
        self._state.hand_on(
            going_on,
            ended,
            following.with_status(
                state=TaskState.DISPATCHING,
                reason="",
                attempts=following.status.attempts + 1,
                hosts=hosts,
                dispatched=time,
                predicted=self._state.corrections.expected_run_time(following, len(hosts)),
                started=None,
            ),
        )
        self._chains.left(self._state.tasks[following.id])
        where = f"its program goes on with task {following.id} on {plural(len(hosts), 'host')}"
        self._state.note(LogEntry(time, "stage done", before.id, where))
        started = lead.started
        actual = None if started is None else done - started
        self._lifecycle.ends.end_task(
            before.with_status(state=TaskState.COMPLETED, reason="", started=started, finished=done, actual=actual)
        )
        self._begin(self._state.attempts[lead.uuid], time)
        self._chains.repair(time)

    def _begin(self, lead: Attempt, time: float) -> None:
        """Begin a stage whose workers all run."""
        assert lead.lead is not None
        task, workers = self._state.tasks[lead.task], self._state.workers_of(lead.task)
        there = {each.hosts[0] for each in workers if each.state is AttemptState.RUNNING}
        if not there.issuperset(lead.lead.promised):
            self._replace_lost(lead, {each.hosts[0] for each in workers}, time)
            return
        status = replace(lead.lead, gathers=False, revision=lead.lead.revision + 1)
        self._state.put_attempt(replace(lead, started=time, predicted=task.status.predicted, lead=status))
        self._state.put(task.with_status(state=TaskState.RUNNING, started=time))
        self._state.replan()

    def _replace_lost(self, lead: Attempt, held: set[str], time: float) -> None:
        """Replace hosts that have gone for a stage that waits for its workers."""
        assert lead.lead is not None
        up = set(self._state.hosts.up())
        stay = tuple([host for host in lead.lead.promised if host in up or host in held])
        if len(stay) == len(lead.lead.promised):
            return
        more, _ = self._others(lead, len(lead.lead.promised) - len(stay), lead.predicted or 0.0, time)
        if more:
            promised = (*stay, *more)
            self._state.put_attempt(replace(lead, lead=replace(lead.lead, promised=promised)))
            task = self._state.tasks[lead.task]
            self._state.put(task.with_status(hosts=(*lead.hosts, *promised)))

    def _lacks_room(self, task: Task, more: int) -> bool:
        return more > 0 and self._state.host_room().left(share_user(task)) < more

    def _others(self, lead: Attempt, count: int, seconds: float, time: float) -> tuple[Sequence[str], float]:
        """Return more hosts for a lead's next stage, those first that are idle, and the seconds until all are.

        None where there are too few that no lead keeps.
        """
        if count <= 0:
            return (), 0.0
        domain, needed = self._state.hosts, self._state.reservations.needed(time)
        offering = set(domain.offering(self._state.tasks[lead.task].spec.needs))
        mine = {host for each in self._state.workers_of(lead.task) for host in each.hosts}
        kept = kept_by_leads(self._state).keys() | mine | set(lead.reckoned_hosts)
        taken = self._view.taken(time)
        able = [host for host in domain.up() if host in offering and host not in kept]
        able = [host for host in able if needed.get(host, math.inf) >= max(taken.get(host, time) - time, 0.0) + seconds]
        able.sort(key=lambda host: taken.get(host, time))
        chosen = able[:count]
        if len(chosen) < count:
            return (), 0.0
        return chosen, max(max(taken.get(host, time) - time, 0.0) for host in chosen)


def _follows(stage: StageInChain, before: StageInChain | None) -> bool:
    return before is not None and stage.index == before.index + 1 and not stage.unused
