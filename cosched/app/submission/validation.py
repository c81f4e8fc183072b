"""Validation makes tasks of requests and finds everything that could be wrong with them.

Start at `TaskValidator.task`; a field by itself is checked in `field_checks`, against the domain in `admission`.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol

from cosched.api.deadlines import parse_begin, parse_deadline
from cosched.app.notifications.transports import NotificationTargets
from cosched.app.submission.admission import (
    check_deadline_can_be_met,
    check_licences,
    check_needs,
    check_partition,
    chosen_partition,
    has_hosts_in_partition,
    within_reach,
)
from cosched.app.submission.elastic_requests import (
    check_beside_workers,
    check_predicted,
    check_promisable,
    elastic_of,
    elastic_of_chain,
    with_grace_of,
    with_places,
)
from cosched.app.submission.field_checks import (
    check_fields,
    check_length,
    checked_command,
    checked_environment,
    checked_name,
    checked_path,
    checked_predecessors,
    checked_program,
    checked_time_limit,
    name_of_command,
    observed_parameters,
    with_needs_per_host,
)
from cosched.app.submission.shapes import asked_shapes, chosen_by_turn, of_shapes, with_whole_cores
from cosched.app.submission.stages import check_tunable_request, predicted_ways, split_parameters, stage_tasks
from cosched.connector.jobs import LaunchMode
from cosched.coscheduler.task import Task, TaskSpec
from cosched.counts import plural
from cosched.errors import SystemFault, UserError
from cosched.licence_requests import checked_amounts
from cosched.measurement.programs.watching import SHIM_VARIABLE
from cosched.prediction.profile import PredictionSource, Profile, slowest_profile
from cosched.shared_values import shared_values
from cosched.sizes import parse_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.api.documents import Evidence, NearRun, TaskRequest
    from cosched.app.submission.admission import DomainState
    from cosched.app.submission.run_history import RunHistory
    from cosched.app.submission.shapes import AskedShapes
    from cosched.app.submission.stages import ChainPredictor
    from cosched.prediction.catalogue import Catalogue, CatalogueEntry, ParameterValue

__all__ = ["ProfilePredictor", "TaskValidator"]

_MOST_FAULTS = 3  # shapes that are refused in a row, after which no larger one is looked at
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


class ProfilePredictor(Protocol):
    """Answers "how long on n hosts?" from an application's model."""

    def profile(
        self,
        application: CatalogueEntry,
        values: Mapping[str, ParameterValue],
        hardware: str,
        hosts: int,
        ranks: int = 0,
    ) -> Profile:
        """Return the profile on 1…hosts hosts of one class, each with so many ranks; 0: one for each processor.

        Raises:
            UserError: the model is at fault.
        """
        ...

    def text_profile(
        self, text: str, values: Mapping[str, float], hardware: str, hosts: int, ranks: int = 0
    ) -> Profile:
        """Return the same for a model that is given as text."""
        ...


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
        chains: ChainPredictor | None = None,
    ) -> None:
        """Set up.

        Args:
            catalogue: the applications known by name.
            predictor: evaluates their models.
            hardware: resource model of hosts for which the manager names none.
            connector: name of the domain's connector, for which users' own files must be written.
            targets: addresses that tasks may have notified; None for none.
            history: predicts what has no model from earlier runs; None: nothing does.
            chains: finds the ways through tunable applications; None: these are refused.
        """
        self._chains = chains
        self._connector = connector
        self._targets = targets or NotificationTargets()
        self._history = history
        self._catalogue = catalogue
        self._predictor = predictor
        self._hardware = hardware

    def knows(self, application: str) -> bool:
        """Return whether the catalogue has an application."""
        return any(entry.name == application for entry in self._catalogue.applications())

    def is_tunable(self, application: str) -> bool:
        """Return whether an application has several ways through its stages, which take long to predict."""
        return self.knows(application) and self._catalogue.get(application).tunable

    def tasks(
        self, request: TaskRequest, domain: DomainState, owner: str = "", *, dry: bool = False
    ) -> tuple[Task, ...]:
        """Return the task of a request, or those of all stages of a tunable application; see `task`."""
        if (entry := self._tunable(request)) is not None:
            return self._stage_tasks(entry, request, domain)
        return (self.task(request, domain, owner, dry=dry),)

    def task(
        self,
        request: TaskRequest,
        domain: DomainState,
        owner: str = "",
        predict: Callable[[int], Profile] | None = None,
        *,
        dry: bool = False,
    ) -> Task:
        """Return the task of a request, with its prediction; it has no number yet.

        Args:
            request: what is asked for.
            domain: what it is checked against.
            owner: whose runs may tell how long it takes; empty: nobody's.
            predict: returns the run times on hosts with so many ranks each, 0 for one on each processor; None: the
                catalogue's model or the request's own model or figures tell.
            dry: whether it is only looked at: of several shapes the next one has the same.

        Raises:
            UserError: it cannot be done as asked; says what would be accepted.
            SystemFault: the manager has not yet said which hosts there are, and the task needs to know.
        """
        if self._tunable(request) is not None:
            raise UserError(f"{request.application} is tunable, of several stages: submit it as a task of its own")
        if request.least_quality:
            raise UserError("a least quality is for tunable applications, which have ways of several: leave it out")
        request = self._launched(request)
        check_beside_workers(request)
        asked = asked_shapes(request, domain.sizes)
        if asked is None:
            task = self._one_task(with_whole_cores(request), domain, owner, predict=predict)
        else:
            task = self._best_shapes(asked, domain, owner, predict, dry=dry)
        if request.hosts is not None and not request.profile and not request.shapes:
            task = replace(task, spec=replace(task.spec, hosts_range=str(request.hosts)))
        check_predicted(task)
        check_promisable(task, domain)
        check_deadline_can_be_met(task, domain)
        return task

    def _one_task(
        self,
        request: TaskRequest,
        domain: DomainState,
        owner: str,
        asked: AskedShapes | None = None,
        predict: Callable[[int], Profile] | None = None,
    ) -> Task:
        """Return the task of a request in one shape, which may be one of several that are asked for."""
        check_fields(request, self._connector)
        request = with_needs_per_host(request)
        self._targets.check(request.notify)
        if request.model and (request.application or request.profile is not None):
            raise UserError("a model of your own goes with a command, and without figures of your own: leave one out")
        ranks = request.launch.ranks(request.processes_per_host)
        if asked is not None and asked.cores_range:
            ranks = int(request.cores)  # a program that may have more cores uses them
        made = self._catalogue_task if request.application else self._command_task
        domain = with_places(request, within_reach(request, domain))
        task = made(request, domain, ranks) if predict is None else _with_times(made, request, domain, predict(ranks))
        task = with_grace_of(task, request, domain, owner)
        if asked is not None:
            spec = replace(task.spec, cores_range=asked.cores_range, processes=asked.processes)
            task = replace(task, spec=spec)
        check_length(task.spec)
        check_partition(task, domain)
        check_needs(task, domain)
        check_licences(task, domain)
        if owner and self._history is not None and has_hosts_in_partition(task, domain):
            task = self._with_history(self._history, task, owner, request, domain)
        return task

    def _tunable(self, request: TaskRequest) -> CatalogueEntry | None:
        """Return the entry of a request for a tunable application; None for others."""
        return self._catalogue.get(request.application) if self.is_tunable(request.application) else None

    def _stage_tasks(self, entry: CatalogueEntry, request: TaskRequest, domain: DomainState) -> tuple[Task, ...]:
        if self._chains is None:
            raise UserError(f"{entry.name} is tunable, and nothing here finds the ways through it")
        check_tunable_request(request, entry)
        request = self._launched(request)
        check_fields(request, self._connector)
        request = with_needs_per_host(request)
        self._targets.check(request.notify)
        domain = within_reach(request, domain)
        values, control = split_parameters(entry, request.parameters)
        classes = domain.classes or (self._hardware,)
        given = {**entry.model_parameters(values), **control}
        ways = predicted_ways(self._chains, entry, given, classes, domain.hosts)
        task = _task(
            request,
            domain,
            entry.name,
            entry.stage_arguments(ways[0][0].stages[0].name, {**values, **dict(ways[0][0].stages[0].known)}),
            None,
            count=1,
            values=values,
            environment=entry.environment,
            prepare=entry.preparation(values),
        )
        task = replace(task, spec=replace(task.spec, elastic=elastic_of_chain(entry, values, domain)))
        tasks = stage_tasks(task, entry, ways, classes, request.least_quality)
        for each in tasks:
            check_length(each.spec)
            check_needs(each, domain)
        return tasks

    def _best_shapes(
        self,
        asked: AskedShapes,
        domain: DomainState,
        owner: str,
        predict: Callable[[int], Profile] | None,
        *,
        dry: bool,
    ) -> Task:
        """Return the task with the shapes that are worth a place in a plan; with any where nothing is predicted."""
        tasks, faults, in_a_row = list[Task](), list[UserError](), 0
        for request in asked.requests:  # ascending
            try:
                tasks.append(self._one_task(request, domain, owner, asked, predict))
                in_a_row = 0
            except UserError as fault:  # others may do: a model may know powers of two alone, hosts be too small
                faults.append(fault)
                in_a_row += 1
            if in_a_row == _MOST_FAULTS:
                break
        if not tasks:
            raise faults[0]
        if predicted := [task for task in tasks if task.profile is not None]:
            return of_shapes(predicted, domain.sizes)
        turn = 0
        if owner and self._history is not None:
            turn = self._history.turn(tasks[0].spec.features(owner), taken=not dry)
        return chosen_by_turn(tasks, turn)

    def _launched(self, request: TaskRequest) -> TaskRequest:
        """Return a request that is launched as its application's entry says where it does not say itself."""
        if not request.application or request.native is not None:
            return request
        entry = self._catalogue.get(request.application)
        launch = LaunchMode(entry.launch) if request.launch is LaunchMode.EACH else request.launch
        request = replace(request, launch=launch)
        request = replace(request, licences=request.licences or dict(entry.licences))
        if request.processes:
            return request
        if request.processes_per_host == 1 and not request.cores:
            request = replace(request, cores=entry.cores, processes=entry.processes)
        processes = entry.processes_per_host if request.processes_per_host == 1 else request.processes_per_host
        return replace(request, processes_per_host=processes)

    def more_runs(self, task: Task) -> int:
        """Return how many more runs a task without a prediction needs; 0 for none."""
        if task.profile is not None or self._history is None or not task.owner:
            return 0
        return self._history.more_runs(task.spec.features(task.owner))

    def evidence(self, task: Task, count: int) -> Evidence | None:
        """Return the earlier runs on which a task's prediction for a number of hosts rests; None for none."""
        if task.profile is None or self._history is None or not task.owner:
            return None
        return self._history.evidence(task.spec.features(task.owner), task.profile, count)

    def same_runs(self, task: Task) -> tuple[NearRun, ...]:
        """Return the newest earlier runs of what a task runs, with the same numbers."""
        if self._history is None or not task.owner:
            return ()
        return self._history.same_runs(task.spec.features(task.owner))

    def exploring(self, task: Task) -> Task:
        """Return a new task, now and then with a number of hosts to try.

        A deadline must leave twice the time that the slowest likely run takes, as the task may have to wait.
        """
        if self._history is None or task.profile is None or not task.profile.runs:
            return task
        if task.alternatives or task.spec.elastic is not None:
            return task
        longest = math.inf
        if task.spec.deadline is not None:
            start = max(task.submitted, task.spec.begin or 0.0)
            longest = 0.0 if task.spec.after else (task.spec.deadline - start) / 2
        return replace(task, profile=self._history.explored(task.spec.features(task.owner), task.profile, longest))

    def _with_history(
        self, history: RunHistory, task: Task, owner: str, request: TaskRequest, domain: DomainState
    ) -> Task:
        """Return a task with the prediction of earlier runs, or its own corrected."""
        features, program = task.spec.features(owner), task.spec.program_digest
        if task.profile is None:
            counts = self._counts(request, task.spec.count, domain)
            return replace(task, profile=history.profile(features, counts, domain.classes, program))
        profile = history.corrected(features, task.profile, domain.classes, program, task.spec.launch.value)
        name, slash, hardware = task.correction.partition("/")
        # What is left is learnt apart from how far the model alone is off.
        correction = f"{name}+runs/{hardware}" if slash and profile.stated else task.correction
        return replace(task, profile=profile, correction=correction)

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

    def _catalogue_task(self, request: TaskRequest, domain: DomainState, ranks: int) -> Task:
        entry = self._catalogue.get(request.application)
        values = entry.values(request.parameters)
        least, most = _host_range(request, domain, entry.hosts.min, entry.hosts.max)
        profile, correction = None, ""
        if request.profile is not None:
            profile = _own_profile(request, least, most)
        elif entry.model:
            profile, hardware = self._model_profile(entry, values, domain, ranks)
            profile = profile.limited(most, least)
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
        self, entry: CatalogueEntry, values: Mapping[str, ParameterValue], domain: DomainState, ranks: int
    ) -> tuple[Profile, str]:
        if not domain.hosts:
            raise SystemFault("the resource manager has not said yet which hosts there are: try again in a moment")
        classes = domain.classes or (self._hardware,)
        profiles = [
            replace(self._predictor.profile(entry, values, name, domain.hosts, ranks), hardware=name)
            for name in classes
        ]
        hardware = "+".join(classes)
        return slowest_profile(profiles, hardware), hardware

    def _command_task(self, request: TaskRequest, domain: DomainState, ranks: int) -> Task:
        if not request.command:
            raise UserError("give an application of the catalogue, or a command")
        values: Mapping[str, ParameterValue] = request.parameters
        if SHIM_VARIABLE in request.environment and not request.model:
            values = observed_parameters(request.parameters)
        elif request.parameters and not request.model:
            raise UserError(
                "parameters belong to applications of the catalogue, to models and to tasks that are observed: put a "
                "command's into its arguments"
            )
        program = checked_program(request.command[0])
        # Without a prediction nothing could choose among several counts: the task gets the smallest.
        least, most = _host_range(request, domain, 1, domain.hosts or 1_000_000)
        profile = None if request.profile is None else _own_profile(request, least, most)
        if request.model:
            profile = self._text_profile(request, domain, ranks).limited(most, least)
        named = replace(request, name=request.name or name_of_command(request.command))
        return _task(named, domain, PurePath(program).name, request.command, profile, count=least, values=values)

    def _text_profile(self, request: TaskRequest, domain: DomainState, ranks: int) -> Profile:
        if not domain.hosts:
            raise SystemFault("the resource manager has not said yet which hosts there are: try again in a moment")
        values = {name: _number(name, value) for name, value in request.parameters.items()}
        classes = domain.classes or (self._hardware,)
        profiles = [
            replace(self._predictor.text_profile(request.model, values, name, domain.hosts, ranks), hardware=name)
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
        "command": checked_command(command),
        "parameters": dict(values or {}),
        "environment": checked_environment({**(environment or {}), **request.environment}),
        "directory": checked_path(request.directory, "directory"),
        "stdin": checked_path(request.stdin, "standard input"),
        "deadline": None if request.deadline is None else parse_deadline(request.deadline, domain.time),
        "begin": None if request.begin is None else parse_begin(request.begin, domain.time),
        "count": count,
        "prepare": checked_command(request.prepare or (() if request.native else prepare)),
        "after": checked_predecessors(request.after),
        "time_limit": checked_time_limit(request.time_limit),
        "memory": parse_memory(request.memory),
        "licences": checked_amounts(request.licences),
        "processes": "",
        "elastic": elastic_of(request, domain),
        "partition": "" if request.native is None else chosen_partition(request.native.partitions, domain),
    }
    spec = TaskSpec(**(shared_values(request, TaskSpec) | checked))
    return Task("", 0, domain.time, spec, profile=profile, correction=correction)


def _with_times(
    made: Callable[[TaskRequest, DomainState, int], Task], request: TaskRequest, domain: DomainState, times: Profile
) -> Task:
    """Return the task of a request with these run times, on the numbers of hosts that it may have."""
    figures = tuple([value if math.isfinite(value) else None for value in times.seconds])
    task = made(replace(request, profile=figures), domain, 0)
    assert task.profile is not None  # of these figures
    counts = [count for count, value in enumerate(task.profile.seconds, 1) if math.isfinite(value)]
    return replace(task, profile=times.only(counts))


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
    given = [count for count, value in enumerate(seconds, 1) if math.isfinite(value)]
    if not any(least <= count <= most for count in given):
        only = f", only for {_counted_hosts(given[0], given[-1])}" if given else ""
        raise UserError(f"the profile has no time for {_counted_hosts(least, most)}{only}: give one in seconds")
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
        raise UserError(
            f"the task needs at least {plural(least, 'host')} and the domain has {domain.hosts}: ask for fewer"
        )
    return least, min(most, domain.hosts) if domain.hosts else most


def _counted_hosts(least: int, most: int) -> str:
    if least == most:
        return plural(most, "host")
    return f"{least} to {most} hosts"
