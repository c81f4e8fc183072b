"""What the agent has to know of tasks beyond what the core does: how to describe them, how long they take elsewhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from cosched.agent.messages import NativeJob, Parameter, TaskDocument, Variable
from cosched.prediction.profile import Profile, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.coscheduler.task import Task

__all__ = ["FiguresOnly", "Knowledge", "document_of", "host_range"]


class Knowledge(Protocol):
    """Reads models; the agent itself does no I/O."""

    def document(self, task: Task, hosts: int) -> TaskDocument | None:
        """Return one of our own tasks as another domain has to know it; None where it cannot be forwarded.

        Args:
            task: not itself a guest.
            hosts: how many this domain has.
        """
        ...

    def profile(self, document: TaskDocument, hardware: str, hosts: int) -> Profile | None:
        """Return a task's run time on 1…hosts hosts of a resource model; None where that is not known here."""
        ...


class FiguresOnly:
    """Knowledge without models: what the user's own figures say holds on any hardware."""

    def document(self, task: Task, hosts: int) -> TaskDocument | None:
        """Return the task with its profile as the user's figures; see `Knowledge`."""
        if task.profile is None:
            return None
        return document_of(task, hosts, seconds=task.profile.seconds)

    def profile(self, document: TaskDocument, hardware: str, hosts: int) -> Profile | None:  # noqa: ARG002  other knowledge evaluates models on these hosts
        """Return the figures that came with the task; see `Knowledge`."""
        if not any(math.isfinite(value) for value in document.seconds[:hosts]):
            return None
        return Profile(document.seconds[:hosts], Source.USER)


def document_of(task: Task, hosts: int, *, seconds: tuple[float, ...] = ()) -> TaskDocument:
    """Return a task's document without a model; its deadline is still in epoch seconds."""
    least, most = host_range(task, hosts)
    return TaskDocument(
        name=task.name,
        application=task.application,
        owner=task.owner,
        deadline=math.inf if task.deadline is None else task.deadline,
        least=least,
        most=most,
        best_effort=task.best_effort,
        time_limit=task.time_limit,
        directory=task.directory,
        command=task.command,
        prepare=task.prepare,
        seconds=seconds,
        parameters=tuple(_parameter(name, value) for name, value in task.parameters.items()),
        environment=_variables(task.environment),
        native=None
        if task.native is None
        else NativeJob(task.native.manager, task.native.script, _variables(task.native.settings)),
    )


def _variables(values: Mapping[str, str]) -> tuple[Variable, ...]:
    return tuple(Variable(name, value) for name, value in values.items())


def _parameter(name: str, value: float | str) -> Parameter:
    text = isinstance(value, str)
    return Parameter(name, str(value) if text else repr(float(value)), number=not text)


def host_range(task: Task, hosts: int) -> tuple[int, int]:
    """Return the fewest and the most hosts that a task's profile allows; most 0: as many as there are."""
    if task.profile is None:
        return task.count, task.count
    finite = [count for count, value in enumerate(task.profile.seconds, start=1) if math.isfinite(value)]
    return finite[0], finite[-1] if len(task.profile.seconds) < hosts else 0
