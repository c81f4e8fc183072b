"""Slurm's JSON of jobs, of any version, becomes a `JobRecord` by attempt: start at `job_records`.

22.05 writes `"job_state": "RUNNING"` and plain numbers, 24.11 lists of states and `{"set": true, "number": …}`.
`job_comment` writes the comment that carries the attempt's UUID, `commented_uuid` reads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from cosched.connector import JobState
from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched.durations import format_duration
from cosched_slurm.allocations import node_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = [
    "JobRecord",
    "commented_uuid",
    "job_comment",
    "job_records",
    "job_state",
    "node_names",
    "plain_number",
    "record_of_row",
    "start_diagnosis",
    "state_words",
]

# Slurm's short form for lists of nodes: `rack1n[01-03,07],login`.
_LIST_PART = re.compile(r"(?:[^,\[\]]|\[[^\]]*\])+")
_NAME_PIECE = re.compile(r"\[([^\]]*)\]|([^\[\]]+)")
_NUMBER_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)
_MOST_NODES = 100_000  # a text that stands for more names is no list of nodes


def node_names(text: str) -> tuple[str, ...]:
    """Return the names in a list of nodes, in order; () for other texts."""
    names: list[str] = []
    for part in _LIST_PART.findall(text):
        pieces = [_bracket_choices(inside) if inside else [plain] for inside, plain in _NAME_PIECE.findall(part)]
        size = 1
        for piece in pieces:
            size *= len(piece)
        if len(names) + size > _MOST_NODES:
            return ()
        names += ["".join(words) for words in product(*pieces)]
    return tuple(name for name in names if name and name != "None assigned" and not name.startswith("("))


def _bracket_choices(inside: str) -> list[str]:
    found: list[str] = []
    for part in inside.split(","):
        match = _NUMBER_RANGE.fullmatch(part)
        if match is None:
            found.append(part)
        elif int(match[2]) - int(match[1]) < _MOST_NODES:
            found += [f"{number:0{len(match[1])}}" for number in range(int(match[1]), int(match[2]) + 1)]
    return found


# What follows the count is for people and for managers' own tools; a job whose comment has none is read the same way.
_COMMENT = re.compile(r"cosched(-array)?:([0-9a-f-]{36}):([1-9][0-9]{0,6})(?: .*)?\Z")
_APPLICATION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}\Z")
_INDEX_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7})(?::(\d{1,7}))?)?\Z")
_MOST_ELEMENTS = 4_000_000  # as Slurm has it: an index is never larger
# The base states of a job, and the flags that Slurm shows beside or instead of them.
_STATES = {
    "PENDING": JobState.QUEUED,
    "CONFIGURING": JobState.QUEUED,
    "REQUEUED": JobState.QUEUED,
    "REQUEUE_FED": JobState.QUEUED,
    "POWER_UP_NODE": JobState.QUEUED,
    "LAUNCH_FAILED": JobState.QUEUED,  # these three stand beside a base state, which comes first
    "RECONFIG_FAIL": JobState.QUEUED,
    "EXPEDITING": JobState.QUEUED,
    "REQUEUE_HOLD": JobState.HELD,
    "SPECIAL_EXIT": JobState.HELD,
    "RESV_DEL_HOLD": JobState.HELD,
    "SUSPENDED": JobState.HELD,
    "STOPPED": JobState.HELD,
    "RUNNING": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "STAGE_OUT": JobState.RUNNING,
    "COMPLETING": JobState.RUNNING,  # processes may still be there, whether it failed or not
    "COMPLETED": JobState.COMPLETED,
    "FAILED": JobState.FAILED,
    "OUT_OF_MEMORY": JobState.FAILED,
    "CANCELLED": JobState.REMOVED,
    "TIMEOUT": JobState.REMOVED,
    "DEADLINE": JobState.REMOVED,
    "REVOKED": JobState.REMOVED,
    "NODE_FAIL": JobState.EVICTED,
    "BOOT_FAIL": JobState.EVICTED,
    "PREEMPTED": JobState.EVICTED,
}
# Of several words, the first of these in order decides: a job that is completing is not over.
_PRECEDENCE = ("COMPLETING", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD", "SUSPENDED", "STOPPED", "CONFIGURING")
# Slurm has not looked at the job yet, or others are before it: it begins by itself.
_IN_TURN = ("", "None", "Priority", "Resources", "Cleaning", "Prolog", "BurstBufferStageIn")
_STARTING = "its hosts are made ready"
# Reasons that are the job's own, whatever others do and however long it waits.
_LASTING = re.compile(
    r"PartitionConfig|Partition(Node|Time)Limit|BadConstraints|Invalid(Account|QOS)|(Account|QOS)NotAllowed|TimeLimit"
    r"|DeadLine|DependencyNeverSatisfied|MaxMemPerLimit|QOSMin\w*|(Assoc|QOS|Max)\w*PerJob\w*"
)
_MEANINGS = {  # of some of these
    "PartitionConfig": "no node of its partition has what it asks for, as many cores as ranks on each host, and memory",
    "PartitionTimeLimit": "its time limit is longer than its partition allows",
}
_HOLDS = ("JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue", "launch_failed_requeued_held")


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job as Slurm shows it.

    Attributes:
        attempt: UUID from the comment.
        count: number of processes, from the comment.
        job: Slurm's number, or "number_index" for an element of an array.
        state: the meaning of its states.
        started: start, in whole seconds; None before it.
        finished: end, in whole seconds; None before it.
        exit_code: 128 + n for signal n; None before the end.
        reason: Slurm's words where it did not end well.
        hosts: its nodes, in Slurm's order.
        processors: how many it holds of each; None where it has its nodes whole, or Slurm does not say.
        waits: Slurm's word for why a job that is pending has not begun ("Licenses"); empty where it names nothing.
        vanished: whether Slurm shows other elements of its array and not this one, as after a cancel before its begin.
        restarts: how often Slurm has queued it anew (`scontrol requeue`).
    """

    attempt: str
    count: int
    job: str
    state: JobState
    started: float | None = None
    finished: float | None = None
    exit_code: int | None = None
    reason: str = ""
    hosts: tuple[str, ...] = ()
    processors: Mapping[str, int] | None = None
    waits: str = ""
    vanished: bool = False
    restarts: int = 0

    @property
    def has_ended(self) -> bool:
        """Return whether Slurm does nothing more about it."""
        return self.state.final or self.state is JobState.EVICTED


def job_comment(
    name: str, count: int, *, array: bool = False, deadline: int | None = None, application: str = ""
) -> str:
    """Return the comment that a job carries.

    Args:
        name: UUID of the attempt, or of the array.
        count: processes of the attempt, or of each of the array's.
        array: whether the name is an array's.
        deadline: epoch seconds, for people; of an array the earliest.
        application: for people; left out where it is not one plain word.
    """
    # Slurm may print the comment in a line of fields `key=value`, where a name of several words could pass for others.
    words = [
        f"cosched{'-array' if array else ''}:{name}:{count}",
        *([] if deadline is None else [f"deadline={deadline}"]),
        *([f"application={application}"] if _APPLICATION.match(application) else []),
    ]
    return " ".join(words)


def job_records(
    rows: Iterable[Mapping[str, Any]], attempts_of: Callable[[str], Sequence[str]] = lambda _array: ()
) -> dict[str, list[JobRecord]]:
    """Return the jobs of each attempt of cosched's, oldest first.

    Args:
        rows: jobs as Slurm lists them; waiting elements of an array are one row.
        attempts_of: returns the attempts of an array, by index.
    """
    found: dict[str, list[JobRecord]] = {}
    arrays: dict[tuple[str, str], int] = {}  # array and its number → processes of each element
    for row in rows:
        for attempt, count, job in _attempts_of_row(row, attempts_of):
            found.setdefault(attempt, []).append(record_of_row(row, attempt, count, job))
            if "_" in job:
                arrays[commented_uuid(row) or "", job.partition("_")[0]] = count
    for (array, first), count in arrays.items():
        for index, attempt in enumerate(attempts_of(array)):
            if attempt not in found:
                found[attempt] = [_vanished_record(attempt, count, f"{first}_{index}")]
    for same in found.values():
        same.sort(key=lambda record: [int(part) for part in record.job.split("_")])
    return found


def _vanished_record(attempt: str, count: int, job: str) -> JobRecord:
    return JobRecord(attempt, count, job, JobState.REMOVED, reason="cancelled before it began", vanished=True)


def commented_uuid(row: Mapping[str, Any]) -> str | None:
    """Return the UUID of the attempt or array in a job's comment.

    It is None for a foreign job.
    """
    found = _COMMENT.match(str(row.get("comment") or ""))
    return None if found is None else found[2]


def _attempts_of_row(
    row: Mapping[str, Any], attempts_of: Callable[[str], Sequence[str]]
) -> Iterator[tuple[str, int, str]]:
    """Yield each attempt of a row with its number of processes and its job."""
    found = _COMMENT.match(str(row.get("comment") or ""))
    job = plain_number(row.get("job_id"))
    if found is None or job is None:
        return
    array, name, count = found[1], found[2], int(found[3])
    if not array:
        yield name, count, str(int(job))
        return
    names, first = attempts_of(name), plain_number(row.get("array_job_id")) or job
    if not names:  # another user's array may have millions of elements
        return
    for index in _array_indices(row):
        if index < len(names):
            yield names[index], count, f"{int(first)}_{index}"


def _array_indices(row: Mapping[str, Any]) -> Iterator[int]:
    """Yield the indices of a row's array elements; those that wait are written "0-5,8,10-20:2%4"."""
    waiting = str(row.get("array_task_string") or "")
    if not waiting:
        index = plain_number(row.get("array_task_id"))
        if index is not None and 0 <= index < _MOST_ELEMENTS:
            yield int(index)
        return
    for part in waiting.partition("%")[0].split(","):
        bounds = _INDEX_RANGE.match(part.strip())
        if bounds:
            last = int(bounds[2] or bounds[1])
            yield from range(int(bounds[1]), min(last, _MOST_ELEMENTS) + 1, int(bounds[3] or 1) or 1)


def job_state(states: Iterable[str], reason: str = "") -> JobState:
    """Return the meaning of a job's states; UNKNOWN where one of them has none here."""
    known = list(states)
    if not known or any(state not in _STATES for state in known):
        return JobState.UNKNOWN
    if known == ["PENDING"] and reason in _HOLDS:
        return JobState.HELD
    decisive = next((word for word in _PRECEDENCE if word in known), known[0])
    return _STATES[decisive]


def start_diagnosis(record: JobRecord | None) -> StartDiagnosis:
    """Return why a job has not begun, in Slurm's words."""
    if record is None or record.state is not JobState.QUEUED or record.waits == _STARTING:
        return StartDiagnosis(StartVerdict.STARTING)  # its stamps are still to come
    word = record.waits.partition(":")[0]
    named = StartVerdict.BLOCKED if _LASTING.fullmatch(word) else StartVerdict.CLOSED
    reason = f"Slurm's reason is {record.waits}" if record.waits else ""
    return StartDiagnosis(StartVerdict.WAITING if word in _IN_TURN else named, reason)


def state_words(value: object) -> list[str]:
    """Return a state or a set of states as words in capitals."""
    if isinstance(value, str):
        value = value.split("+")
    if not isinstance(value, list):
        return []
    return [str(word).upper() for word in value]


def plain_number(value: object) -> float | None:
    """Return a number from Slurm's JSON of any version; None if unset or infinite."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def record_of_row(row: Mapping[str, Any], attempt: str, count: int, job: str) -> JobRecord:
    """Return the record of one of Slurm's jobs."""
    states = state_words(row.get("job_state"))
    why = str(row.get("state_reason") or "")
    state = job_state(states, why)
    over = state.final or state is JobState.EVICTED
    described = str(row.get("state_description") or "")
    shares = node_shares(row)
    has_begun = over or state in (JobState.RUNNING, JobState.HELD)  # before that it is Slurm's own guess
    return JobRecord(
        attempt,
        count,
        job,
        state,
        started=(plain_number(row.get("start_time")) or None) if has_begun else None,
        finished=plain_number(row.get("end_time")) or None if over else None,
        exit_code=_exit_code(row.get("exit_code")) if state in (JobState.COMPLETED, JobState.FAILED) else None,
        reason="" if state in (JobState.COMPLETED, JobState.RUNNING) else _reason(row, states, why, described),
        hosts=node_names(str(row.get("nodes") or "")),
        processors=None if shares is None else {name: share.cores for name, share in shares.items()},
        waits=_waits_for(why, described) if "PENDING" in states else _STARTING,
        restarts=int(plain_number(row.get("restart_cnt")) or 0),
    )


def _reason(row: Mapping[str, Any], states: Sequence[str], why: str, described: str) -> str:
    """Return why a job did not end well: Slurm's words but where it ended the job for what the job took."""
    if "TIMEOUT" in states:
        minutes = plain_number(row.get("time_limit"))  # Slurm rounds what was asked up to whole ones
        return f"its time limit{'' if minutes is None else f' of {format_duration(60 * minutes)}'} was over"
    if "OUT_OF_MEMORY" in states:
        return "it took more memory than it had asked for, and Slurm ended it"
    return ": ".join(word for word in ("+".join(states).lower(), why, described) if word and word != "None")


def _waits_for(why: str, described: str) -> str:
    return ": ".join(word for word in (why, described, _MEANINGS.get(why, "")) if word and word != "None")


def _exit_code(value: object) -> int | None:
    """Return the code of a wait status (22.05) or of Slurm's later form."""
    if isinstance(value, dict) and "return_code" in value:
        signal = value.get("signal")
        killed = plain_number(signal.get("id", signal.get("signal_id"))) if isinstance(signal, dict) else None
        code = plain_number(value["return_code"])
        return 128 + int(killed) if killed else None if code is None else int(code)
    status = plain_number(value)
    if status is None:
        return None
    return 128 + (int(status) & 0x7F) if int(status) & 0x7F else int(status) >> 8
