"""Documents for administrators: notices, the configuration in force, health."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ConfigurationEntry",
    "HealthCheck",
    "HealthReport",
    "MistakeView",
    "NoticeRequest",
    "NoticeView",
    "ProcessView",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeRequest:
    """One line for everybody, shown on all pages until a time."""

    text: str
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeView:
    """A line that an administrator tells everybody.

    Attributes:
        until: when it is no longer shown.
        by: the administrator who wrote it.
    """

    id: str
    text: str
    until: float
    by: str
    created: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationEntry:
    """One key of the configuration in force.

    Attributes:
        key: name with dots, e.g. "planning.seed".
        value: as JSON text; empty where it is a secret.
        origin: "default", the file, or the environment's variable.
        secret: whether the value is kept from readers.
    """

    key: str
    value: str
    origin: str
    secret: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """State of one part of the daemon.

    Attributes:
        part: "Resource manager", "Database" …
        state: "well", "watch" (works, and needs a look) or "broken".
        finding: what is so, in sentences or figures.
        advice: what to do; empty where nothing is to be done.
    """

    part: str
    state: str
    finding: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessView:
    """A process of the daemon's.

    Attributes:
        pid: its number.
        purpose: what it does.
        memory: bytes that it occupies.
        seconds: processor time that it has had.
        started: when it began.
    """

    pid: int
    purpose: str
    memory: int
    seconds: float
    started: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MistakeView:
    """An event that cosched could not handle, or anything else that it did wrong."""

    time: float
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """State of the daemon, for an administrator who looks for a fault.

    Attributes:
        time: now.
        checks: one for each part, broken ones first.
        processes: the daemon and those that it has started.
        mistakes: the last ones since its start, newest first.
    """

    time: float
    checks: tuple[HealthCheck, ...]
    processes: tuple[ProcessView, ...]
    mistakes: tuple[MistakeView, ...]
