"""Take in tasks, once for each idempotency key, and foresee their result.

Start at `SubmissionService.submit`.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from cosched.api.documents import Effect, Forecast
from cosched.api.problems import ConflictError, QuotaError
from cosched.app.neighbours.forwarding_status import forwarding_obstacle
from cosched.app.share_service import check_share_limits, check_share_of_hosts
from cosched.app.submission.admission import check_predecessors, earliest_end, offered_notice
from cosched.app.submission.chain_admission import by_chain, chain_notice, check_chains
from cosched.app.submission.chain_views import way_views
from cosched.app.submission.promise_views import promise_views
from cosched.app.views.task_views import profile_view, task_view
from cosched.coscheduler.changes import KeyedSubmission
from cosched.coscheduler.learnt_corrections import corrected_profile
from cosched.coscheduler.places.hosts import needs_on_host
from cosched.coscheduler.planning.what_if import PredictedPlacement, predict_placement
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import TaskRequest, TaskView
    from cosched.app.core_access import CoreClient
    from cosched.app.domain_status import CurrentDomain
    from cosched.app.neighbours.neighbour_access import NeighbourAccess
    from cosched.app.submission.admission import DomainState
    from cosched.app.submission.validation import TaskValidator
    from cosched.connector.jobs import LaunchMode
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task
    from cosched.prediction.profile import Profile
    from cosched.store.store import Store

__all__ = ["SubmissionService", "submission_state"]

_ADOPTED = "adopt:"  # what the keys of users' own jobs begin with
_LONGEST_KEY = 255  # characters
_MOST_FORESEEN = 100  # tasks of one dry run; each is predicted and placed by itself
_MOST_PLACES = 10_000  # stages of all ways of tunable tasks in one request: the core tries all of them at once
_MOST_PROMISED = 5  # elastic ones of it that are shown their ends: each takes sixteen decodes of the whole plan


def submission_state(domain: CurrentDomain, neighbours: NeighbourAccess, *, carries_mail: bool = True) -> DomainState:
    """Return what users' tasks are measured against: neighbours may meet deadlines that the domain cannot."""
    return replace(domain.state(), accepts_late=neighbours.accepts_late, carries_mail=carries_mail)


class SubmissionService:
    """Accepts tasks and forecasts their effect.

    Methods may block; any thread may call them.
    """

    def __init__(
        self,
        core: CoreClient,
        store: Store,
        validator: TaskValidator,
        state: Callable[[], DomainState],
        check_task: Callable[[str, LaunchMode], None],
        *,
        waiting: int,
        waiting_bytes: int,
    ) -> None:
        """Set up.

        Args:
            core: takes tasks in.
            store: knows earlier submissions and tasks.
            validator: makes tasks of requests.
            state: returns what tasks are measured against; see `submission_state`.
            check_task: raises UserError where the resource manager takes no tasks of a user, or none launched so.
            waiting: most tasks of one user that wait or run; operators may have more.
            waiting_bytes: most bytes of their text together.
        """
        self._core = core
        self._store = store
        self._validator = validator
        self._state = state
        self._check_task = check_task
        self._waiting = waiting
        self._waiting_bytes = waiting_bytes
        self._pending: dict[tuple[str, str], tuple[str, Future[Future[tuple[Task, ...]]]]] = {}

    def takes_long(self, requests: Sequence[TaskRequest]) -> bool:
        """Return whether a prediction of these tasks, which a submission needs, takes long."""
        return any(map(self._validator.is_tunable, {request.application for request in requests}))

    def submit(
        self,
        principal: Principal,
        requests: Sequence[TaskRequest],
        key: str,
        digest: str,
        check: Callable[[], None] = lambda: None,
    ) -> list[TaskView]:
        """Accept all tasks or none; on return they survive a crash.

        Args:
            principal: their owner.
            requests: the tasks.
            key: idempotency key of this owner, empty for none: the same key and digest again return the same tasks.
            digest: digest of the requests' content.
            check: called between tasks, before any is accepted; raises when the answer is not wanted any more.

        Raises:
            UserError: a request is at fault, or the key.
            ConflictError: the key was used for other requests.
            QuotaError: the owner has too many tasks, or too large ones.
            SystemFault: the core does not answer in time.
        """
        if key:
            _check_key(key)
            wanted = KeyedSubmission(key, digest, (), 0.0, principal.name)
            answer = self._accept_once(wanted, lambda: self._accept(principal, requests, wanted, check=check))
        else:
            answer = self._accept(principal, requests, None, check=check)
        accepted, state = self._core.wait(answer), self._state()
        return [
            replace(
                task_view(task),
                notice="" if place else _notice(chain, replace(state, time=task.submitted)),
                stages=() if task.stage is None else tuple([each.id for each in chain]),
            )
            for chain in by_chain(accepted)
            for place, task in enumerate(chain)
        ]

    def adopt(self, principal: Principal, request: Callable[[], TaskRequest], job: str) -> Task:
        """Accept the task of a job that its user submitted to the resource manager.

        On return it survives a crash.

        Args:
            principal: the job's owner.
            request: returns what the job asks for; called for a new job alone.
            job: the manager's key of the job: the same key again returns the same task.

        Raises:
            UserError: the request is at fault.
            QuotaError: the owner has too many tasks, or too large ones.
            SystemFault: the core does not answer in time.
        """
        wanted = KeyedSubmission(f"{_ADOPTED}{job}", job, (), 0.0, principal.name)
        answer = self._earlier(wanted) or self._accept(principal, [request()], wanted, job)
        return self._core.wait(answer)[0]

    def foresee(
        self, principal: Principal, requests: Sequence[TaskRequest], check: Callable[[], None] = lambda: None
    ) -> list[Forecast]:
        """Say what submitting these tasks would lead to, each for itself; store nothing.

        Args:
            principal: the user who asks.
            requests: the tasks.
            check: called between tasks; raises when the answer is not wanted any more.

        Raises:
            UserError: a request is at fault, or there are too many.
        """
        if len(requests) > _MOST_FORESEEN:
            raise UserError(
                f"a dry run has at most {_MOST_FORESEEN} tasks, not {len(requests)}: send some of them, or submit them"
            )
        state = self._state()
        forecasts, elastic = [], 0
        tasks = self._make(principal, requests, state, check, dry=True)

        def allowed(core: Coscheduler, _time: float) -> None:
            for task in tasks:
                check_share_of_hosts(core, task)

        self._core.ask(allowed)
        for chain in by_chain(tasks):
            check()
            elastic += chain[0].spec.elastic is not None
            forecasts.append(
                self._forecast(chain[0], state, promised=elastic <= _MOST_PROMISED)
                if chain[0].stage is None
                else self._chain_forecast(chain)
            )
        return forecasts

    def _accept(
        self,
        principal: Principal,
        requests: Sequence[TaskRequest],
        submission: KeyedSubmission | None,
        adopted: str = "",
        check: Callable[[], None] = lambda: None,
    ) -> Future[tuple[Task, ...]]:
        made = self._make(principal, requests, self._state(), check, adopted=bool(adopted))
        tasks = [self._validator.exploring(task) for task in made]
        if adopted:  # the manager has the job already: no description of it is handed over
            tasks = [replace(task, spec=replace(task.spec, adopted=adopted, native=None)) for task in tasks]
        if submission is not None:
            submission = replace(submission, created=tasks[0].submitted)
        quota = None if principal.is_operator else self._quota(principal, tasks)

        def allowed(core: Coscheduler) -> None:
            if quota is not None:
                quota(core)
            check_share_limits(core, tasks)
            check_chains(core, tasks, self._core.now())

        return self._core.accept(tasks, submission, allowed)

    def _quota(self, principal: Principal, tasks: Sequence[Task]) -> Callable[[Coscheduler], None]:
        """Return the check that a user's live tasks leave room for these; operators need none."""
        name, more, more_bytes = principal.name, len(tasks), sum(task.spec.text_bytes for task in tasks)

        def check(core: Coscheduler) -> None:
            live, used = core.tasks_by_owner.get(name, 0), core.bytes_by_owner.get(name, 0)
            if live + more > self._waiting:
                raise QuotaError(
                    f"{live} tasks of yours wait or run, and {self._waiting} may: submit {more} more when some have "
                    "ended"
                )
            if used + more_bytes > self._waiting_bytes:
                raise QuotaError(
                    f"your tasks that wait or run have {used} bytes of text, these would add {more_bytes}, and "
                    f"{self._waiting_bytes} may be: submit them when some have ended, or keep what is long in files"
                )

        return check

    def _make(
        self,
        principal: Principal,
        requests: Sequence[TaskRequest],
        state: DomainState,
        check: Callable[[], None] = lambda: None,
        *,
        dry: bool = False,
        adopted: bool = False,
    ) -> list[Task]:
        tasks: list[Task] = []
        launches: set[LaunchMode] = set()
        indices: set[int] = set()
        places = 0
        for number, request in enumerate(requests, start=1):
            check()
            try:
                made = self._validator.tasks(request, state, principal.name, dry=dry)
                if (index := request.array_index) is not None:
                    if index in indices:
                        raise UserError(f"another task of its array has the index {index}, too: give each its own")
                    indices.add(index)
                places += sum(len(task.stage.ways) for task in made if task.stage is not None)
                if number > 1 and places > _MOST_PLACES:
                    raise UserError(
                        f"the ways through these tunable tasks have more than {_MOST_PLACES} stages together: send the "
                        "others by themselves"
                    )
                if not adopted and made[0].spec.launch not in launches:
                    self._check_task(principal.name, made[0].spec.launch)
                    launches.add(made[0].spec.launch)
                tasks += [replace(task, owner=principal.name) for task in made]
            except UserError as error:
                if len(requests) == 1:
                    raise
                raise UserError(f"task {number} of {len(requests)}: {error}; none was accepted") from error
        tasks = [replace(task, spec=replace(task.spec, after=self._identifiers(task.spec.after))) for task in tasks]
        check_predecessors(tasks, self._store.task, principal)
        return tasks

    def _identifiers(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the identifiers of tasks; tasks of arrays may be named like 17_3."""
        return tuple(dict.fromkeys(map(self._store.identifier, names)))

    def _accept_once(
        self, wanted: KeyedSubmission, accept: Callable[[], Future[tuple[Task, ...]]]
    ) -> Future[tuple[Task, ...]]:
        """Return the answer to the first submission under this key.

        It may not be written yet.
        """
        name = (wanted.owner, wanted.key)
        begun: Future[Future[tuple[Task, ...]]] = Future()
        begun.set_running_or_notify_cancel()  # a caller whose wait times out cannot cancel it
        digest, first = self._pending.setdefault(name, (wanted.digest, begun))  # atomic: one of two at once begins
        if first is not begun:
            _check_same(wanted, digest)
            return self._core.wait(first)
        try:
            answer = self._earlier(wanted) or accept()
        except BaseException as error:
            del self._pending[name]
            begun.set_exception(error)
            raise
        begun.set_result(answer)
        answer.add_done_callback(lambda _answer: self._pending.pop(name))
        return answer

    def _earlier(self, wanted: KeyedSubmission) -> Future[tuple[Task, ...]] | None:
        submission = self._store.by_key(wanted.key, wanted.owner)
        if submission is None:
            return None
        _check_same(wanted, submission.digest)
        answer: Future[tuple[Task, ...]] = Future()
        answer.set_result(tuple(task for name in submission.tasks if (task := self._store.task(name)) is not None))
        return answer

    def _chain_forecast(self, chain: Sequence[Task]) -> Forecast:
        (admission, taken), alone = self._core.ask(
            lambda core, time: (core.foresee_ways(chain, time), core.ways(chain, time))
        )
        ways = way_views(chain, taken)
        placed, stage = admission.placed, chain[0].stage
        assert stage is not None
        late = placed is None or stage.deadline is None
        return Forecast(
            application=chain[0].spec.application,
            name=stage.title,
            profile=None,
            planned_start=None if placed is None else placed.starts[0],
            planned_end=None if placed is None else placed.end,
            planned_hosts=(),
            deadline=stage.deadline,
            meets_deadline=None if late else admission.in_time,
            earliest_deadline=min([way.end for way in alone], default=None),
            ways=tuple([replace(way, chosen=placed is not None and way.way == placed.way) for way in ways]),
        )

    def _forecast(self, task: Task, state: DomainState, *, promised: bool) -> Forecast:
        task, placement, classes = self._core.ask(lambda core, time: _with_placement(core, task, time))
        promises = self._core.ask(lambda core, time: promise_views(core, task, placement, time)) if promised else ()
        shape = task if placement is None or not placement.cores else task.shaped(placement.cores, ())
        memory, cores, gpus = self._core.ask(lambda core, _time: needs_on_host(shape.spec, core.domain.memory_per_core))
        unplanned = shape.spec.count if task.profile is None else 0
        profile = corrected_profile(shape, state.corrections)
        meets = None if placement is None or task.spec.deadline is None else placement.end <= task.spec.deadline
        offered = meets is False and state.accepts_late and not forwarding_obstacle(task)
        return Forecast(
            application=task.spec.application,
            name=task.spec.name,
            profile=None if profile is None else profile_view(profile.among(classes) if classes else profile),
            planned_start=None if placement is None else placement.start,
            planned_end=None if placement is None else placement.end,
            planned_hosts=() if placement is None else placement.hosts,
            deadline=task.spec.deadline,
            meets_deadline=meets,
            effect=None if placement is None else Effect(**asdict(placement.effect)),
            earliest_deadline=earliest_end(task, state),
            offered=offered,
            claim=task.status.claim,
            more_runs=self._validator.more_runs(task),
            evidence=None if profile is None else self._validator.evidence(shape, _count(placement, profile)),
            planned_cores=0 if placement is None else placement.cores,
            promises=promises,
            same=self._validator.same_runs(shape),
            count=unplanned if placement is None else len(placement.hosts),
            memory=memory,
            cores=cores,
            gpus=gpus,
            processes_per_host=shape.spec.processes_per_host,
            exclusive=shape.spec.exclusive,
        )


def _count(placement: PredictedPlacement | None, profile: Profile) -> int:
    return profile.best_count if placement is None else len(placement.hosts)


def _with_placement(core: Coscheduler, task: Task, time: float) -> tuple[Task, PredictedPlacement | None, set[str]]:
    """Return a new task with its claim, where it would run, and the classes of the hosts there."""
    task = core.with_granted_claim(task, time)
    placement = predict_placement(core, task, time)
    return task, placement, set() if placement is None else core.domain.classes_of(placement.hosts)


def _notice(chain: Sequence[Task], state: DomainState) -> str:
    """Return what the owner of a new task, or of all stages of one, is told of its deadline."""
    task = chain[0]
    if task.stage is not None:
        return chain_notice(chain)
    if task.profile is None and task.spec.deadline is not None and not task.in_transit:
        return (
            "nothing plans towards its deadline, as its run time is not known: give it (`--runtime`, `--profile`), or "
            "a model"
        )
    if task.status.claim == 0.0:
        return (
            "its deadline is not guaranteed, as it cannot be met or the budget of deadlines is used up: it takes turns "
            "with tasks without a deadline (`cosched share usage` shows the budget)"
        )
    return offered_notice(task, state)


def _check_key(key: str) -> None:
    if len(key) > _LONGEST_KEY or key.startswith(_ADOPTED):
        raise UserError(
            f"the idempotency key {key[:80]!r} cannot be used: one has at most {_LONGEST_KEY} characters, and those "
            f"that begin with {_ADOPTED!r} are cosched's own; take another key"
        )


def _check_same(wanted: KeyedSubmission, before: str) -> None:
    if wanted.digest != before:
        raise ConflictError(f"the idempotency key {wanted.key!r} was used for another request: take a new key")
