"""Three books of who has what of which host: cosched's, the manager's and the jobs' own diaries; a checker reads all.

Start at `Watch`, which looks again and again at the first two while jobs run, and at `compared`, which holds all three
against one another once they have ended. The manager is asked by its own commands, so that nothing of cosched's
connectors can hide a difference.
"""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

from tests.testbed.condor.pool import CondorPool
from tests.testbed.diaries import Entry, overfilled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from cosched.api.documents import TaskDetail
    from cosched.client import Client
    from tests.testbed.node_size import NodeSize
    from tests.testbed.slurm.cluster import SlurmCluster

__all__ = [
    "Holding",
    "Look",
    "Watch",
    "compared",
    "manager_keys",
    "managers_book",
    "our_book",
    "overdrawn",
    "reporting_delays",
    "unexplained",
]

_NEWS = 1000  # lines of the log in which a look finds all that is new
_MEMORY_STEP = 128  # MiB in which HTCondor deals memory out
_PLACES = ("CoschedTask", "RemoteHost", "LastRemoteHost", "CpusProvisioned", "MemoryProvisioned", "GPUsProvisioned")
_RUNNING = "2"  # JobStatus


class Holding(NamedTuple):
    """What a job has of a host by one book; memory in MiB."""

    job: str
    host: str
    cores: int
    memory: int
    gpus: int


class Look(NamedTuple):
    """One look at the books of cosched and the manager, which took from `began` to `ended` (epoch seconds).

    Attributes:
        ours: names of the tasks that run by cosched's book.
        managers: the manager's own keys of those that run by its book (see `manager_keys`).
        used: cores in use on each host, as the manager adds them up.
    """

    began: float
    ended: float
    ours: frozenset[str]
    managers: frozenset[str]
    used: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Difference:
    """Two books that differ about a job, and the seconds to the nearest begin or end by its diary."""

    job: str
    books: str
    at: float
    age: float

    def __str__(self) -> str:
        return f"{self.books} differ about {self.job} at {self.at:.3f}, {self.age:.1f} s from its begin or end"


class Watch:
    """Looks at both books, again and again, while its context lasts.

    Attributes:
        looks: what it saw.
        told: task and kind of a line of cosched's log → when a look first found it there.
    """

    def __init__(self, client: Client, pool: CondorPool | SlurmCluster, pause: float = 0.5) -> None:
        self.looks: list[Look] = []
        self.told: dict[tuple[str, str], float] = {}
        self._client, self._pool, self._pause = client, pool, pause
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._fault: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        if self._fault is not None and error is None:
            raise self._fault

    def look(self) -> Look:
        """Look once."""
        began = time.time()
        names, at = dict[str, str](), 0
        while True:
            page = self._client.tasks(("dispatching", "running"), limit=1000, offset=at)
            names |= {task.id: task.name for task in page.tasks if task.state == "running"}
            at += len(page.tasks)
            if at >= page.total or not page.tasks:
                break
        lines = self._client.log(limit=_NEWS)
        now = time.time()
        for line in lines:
            self.told.setdefault((line.task, line.kind), now)
        running, used = _running(self._pool)
        return Look(began, time.time(), frozenset(names.values()), frozenset(running), used)

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                self.looks.append(self.look())
                self._ended.wait(self._pause)
        except BaseException as fault:  # told where it is waited for
            self._fault = fault


def our_book(tasks: Iterable[TaskDetail]) -> list[Holding]:
    """Return what the last tries of ended tasks had, by cosched's book."""
    found = []
    for task in tasks:
        last = task.tries[-1]
        found += [Holding(task.name, host, last.cores, last.memory, last.gpus) for host in last.hosts]
    return sorted(found)


def manager_keys(pool: CondorPool | SlurmCluster, tasks: Iterable[TaskDetail]) -> dict[str, str]:
    """Return the name of each ended task by the key that it has in the manager's book.

    HTCondor's jobs carry the task's identifier, of Slurm's arrays only the number of each element tells them apart.
    """
    if isinstance(pool, CondorPool):
        return {task.id: task.name for task in tasks}
    return {task.tries[-1].job: task.name for task in tasks}


def managers_book(pool: CondorPool | SlurmCluster, names: Mapping[str, str]) -> list[Holding]:
    """Return what ended jobs had, as the manager remembers them.

    Args:
        pool: HTCondor's or Slurm's.
        names: `manager_keys`.
    """
    rows = _condor_jobs(pool) if isinstance(pool, CondorPool) else _slurm_jobs(pool)
    return sorted(Holding(names[row.job], *row[1:]) for row in rows if row.job in names)


def compared(
    ours: Sequence[Holding], managers: Sequence[Holding], entries: Sequence[Entry], node: NodeSize
) -> list[str]:
    """Return every fault of three books about the same jobs, which have all ended, in words.

    Each job had the same hosts and as much of them by all three; by none a host had more than it has.

    Args:
        ours: cosched's book.
        managers: the manager's, which may give memory in steps.
        entries: the jobs' diaries.
        node: size of the hosts.
    """
    found = overfilled(entries, node)
    diaries = [Holding(each.job, each.host, each.cores, each.memory, each.gpus) for each in entries]
    untold = {each.job for each in diaries if not each.memory}  # the program was not told what comes with its cores
    for name, book in (("cosched", ours), ("the manager", managers)):
        steps = _MEMORY_STEP if book is managers else 1
        found += _unlike(
            f"only {name} knows of",
            f"{name} does not know of",
            [each._replace(memory=0) if each.job in untold else _in_steps(each, steps) for each in book],
            [_in_steps(each, steps) for each in diaries],
        )
    found += _unlike(
        "only cosched, not the manager, knows of",
        "only the manager, not cosched, knows of",
        [_in_steps(each, _MEMORY_STEP) for each in ours],
        [_in_steps(each, _MEMORY_STEP) for each in managers],
    )
    by_device = {each.job: len(each.devices) for each in entries}
    return found + [
        f"{each.job} was to have {each.gpus} GPUs of {each.host} and saw {by_device.get(each.job, 0)}"
        for each in ours
        if by_device.get(each.job, 0) != each.gpus
    ]


def _in_steps(each: Holding, steps: int) -> Holding:
    return each._replace(memory=-(-each.memory // steps) * steps)


def _unlike(only: str, missing: str, book: Sequence[Holding], other: Sequence[Holding]) -> list[str]:
    found = [f"{only} {each}" for each in sorted(set(book) - set(other))]
    found += [f"{missing} {each}" for each in sorted(set(other) - set(book))]
    if len(set(book)) < len(book):
        found.append(f"{only} a job of a host twice")
    return found


def unexplained(
    looks: Iterable[Look], names: Mapping[str, str], entries: Sequence[Entry], node: NodeSize, delay: float
) -> tuple[list[str], list[Difference]]:
    """Return the faults of looks while jobs ran, and all differences of books.

    `names` are the `manager_keys`. A difference is explained where the job began or ended, by its diary, no longer than
    `delay` from the look; what the manager adds up must be within a host at any look.
    """
    spans: dict[str, tuple[float, float]] = {}
    for each in entries:
        began, ended = spans.get(each.job, (each.began, each.ended))
        spans[each.job] = (min(began, each.began), max(ended, each.ended))
    faults, differences = list[str](), list[Difference]()
    for look in looks:
        faults += [
            f"{host} had {used} of {node.cores} cores by the manager at {look.ended:.3f}"
            for host, used in look.used.items()
            if used > node.cores
        ]
        by_diary = {job for job, (began, ended) in spans.items() if began <= look.began and look.ended <= ended}
        managers = {names[key] for key in look.managers if key in names}
        maybe = {job for job, (began, ended) in spans.items() if began <= look.ended and look.began <= ended}
        pairs = (
            ("cosched and the manager", look.ours ^ managers),
            ("cosched and the diary", (look.ours - maybe) | (by_diary - look.ours)),
            ("the manager and the diary", (managers - maybe) | (by_diary - managers)),
        )
        for books, jobs in pairs:
            for job in sorted(jobs & spans.keys()):
                age = min(_distance(look, moment) for moment in spans[job])
                differences.append(Difference(job, books, look.ended, age))
    return faults + [str(each) for each in differences if each.age > delay], differences


def _distance(look: Look, moment: float) -> float:
    return max(look.began - moment, moment - look.ended, 0.0)


def reporting_delays(
    told: Mapping[tuple[str, str], float], tasks: Iterable[TaskDetail], entries: Sequence[Entry]
) -> list[float]:
    """Return the seconds from the begin or end of each job, by its diary, until a client was told of it.

    News may come before the line of the diary: the manager tells of a job before its program has said anything.

    Args:
        told: `Watch.told`.
        tasks: the tasks, ended.
        entries: their diaries.
    """
    found = []
    for task in tasks:
        own = [each for each in entries if each.job == task.name]
        moments = {"job running": min(each.began for each in own), "job completed": max(each.ended for each in own)}
        found += [abs(told[task.id, kind] - at) for kind, at in moments.items() if (task.id, kind) in told]
    return found


def overdrawn(
    entries: Sequence[Entry], licences: Mapping[str, Mapping[str, int]], total: Mapping[str, int]
) -> list[str]:
    """Return each moment at which jobs held more of a licence than there is, by their diaries, in words.

    Args:
        entries: the diaries; a job holds its licences while one of its processes runs.
        licences: what each job holds, by name.
        total: of each licence.
    """
    found = []
    for now in sorted({each.began for each in entries}):
        there = {each.job for each in entries if each.began <= now < each.ended}
        for name, most in total.items():
            held = sum(licences.get(job, {}).get(name, 0) for job in there)
            if held > most:
                found.append(f"{held} of {most} {name} were held at {now:.3f}: {', '.join(sorted(there))}")
    return found


def _running(pool: CondorPool | SlurmCluster) -> tuple[set[str], dict[str, int]]:
    """Return the manager's keys of the jobs that run, and the cores in use on each host."""
    used: dict[str, int] = {}
    if isinstance(pool, CondorPool):
        rows = pool.tool("condor_q", "-allusers", "-constraint", "JobStatus == 2", "-af:t", "CoschedTask").splitlines()
        slots = pool.tool("condor_status", "-constraint", 'SlotType == "Dynamic"', "-af:t", "Machine", "Cpus")
        for row in slots.splitlines():
            host, cores = row.split("\t")
            used[host] = used.get(host, 0) + int(cores)
        return set(rows), used
    rows = pool.tool("squeue", "--noheader", "--array", "--states=running", "--format=%i").splitlines()
    for row in pool.tool("sinfo", "--noheader", "--Node", "--format=%N %C").splitlines():
        host, cores = row.split()
        used[host] = int(cores.split("/")[0])  # allocated/idle/other/total
    return {row.strip() for row in rows}, used


def _condor_jobs(pool: CondorPool) -> list[Holding]:
    """Return what HTCondor's jobs had, those that ended and those that it still has in its queue."""
    found = []
    for command in (("condor_history",), ("condor_q", "-allusers")):
        for row in pool.tool(*command, "-af:t", *_PLACES).splitlines():
            task, now, last, cores, memory, gpus = row.split("\t")
            host = (last if now == "undefined" else now).rpartition("@")[2]
            if cores.isdigit() and memory.isdigit():
                found.append(Holding(task, host, int(cores), int(memory), int(gpus) if gpus.isdigit() else 0))
    return found


def _slurm_jobs(cluster: SlurmCluster) -> list[Holding]:
    """Return what Slurm's jobs have or had, of each of their nodes."""
    found = []
    for line in cluster.tool("scontrol", "show", "job", "--oneliner", "--details").splitlines():
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        nodes = words.get("NodeList", "(null)")
        if "JobId" not in words or nodes == "(null)":
            continue
        element = "ArrayTaskId" in words
        key = f"{words['ArrayJobId']}_{words['ArrayTaskId']}" if element else words["JobId"]
        hosts = cluster.tool("scontrol", "show", "hostnames", nodes).split()
        had = dict(item.split("=", 1) for item in words.get("AllocTRES", words.get("TRES", "")).split(",") if item)
        parts = len(hosts)
        each = int(had.get("cpu", "0")) // parts, _mebibytes(had.get("mem", "0")) // parts, _devices(line) // parts
        found += [Holding(key, host, *each) for host in hosts]
    return found


def _devices(line: str) -> int:
    """Return the GPUs that Slurm gave a job in all: `JOB_GRES=gpu:3`; none are in the TRES without an accounting."""
    given = re.search(r" JOB_GRES=(?:gres[:/])?gpu(?::[a-z_]+)?:(\d+)", line)
    return int(given[1]) if given else 0


def _mebibytes(text: str) -> int:
    """Return Slurm's "4G" or "4096M" in MiB."""
    units = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2}
    return round(float(text.rstrip("KMGT")) * units.get(text[-1], 1.0))
