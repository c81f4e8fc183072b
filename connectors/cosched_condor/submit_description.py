"""A launch becomes a submit description; launches with equal texts share a cluster.

Start at `describe`; the text is templates/condor/job.sub. Users' own commands are checked here: no value of theirs can
become another line, a macro or a command of cosched's.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.connector import SafeValue, safe
from cosched.connector.launches import process_environment, shown_application, shown_deadline
from cosched.connector.templating import render
from cosched.connector.values import check_native_description
from cosched.errors import UserError
from cosched_condor.event_log import submit_note
from cosched_condor.submit_commands import COMBINED_COMMANDS, check_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cosched.connector import Launch, NativeDescription
    from cosched_condor.condor_settings import CondorSettings
    from cosched_condor.spool import CondorAttemptFolders

__all__ = [
    "ClusterBatch",
    "SubmitDescription",
    "cluster_batches",
    "combined_expression",
    "describe",
    "is_parallel",
    "merged_environment",
    "user_commands",
]

_HOST_NAME = "a host's name"
_DAY = 86400
_ACCOUNTING_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@-]{0,127}\Z")
_PINNED_EXPRESSION = 'TARGET.Machine == "$(CoschedHost)"'
_PINNED_SLOT_EXPRESSION = '(TARGET.Machine == "$(CoschedHost)" || TARGET.Name == "$(CoschedHost)")'
# HTCondor begins a job that lost its host again by itself, also while no cosched is there to prevent it. A job's starts
# are counted late and forgotten by a scheduler that crashes; its shadows are counted durably before they start.
_BEGUN_ONCE = "(NumShadowStarts ?: 0) == 0"
# A scheduler would start a job in the slot that was cut for a larger one, and hold all of that for it.
_CUT_TO_SIZE = (
    "(TARGET.DynamicSlot =!= true || (TARGET.Cpus == RequestCpus && (TARGET.GPUs ?: 0) == (RequestGPUs ?: 0) && "
    "TARGET.Memory <= quantize(RequestMemory, {1024})))"
)
_LATE_MACROS = re.compile(r"\$\(DOLLAR\)\((ProcId|ClusterId|Node)\)")


def user_commands(launch: Launch) -> list[SafeValue]:
    """Return the user's commands for a submit description, except those cosched extends.

    Raises:
        UserError: a command that is not the user's to give, or a value that could become a line of its own.
    """
    if launch.native is None:
        return []
    _check_commands(launch.native)
    found = [
        f"{key} = {_without_macros(value)}"
        for key, value in launch.native.settings.items()
        if key not in COMBINED_COMMANDS
    ]
    return [SafeValue(line) for line in found]


def combined_expression(native: NativeDescription | None, key: str, own: str, word: str) -> SafeValue:
    """Return the user's expression, where there is one, together with cosched's own.

    Args:
        native: the user's job.
        key: the command that has the expression.
        own: cosched's; empty for none.
        word: how to put them together: "&&" or "||".
    """
    users = "" if native is None else _without_macros(native.settings.get(key, "").strip())
    return SafeValue(f"({users}) {word} ({own})" if users and own else users or own)


def merged_environment(launch: Launch) -> SafeValue:
    """Return the value of `environment`: the user's variables and cosched's."""
    given = process_environment(launch)
    if not launch.hosts and launch.count == 1:
        given["COSCHED_HOSTS"] = "$$(Machine)"  # HTCondor's to fill in, once it has chosen
    parallel = launch.native is not None and launch.native.settings.get("universe") == "parallel"
    rank = "Node" if parallel else "CoschedRank"
    given.pop("COSCHED_RANK", None)
    users = "" if launch.native is None else launch.native.settings.get("environment", "")
    users = users or ("" if launch.native is None else launch.native.settings.get("env", ""))
    words = [_quoted_variable(name, value) for name, value in given.items()] + [f"COSCHED_RANK=$({rank})"]
    if users.startswith('"') and users.endswith('"') and len(users) > 1:
        inner = _without_macros(users[1:-1])
    else:  # the old form: NAME=value;NAME=value
        inner = " ".join(_quoted_variable(*_old_variable(part)) for part in users.split(";") if part.strip())
    return SafeValue('"' + " ".join(filter(None, (inner, *words))) + '"')


def _check_commands(native: NativeDescription) -> None:
    check_native_description(native)
    for name, value in native.settings.items():
        check_command(name, value)


def _without_macros(value: str) -> str:
    """Return a value with macros expanded, except those left to HTCondor."""
    # `$$(Attribute)` is filled in on the host, by HTCondor; nothing here looks at it.
    plain = "$$(".join(part.replace("$", "$(DOLLAR)") for part in value.split("$$("))
    return _LATE_MACROS.sub(r"$(\1)", plain)


def _old_variable(part: str) -> tuple[str, str]:
    name, _, value = part.strip().partition("=")
    return name, value


def _quoted_variable(name: str, value: str) -> str:
    if any(ord(character) < 32 for character in value):
        raise UserError(
            f"the environment variable {name} has a line break or another control character, "
            "which a submit file cannot carry: leave it out"
        )
    if "$(dollar)" in value.lower():  # what stands for its dollar would be expanded once more, however it is written
        raise UserError(
            f"the environment variable {name} has the text $(DOLLAR), which a submit file cannot carry: leave it out"
        )
    quoted = value.replace("'", "''").replace('"', '""')
    return f"{name}='{_without_macros(quoted)}'"


@dataclass(frozen=True, slots=True)
class SubmitDescription:
    """A launch in HTCondor's submit language; launches with equal texts may share a cluster.

    Attributes:
        text: the submit description, in which the items' variables are still to be filled in.
        items: the variables of each process.
        alone: it must have a cluster of its own.
    """

    text: str
    items: tuple[Mapping[str, str], ...]
    alone: bool = False


def describe(launch: Launch, settings: CondorSettings, attempts: CondorAttemptFolders) -> SubmitDescription:
    """Return the submit description of a launch and the item of each of its processes.

    Raises:
        UserError: a value cannot be carried safely.
    """
    parallel = is_parallel(launch, settings)
    limit = 0 if launch.time_limit is None else math.ceil(launch.time_limit)
    values: dict[str, SafeValue | int | bool | list[SafeValue]] = {
        "log": _safe_path(attempts.logs.current, "the spool"),
        "machines": launch.count,
        "spooled": settings.spooled,
        "own": launch.native is None,
        "parallel": parallel,
        "keep_seconds": int(settings.keep_days * _DAY),
        "owner": _accounting_user(launch.owner),
        "group": safe(settings.accounting_group, "the accounting group"),
        "commands": user_commands(launch),
        "logs_elsewhere": launch.native is not None and "log" in launch.native.settings,
        "variables": _environment_value(launch, settings),
        "requirements": combined_expression(launch.native, "requirements", _own_requirements(launch, settings), "&&"),
        "periodic_remove": combined_expression(launch.native, "periodic_remove", _time_limit_expression(limit), "||"),
        "job_lease": settings.job_lease,
        "keep_claim": settings.keep_claim,
        "time_limit": limit,
        "shared": launch.shared,
        "slot_hosts": settings.slot_hosts,
        "request_cpus": _request_cpus(launch, settings),
        "request_memory": bool(launch.memory) if launch.shared else launch.memory or settings.request_memory,
        "request_disk": settings.request_disk,
        "request_gpus": bool(launch.gpus) if launch.shared else launch.gpus or settings.request_gpus,
    }
    # A user's own commands may use $(ProcId), which is the rank only where the attempt has the cluster for itself. And
    # HTCondor starts all jobs of the parallel universe of one cluster together.
    alone = launch.native is not None or parallel
    return SubmitDescription(
        render("condor", "job.sub", values), tuple(_process_items(launch, settings, attempts)), alone
    )


def _request_cpus(launch: Launch, settings: CondorSettings) -> int:
    """Return the cores that a job asks for; a user's file that says nothing of them has the site's on whole hosts."""
    unsaid = launch.native is not None and "request_cpus" not in launch.native.settings
    return settings.request_cpus if unsaid and not launch.shared else launch.cores or settings.request_cpus


@dataclass(slots=True)
class ClusterBatch:
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

    def directories(self) -> list[list[str]]:
        """Return the attempts by the directory in which they run; those in their own folders together."""
        found: dict[str, list[str]] = {}
        for attempt, first in self.firsts.items():
            item = self.items[first]
            own = item["CoschedDirectory"] == item["CoschedFolder"]
            found.setdefault("" if own else item["CoschedDirectory"], []).append(attempt)
        return list(found.values())


def cluster_batches(described: Mapping[str, SubmitDescription], most: int) -> list[ClusterBatch]:
    """Group launches into clusters.

    Args:
        described: description by attempt.
        most: processes of a cluster; one attempt may have more.
    """
    full: list[ClusterBatch] = []
    open_ones: dict[str, ClusterBatch] = {}
    for attempt, description in described.items():
        key = attempt if description.alone else description.text
        batch = open_ones.setdefault(key, ClusterBatch(description.text))
        if batch.items and len(batch.items) + len(description.items) > most:
            full.append(batch)
            batch = open_ones[key] = ClusterBatch(description.text)
        batch.add(attempt, description.items)
    return [*full, *open_ones.values()]


def _process_items(
    launch: Launch, settings: CondorSettings, attempts: CondorAttemptFolders
) -> Iterator[Mapping[str, str]]:
    """Yield the variables of each process: nothing else may differ between attempts of one cluster."""
    folder = _safe_path(attempts.folder(launch.attempt), "the spool")
    count = 1 if is_parallel(launch, settings) else launch.count
    hosts = launch.hosts if launch.hosts and count == launch.count else ("",) * count
    deadline = shown_deadline(launch)
    sizes = (
        {"CoschedCores": str(launch.cores), "CoschedMemory": str(launch.memory), "CoschedGpus": str(launch.gpus)}
        if launch.shared
        else {}
    )
    for rank, host in enumerate(hosts):
        yield {
            "CoschedAttemptId": safe(launch.attempt, "the attempt"),
            "CoschedTaskId": safe(launch.task, "the task's identifier"),
            "CoschedDue": "undefined" if deadline is None else str(deadline),
            "CoschedProgram": shown_application(launch),
            "CoschedTitle": safe(launch.name, "the task's name"),
            "CoschedFolder": folder,
            "CoschedDirectory": safe(launch.directory, "the working directory") or folder,
            "CoschedNote": submit_note(launch.attempt, count, rank, slot_hosts=settings.slot_hosts),
            "CoschedHost": safe(host, _HOST_NAME),
            "CoschedRank": str(rank),
            "CoschedProcesses": str(count),
            **sizes,
        }


def _accounting_user(owner: str) -> SafeValue:
    """Return the owner as an accounting group's user, which allows neither spaces nor commas."""
    owner = owner.replace(":", "@")  # of another domain's user
    if owner and not _ACCOUNTING_USER.match(owner):
        raise UserError(
            f"the owner {owner[:80]!r} cannot be the user of an accounting group: "
            "names are letters, digits, '.', '_', '-' and '@'"
        )
    return SafeValue(owner)


def is_parallel(launch: Launch, settings: CondorSettings) -> bool:
    """Return whether HTCondor is asked for one job on all of the hosts."""
    if launch.native is not None:
        return launch.native.settings.get("universe") == "parallel"
    return settings.parallel and launch.count > 1


def _environment_value(launch: Launch, settings: CondorSettings) -> SafeValue:
    """Return the value of `environment`; the script of cosched's own jobs sets the other variables."""
    if launch.native is not None:
        return merged_environment(launch)
    return SafeValue('"COSCHED_RANK=$(Node)"' if is_parallel(launch, settings) else '"COSCHED_RANK=$(CoschedRank)"')


def _own_requirements(launch: Launch, settings: CondorSettings) -> str:
    parts = [_CUT_TO_SIZE] if launch.shared else []
    if launch.hosts and is_parallel(launch, settings):
        names = ", ".join(f'"{safe(host, _HOST_NAME)}"' for host in launch.hosts)
        among = f"member(TARGET.Machine, {{{names}}})"
        parts.append(f"({among} || member(TARGET.Name, {{{names}}}))" if settings.slot_hosts else among)
    elif launch.hosts:
        parts.append(_PINNED_SLOT_EXPRESSION if settings.slot_hosts else _PINNED_EXPRESSION)
    return " && ".join([*parts, _BEGUN_ONCE])


def _time_limit_expression(limit: int) -> str:
    return f"JobStatus == 2 && time() - JobCurrentStartDate > {limit}" if limit else ""


def _safe_path(path: Path, what: str) -> SafeValue:
    return safe(str(path), what)
