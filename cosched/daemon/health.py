"""What each part of the daemon does, for an administrator who looks for what is wrong. Start at `HealthInspector`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.api.documents import HealthCheck, HealthReport, MistakeView
from cosched.daemon.processes.own_processes import own_processes
from cosched.durations import format_duration
from cosched.paths import database_file
from cosched.scheduling import kernel_cache

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cosched.daemon.config.sections import Configuration
    from cosched.daemon.inbox import Inbox
    from cosched.daemon.manager.resource_manager import ResourceManager
    from cosched.daemon.mistakes import Mistakes
    from cosched.daemon.processes.predictors import ModelProcesses
    from cosched.daemon.processes.search import SearchProcess

__all__ = ["HealthInspector", "PartCheck", "daemon_checks", "disk_check"]

PartCheck = Callable[[], HealthCheck]
"""Looks at one part; must not wait for it."""

WELL, WATCH, BROKEN = "well", "watch", "broken"
_ORDER = (BROKEN, WATCH, WELL)

_MIB = 1 << 20
_LITTLE, _FULL = 2048 * _MIB, 128 * _MIB  # free bytes of a disk below which it is to be watched, and is full
_LITTLE_SHARE, _FULL_SHARE = 0.25, 0.05  # of small disks
_SLOW = 2.0  # seconds without a sign of the core that are to be watched
_STUCK = 10.0
_OLD_LOOK = 30.0  # seconds after which the manager's hosts should have been looked at again
_LOOKS = {  # where a manager itself says how it is
    "condor": "`condor_status -schedd` and `condor_q` on this machine show whether HTCondor answers; see its SchedLog",
    "slurm": "`scontrol ping` and `sinfo` on this machine show whether Slurm answers; see its slurmctld.log",
}


class HealthInspector:
    """Looks at all parts of the daemon; any thread may ask it."""

    def __init__(
        self,
        checks: Sequence[PartCheck],
        faults: Callable[[], Iterable[str]],
        mistakes: Mistakes,
        now: Callable[[], float],
    ) -> None:
        """Set up.

        Args:
            checks: one for each part.
            faults: says all that does not work in sentences that begin with the part; those of parts without a check
                become checks.
            mistakes: those of cosched.
            now: returns seconds since the epoch.
        """
        self._checks = tuple(checks)
        self._faults = faults
        self._mistakes = mistakes
        self._now = now

    def report(self) -> HealthReport:
        """Look at all parts; a look that fails itself is a finding."""
        checks = [_looked_at(check) for check in self._checks]
        known = {check.part.lower() for check in checks}
        others = [_as_check(fault) for fault in self._faults()]
        checks += [check for check in others if check.part.lower() not in known]
        return HealthReport(
            time=self._now(),
            checks=tuple(sorted(checks, key=lambda check: _ORDER.index(check.state))),
            processes=tuple(own_processes()),
            mistakes=tuple(MistakeView(time=time, what=what) for time, what in self._mistakes.recent()),
        )


def _looked_at(check: PartCheck) -> HealthCheck:
    try:
        return check()
    except Exception as error:  # whoever looks for a fault is not to find another one
        name = getattr(check, "func", check).__name__.removeprefix("_").removesuffix("_check").capitalize()
        return HealthCheck(part=name, state=WATCH, finding=f"It cannot be looked at: {error}.")


def _as_check(fault: str) -> HealthCheck:
    part, _, finding = fault.partition(": ")
    return HealthCheck(part=part.capitalize(), state=BROKEN, finding=_sentence(finding or fault))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def daemon_checks(
    configuration: Configuration,
    inbox: Inbox,
    manager: ResourceManager,
    search: SearchProcess | None,
    models: Sequence[ModelProcesses],
) -> list[PartCheck]:
    """Return the checks of a daemon's parts."""
    state = configuration.domain.state
    database = database_file(configuration.database.url)
    places = {
        "state": state,
        "database": database.parent,
        "recordings": configuration.recorder.folder,
        **({"spool": Path(spool)} if (spool := configuration.connector.table.get("spool")) else {}),
    }
    return [
        partial(_core_check, inbox),
        partial(_manager_check, manager, configuration.connector.kind),
        partial(_search_check, search, configuration.planning.policy),
        partial(_models_check, models),
        partial(_database_check, inbox, database),
        partial(disk_check, places),
    ]


def _core_check(inbox: Inbox) -> HealthCheck:
    silence = inbox.silence()
    if silence <= _SLOW:
        return HealthCheck(part="Core", state=WELL, finding="It takes up events at once.")
    advice = "If this lasts, save the log and start cosched again: jobs go on, and nothing that was accepted is lost."
    return HealthCheck(
        part="Core",
        state=BROKEN if silence > _STUCK else WATCH,
        finding=f"It has taken up nothing for {format_duration(silence)}.",
        advice=advice,
    )


def _manager_check(manager: ResourceManager, kind: str) -> HealthCheck:
    calls, age, waiting = manager.calls(), manager.looked_ago(), manager.actions.overdue()
    asked = ", ".join(f"{verb} {count}" for verb, count in sorted(calls.items()))
    seen = "have not been seen yet" if age is None else f"were seen {format_duration(age)} ago"
    finding = f"The hosts of {kind} {seen}.{f' It was asked: {asked}.' if asked else ''}"
    if waiting:
        finding += f" {waiting} more questions wait for their turn."
    if manager.fault:
        return HealthCheck(
            part="Resource manager",
            state=BROKEN,
            finding=f"{_sentence(manager.fault)} {finding}",
            advice=f"{_LOOKS.get(kind, 'The log of cosched says more')}. Jobs go on.",
        )
    if age is not None and age > _OLD_LOOK:
        advice = f"It answers slowly or not at all. {_LOOKS.get(kind, 'The log of cosched says more')}."
        return HealthCheck(part="Resource manager", state=WATCH, finding=finding, advice=advice)
    if manager.remarks:
        advice = " ".join(map(_sentence, manager.remarks))
        return HealthCheck(part="Resource manager", state=WATCH, finding=finding, advice=advice)
    return HealthCheck(part="Resource manager", state=WELL, finding=finding)


def _search_check(search: SearchProcess | None, policy: str) -> HealthCheck:
    if search is None:
        return HealthCheck(part="Search", state=WELL, finding=f"The policy {policy} plans without one.")
    died = f" It has died {search.ended} times since the start." if search.ended else ""
    if search.pid is None:
        advice = "It is started again by itself; meanwhile tasks leave in a simple order. The log says why it ended."
        return HealthCheck(part="Search", state=BROKEN, finding=f"It does not run.{died}", advice=advice)
    if not kernel_cache.ready():
        return HealthCheck(
            part="Search",
            state=WATCH,
            finding=f"It runs as process {search.pid}, and what it runs is being compiled: until then plans are those "
            f"of the best heuristic.{died}",
            advice="On an idle machine that takes a minute or two. If it lasts, run `python -m "
            "cosched.scheduling.kernel_cache`, or set NUMBA_CACHE_DIR to a folder that the daemon can write.",
        )
    advice = "Was it killed for its memory? The system's log says so; [planning] share and nice bound its time."
    return HealthCheck(
        part="Search",
        state=WATCH if search.ended else WELL,
        finding=f"It runs as process {search.pid}.{died}",
        advice=advice if search.ended else "",
    )


def _models_check(models: Sequence[ModelProcesses]) -> HealthCheck:
    asked = sum(each.asked for each in models)
    died = sum(each.ended for each in models)
    finding = f"Predictions asked for: {asked}." + (f" Processes that had to be ended or died: {died}." if died else "")
    advice = "A model took too long or too much memory: the answers to its user say which. Others are not affected."
    return HealthCheck(part="Models", state=WATCH if died else WELL, finding=finding, advice=advice if died else "")


def _database_check(inbox: Inbox, file: Path) -> HealthCheck:
    size = sum(path.stat().st_size for path in file.parent.glob(f"{file.name}*") if path.is_file())
    finding = f"{file} has {_size(size)}."
    if inbox.store_fault:
        advice = (
            "Nothing is done until it can be written; nothing accepted is lost. `cosched database check` looks at it."
        )
        return HealthCheck(
            part="Database", state=BROKEN, finding=f"{_sentence(inbox.store_fault)} {finding}", advice=advice
        )
    return HealthCheck(part="Database", state=WELL, finding=finding)


def disk_check(places: dict[str, Path]) -> HealthCheck:
    """Look at the disks of all places, each disk once.

    Args:
        places: folders by what stands in them; one that is not there yet counts for the folder above it.
    """
    disks: dict[int, tuple[list[str], Path]] = {}
    for what, path in places.items():
        there = next(each for each in (path, *path.parents) if each.exists())
        disks.setdefault(there.stat().st_dev, ([], there))[0].append(what)
    findings, state = [], WELL
    for names, path in disks.values():
        usage = shutil.disk_usage(path)
        state = min(state, _room(usage.free, usage.total), key=_ORDER.index)
        findings.append(f"{', '.join(names)}: {_size(usage.free)} of {_size(usage.total)} free")
    advice = "Make room: [database] keep_days and [recorder] bound what cosched keeps. A full disk stops all writing."
    return HealthCheck(
        part="Disk", state=state, finding=_sentence("; ".join(findings)), advice="" if state == WELL else advice
    )


def _size(count: int) -> str:
    """Return a number of bytes for people."""
    return f"{count / (_MIB << 10):.3g} GiB" if count >= _MIB << 10 else f"{count / _MIB:.3g} MiB"


def _room(free: int, total: int) -> str:
    if free < min(_FULL, _FULL_SHARE * total):
        return BROKEN
    return WATCH if free < min(_LITTLE, _LITTLE_SHARE * total) else WELL
