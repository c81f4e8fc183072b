"""Documents of why a task waits, and what would save its deadline."""

from __future__ import annotations

from dataclasses import dataclass

from cosched.api.documents.predictions import ProfileView
from cosched.api.documents.stages import ChainView

__all__ = ["ExplanationView", "HostMoveView", "RescueView"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMoveView:
    """Hosts that an elastic task gave back for a task that waited for them.

    Attributes:
        hosts: their names; of shared ones it gave back what it was lent there.
        giver: the elastic task.
        taker: the task for which it gave them back.
        time: when the last of its jobs there had ended; null while one has not.
    """

    hosts: tuple[str, ...]
    giver: str
    taker: str
    time: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RescueView:
    """One thing that would have a task that is planned to be late end sooner, or in time.

    Attributes:
        kind: hold (another task), first (in the queue), hosts (another number of them) or deadline (a later one).
        task: the task to hold; empty for the others.
        name: its name, where both tasks are of one user.
        end: when it would end then; the deadline that would be met.
        saves: whether that is in time.
        made_late: how many other tasks would miss deadlines that they meet now.
        hosts: of hosts: how many; 0 for the others.
    """

    kind: str
    task: str
    name: str
    end: float
    saves: bool
    made_late: int
    hosts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationView:
    """The reasons of a task's state, its planned place, and changes that would help.

    Attributes:
        waits_for: for what a queued task waits; what one does that has left, or how it ended.
        planned_start: when it is to start; of one that runs or has ended, when it did.
        planned_end: likewise of its end.
        profile: its prediction as runs have corrected it by now, on the class of its planned hosts; null where it
            passes through, or has ended.
        end_low: before when a run in twenty ends that starts as planned; null where no uncertainty is known.
        end_high: after when one ends, likewise.
        rescues: what would save one that is planned to be late, the best first.
        planned_cores: of a task with several shapes the cores of each host in the planned one; 0 for others.
        chain: the tunable application of which it is a stage, with where each of its ways would run now; null for
            others.
        errors: the last lines that a task which failed wrote to its standard error, where they can be read.
        host_moves: hosts that elastic tasks gave back for it, or it for others: the last twenty times, in order.
    """

    task: str
    state: str
    waits_for: tuple[str, ...]
    planned_start: float | None
    planned_end: float | None
    planned_hosts: tuple[str, ...]
    slack: float | None
    would_change: tuple[str, ...]
    profile: ProfileView | None = None
    end_low: float | None = None
    end_high: float | None = None
    rescues: tuple[RescueView, ...] = ()
    planned_cores: int = 0
    chain: ChainView | None = None
    errors: tuple[str, ...] = ()
    host_moves: tuple[HostMoveView, ...] = ()
