"""Validation makes tasks of requests and finds everything that could be wrong with them.

Start at `TaskValidator.task`; add a task field's check beside `_time_limit`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol

from cosched.api.deadlines import parse_begin, parse_deadline
from cosched.api.sizes import format_memory, parse_memory
from cosched.api.times import format_time, parse_duration
from cosched.app.notifications.transports import NotificationTargets
from cosched.connector.values import check_native_description, safe
from cosched.coscheduler.learnt_corrections import corrected_profile
from cosched.coscheduler.sharing.shares import fewest_hosts
from cosched.coscheduler.task import Task, TaskSpec, TaskState, shared_values
from cosched.errors import SystemFault, UserError
from cosched.prediction.profile import PredictionSource, Profile, slowest_profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import TaskRequest
    from cosched.app.run_history import RunHistory
    from cosched.connector.interface import Host
    from cosched.prediction.calibration import Correction
    from cosched.prediction.catalogue import Catalogue, CatalogueEntry, ParameterValue

__all__ = [
    "DomainState",
    "ProfilePredictor",
    "TaskValidator",
    "check_deadline_can_be_met",
    "check_predecessors",
    "checked_name",
    "checked_priority",
    "offered_notice",
]


def check_predecessors(
    tasks: Iterable[Task], find: Callable[[str], Task | None], principal: Principal | None = None
) -> None:
    """Refuse a task after one that does not exist, or that will never complete.

    Args:
        tasks: the new ones.
        find: the task of an identifier as it stands, None where there is none.
        principal: the user whose tasks may be predecessors; None if that was checked.

    Raises:
        UserError: a task is refused; the message says which.
    """
    for name in dict.fromkeys(name for task in tasks for name in task.spec.after):
        found = find(name)
        if found is None or (principal is not None and not principal.may_see(found.owner)):
            raise UserError(f"there is no task {name[:80]!r} to come after: `cosched task list` shows what there is")
        if found.status.state in (TaskState.FAILED, TaskState.CANCELLED, TaskState.CANCELLING):
            how = "failed" if found.status.state is TaskState.FAILED else "was cancelled"
            raise UserError(f"task {name} {how}: what comes after it would never start; submit that one again first")


_LONGEST_NAME = 200
_LONGEST_TASK = 1 << 20  # bytes of command, environment, model, script and so on together
_MOST_PREDECESSORS = 100
_MOST_PROCESSES_PER_HOST = 1024
_MOST_RETRIES = 100
_LARGEST_INDEX = 1 << 30
_MOST_NEEDED = 1 << 30
_NEEDED = ("memory", "cores", "gpus")
_LARGEST_PRIORITY = 1_000_000
_MOST_FILES = 64
_LARGEST_FILE = 1 << 60
_MOST_BYTES = 128 * 1024  # what one argument may have on Linux; a command of many is bounded by the task's length
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DIGEST = re.compile(r"[A-Za-z0-9]{0,64}", re.ASCII)
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


class ProfilePredictor(Protocol):
    """Answers "how long on n hosts?" from an application's model."""

    def profile(
        self, application: CatalogueEntry, values: Mapping[str, ParameterValue], hardware: str, hosts: int
    ) -> Profile:
        """Return the profile on 1…hosts hosts of one class.

        Raises:
            UserError: the model is at fault.
        """
        ...

    def text_profile(self, text: str, values: Mapping[str, float], hardware: str, hosts: int) -> Profile:
        """Return the same for a model that is given as text."""
        ...


@dataclass(frozen=True, slots=True)
class DomainState:
    """The domain's state that a new task is checked against.

    Attributes:
        time: now, seconds since the epoch.
        hosts: how many there are, up or not; 0 while the manager has not said.
        classes: resource models of the hosts as the manager names them; empty where it does not.
        corrections: learnt corrections of the models, by `Task.correction`.
        accepts_late: whether what will be late here is offered to neighbouring domains.
        sizes: the hosts with their memory, cores and GPUs.
    """

    time: float
    hosts: int
    classes: tuple[str, ...] = ()
    corrections: Mapping[str, Correction] = field(default_factory=dict)
    accepts_late: bool = False
    sizes: tuple[Host, ...] = ()


class TaskValidator:
    """Makes tasks of requests."""

    def __init__(
        self,
        catalogue: Catalogue,
        predictor: ProfilePredictor,
        hardware: str,
        connector: str = "local",
        targets: NotificationTargets | None = None,
        history: RunHistory | None = None,
    ) -> None:
        """Set up.

        Args:
            catalogue: the applications known by name.
            predictor: evaluates their models.
            hardware: resource model of hosts for which the manager names none.
            connector: name of the domain's connector, for which users' own files must be written.
            targets: addresses that tasks may have notified; None for none.
            history: predicts what has no model from earlier runs; None: nothing does.
        """
        self._connector = connector
        self._targets = targets or NotificationTargets()
        self._history = history
        self._catalogue = catalogue
        self._predictor = predictor
        self._hardware = hardware

    def knows(self, application: str) -> bool:
        """Return whether the catalogue has an application."""
        return any(entry.name == application for entry in self._catalogue.applications())

    def task(self, request: TaskRequest, domain: DomainState, owner: str = "") -> Task:
        """Return the task of a request, with its prediction; it has no number yet.

        Args:
            request: what is asked for.
            domain: what it is checked against.
            owner: whose runs may tell how long it takes; empty: nobody's.

        Raises:
            UserError: it cannot be done as asked; says what would be accepted.
            SystemFault: the manager has not yet said which hosts there are, and the task needs to know.
        """
        _check_native(request, self._connector)
        _check_launch(request)
        _check_retries(request.retries)
        _check_files(request)
        checked_priority(request.priority)
        if request.array_index is not None and not 0 <= request.array_index <= _LARGEST_INDEX:
            raise UserError(f"the index is {request.array_index}: give a number from 0 to {_LARGEST_INDEX}")
        self._targets.check(request.notify)
        if request.model and (request.application or request.profile is not None):
            raise UserError("a model of your own goes with a command, and without figures of your own: leave one out")
        task = self._catalogue_task(request, domain) if request.application else self._command_task(request, domain)
        _check_length(task.spec)
        _check_needs(task, domain)
        if task.profile is None and owner and self._history is not None:
            counts = self._counts(request, task.spec.count, domain)
            features, program = task.spec.features(owner), task.spec.program_digest
            task = replace(task, profile=self._history.profile(features, counts, domain.classes, program))
        check_deadline_can_be_met(task, domain)
        return task

    def _counts(self, request: TaskRequest, least: int, domain: DomainState) -> range:
        """Return the numbers of hosts that a task without a model may have.

        A command for which nobody named a range keeps the one that it would have: it may know of no others.
        """
        most = least
        if request.application:
            entry = self._catalogue.get(request.application)
            _, most = _host_range(request, domain, entry.hosts.min, entry.hosts.max)
        elif request.hosts is not None:
            _, most = _host_range(request, domain, 1, domain.hosts or 1_000_000)
        return range(least, most + 1)

    def _catalogue_task(self, request: TaskRequest, domain: DomainState) -> Task:
        if request.command and request.native is None:
            raise UserError("give an application or a command, not both")
        entry = self._catalogue.get(request.application)
        values = entry.values(request.parameters)
        least, most = _host_range(request, domain, entry.hosts.min, entry.hosts.max)
        profile, correction = None, ""
        if request.profile is not None:
            profile = _own_profile(request, least, most)
        elif entry.model:
            profile, hardware = self._model_profile(entry, values, domain, least, most)
            correction = f"{entry.name}/{hardware}"
        command = request.command or entry.arguments(values)
        return _task(
            request,
            domain,
            entry.name,
            command,
            profile,
            count=least,
            correction=correction,
            values=values,
            environment=entry.environment,
            prepare=entry.preparation(values),
        )

    def _model_profile(
        self, entry: CatalogueEntry, values: Mapping[str, ParameterValue], domain: DomainState, least: int, most: int
    ) -> tuple[Profile, str]:
        if not domain.hosts:
            raise SystemFault("the resource manager has not said yet which hosts there are: try again in a moment")
        classes = domain.classes or (self._hardware,)
        profiles = [
            replace(self._predictor.profile(entry, values, name, domain.hosts), hardware=name) for name in classes
        ]
        hardware = "+".join(classes)
        return slowest_profile(profiles, hardware).limited(most, least), hardware

    def _command_task(self, request: TaskRequest, domain: DomainState) -> Task:
        if not request.command:
            raise UserError("give an application of the catalogue, or a command")
        if request.parameters and not request.model:
            raise UserError(
                "parameters belong to applications of the catalogue and to models: put a command's into its arguments"
            )
        program = request.command[0]
        if not program.startswith("/") or program.endswith("/"):
            raise UserError(f"the command starts with {program[:80]!r}: give the program's absolute path")
        # Without a prediction nothing could choose among several counts: the task gets the smallest.
        least, most = _host_range(request, domain, 1, domain.hosts or 1_000_000)
        profile = None if request.profile is None else _own_profile(request, least, most)
        if request.model:
            profile = self._text_profile(request, domain).limited(most, least)
        name = PurePath(program).name
        return _task(request, domain, name, request.command, profile, count=least, values=request.parameters)

    def _text_profile(self, request: TaskRequest, domain: DomainState) -> Profile:
        if not domain.hosts:
            raise SystemFault("the resource manager has not said yet which hosts there are: try again in a moment")
        values = {name: _number(name, value) for name, value in request.parameters.items()}
        classes = domain.classes or (self._hardware,)
        profiles = [
            replace(self._predictor.text_profile(request.model, values, name, domain.hosts), hardware=name)
            for name in classes
        ]
        return slowest_profile(profiles, "+".join(classes))


def _task(
    request: TaskRequest,
    domain: DomainState,
    application: str,
    command: tuple[str, ...],
    profile: Profile | None,
    *,
    count: int,
    correction: str = "",
    values: Mapping[str, ParameterValue] | None = None,
    environment: Mapping[str, str] | None = None,
    prepare: tuple[str, ...] = (),
) -> Task:
    checked: dict[str, Any] = {
        "name": checked_name(request.name or application),
        "application": application,
        "command": _command(command),
        "parameters": dict(values or {}),
        "environment": _environment({**(environment or {}), **request.environment}),
        "directory": _absolute(request.directory, "directory"),
        "stdin": _absolute(request.stdin, "standard input"),
        "deadline": None if request.deadline is None else parse_deadline(request.deadline, domain.time),
        "begin": None if request.begin is None else parse_begin(request.begin, domain.time),
        "count": count,
        "prepare": _command(request.prepare or (() if request.native else prepare)),
        "after": _after(request.after),
        "time_limit": _time_limit(request.time_limit),
        "memory": parse_memory(request.memory),
    }
    spec = TaskSpec(**(shared_values(request, TaskSpec) | checked))
    return Task("", 0, domain.time, spec, profile=profile, correction=correction)


def _check_native(request: TaskRequest, connector: str) -> None:
    native = request.native
    if native is None:
        return
    if native.manager != connector:
        raise UserError(
            f"the file is written for {native.manager!r}, and this domain's resource manager is "
            f"{connector!r}: submit it where {native.manager!r} runs"
        )
    if request.stdin:
        raise UserError("a file of the user's own says itself what its program reads: leave stdin out")
    if request.prepare:
        raise UserError("a task from a file of the user's own has no preparation beside it: put it into the file")
    check_native_description(native)


def _check_launch(request: TaskRequest) -> None:
    if request.native is not None and request.launch.once:
        raise UserError("a file of the user's own says itself how its program is launched: leave launch and mpi out")
    if not 1 <= request.processes_per_host <= _MOST_PROCESSES_PER_HOST:
        raise UserError(
            f"processes per host is {request.processes_per_host}: give a number from 1 to {_MOST_PROCESSES_PER_HOST}"
        )
    if request.processes_per_host > 1 and not request.launch.once:
        raise UserError(
            "the command runs once on each host: for more processes give launch once, openmpi, mpich or intel"
        )


def _check_retries(retries: int) -> None:
    if not 0 <= retries <= _MOST_RETRIES:
        raise UserError(f"retries is {retries}: give a number from 0 to {_MOST_RETRIES}")


def _check_files(request: TaskRequest) -> None:
    sizes = request.file_sizes
    if len(sizes) > _MOST_FILES:
        raise UserError(f"file_sizes names {len(sizes)} files: give at most {_MOST_FILES}")
    for name, size in sizes.items():
        if not name or not 0 <= size <= _LARGEST_FILE:
            raise UserError(f"file_sizes says {size} of {name[:80]!r}: give a name, and its bytes from 0 on")
    if not _DIGEST.fullmatch(request.program_digest):
        raise UserError("program_digest is no digest: give at most 64 letters and digits")


def checked_priority(priority: int) -> int:
    """Return the priority of a task.

    Raises:
        UserError: it is out of bounds.
    """
    if abs(priority) > _LARGEST_PRIORITY:
        raise UserError(f"the priority is {priority}: give a number from -{_LARGEST_PRIORITY} to {_LARGEST_PRIORITY}")
    return priority


def _check_needs(task: Task, domain: DomainState) -> None:
    spec = task.spec
    if min(spec.needs) < 0 or max(spec.needs) > _MOST_NEEDED:
        raise UserError(f"it needs {spec.cores} cores and {spec.gpus} GPUs on each host: give numbers from 0 on")
    if not any(spec.needs):
        return
    if spec.native is not None:
        raise UserError("a file of the user's own says itself what its job needs: leave memory, cores and gpus out")
    able, least = sum(host.offers(*spec.needs) for host in domain.sizes), fewest_hosts(task)
    if domain.sizes and able < least:
        largest = [max(getattr(host, name) or 0 for host in domain.sizes) for name in _NEEDED]
        asked = [place for place, size in enumerate(spec.needs) if size]
        raise UserError(
            f"{able} hosts have {_needs_text(spec.needs, asked)} for a job, and the task needs {least:g} such hosts: "
            f"ask for less (the largest have {_needs_text(largest, asked)})"
        )


def _needs_text(sizes: Sequence[int], asked: Iterable[int]) -> str:
    words = f"{format_memory(sizes[0])} of memory", f"{sizes[1]} cores", f"{sizes[2]} GPUs"
    return ", ".join(words[place] for place in asked)


def _check_length(spec: TaskSpec) -> None:
    length = spec.text_bytes
    if length > _LONGEST_TASK:
        raise UserError(
            f"the task has {length} bytes of text: at most {_LONGEST_TASK} are allowed; keep what is long in files "
            "that its hosts can read"
        )


def _number(name: str, value: float | str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise UserError(f"{name[:80]} is {str(value)[:80]!r}: give a number") from error


def _own_profile(request: TaskRequest, least: int, most: int) -> Profile:
    assert request.profile is not None
    seconds = tuple(math.inf if value is None else float(value) for value in request.profile)
    if not seconds:
        raise UserError("the profile is empty: give the run time in seconds on 1, 2, … hosts")
    if not any(math.isfinite(value) for value in seconds[least - 1 : most]):
        raise UserError(f"the profile has no time for {_counted_hosts(least, most)}: it covers 1 to {len(seconds)}")
    return Profile(seconds, PredictionSource.USER).limited(most, least)


def _host_range(request: TaskRequest, domain: DomainState, least: int, most: int) -> tuple[int, int]:
    """Return the smallest and the largest host count that request, application and domain allow together."""
    if request.hosts is not None:
        match = _RANGE.fullmatch(str(request.hosts))
        low = int(match[1]) if match else 0
        high = int(match[2] or match[1]) if match else 0
        if isinstance(request.hosts, bool) or not 1 <= low <= high:
            raise UserError(f"hosts is {request.hosts!r}: give a number from 1, or a range such as 2-8")
        if low > most or high < least:
            raise UserError(
                f"hosts is {request.hosts}, and {request.application or 'this domain'} can use "
                f"{_counted_hosts(least, most)}: ask for a number among these"
            )
        least, most = max(least, low), min(most, high)
    if domain.hosts and least > domain.hosts:
        raise UserError(f"the task needs at least {least} hosts and the domain has {domain.hosts}: ask for fewer")
    return least, min(most, domain.hosts) if domain.hosts else most


def _counted_hosts(least: int, most: int) -> str:
    return f"{least} hosts" if least == most else f"{least} to {most} hosts"


def offered_notice(task: Task, domain: DomainState) -> str:
    """Say that a task is offered elsewhere, as no schedule here meets its deadline.

    Empty where that is not so: it could be met here, or the task is welcome late.
    """
    shortest = _unmeetable_run_time(task, domain)
    if shortest is None or task.spec.best_effort or not domain.accepts_late:
        return ""
    return (
        f"its deadline cannot be met here (the shortest prediction is {shortest:.4g} s), so it is offered to "
        "neighbouring domains; it runs here, late, if none of them ends it sooner"
    )


def check_deadline_can_be_met(task: Task, domain: DomainState) -> None:
    """Refuse a task whose shortest prediction misses its deadline, unless it is welcome late.

    Raises:
        UserError: so it is; says which deadline could be met.
    """
    if task.spec.best_effort or domain.accepts_late:
        return
    if task.profile is not None and task.profile.source is PredictionSource.HISTORY:
        return  # what other runs took is no reason to refuse this one
    shortest = _unmeetable_run_time(task, domain)
    if shortest is None or task.profile is None or task.spec.deadline is None:
        return
    earliest = math.ceil(_first_start(task, domain) + shortest)
    raise UserError(
        f"the deadline {format_time(task.spec.deadline)} cannot be met: the shortest prediction is {shortest:.4g} s, "
        f"on {task.profile.quickest.best_count} hosts; the earliest deadline that can be met is {format_time(earliest)}"
        " (or submit it as best effort)"
    )


def _unmeetable_run_time(task: Task, domain: DomainState) -> float | None:
    """Return the shortest predicted run time if even that misses the deadline, else None.

    The run would begin now, or as soon as the task may.
    """
    if task.spec.deadline is None:
        return None
    expected = corrected_profile(task, domain.corrections)
    if expected is None:
        return None
    shortest = expected.quickest.shortest
    return shortest if _first_start(task, domain) + shortest > task.spec.deadline else None


def _first_start(task: Task, domain: DomainState) -> float:
    return max(domain.time, task.spec.begin or 0.0)


def checked_name(name: str) -> str:
    """Return the name of a task.

    Raises:
        UserError: it is too long, or could break a line.
    """
    if len(name) > _LONGEST_NAME:
        raise UserError(f"the task name has {len(name)} characters: at most {_LONGEST_NAME} are allowed")
    return str(safe(name, "the task name"))


def _command(command: tuple[str, ...]) -> tuple[str, ...]:
    for argument in command:
        if "\0" in argument:
            raise UserError(f"the argument {argument[:80]!r} contains a zero byte: leave it out")
        if len(_encoded(argument)) >= _MOST_BYTES:
            raise UserError(f"the argument {argument[:40]!r}… has more than {_MOST_BYTES} bytes: put it into a file")
    return tuple(command)


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    for name, value in environment.items():
        if not _VARIABLE.fullmatch(name):
            raise UserError(f"{name[:80]!r} cannot name an environment variable: use letters, digits and '_'")
        if name.startswith("COSCHED_"):
            raise UserError(f"the environment variable {name} is set by cosched itself: choose another name")
        if "\0" in value or len(_encoded(value)) >= _MOST_BYTES:
            raise UserError(f"the environment variable {name} has a zero byte or is too long: shorten it")
    return dict(environment)


def _absolute(path: str, what: str) -> str:
    if path and (not path.startswith("/") or "\0" in path):
        raise UserError(f"the {what} {path[:80]!r} is not an absolute path: write it from / on")
    return str(safe(path, f"the {what}"))


def _after(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(names) > _MOST_PREDECESSORS:
        raise UserError(f"the task comes after {len(names)} others: at most {_MOST_PREDECESSORS} are allowed")
    return tuple(dict.fromkeys(names))


def _time_limit(given: float | str | None) -> float | None:
    if given is None:
        return None
    limit = parse_duration(given)
    if limit <= 0:
        raise UserError("the time limit is 0: give the seconds after which the task may be ended, or leave it out")
    return limit


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"{text[:80]!r} contains half of a surrogate pair: leave it out") from error
