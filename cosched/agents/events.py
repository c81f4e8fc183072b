"""Events of an agent, beyond those of its core. Each carries its time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cosched.agents.agent_settings import AdvertisingSettings, Peer
    from cosched.agents.protocol.letters import Letter
    from cosched.coscheduler.task import Task

__all__ = ["AdvertisingChanged", "LetterFailed", "LetterReceived", "PeersChanged"]


@dataclass(frozen=True, slots=True)
class LetterReceived:
    """A letter came from an authenticated neighbour.

    Attributes:
        time: epoch seconds.
        letter: its sender is that neighbour.
        task: what the shell made of the document of a request or a commit: the task with its profile on this domain's
            hardware and its deadline by this domain's clock; without identifier and number. None for other letters.
        fault: why this domain will not run such a task; empty: it would.
    """

    time: float
    letter: Letter
    task: Task | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class LetterFailed:
    """A neighbour's letter could not be handled, and none of it was done.

    Its sender is told why.
    """

    time: float
    letter: Letter
    reason: str


@dataclass(frozen=True, slots=True)
class PeersChanged:
    """The list of neighbours, whole."""

    time: float
    peers: tuple[Peer, ...]


@dataclass(frozen=True, slots=True)
class AdvertisingChanged:
    """From now on services are told of in this way."""

    time: float
    advertising: AdvertisingSettings
