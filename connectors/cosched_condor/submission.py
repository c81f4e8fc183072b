"""From a launch to HTCondor's submit language."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.connector import SafeValue, safe
from cosched.connector.templating import render
from cosched.errors import UserError
from cosched_condor.eventlog import note
from cosched_condor.native import conjunction, lines, merged_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cosched.connector import Launch
    from cosched_condor.attempts import Attempts
    from cosched_condor.settings import CondorSettings

__all__ = ["Batch", "Description", "batches", "describe", "in_parallel"]

_HOST_NAME = "a host's name"
_DAY = 86400
_OWNER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@-]{0,127}\Z")
_PINNED = 'TARGET.Machine == "$(CoschedHost)"'


@dataclass(frozen=True, slots=True)
class Description:
    """A launch in HTCondor's words. Launches whose texts are the same may be processes of one cluster.

    Attributes:
        text: the submit description, in which the items' variables are still to be filled in.
        items: the variables of each process.
        alone: it must have a cluster of its own.
    """

    text: str
    items: tuple[Mapping[str, str], ...]
    alone: bool = False


def describe(launch: Launch, settings: CondorSettings, attempts: Attempts) -> Description:
    """Return the submit description of a launch and the item of each of its processes.

    Raises:
        UserError: a value cannot be carried safely.
    """
    parallel = in_parallel(launch, settings)
    limit = 0 if launch.time_limit is None else math.ceil(launch.time_limit)
    values: dict[str, SafeValue | int | bool | list[SafeValue]] = {
        "log": _path(attempts.logs.current, "the spool"),
        "machines": launch.count,
        "spooled": settings.spooled,
        "own": launch.native is None,
        "parallel": parallel,
        "keep_seconds": int(settings.keep_days * _DAY),
        "owner": _account(launch.owner),
        "group": safe(settings.accounting_group, "the accounting group"),
        "commands": lines(launch),
        "logs_elsewhere": launch.native is not None and "log" in launch.native.settings,
        "variables": _variables(launch, settings),
        "requirements": conjunction(launch.native, "requirements", _place(launch, settings), "&&"),
        "periodic_remove": conjunction(launch.native, "periodic_remove", _over(limit), "||"),
        "job_lease": settings.job_lease,
        "keep_claim": settings.keep_claim,
        "time_limit": limit,
        "request_cpus": settings.request_cpus,
        "request_memory": settings.request_memory,
        "request_disk": settings.request_disk,
        "request_gpus": settings.request_gpus,
    }
    # A user's own commands may speak of $(ProcId), which is the rank only where the cluster is the attempt's. And
    # HTCondor starts all jobs of the parallel universe that are one cluster together.
    alone = launch.native is not None or parallel
    return Description(render("condor", "job.sub", values), tuple(_items(launch, settings, attempts)), alone)


@dataclass(slots=True)
class Batch:
    """Launches that are one cluster.

    Attributes:
        text: their submit description.
        items: the variables of each process.
        firsts: attempt → number of its first process.
    """

    text: str
    items: list[Mapping[str, str]] = field(default_factory=list)
    firsts: dict[str, int] = field(default_factory=dict)

    def add(self, attempt: str, items: Sequence[Mapping[str, str]]) -> None:
        """Add the processes of an attempt."""
        self.firsts[attempt] = len(self.items)
        self.items += items


def batches(described: Mapping[str, Description], most: int) -> list[Batch]:
    """Put launches together that may be one cluster.

    Args:
        described: description by attempt.
        most: processes of a cluster; one attempt may have more.
    """
    full: list[Batch] = []
    open_ones: dict[str, Batch] = {}
    for attempt, description in described.items():
        key = attempt if description.alone else description.text
        batch = open_ones.setdefault(key, Batch(description.text))
        if batch.items and len(batch.items) + len(description.items) > most:
            full.append(batch)
            batch = open_ones[key] = Batch(description.text)
        batch.add(attempt, description.items)
    return [*full, *open_ones.values()]


def _items(launch: Launch, settings: CondorSettings, attempts: Attempts) -> Iterator[Mapping[str, str]]:
    """Yield the variables of each process: all that two attempts of one cluster differ in."""
    folder = _path(attempts.folder(launch.attempt), "the spool")
    count = 1 if in_parallel(launch, settings) else launch.count
    hosts = launch.hosts if launch.hosts and count == launch.count else ("",) * count
    for rank, host in enumerate(hosts):
        yield {
            "CoschedAttemptId": safe(launch.attempt, "the attempt"),
            "CoschedTaskId": safe(launch.task, "the task's identifier"),
            "CoschedTitle": safe(launch.name, "the task's name"),
            "CoschedFolder": folder,
            "CoschedDirectory": safe(launch.directory, "the working directory") or folder,
            "CoschedNote": note(launch.attempt, count, rank),
            "CoschedHost": safe(host, _HOST_NAME),
            "CoschedRank": str(rank),
            "CoschedProcesses": str(count),
        }


def _account(owner: str) -> SafeValue:
    """Return the owner as the user of an accounting group, in which HTCondor allows neither spaces nor commas."""
    if owner and not _OWNER.match(owner):
        raise UserError(
            f"the owner {owner[:80]!r} cannot be the user of an accounting group: "
            "names are letters, digits, '.', '_', '-' and '@'"
        )
    return SafeValue(owner)


def in_parallel(launch: Launch, settings: CondorSettings) -> bool:
    """Whether HTCondor is asked for one job on all of the hosts."""
    if launch.native is not None:
        return launch.native.settings.get("universe") == "parallel"
    return settings.parallel and launch.count > 1


def _variables(launch: Launch, settings: CondorSettings) -> SafeValue:
    """Return the value of `environment`; what else cosched's own jobs see is in their script."""
    if launch.native is not None:
        return merged_environment(launch)
    return SafeValue('"COSCHED_RANK=$(Node)"' if in_parallel(launch, settings) else '"COSCHED_RANK=$(CoschedRank)"')


def _place(launch: Launch, settings: CondorSettings) -> str:
    if not launch.hosts:
        return ""
    if not in_parallel(launch, settings):
        return _PINNED
    names = ", ".join(f'"{safe(host, _HOST_NAME)}"' for host in launch.hosts)
    return f"member(TARGET.Machine, {{{names}}})"


def _over(limit: int) -> str:
    return f"JobStatus == 2 && time() - JobCurrentStartDate > {limit}" if limit else ""


def _path(path: Path, what: str) -> SafeValue:
    return safe(str(path), what)
