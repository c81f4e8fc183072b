"""From a launch to HTCondor's submit language."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from cosched.connector import SafeValue, safe
from cosched.connector.templating import render
from cosched.errors import UserError
from cosched_condor.eventlog import note
from cosched_condor.native import conjunction, lines, merged_environment

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector import Launch
    from cosched_condor.attempts import Attempts
    from cosched_condor.settings import CondorSettings

__all__ = ["describe", "processes"]

_HOST_NAME = "a host's name"
_OWNER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@-]{0,127}\Z")
_PINNED = 'TARGET.Machine == "$(CoschedHost)"'


def describe(launch: Launch, settings: CondorSettings, attempts: Attempts) -> tuple[str, list[dict[str, str]]]:
    """Return the submit description of a launch and the item of each of its processes (none when unpinned).

    Raises:
        UserError: a value cannot be carried safely.
    """
    folder = attempts.folder(launch.attempt)
    limit = 0 if launch.time_limit is None else math.ceil(launch.time_limit)
    values: dict[str, SafeValue | int | bool | list[SafeValue]] = {
        "script": _path(folder / "run.sh", "the spool"),
        "folder": _path(folder, "the spool"),
        "log": _path(attempts.log, "the spool"),
        "directory": safe(launch.directory, "the working directory")
        if launch.directory
        else _path(folder, "the spool"),
        "note": safe(note(launch.attempt, processes(launch)), "the attempt"),
        "attempt": safe(launch.attempt, "the attempt"),
        "name": safe(launch.name, "the task's name"),
        "task": safe(launch.task, "the task's identifier"),
        "count": processes(launch),
        "machines": launch.count,
        "owner": _account(launch.owner),
        "group": safe(settings.accounting_group, "the accounting group"),
        "commands": lines(launch),
        "logs_elsewhere": launch.native is not None and "log" in launch.native.settings,
        "variables": merged_environment(launch) if launch.native else SafeValue('"COSCHED_RANK=$(ProcId)"'),
        "requirements": conjunction(launch.native, "requirements", _place(launch), "&&"),
        "periodic_remove": conjunction(launch.native, "periodic_remove", _over(limit), "||"),
        "job_lease": settings.job_lease,
        "keep_claim": settings.keep_claim,
        "time_limit": limit,
        "request_cpus": settings.request_cpus,
        "request_memory": settings.request_memory,
        "request_disk": settings.request_disk,
        "request_gpus": settings.request_gpus,
    }
    if _in_parallel(launch):
        return render("condor", "parallel.sub", values), []
    items = [{"CoschedHost": str(safe(host, _HOST_NAME))} for host in launch.hosts]
    return render("condor", "vanilla.sub", values), items


def _account(owner: str) -> SafeValue:
    """Return the owner as the user of an accounting group, in which HTCondor allows neither spaces nor commas."""
    if owner and not _OWNER.match(owner):
        raise UserError(f"the owner {owner[:80]!r} cannot be the user of an accounting group: "
                        "names are letters, digits, '.', '_', '-' and '@'")  # fmt: skip
    return SafeValue(owner)


def processes(launch: Launch) -> int:
    """Return how many processes HTCondor is asked for: a job of the parallel universe is one, on many hosts."""
    return 1 if _in_parallel(launch) else launch.count


def _in_parallel(launch: Launch) -> bool:
    return launch.native is not None and launch.native.settings.get("universe") == "parallel"


def _place(launch: Launch) -> str:
    if not launch.hosts:
        return ""
    if not _in_parallel(launch):
        return _PINNED
    names = ", ".join(f'"{safe(host, _HOST_NAME)}"' for host in launch.hosts)
    return f"member(TARGET.Machine, {{{names}}})"


def _over(limit: int) -> str:
    return f"JobStatus == 2 && time() - JobCurrentStartDate > {limit}" if limit else ""


def _path(path: Path, what: str) -> SafeValue:
    return safe(str(path), what)
