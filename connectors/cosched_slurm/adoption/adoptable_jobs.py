"""Jobs that users submit to Slurm themselves, read from squeue: what they ask, what they take, whether they wait.

etc/slurm/job_submit.lua leaves a note in each. Start at `noted_job`; `adopted_jobs` lets them go.
"""

from __future__ import annotations

import math
import re
import shlex
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cosched.connector import HostShare, JobState
from cosched.connector.interface import AdoptableJob
from cosched.errors import UserError
from cosched_slurm.allocations import gpu_count, tres_count
from cosched_slurm.jobs import job_state, node_names, plain_number, state_words
from cosched_slurm.userfile import cosched_requests

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.connector.jobs import JobReport

__all__ = ["NotedJob", "adoptable_job", "noted_job", "requested_share", "waits_for_lease"]

# As etc/slurm/job_submit.lua writes it. Users cannot write it; what they ask stands last.
_NOTE = re.compile(
    r"cosched adopt submitted=(\d+) lease=(\d+) begin=(\d+) nodes=(\d*)-(\d*) tasks=(\d*)(?: (.*))?\Z", re.DOTALL
)
_COMMENT = re.compile(r"cosched:\s*(--.*)\Z", re.DOTALL)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}\Z")  # others could not be a task's


@dataclass(frozen=True, slots=True)
class NotedJob:
    """One of Slurm's jobs with a note of job_submit.lua, as Slurm lists it now."""

    key: str
    number: str
    state: JobState
    note: re.Match[str]
    begin: float
    row: Mapping[str, Any]

    @property
    def live(self) -> bool:
        """Return whether it waits or runs."""
        return not self.state.final and self.state is not JobState.EVICTED

    @property
    def hosts(self) -> tuple[str, ...]:
        """Return its nodes; empty before it has some."""
        return node_names(str(self.row.get("nodes") or ""))

    @property
    def pending(self) -> bool:
        """Return whether it has not begun."""
        return "PENDING" in state_words(self.row.get("job_state"))

    @property
    def restarts(self) -> int:
        """Return how often Slurm began it anew."""
        return int(plain_number(self.row.get("restart_cnt")) or 0)

    @property
    def closed(self) -> bool:
        """Return whether its begin lies in the future."""
        return self.pending and self.begin > time.time()


def noted_job(row: Mapping[str, Any]) -> NotedJob | None:
    """Return the job of a row of squeue; None where it has no note, and is to be left alone."""
    number = plain_number(row.get("job_id"))
    note = _NOTE.match(str(row.get("admin_comment") or ""))
    if number is None or note is None:
        return None
    state = job_state(state_words(row.get("job_state")), str(row.get("state_reason") or ""))
    key = f"{row.get('cluster') or 'slurm'}#{int(number)}#{note[1]}"
    return NotedJob(key, str(int(number)), state, note, plain_number(row.get("eligible_time")) or 0.0, row)


def waits_for_lease(job: NotedJob, leases: Sequence[int]) -> bool:
    """Return whether a job's begin is a lease or as submitted, not edited since."""
    return int(job.begin) in {int(job.note[2]), int(job.note[3]), *leases}


def adoptable_job(job: NotedJob, leases: Sequence[int], report: JobReport | None) -> AdoptableJob:
    """Return a job with what its user asks now.

    Args:
        job: as Slurm lists it.
        leases: ends of the last leases, epoch seconds.
        report: of the attempt for which it was let go, if it was.
    """
    row, note = job.row, job.note
    try:
        asked, fault = _asked(job), ""
    except (UserError, ValueError) as error:
        asked, fault = [], f"what its #COSCHED lines or its comment ask cannot be read: {error}"
    name = str(row.get("name") or "")
    named = {"name": name} if _PLAIN_NAME.match(name) else {}
    begin = float(note[3])
    later = report is None and job.closed and not waits_for_lease(job, leases)
    return AdoptableJob(
        key=job.key,
        job=job.number,
        owner=str(row.get("user_name") or ""),
        submitted=float(note[1]),
        command=_command(str(row.get("command") or "")),
        directory=str(row.get("current_working_directory") or ""),
        options=named | {option.replace("-", ""): value for option, value in asked if option != "set"},
        parameters={
            name: value for name, _, value in (text.partition("=") for option, text in asked if option == "set")
        },
        fault=fault,
        needs=requested_share(row),
        partition=str(row.get("partition") or ""),
        hosts="1" if not note[4] else note[4] if note[5] in ("", note[4]) else f"{note[4]}-{note[5]}",
        begin=begin if begin > float(note[1]) else None,
        held=job.state is JobState.HELD or later,
        running=job.state is JobState.RUNNING,
        ended=not job.live,
        report=report,
    )


def _asked(job: NotedJob) -> list[tuple[str, str]]:
    """Return what a job's user asks; what the comment says now comes last.

    Raises:
        UserError: an option is not known.
        ValueError: a quote is not closed.
    """
    comment = _COMMENT.match(str(job.row.get("comment") or ""))
    texts = ((job.note[7] or "").partition(" # ")[0], "" if comment is None else comment[1])
    return [pair for text in texts for pair in cosched_requests(shlex.split(text))]


def _command(text: str) -> tuple[str, ...]:
    """Return a job's script with its arguments, for people.

    One that sbatch read from its input has no path.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        words = tuple(text.split())
    return words if words and words[0].startswith("/") else ("/dev/stdin",)


def requested_share(row: Mapping[str, Any]) -> HostShare:
    """Return what a job asks of each of its nodes, on the fewest that it may have: on more it takes no more of each.

    Cores are 0 where it is to have its nodes for itself (`--exclusive`, `--mem=0`), memory where Slurm counts none.

    Args:
        row: a job as Slurm lists it, with what Slurm made of the options for all of its nodes together.
    """
    asked = str(row.get("tres_req_str") or "")
    nodes = tres_count(asked, "node") or 1
    cores = max(
        math.ceil((tres_count(asked, "cpu") or 0) / nodes), int(plain_number(row.get("minimum_cpus_per_node")) or 0)
    )
    of_node, of_core = (plain_number(row.get(f"memory_per_{what}")) for what in ("node", "cpu"))
    memory = int(of_node or (of_core or 0) * cores)
    tasks = math.ceil((plain_number(row.get("tasks")) or 1) / nodes)
    gpus = _devices(row, "node") or math.ceil(_devices(row, "job") / nodes) or _devices(row, "task") * tasks
    shared = row.get("shared")  # 22.05 has a word, later ones a list
    alone = "none" in (shared if isinstance(shared, list) else [shared])
    whole = alone or (memory == 0 and "mem=" in asked)
    return HostShare(memory, 0 if whole else cores, gpus)


def _devices(row: Mapping[str, Any], what: str) -> int:
    text = str(row.get(f"tres_per_{what}") or "")
    return gpu_count(re.sub(r"gres[:/]", "", text).replace("=", ":")) or 0
