"""An attempt at running a task, and its states."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from cosched.connector.hosts import HostShare

if TYPE_CHECKING:
    from cosched.coscheduler.elastic.values import LeadStatus


__all__ = ["Attempt", "AttemptState"]


class AttemptState(StrEnum):
    """State of an attempt; only SUBMITTING to CANCELLING are live.

    A task has at most one live attempt, beside its workers.
    """

    SUBMITTING = "submitting"  # written down; the submit may or may not have happened
    SUBMITTED = "submitted"  # the manager has it
    RUNNING = "running"
    HELD = "held"
    CANCELLING = "cancelling"  # must not run; waiting for the manager's word
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    CHECKPOINTED = "checkpointed"  # stopped with its work saved; its task is run again
    LOST = "lost"  # the manager knows nothing of it and never will (fenced)

    @property
    def live(self) -> bool:
        """True while the attempt may be running or may still start."""
        return self in _LIVE


_LIVE = frozenset(
    {AttemptState.SUBMITTING, AttemptState.SUBMITTED, AttemptState.RUNNING, AttemptState.HELD, AttemptState.CANCELLING}
)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at running a task, or a worker of an elastic one; its UUID is stored before it is submitted.

    Attributes:
        uuid: travels in the native job.
        hosts: pinned hosts in rank order; of a task that passes through where it runs, once the manager says so.
        predicted: for how many seconds its hosts are reckoned with: the corrected run time, or what `Settings.quantile`
            makes of it; None without a profile.
        job: native identifier once known.
        state: see `AttemptState`.
        created: when it was decided.
        memory: MiB that it takes of each shared host; 0 where it has its hosts for itself, as for cores and GPUs.
        cores: that it takes of each shared host, at least 1.
        gpus: that it takes of each shared host.
        part: part of each host that it is charged for.
        worker: number of the worker that it is; 0: it runs the task's command.
        loan: whether its host is lent: it leaves when the plan needs that.
        leave_by: epoch seconds by which it must have left; None for one that stays.
        lead: what is known of the lead of an elastic task; None for others.
        needed_by: waiting task for which it leaves its hosts; empty: it stays, or leaves for no one task.
    """

    uuid: str
    task: str
    hosts: tuple[str, ...]
    count: int
    predicted: float | None
    created: float
    state: AttemptState = AttemptState.SUBMITTING
    job: str = ""
    started: float | None = None
    finished: float | None = None
    exit_code: int | None = None
    reason: str = ""
    memory: int = 0
    cores: int = 0
    gpus: int = 0
    part: float = 1.0
    worker: int = 0
    loan: bool = False
    leave_by: float | None = None
    lead: LeadStatus | None = None
    needed_by: str = ""

    @property
    def reckoned_hosts(self) -> tuple[str, ...]:
        """Return its hosts; a lead's include the promised hosts of its workers."""
        return self.hosts if self.lead is None else (*self.hosts, *self.lead.promised)

    @property
    def share(self) -> HostShare | None:
        """Return what it takes of each of its hosts; None for the whole."""
        return HostShare(self.memory, self.cores, self.gpus) if self.cores else None

    @property
    def takes_hosts(self) -> bool:
        """Return whether its hosts are taken: the manager gives those of a held one to others meanwhile."""
        return self.state.live and self.state is not AttemptState.HELD

    def begins(self, now: float, handover: float) -> float:
        """Return when its job began or is expected to begin, epoch seconds.

        Args:
            now: epoch seconds.
            handover: seconds from a decision to the start of its job.
        """
        return max(self.created + handover, now) if self.started is None else self.started

    @property
    def leaves(self) -> bool:
        """Return whether it is a worker that has to leave, or is being ended."""
        return self.leave_by is not None or self.state is AttemptState.CANCELLING

    @property
    def charged_hosts(self) -> float:
        """Return how many hosts it is charged for.

        A lead is charged for those that its workers keep, and these for nothing.
        """
        return (self.count if self.lead is None else len(self.reckoned_hosts)) * self.part
