"""What is submitted, and what submitting it would lead to."""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.connector.native import Native  # noqa: TC001  the server reads annotations when it runs

__all__ = [
    "Effect",
    "Forecast",
    "ProfileView",
    "TaskRequest",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """A task to be submitted: an application of the catalogue by name, or a command.

    Attributes:
        application: name in the catalogue; empty where `command` is given.
        command: argument vector starting with an absolute path; runs once on each host.
        parameters: of the application.
        deadline: seconds since the epoch, ISO 8601 with a zone, or "now+2h30m".
        hosts: how many, as a number or a range "2-8"; limits what the scheduler may choose.
        model: the text of the user's own performance model (PSL), for a command; `parameters` are then the model's.
        profile: the user's own figures: run time in seconds on 1, 2, … hosts, null where that count cannot be used.
        name: for people.
        environment: additions to the environment.
        directory: working directory, absolute; empty for one that the connector makes.
        best_effort: accept the task although its deadline cannot be met.
        time_limit: seconds (or "2h") after which the manager may end it.
        notify: whom to tell of its end, or that it will be late: mailto:… and https://… addresses allowed here.
        after: identifiers of tasks that must complete before it may start; it is cancelled where one does not.
        prepare: argument vector, run on each host before the command; its failure fails the task.
        native: the job in the words of the domain's manager, as a user's own file has it; `command` is then for people.
    """

    application: str = ""
    command: tuple[str, ...] = ()
    parameters: dict[str, float | str] = field(default_factory=dict)
    deadline: float | str | None = None
    hosts: int | str | None = None
    model: str = ""
    profile: tuple[float | None, ...] | None = None
    name: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    directory: str = ""
    best_effort: bool = False
    time_limit: float | str | None = None
    prepare: tuple[str, ...] = ()
    notify: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    native: Native | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileView:
    """Predicted run time in seconds on 1, 2, … hosts, null where that count cannot be used, and who predicted.

    Attributes:
        seconds: as expected: half of the runs take longer.
        source: model or user.
        hardware: the resource model; empty for the user's own figures.
        low: what a run in twenty undercuts; null where no uncertainty is known.
        high: what a run in twenty exceeds; likewise.
    """

    seconds: tuple[float | None, ...]
    source: str
    hardware: str
    low: tuple[float | None, ...] | None = None
    high: tuple[float | None, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What one more task would do to those that wait already.

    Attributes:
        delayed: how many would end later.
        longest: by how much at most, seconds.
        made_late: how many of them would miss a deadline that they meet now.
    """

    delayed: int
    longest: float
    made_late: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a submission would lead to as things stand; nothing was stored.

    Attributes:
        profile: the prediction, corrected by what earlier runs taught; null for a task that passes through.
        planned_start: as the last in the queue, or earlier where its deadline asks for it.
        meets_deadline: null without a deadline or a prediction.
        earliest_deadline: the earliest that could be met if all hosts were free.
        effect: what it would do to the tasks that wait already; null where it has no place in the plan.
        offered: it would be late here, and neighbouring domains would be asked whether they end it sooner.
    """

    application: str
    name: str
    profile: ProfileView | None
    planned_start: float | None
    planned_end: float | None
    planned_hosts: tuple[str, ...]
    deadline: float | None
    meets_deadline: bool | None
    earliest_deadline: float | None
    effect: Effect | None = None
    offered: bool = False
