"""Events of the resource manager: its hosts, and what became of attempts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.connector.hosts import Host
    from cosched.connector.interface import StartDiagnosis
    from cosched.connector.jobs import JobReport
    from cosched.prediction.loads.host_load import HostLoad


__all__ = [
    "AdoptedJobGone",
    "AdoptedJobStarted",
    "AttemptAbsent",
    "AttemptBegun",
    "AttemptDiagnosed",
    "AttemptMissing",
    "AttemptSubmitted",
    "HostsObserved",
    "JobReported",
    "ManagerEvent",
    "PredictionPassed",
    "SubmitFailed",
]


@dataclass(frozen=True, slots=True)
class HostsObserved:
    """The connector's list of hosts, whole; a host that is missing from it is down.

    Attributes:
        loads: what the owners of hosts are expected to take of them; without those of dedicated hosts.
    """

    time: float
    hosts: tuple[Host, ...]
    loads: Mapping[str, HostLoad] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AttemptSubmitted:
    """The manager accepted an attempt."""

    time: float
    attempt: str
    job: str


@dataclass(frozen=True, slots=True)
class SubmitFailed:
    """A submit ended in an error; `message` says which.

    With `transient` and without `refused`, the manager may have the job all the same. Refused, the owner is at a limit
    of the manager's; of a user's own job, it alone cannot be let go now.
    """

    time: float
    attempt: str
    message: str
    transient: bool
    refused: bool = False


@dataclass(frozen=True, slots=True)
class JobReported:
    """The manager said something of an attempt's job (event, status or find).

    Attributes:
        more: whether another report or a tick follows at once: nothing leaves by this one, but by the last of them.
    """

    time: float
    report: JobReport
    more: bool = False


@dataclass(frozen=True, slots=True)
class AttemptMissing:
    """Neither queue nor history has known the attempt for the grace period.

    A submit may still be on its way.
    """

    time: float
    attempt: str


@dataclass(frozen=True, slots=True)
class AttemptAbsent:
    """Neither queue nor history knew the attempt after the grace, and it has been fenced."""

    time: float
    attempt: str


@dataclass(frozen=True, slots=True)
class AttemptBegun:
    """An attempt that was to be called back has begun, or ended: the manager goes on with it."""

    time: float
    attempt: str


@dataclass(frozen=True, slots=True)
class PredictionPassed:
    """An attempt runs for longer than predicted; its hosts are reckoned with for so many seconds in all from now on."""

    time: float
    attempt: str
    seconds: float


@dataclass(frozen=True, slots=True)
class AttemptDiagnosed:
    """The manager said why an attempt in its queue has not begun."""

    time: float
    attempt: str
    diagnosis: StartDiagnosis


@dataclass(frozen=True, slots=True)
class AdoptedJobGone:
    """The user's own job of a waiting task is no longer in the manager's queue."""

    time: float
    task: str


@dataclass(frozen=True, slots=True)
class AdoptedJobStarted:
    """The user's own job of a waiting task runs without cosched's doing."""

    time: float
    task: str


ManagerEvent = (
    AttemptSubmitted
    | SubmitFailed
    | JobReported
    | AttemptMissing
    | AttemptAbsent
    | AttemptBegun
    | AttemptDiagnosed
    | PredictionPassed
)
"""News of an attempt."""
