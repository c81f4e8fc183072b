"""Tickets travel with forwarded tasks: global name, document, visited domains, hops left.

`TaskKnowledge` describes a task for other domains; the daemon and the simulation implement it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol
from uuid import UUID, uuid5

from cosched.coscheduler.handovers import document_of, with_shapes
from cosched.prediction.profile import PredictionSource, Profile

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.agents.agent_settings import AgentSettings
    from cosched.agents.domain_view import DomainView
    from cosched.coscheduler.handovers import Guest, TaskDocument
    from cosched.coscheduler.task import Task

__all__ = ["TaskKnowledge", "Ticket", "TicketIssuer", "UserFiguresKnowledge", "describe_task"]


class TaskKnowledge(Protocol):
    """Describes tasks and their run times elsewhere.

    It reads models, for the agent does no I/O.
    """

    def document(self, task: Task, hosts: int) -> TaskDocument | None:
        """Return the document of one of our own tasks; None where it cannot be forwarded.

        Args:
            task: one that is no guest.
            hosts: number of hosts of this domain.
        """
        ...

    def profile(self, document: TaskDocument, hardware: str, hosts: int) -> Profile | None:
        """Return a task's run times on 1…hosts hosts of a resource model, or None.

        None means that they are not known here.
        """
        ...


class UserFiguresKnowledge:
    """Knows the user's own figures alone, and takes them for any hardware."""

    def document(self, task: Task, hosts: int) -> TaskDocument | None:
        """Return the task with its profile as the user's figures."""
        if task.profile is None:
            return None
        return describe_task(task, hosts, seconds=task.profile.seconds)

    def profile(self, document: TaskDocument, hardware: str, hosts: int) -> Profile | None:  # noqa: ARG002  other knowledge evaluates models on these hosts
        """Return the figures that came with the task."""
        figures = document.figures(hosts)
        return Profile(figures, PredictionSource.USER) if any(map(math.isfinite, figures)) else None


def describe_task(task: Task, hosts: int, *, seconds: tuple[float, ...] = ()) -> TaskDocument:
    """Return a task's document without a model; its deadline is still in epoch seconds.

    Args:
        task: one of our own.
        hosts: number of hosts of this domain.
        seconds: the user's own figures; of a task with several shapes those of all of them travel.
    """
    least, most = _host_range(task, hosts)
    document = document_of(task.spec, owner=task.owner, least=least, most=most, seconds=seconds)
    # Of processes of which one shape was left nobody knows whether its memory was asked for each: it keeps the shape.
    return with_shapes(document, task) if task.alternatives or task.spec.cores_range else document


def _host_range(task: Task, hosts: int) -> tuple[int, int]:
    """Return the fewest and the most hosts that a task's profile allows.

    Most is 0 where it can use all; more hosts in one shape would be more processes than were asked for.
    """
    if task.profile is None:
        return task.spec.count, task.spec.count
    finite = [count for count, value in enumerate(task.profile.seconds, start=1) if math.isfinite(value)]
    counted = bool(task.spec.processes) and not task.alternatives
    return finite[0], finite[-1] if counted or len(task.profile.seconds) < hosts else 0


@dataclass(frozen=True, slots=True)
class Ticket:
    """A forwarded task's global name, document and route.

    Attributes:
        uuid: the same in every domain.
        document: its deadline in epoch seconds.
        hops: how many domains it may still pass once it has left.
        visited: domains that have had it, this one last.
    """

    uuid: str
    document: TaskDocument
    hops: int
    visited: tuple[str, ...]

    def document_at(self, time: float) -> TaskDocument:
        """Return the document to send at a time, with its deadline in seconds from then."""
        return replace(self.document, deadline=self.document.deadline - time)


class TicketIssuer:
    """Issues tickets; a guest keeps the name and the document that it came with."""

    def __init__(
        self,
        settings: AgentSettings,
        knowledge: TaskKnowledge,
        domain: DomainView,
        guest_of: Callable[[str], Guest | None],
    ) -> None:
        self._settings = settings
        self._knowledge = knowledge
        self._domain = domain
        self._guest_of = guest_of
        self._instance = UUID(settings.instance)

    def issue(self, task: Task) -> Ticket | None:
        """Return a task's ticket; None where it cannot be forwarded (any more)."""
        guest = self._guest_of(task.id)
        hops = self._settings.hops if guest is None else guest.hops
        if hops < 1 or task.spec.deadline is None:
            return None
        if guest is not None:
            document = replace(guest.document, deadline=task.spec.deadline)
            return Ticket(guest.uuid, document, hops - 1, (*guest.visited, self._settings.name))
        own = self._knowledge.document(task, self._domain.hosts())
        # Numbers come again where an old backup of the database is restored; times of submission do not.
        uuid = str(uuid5(self._instance, f"task/{task.id}/{task.submitted!r}"))
        return None if own is None else Ticket(uuid, own, hops - 1, (self._settings.name,))
