"""Records of both sides of a hand-over between domains, and the task as it travels.

Each side writes its record down before it acts: `Handover` where a task leaves, `Guest` where it arrives.
Names of fields of `TaskDocument` and its parts are the wire format and the format of stored guests; `document_of` and
`spec_of` say which fields of a task travel, and how.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from cosched.connector.jobs import LaunchMode
from cosched.connector.values import NativeDescription
from cosched.coscheduler.task import TaskSpec
from cosched.shared_values import shared_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.task import Task

__all__ = [
    "DocumentParameter",
    "DocumentShape",
    "Guest",
    "GuestState",
    "Handover",
    "HandoverState",
    "ModelBundle",
    "ModelBundleFile",
    "NamedText",
    "NativeJob",
    "TaskDocument",
    "document_of",
    "spec_of",
    "with_shapes",
]


@dataclass(frozen=True, slots=True)
class ModelBundleFile:
    """One file of a PSL model."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ModelBundle:
    """A PSL model with all it includes; `name` is the application object's."""

    name: str
    files: tuple[ModelBundleFile, ...]


@dataclass(frozen=True, slots=True)
class DocumentParameter:
    """A value of the application, with the number that enters the model under its name.

    `entry` is that number, None where none enters the model.
    """

    name: str
    value: str
    number: bool
    entry: float | None = None


@dataclass(frozen=True, slots=True)
class NamedText:
    """One addition to the environment."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class NativeJob:
    """A user's own file for its manager, in that manager's words.

    See `cosched.connector.values.NativeDescription`.
    """

    manager: str
    script: str = ""
    settings: tuple[NamedText, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentShape:
    """The user's own figure for one of the shapes in which a task may run.

    `cores` are those of each host; of a task that says its `processes` it is how many of these run on each host.
    """

    hosts: int
    cores: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TaskDocument:
    """A task as another domain has to know it.

    Attributes:
        seconds: the user's own figures by host count, infinite where impossible; empty where there is a model.
        model: the performance model; None where the user gave figures.
        least: fewest hosts.
        most: most hosts; 0: as many as there are.
        deadline: seconds from sending.
        application: name in catalogues, whose command runs with these parameters; empty: `command` runs as it is.
        prepare: runs before `command`, where that runs; empty for none.
        native: the job in a user's own file, if there is one; it runs only beside the manager named there.
        launch: None for a command that runs on each host: so domains of before `launch` understand all but the others.
        processes_per_host: None where `launch` is.
        stdin: None for a command without one, likewise.
        retries: None for a task that is not run again where it fails, likewise.
        memory: None for a task that does not say what it needs, likewise; so are cores and GPUs.
        cores: that it needs on each host.
        gpus: that it needs on each host.
        exclusive: None for a task that may share hosts, likewise.
        cores_range: numbers of cores of each host among which the domain that runs it chooses, "8-32"; None for a task
            of one shape, likewise, as are the fields after it.
        processes: numbers of ranks on all hosts together among which it chooses, "1-256".
        memory_per_process: MiB that each of these ranks needs, in place of `memory`.
        cores_per_process: that each of them needs.
        gpus_per_process: that each of them needs, in place of `gpus`.
        shapes: the user's own figures in place of `seconds`; empty where there is a model.
    """

    name: str
    application: str
    owner: str
    deadline: float
    least: int = 1
    most: int = 0
    best_effort: bool = False
    time_limit: float | None = None
    directory: str = ""
    command: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    seconds: tuple[float, ...] = ()
    model: ModelBundle | None = None
    parameters: tuple[DocumentParameter, ...] = ()
    environment: tuple[NamedText, ...] = ()
    native: NativeJob | None = None
    launch: LaunchMode | None = None
    processes_per_host: int | None = None
    stdin: str | None = None
    retries: int | None = None
    memory: int | None = None
    cores: int | None = None
    gpus: int | None = None
    exclusive: bool | None = None
    cores_range: str | None = None
    processes: str | None = None
    memory_per_process: int | None = None
    cores_per_process: int | None = None
    gpus_per_process: int | None = None
    shapes: tuple[DocumentShape, ...] = ()

    def figures(self, hosts: int) -> tuple[float, ...]:
        """Return the user's own figures on 1 to so many hosts; of several shapes the quickest on each number."""
        if not self.shapes:
            return self.seconds[:hosts]
        quickest = dict[int, float]()
        for shape in self.shapes:
            quickest[shape.hosts] = min(shape.seconds, quickest.get(shape.hosts, math.inf))
        most = min(max(quickest), hosts)
        return tuple([quickest.get(count, math.inf) for count in range(1, most + 1)])


_LATER_COUNTS = ("retries", "memory", "cores", "gpus")


def document_of(spec: TaskSpec, *, owner: str, least: int, most: int, seconds: tuple[float, ...] = ()) -> TaskDocument:
    """Return a spec as a document for another domain, without its model.

    Its deadline is in epoch seconds.

    Fields that are not named here are taken over as they are, where documents have them.
    """
    job = spec.native
    values: dict[str, Any] = {
        "owner": owner,
        "deadline": math.inf if spec.deadline is None else spec.deadline,
        "least": least,
        "most": most,
        "seconds": seconds,
        "model": None,
        "parameters": tuple(_parameter(name, value) for name, value in spec.parameters.items()),
        "environment": _texts(spec.environment),
        "native": None if job is None else NativeJob(job.manager, job.script, _texts(job.settings)),
        "launch": spec.launch if spec.launch.once else None,
        "processes_per_host": spec.processes_per_host if spec.launch.once else None,
        "stdin": spec.stdin or None,
        "exclusive": spec.exclusive or None,
        "cores_range": None,  # see `with_shapes`
        "processes": None,
        **{name: getattr(spec, name) or None for name in _LATER_COUNTS},
    }
    return TaskDocument(**(shared_values(spec, TaskDocument) | values))


def with_shapes(document: TaskDocument, task: Task) -> TaskDocument:
    """Return a document that leaves the choice among several shapes to its receiver.

    What each host is to have stays, and what grows with the ranks there is said for each rank. The user's own figures
    are those of the shapes that plans here consider.

    Args:
        document: of the task as if it had one shape.
        task: one that has several shapes, or a range of cores of which one was left.
    """
    needs: dict[str, Any] = {"cores": None, "cores_range": task.spec.cores_range or None}
    if task.spec.processes:
        each = task.spec.processes_per_host
        needs |= {"processes": task.spec.processes, "processes_per_host": None}
        needs["cores_per_process"] = task.spec.cores // each
        for name in ("memory", "gpus"):
            asked = getattr(task.spec, name)
            if asked and len({getattr(shape.spec, name) for shape in task.shapes()}) > 1:
                needs |= {name: None, f"{name}_per_process": asked // each}
    return replace(document, seconds=(), shapes=_shapes(task) if document.seconds else (), **needs)


def _shapes(task: Task) -> tuple[DocumentShape, ...]:
    found = []
    for shape in task.shapes():
        assert shape.profile is not None
        cores = shape.spec.processes_per_host if shape.spec.processes else shape.spec.cores
        times = enumerate(shape.profile.stated or shape.profile.seconds, 1)
        found += [DocumentShape(hosts, cores, seconds) for hosts, seconds in times if seconds < math.inf]
    return tuple(found)


def spec_of(document: TaskDocument, arrived: float) -> TaskSpec:
    """Return the spec that a document asks for, unchecked.

    `arrived` is the epoch time from which its deadline counts.
    """
    job = document.native
    arriving: dict[str, Any] = {
        "parameters": {each.name: _value(each) for each in document.parameters},
        "environment": _values(document.environment),
        "deadline": arrived + document.deadline,
        "count": document.least,
        "native": None if job is None else NativeDescription(job.manager, _values(job.settings), job.script),
        "model": "",
        "launch": document.launch or LaunchMode.EACH,
        "processes_per_host": document.processes_per_host or 1,
        "stdin": document.stdin or "",
        "exclusive": bool(document.exclusive),
        "cores_range": document.cores_range or "",
        "processes": document.processes or "",
        **{name: getattr(document, name) or 0 for name in _LATER_COUNTS},
    }
    return TaskSpec(**(shared_values(document, TaskSpec) | arriving))


def _parameter(name: str, value: float | str) -> DocumentParameter:
    text = isinstance(value, str)
    return DocumentParameter(name, str(value) if text else repr(float(value)), number=not text)


def _value(parameter: DocumentParameter) -> float | str:
    try:
        return float(parameter.value) if parameter.number else parameter.value
    except ValueError:  # a document may say that anything is a number; what takes the value refuses it
        return parameter.value


def _texts(values: Mapping[str, str]) -> tuple[NamedText, ...]:
    return tuple(NamedText(name, value) for name, value in values.items())


def _values(texts: tuple[NamedText, ...]) -> dict[str, str]:
    return {text.name: text.value for text in texts}


class HandoverState(StrEnum):
    """State of a task that we hand to another domain."""

    COMMITTING = "committing"  # the task is on its way; whether it has arrived is not known
    HELD = "held"  # it has arrived; we may still take it back
    GRANTED = "granted"  # it may start there; it is no longer ours to take back
    ENDED = "ended"
    REFUSED = "refused"
    RETURNED = "returned"  # the other domain gave it back unstarted
    RECLAIMED = "reclaimed"  # we took it back; the other domain finds the fence when it asks to start it

    @property
    def live(self) -> bool:
        """True while the other domain has the task, or may have."""
        return self in (HandoverState.COMMITTING, HandoverState.HELD, HandoverState.GRANTED)


@dataclass(frozen=True, slots=True)
class Handover:
    """One hand-over of a task to a neighbour. Times are epoch seconds.

    Attributes:
        uuid: UUID of the task, the same in every domain.
        epoch: grows with each hand-over of the task; the fence: nothing is permitted under an older one.
        task: its identifier here.
        why: the reason for the choice, one line for people.
        outcome: how it ended, one line; empty while it lives.
    """

    uuid: str
    epoch: int
    task: str
    peer: str
    state: HandoverState
    why: str
    created: float
    closed: float | None = None
    outcome: str = ""


class GuestState(StrEnum):
    """State of a task that another domain handed to us."""

    HELD = "held"  # it must not start before its origin permits it
    PERMITTED = "permitted"
    ENDED = "ended"  # its origin has to be told, until it confirms
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class Guest:
    """A task of a neighbour here.

    Attributes:
        uuid: UUID of the task; together with `peer` it names the guest.
        epoch: epoch of the hand-over that brought it.
        peer: the neighbour that handed it over.
        task: its identifier here.
        hops: how many more domains it may pass.
        visited: domains that have had it, this one not counted.
        document: the document as received, to be handed on.
        created: epoch seconds.
    """

    uuid: str
    epoch: int
    peer: str
    task: str
    state: GuestState
    hops: int
    visited: tuple[str, ...]
    document: TaskDocument
    created: float
