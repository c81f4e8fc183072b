"""The elastic service shows the workers of elastic tasks, and takes the word of their leads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cosched.access.principals import ProofOfIdentity, Scope
from cosched.access.rate_limits import RateLimits
from cosched.api.documents import WorkersView, WorkerView
from cosched.api.problems import BusyError, ConflictError, NotFoundError
from cosched.app.elastic.offers import events_of, offer_of, resize_events
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.elastic.wishes import fewest_hosts
from cosched.coscheduler.events import LeadAnnounced, WorkerRefused
from cosched.coscheduler.places.hosts import predicted_end
from cosched.durations import format_duration
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.access.principals import Principal
    from cosched.api.documents import LeadMessage, OfferView, ResizeRequest
    from cosched.app.core_access import CoreClient
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.elastic.resize_counts import ResizeCounts
    from cosched.coscheduler.events import LeadEvent
    from cosched.store.store import Store, TaskHistory

__all__ = ["ElasticService", "WorkerCounts"]

_MOST_LINES = 1000.0  # of the log that a lead's words make at once
_MOST_LINES_A_SECOND = 0.1


class WorkerCounts(NamedTuple):
    """Counts of the workers of all elastic tasks now.

    Attributes:
        tasks: elastic tasks with a live lead.
        running: workers that run.
        wanted: workers that these tasks are to have: on their promised hosts, and on those that they stay lent.
        lent: workers on lent hosts, those that leave among them.
        leaving: workers that are to leave, or are being ended.
        drain: seconds that leaving takes, as learnt.
        width: hosts on which elastic tasks run, those of leads among them.
        resizes: how often they grew and shrank since the daemon's start.
        lent_seconds: of hosts on loans since then.
    """

    tasks: int
    running: int
    wanted: int
    lent: int
    leaving: int
    drain: float
    width: int
    resizes: ResizeCounts
    lent_seconds: float


class ElasticService:
    """Answers for elastic tasks. Methods may block; any thread may call them."""

    def __init__(self, core: CoreClient, store: Store) -> None:
        """Set up.

        Args:
            core: has the live tasks.
            store: has all attempts.
        """
        self._core = core
        self._store = store
        self._announced = RateLimits(_MOST_LINES_A_SECOND, _MOST_LINES)

    def workers(self, principal: Principal, task_id: str) -> WorkersView:
        """Return the workers of a task's last try.

        Raises:
            NotFoundError: there is no such task, for this user.
            ConflictError: it is not elastic.
        """
        task_id = self._store.identifier(task_id)
        found = self._store.history(task_id, 0)
        if found is None or not principal.may_see(found.task.owner):
            raise NotFoundError(f"there is no task {task_id[:80]!r}: `cosched task list` shows what there is")
        if found.task.spec.elastic is None:
            raise ConflictError(f"task {task_id} is not elastic: it has no workers")
        if found.task.spec.elastic.restart:
            raise ConflictError(
                f"task {task_id} checkpoints and is run again, without workers: `cosched task show {task_id}` tells of "
                "its starts"
            )
        expected, notes = self._core.ask(
            lambda core, time: (_expected_end(core, task_id, time), _notes(core, task_id, time))
        )
        return _workers_view(found, expected, notes)

    def offer(self, principal: Principal, task_id: str) -> OfferView:
        """Return what each worker of a running elastic task is to do.

        Raises:
            NotFoundError: there is no such task, for this user or lead.
            ConflictError: it does not run, or is not elastic.
        """
        task_id = self._store.identifier(task_id)
        return self._core.ask(lambda core, _time: offer_of(core, _lead(core, principal, task_id)))

    def tell(self, principal: Principal, task_id: str, message: LeadMessage) -> None:
        """Take what a lead says; on return it is on disk.

        Raises:
            NotFoundError, ConflictError: as `offer`.
            UserError: a value is at fault.
        """
        task_id = self._store.identifier(task_id)
        lead = self._core.ask(lambda core, _time: _lead(core, principal, task_id))
        self.take(lead, message)

    def resize(self, principal: Principal, task_id: str, wish: ResizeRequest) -> WorkersView:
        """Have a running elastic task keep to other numbers of hosts; return its workers and both of its ends.

        Raises:
            NotFoundError, ConflictError: as `offer`; or the number of its hosts cannot be wished for.
            UserError: a value is at fault.
        """
        task_id = self._store.identifier(task_id)

        def question(core: Coscheduler, time: float) -> list[LeadEvent]:
            lead = _lead(core, principal, task_id)
            _check_resizable(core, lead, wish)
            return resize_events(lead, wish, time)

        for event in self._core.ask(question):
            self._core.apply(event)
        return self.workers(principal, task_id)

    def take(self, lead: Attempt, message: LeadMessage) -> None:
        """Take what a live lead says.

        Raises:
            UserError: a value is at fault, or the lead announces itself or refuses too often.
        """
        events = events_of(lead, message, self._core.now())
        if message.drained or message.refused:
            # Each event is a commit: a list of workers that are not there would cost everybody much for little.
            leaving = self._core.ask(lambda core, _time: _leaving(core, lead.task))
            events = [each for each in events if getattr(each, "worker", None) in (None, *leaving)]
        for event in events:
            if isinstance(event, LeadAnnounced | WorkerRefused):  # each is kept as a line of the task's log
                pause = self._announced.take(lead.uuid, self._core.now())
                if pause > 0:
                    raise BusyError("this lead announces itself or refuses too often: say what has changed", pause)
            self._core.apply(event)

    def counts(self) -> WorkerCounts:
        """Count the workers of all elastic tasks."""
        return self._core.ask(_worker_counts)

    def leads(self) -> dict[str, tuple[Attempt, OfferView]]:
        """Return the live leads with what each is offered, by the UUIDs of their attempts."""
        return self._core.ask(_leads)


def _worker_counts(core: Coscheduler, time: float) -> WorkerCounts:
    live = core.leads()
    leads = [lead.lead for lead in live if lead.lead is not None]
    workers = [each for each in core.attempts.values() if each.worker]
    leaving = sum(each.leave_by is not None or each.state is AttemptState.CANCELLING for each in workers)
    lent = sum(each.loan for each in workers)
    lent_on = sum(each.loan and each.leave_by is None and each.state is not AttemptState.CANCELLING for each in workers)
    running = sum(each.state is AttemptState.RUNNING for each in workers)
    return WorkerCounts(
        tasks=len(leads),
        running=running,
        wanted=sum(len(lead.promised) for lead in leads) + lent_on,
        lent=lent,
        leaving=leaving,
        drain=core.elastic.drain,
        width=running + sum(len(lead.hosts) for lead in live if lead.state is AttemptState.RUNNING),
        resizes=core.elastic.resizes,
        lent_seconds=core.elastic.resizes.lent_seconds(workers, time),
    )


def _leads(core: Coscheduler, _time: float) -> dict[str, tuple[Attempt, OfferView]]:
    return {each.uuid: (each, offer_of(core, each)) for each in core.leads()}


def _leaving(core: Coscheduler, task: str) -> list[int]:
    return [each.worker for each in core.workers_of(task) if each.leave_by is not None]


def _lead(core: Coscheduler, principal: Principal, task_id: str) -> Attempt:
    """Return the lead of a task that the principal may speak for: itself, or its owner."""
    task, lead = core.tasks.get(task_id), core.attempt_of(task_id)
    if principal.how is ProofOfIdentity.LEAD:
        mine = core.attempts.get(principal.credential)
        if mine is not None and mine.lead is not None and mine.lead.whole_chain:
            return mine  # its stages are several tasks; it knows the one that it began with
        if lead is None or lead.uuid != principal.credential:
            raise ConflictError(f"this token is of another task than {task_id}, or of a try that has ended")
    elif task is None or Scope.SUBMIT not in principal.scopes or not principal.may_see(task.owner):
        raise NotFoundError(f"there is no task {task_id[:80]!r} that runs: `cosched task list` shows what there is")
    if lead is None or lead.lead is None:
        raise ConflictError(f"task {task_id} does not run, or is not elastic: it has no workers")
    return lead


def _check_resizable(core: Coscheduler, lead: Attempt, wish: ResizeRequest) -> None:
    assert lead.lead is not None
    if lead.lead.restarts:
        raise ConflictError(f"task {lead.task} checkpoints and is run again: cosched chooses its hosts")
    if lead.lead.whole_chain:
        raise ConflictError(f"task {lead.task} stays through the stages of its application, which say its hosts")
    fewest = fewest_hosts(core.tasks[lead.task])
    if wish.most is not None and 1 <= wish.most < fewest:
        raise UserError(f"most is {wish.most}: task {lead.task} runs on {fewest} hosts and more")


def _expected_end(core: Coscheduler, task: str, time: float) -> float | None:
    attempt = core.attempt_of(task)
    return None if attempt is None else predicted_end(attempt, time)


def _notes(core: Coscheduler, task: str, time: float) -> dict[str, str]:
    """Return remarks on workers that the manager has not started, by the UUIDs of their attempts."""
    found = {}
    for each in core.workers_of(task) if task in core.tasks else ():
        if waited := core.unstarted.waited(each.uuid, time):
            reason = core.unstarted.reason(each.uuid)
            found[each.uuid] = f"not started for {format_duration(waited)}{f': {reason}' if reason else ''}"
    return found


def _workers_view(found: TaskHistory, expected: float | None, notes: Mapping[str, str]) -> WorkersView:
    task = found.task
    lead = max((each for each in found.attempts if each.lead is not None), key=_created, default=None)
    workers = [each for each in found.attempts if each.worker and lead is not None and each.created >= lead.created]
    workers.sort(key=lambda each: (not each.state.live, each.worker if each.state.live else -each.worker))
    known = None if lead is None else lead.lead
    status = task.status
    begun = lead is not None and status.started is not None and status.predicted is not None
    return WorkersView(
        task=task.id,
        state=str(status.state),
        host="" if lead is None else lead.hosts[0],
        lead="" if known is None else known.address,
        drains=known is not None and known.drains,
        promised=() if known is None else known.promised,
        promised_end=(status.started or 0.0) + (status.predicted or 0.0) if begun else None,
        expected_end=expected,
        workers=tuple([_worker_view(each, notes.get(each.uuid, each.reason)) for each in workers]),
    )


def _created(attempt: Attempt) -> float:
    return attempt.created


def _worker_view(worker: Attempt, reason: str) -> WorkerView:
    leaving = worker.state.live and worker.leave_by is not None
    return WorkerView(
        worker=worker.worker,
        host=worker.hosts[0],
        state="leaving" if leaving else str(worker.state),
        promised=not worker.loan,
        since=worker.started,
        finished=worker.finished,
        leave_by=worker.leave_by,
        job=worker.job,
        reason=reason,
    )
