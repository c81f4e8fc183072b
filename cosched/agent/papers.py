"""What travels with a task: its name everywhere, its document, where it has been and how far it may still go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.agent.knowledge import Knowledge
    from cosched.agent.local import LocalDomain
    from cosched.agent.messages import TaskDocument
    from cosched.agent.records import Guest
    from cosched.agent.settings import AgentSettings
    from cosched.coscheduler.task import Task

__all__ = ["Papers", "Registry"]


@dataclass(frozen=True, slots=True)
class Papers:
    """Of one task.

    Attributes:
        uuid: the same wherever it goes.
        document: its deadline in epoch seconds.
        hops: how many domains it may still pass once it has left.
        visited: domains that have had it, this one last.
    """

    uuid: str
    document: TaskDocument
    hops: int
    visited: tuple[str, ...]

    def sent(self, time: float) -> TaskDocument:
        """Return the document as it is sent: its deadline in seconds from now."""
        return replace(self.document, deadline=self.document.deadline - time)


class Registry:
    """Issues papers; a guest keeps those it came with."""

    def __init__(
        self,
        settings: AgentSettings,
        knowledge: Knowledge,
        domain: LocalDomain,
        guest_of: Callable[[str], Guest | None],
    ) -> None:
        self._settings = settings
        self._knowledge = knowledge
        self._domain = domain
        self._guest_of = guest_of
        self._instance = UUID(settings.instance)

    def papers(self, task: Task) -> Papers | None:
        """Return a task's papers; None where it cannot be forwarded (any more)."""
        guest = self._guest_of(task.id)
        hops = self._settings.hops if guest is None else guest.hops
        if hops < 1 or task.deadline is None:
            return None
        if guest is not None:
            document = replace(guest.document, deadline=task.deadline)
            return Papers(guest.uuid, document, hops - 1, (*guest.visited, self._settings.name))
        own = self._knowledge.document(task, self._domain.hosts())
        uuid = str(uuid5(self._instance, f"task/{task.id}"))
        return None if own is None else Papers(uuid, own, hops - 1, (self._settings.name,))
