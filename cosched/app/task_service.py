"""The task service lists, shows, explains, changes and cancels tasks.

Another user's task is as absent as one that never was. New tasks: `cosched.app.submission.submissions`.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from cosched.api.deadlines import parse_begin, parse_deadline
from cosched.api.documents import TaskChange, TaskPage
from cosched.api.problems import ConflictError, NotFoundError
from cosched.api.runtimes import parse_shape_runtimes
from cosched.app.elastic.loans import host_moves
from cosched.app.expected_ends import expected_ends, late_tasks
from cosched.app.share_service import check_share_of_hosts
from cosched.app.submission.admission import check_deadline_can_be_met, check_licences, check_needs
from cosched.app.submission.chain_views import chain_view
from cosched.app.submission.field_checks import (
    checked_array_limit,
    checked_name,
    checked_priority,
    checked_retries,
    checked_time_limit,
)
from cosched.app.submission.similar_requests import request_like_task, with_other_hosts
from cosched.app.views.explanation_views import ended_explanation, explanation_view, rescue_view
from cosched.app.views.task_views import listed_view, task_detail, task_view
from cosched.coscheduler.edits import HostChoice, ShapeChoice, TaskEdit, edited, why_unchangeable
from cosched.coscheduler.events import CancelRequested, EditRequested, HoldRequested, ReleaseRequested
from cosched.coscheduler.explanation.rescue import other_hosts
from cosched.coscheduler.sharing.shares import share_user
from cosched.coscheduler.task import TaskState
from cosched.errors import CoschedError, SystemFault, UserError
from cosched.licence_requests import checked_amounts
from cosched.sizes import parse_memory
from cosched.store.selection import LateTasks

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.access.principals import Principal
    from cosched.api.documents import ExplanationView, RescueView, TaskDetail, TaskView
    from cosched.app.core_access import CoreClient
    from cosched.app.neighbours.neighbour_access import NeighbourAccess
    from cosched.app.outputs import TaskOutputs
    from cosched.app.submission.admission import DomainState
    from cosched.app.submission.validation import TaskValidator
    from cosched.connector.jobs import Output
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task
    from cosched.store.selection import TaskOrder, TaskSelection
    from cosched.store.store import Store

__all__ = ["EditChecks", "TaskService"]

_LOG_LINES = 200
_ERROR_BYTES, _ERROR_LINES = 2000, 5  # of a failed task's standard error, in its explanation


class TaskService:
    """Answers for tasks that were accepted. Methods may block; any thread may call them.

    Each raises `NotFoundError` for a task that the principal may not see, `SystemFault` where core or database fail.
    """

    def __init__(
        self,
        core: CoreClient,
        store: Store,
        outputs: TaskOutputs,
        neighbours: NeighbourAccess,
        edits: EditChecks,
    ) -> None:
        """Set up.

        Args:
            core: has the live tasks.
            store: has all tasks.
            outputs: texts that the tasks' processes wrote.
            neighbours: may have been asked about them.
            edits: checks changes.
        """
        self._edits = edits
        self._core = core
        self._store = store
        self._outputs = outputs
        self._neighbours = neighbours

    def tasks(
        self,
        principal: Principal,
        selection: TaskSelection,
        limit: int,
        offset: int,
        *,
        late: bool = False,
        order: TaskOrder | None = None,
    ) -> TaskPage:
        """Return the tasks of a selection that the principal may see.

        Args:
            principal: the user who asks.
            selection: conditions on the tasks.
            limit: how many at most.
            offset: how many of the first to pass over.
            late: only those that missed their deadline, or will as things stand.
            order: how they are sorted; newest first without one. Where it needs ends and has none, those of the plan.
        """
        if late:
            selection = replace(selection, late=self._core.ask(self._late_tasks))
        if order is not None and order.column.predicted and not order.expected:
            order = replace(order, expected=tuple(self._core.ask(self._expected_ends).items()))
        if not principal.is_operator:
            if selection.owner not in (None, principal.name):
                return TaskPage(tasks=(), total=0, limit=limit, offset=offset)
            selection = replace(selection, owner=principal.name)
        total = sum(self._store.counts(selection).values())
        found = self._store.listed(selection, limit, offset, order)
        return TaskPage(tasks=tuple(map(listed_view, found)), total=total, limit=limit, offset=offset)

    def _expected_ends(self, core: Coscheduler, time: float) -> dict[str, float]:
        return expected_ends(core, self._neighbours, time)

    def _late_tasks(self, core: Coscheduler, time: float) -> LateTasks:
        return LateTasks(time, tuple(late_tasks(core, self._neighbours, time)))

    def task(self, principal: Principal, task_id: str) -> TaskDetail:
        """Return all that is known of a task."""
        task_id = self._store.identifier(task_id)
        found = self._store.history(task_id, _LOG_LINES)
        if found is None or not principal.may_see(found.task.owner):
            raise _no_such_task(task_id)
        return task_detail(found.task, found.attempts, found.log, found.handovers)

    def state(self, principal: Principal, task_id: str) -> TaskState:
        """Return a task's state, which is much less to read than all that is known of it."""
        return self._find(principal, task_id).status.state

    def output(
        self, principal: Principal, task_id: str, stream: str, rank: int, attempt: int, offset: int, limit: int
    ) -> Output | None:
        """Return part of what a process of a task wrote; None where nothing is kept.

        Args:
            principal: the user who asks.
            task_id: the task.
            stream: "out" or "err".
            rank: rank of the process.
            attempt: number of the attempt, from 1; 0 for the last.
            offset: first byte; negative counts from the end.
            limit: most bytes.
        """
        return self._outputs.read(self._find(principal, task_id).id, stream, rank, attempt, offset, limit)

    def explain(self, principal: Principal, task_id: str) -> ExplanationView:
        """Say why a task is where it is."""
        task = self._find(principal, task_id)

        def question(core: Coscheduler, time: float) -> ExplanationView | None:
            found = self._neighbours.explain(core, task.id, time)
            if found is None:
                return None
            return replace(explanation_view(found, core), chain=chain_view(core, core.tasks[task.id], time))

        explained = self._core.ask(question)
        attempts = self._store.attempts(task.id) if task.spec.elastic is not None else ()
        if explained is None:
            task = self._find(principal, task.id)  # as it has ended
            explained = ended_explanation(task, attempts, self._last_errors(task))
        elif explained.rescues:
            explained = self._with_other_hosts(explained, task)
        return replace(explained, host_moves=host_moves((*attempts, *self._store.attempts_for(task.id))))

    def _last_errors(self, task: Task) -> list[str]:
        """Return the last lines of what a task that failed wrote to its standard error, as far as they can be read."""
        if task.status.state is not TaskState.FAILED or task.status.started is None:
            return []
        try:
            found = self._outputs.read(task.id, "err", 0, 0, -_ERROR_BYTES, _ERROR_BYTES)
        except CoschedError:  # its domain does not answer, or it is not kept: the explanation is worth having without
            return []
        lines = [] if found is None else found.data.decode(errors="replace").splitlines()
        return [line for line in lines if line.strip()][-_ERROR_LINES:]

    def _with_other_hosts(self, explained: ExplanationView, task: Task) -> ExplanationView:
        """Add the number of hosts that would save a late task, or help it; predicted where it has a fixed one."""
        wider = self._edits.on_any_hosts(task)

        def question(core: Coscheduler, time: float) -> RescueView | None:
            found = other_hosts(core, wider, time)
            if found is None or found.hosts > core.host_room().most(share_user(task)):
                return None
            return rescue_view(found, task, core)

        found = self._core.ask(question)
        if found is None:
            return explained
        *others, later = explained.rescues  # one that can have other hosts can have another deadline
        others.insert(sum(not _comes_before(found, each) for each in others), found)
        return replace(explained, rescues=(*others, later))

    def cancel(self, principal: Principal, task_id: str) -> TaskView:
        """Cancel a task; one that has ended stays as it is."""
        task_id = self._find(principal, task_id).id
        self._core.apply(CancelRequested(self._core.now(), task_id))
        return task_view(self._find(principal, task_id))

    def edit(self, principal: Principal, task_id: str, change: TaskChange) -> TaskView:
        """Give a waiting task other values, all or none of them.

        Raises:
            UserError: a value is at fault, or there is none.
            ConflictError: the task does not wait here any more.
        """
        found = self._find(principal, task_id)
        task_id, (edit, state) = found.id, self._edits.checked(change, found)

        def check(core: Coscheduler) -> None:
            task = edited(_waiting(core, task_id), edit)
            if edit.endangers_deadline:
                check_deadline_can_be_met(task, state)
            if edit.hosts is not None:
                check_share_of_hosts(core, task)
            if edit.needs and task.spec.native is not None:
                raise UserError("its own file says what its job needs: cancel it, and submit the changed file")
            if edit.needs:
                check_needs(task, state)

        self._core.apply(EditRequested(self._core.now(), task_id, edit, principal.name), check)
        return task_view(self._find(principal, task_id))

    def hold(self, principal: Principal, task_id: str) -> TaskView:
        """Keep a waiting task from being planned and started until it is released.

        Raises:
            ConflictError: the task does not wait here any more, or an operator holds it.
        """
        return self._request(
            principal, HoldRequested(self._core.now(), self._store.identifier(task_id), principal.name)
        )

    def release(self, principal: Principal, task_id: str) -> TaskView:
        """Have a held task planned again; one that nobody holds stays as it is.

        Raises:
            ConflictError: the task does not wait here any more, or an operator holds it.
        """
        return self._request(
            principal, ReleaseRequested(self._core.now(), self._store.identifier(task_id), principal.name)
        )

    def _request(self, principal: Principal, event: HoldRequested | ReleaseRequested) -> TaskView:
        self._find(principal, event.task)
        self._core.apply(event, lambda core: _check_holder(_waiting(core, event.task), principal))
        return task_view(self._find(principal, event.task))

    def _find(self, principal: Principal, task_id: str) -> Task:
        task = self._store.task(self._store.identifier(task_id))
        if task is None or not principal.may_see(task.owner):
            raise _no_such_task(task_id)
        return task


class EditChecks:
    """Makes edits of users' changes, checked as their submission was.

    Methods may block; any thread may call them.
    """

    def __init__(self, validator: TaskValidator, state: Callable[[], DomainState]) -> None:
        """Set up.

        Args:
            validator: predicts tasks on other hosts.
            state: returns what changes are measured against; see `submission_state`.
        """
        self._validator = validator
        self._state = state

    def checked(self, change: TaskChange, task: Task) -> tuple[TaskEdit, DomainState]:
        """Return the edit that a change asks for, and what it was measured against.

        Raises:
            UserError: a value is at fault, or there is none.
        """
        if change == TaskChange():
            raise UserError(
                "nothing is to be changed: give a deadline, a begin, hosts, a run time, a priority, a name, best "
                "effort, memory, cores, processes, gpus, exclusive, licences, retries, requeue, a time limit or how "
                "many of its array run at once"
            )
        _check_of_adopted(change, task)
        _check_of_stage(change, task)
        if change.array_at_most and not task.spec.array:
            raise UserError(f"task {task.id} is of no array: how many of one run at once cannot be said of it")
        state = self._state()
        reshaped = _reshapes(change, task)
        undated = isinstance(change.deadline, str) and change.deadline == "none"
        edit = TaskEdit(
            name=None if change.name is None else checked_name(change.name),
            deadline=None if undated or change.deadline is None else parse_deadline(change.deadline, state.time),
            without_deadline=undated,
            begin=_checked_begin(change.begin, state.time),
            best_effort=change.best_effort,
            priority=None if change.priority is None else checked_priority(change.priority),
            memory=None if change.memory is None or reshaped else parse_memory(change.memory),
            cores=None if reshaped else _whole_cores(change.cores),
            gpus=None if reshaped else change.gpus,
            exclusive=change.exclusive,
            licences=self._licences(change, task, state),
            retries=None if change.retries is None else checked_retries(change.retries),
            requeue=change.requeue,
            time_limit=_checked_time_limit(change.time_limit),
            array_at_most=None if change.array_at_most is None else checked_array_limit(change.array_at_most),
            hosts=(
                self._hosts(change, task, state, reshaped=reshaped)
                if reshaped or change.hosts is not None or change.runtime is not None
                else None
            ),
        )
        return edit, state

    def on_any_hosts(self, task: Task) -> Task:
        """Return a task with a prediction for all numbers of hosts that its application may have.

        One of which the catalogue does not know keeps the prediction that it has, as one that cannot be predicted anew.
        """
        spec = task.spec
        if spec.native is not None or task.alternatives or spec.elastic is not None:
            return task
        if not self._validator.knows(spec.application):
            return task
        like = request_like_task(task_detail(task, (), ()), task.submitted, catalogued=True)
        try:
            made = self._validator.task(replace(like, hosts=None, deadline=None, notify=()), self._state(), task.owner)
        except (UserError, SystemFault):
            return task
        return task if made.profile is None else replace(task, profile=made.profile, correction=made.correction)

    def _licences(self, change: TaskChange, task: Task, state: DomainState) -> dict[str, int] | None:
        if change.licences is None:
            return None
        licences = checked_amounts(change.licences)
        check_licences(replace(task, spec=replace(task.spec, licences=licences)), state)
        return licences

    def _hosts(self, change: TaskChange, task: Task, state: DomainState, *, reshaped: bool) -> HostChoice:
        """Return the hosts and run times of a change, as a submission would get them."""
        detail = task_detail(task, (), ())
        like = request_like_task(detail, state.time, catalogued=self._validator.knows(task.spec.application))
        # Addresses were allowed when they were given; the deadline is looked at with all that the change says.
        request = replace(with_other_hosts(like, detail, change), deadline=None, notify=())
        if not reshaped:
            made = self._validator.task(request, state, task.owner)
            return _host_choice(made)
        needs = {
            name: value for name in ("memory", "gpus", "exclusive") if (value := getattr(change, name)) is not None
        }
        made = self._validator.task(replace(request, **needs), state, task.owner)
        takes = ShapeChoice(
            alternatives=made.alternatives,
            **{each.name: getattr(made.spec, each.name) for each in fields(ShapeChoice) if each.name != "alternatives"},
        )
        return replace(_host_choice(made), takes=takes)


def _host_choice(made: Task) -> HostChoice:
    return HostChoice(made.spec.count, made.profile, made.correction, made.spec.model, made.spec.hosts_range)


# What the resource manager has read in the job's own description and keeps.
_OF_THE_JOB = ("hosts", "memory", "cores", "processes", "gpus", "exclusive", "retries", "requeue", "time_limit")


def _reshapes(change: TaskChange, task: Task) -> bool:
    """Return whether a change lets cosched choose what the task takes of each host, or the task has had that choice."""
    of_shapes = (change.hosts, change.runtime, change.memory, change.cores, change.processes, change.gpus)
    if any(value is not None for value in of_shapes) and task.spec.ranged:
        return True
    ranged = isinstance(change.cores, str) and not change.cores.isdecimal()
    return ranged or change.processes is not None or bool(parse_shape_runtimes(change.runtime or "", option=""))


def _whole_cores(cores: int | str | None) -> int | None:
    """Return a number of cores that is no range; None for no change."""
    return int(cores) if isinstance(cores, str) else cores


def _check_of_adopted(change: TaskChange, task: Task) -> None:
    wanted = [name for name in _OF_THE_JOB if getattr(change, name) is not None]
    if task.spec.adopted and wanted:
        says = "on how many hosts it runs" if wanted == ["hosts"] else f"its {', '.join(wanted).replace('_', ' ')}"
        raise UserError(
            f"task {task.id} is a job that was submitted to the resource manager itself, which says {says}: submit its "
            "file with cosched task submit --file"
        )


def _check_of_stage(change: TaskChange, task: Task) -> None:
    if task.stage is not None and (_reshapes(change, task) or change.hosts is not None or change.runtime is not None):
        raise UserError(
            f"task {task.id} is a stage of {task.stage.title}, whose model gives its hosts and run times: cancel it, "
            "which cancels all stages, and submit the application again with other --set values, or --least-quality"
        )


def _checked_time_limit(limit: float | str | None) -> float | None:
    """Return a new time limit in seconds: 0.0 for none, None for no change."""
    return 0.0 if limit == "none" else checked_time_limit(limit)


def _checked_begin(begin: float | str | None, now: float) -> float | None:
    """Return a new begin in epoch seconds: 0.0 for at once, None for none."""
    if begin is None:
        return None
    return 0.0 if begin == "now" else parse_begin(begin, now)


def _comes_before(one: RescueView, other: RescueView) -> bool:
    """Return whether the first is better advice: what one does to one's own task, before what is done to others'."""
    return (not one.saves, one.made_late) <= (not other.saves, other.made_late)


def _waiting(core: Coscheduler, task_id: str) -> Task:
    task = core.tasks.get(task_id)
    why = f"task {task_id} has ended: submit it again with other values" if task is None else why_unchangeable(task)
    if task is None or why:
        raise ConflictError(why)
    return task


def _check_holder(task: Task, principal: Principal) -> None:
    holder = task.status.held_by
    if holder not in ("", principal.name) and not principal.is_operator:
        raise ConflictError(f"task {task.id} is held by {holder}: ask them to release it")


def _no_such_task(task_id: str) -> NotFoundError:
    return NotFoundError(f"there is no task {task_id[:80]!r}: `cosched task list` shows what there is")
