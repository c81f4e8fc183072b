"""Application services see the neighbouring domains here: through `NeighbourAccess`, agent or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cosched.coscheduler.explanation.explain import explain

if TYPE_CHECKING:
    from cosched.api.documents import NetworkView, PeerView
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.explanation.task_explanation import TaskExplanation

__all__ = ["NeighbourAccess", "NoNeighbours"]


class NeighbourAccess(Protocol):
    """The domain's agent and its neighbours, for the services."""

    @property
    def accepts_late(self) -> bool:
        """Return whether to accept a task that is late here but perhaps not elsewhere."""
        ...

    def explain(self, core: Coscheduler, task: str, time: float) -> TaskExplanation | None:
        """Explain a live task, with the outcome of offers; on the core's thread."""
        ...

    def forwarded_ends(self, core: Coscheduler) -> dict[str, float]:
        """Return when other domains expect to end tasks of this one (epoch seconds); on the core's thread."""
        ...

    def peers(self) -> list[PeerView]:
        """Return the neighbouring domains by name; none without an agent."""
        ...

    def network(self) -> NetworkView | None:
        """Return what the agent has done and how it is advised; None without an agent."""
        ...


class NoNeighbours:
    """The neighbours of a domain without an agent."""

    accepts_late = False

    def explain(self, core: Coscheduler, task: str, time: float) -> TaskExplanation | None:
        """Explain a live task."""
        return explain(core, task, time)

    def forwarded_ends(self, core: Coscheduler) -> dict[str, float]:  # noqa: ARG002
        """Return none."""
        return {}

    def peers(self) -> list[PeerView]:
        """Return none."""
        return []

    def network(self) -> NetworkView | None:
        """Return None."""
        return None
