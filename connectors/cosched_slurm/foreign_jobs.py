"""Hosts taken by foreign jobs: start at `ForeignJobs`, which seldom asks Slurm."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cosched.connector import HostShare
from cosched_slurm.allocations import node_shares
from cosched_slurm.jobs import commented_uuid, node_names, plain_number, state_words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

__all__ = ["ForeignClaim", "ForeignJobs", "foreign_claims"]

_NO_LIMIT = 0xFFFFFFFE  # minutes: what 22.05 writes for none, or for infinite
_OCCUPYING_STATES = {
    "RUNNING",
    "SUSPENDED",
    "CONFIGURING",
    "COMPLETING",
    "RESIZING",
    "SIGNALING",
    "STAGE_OUT",
    "STOPPED",
}
_HALTED = {"SUSPENDED", "STOPPED"}


@dataclass(frozen=True, slots=True)
class ForeignClaim:
    """Claim of foreign jobs on a host.

    Attributes:
        reason: the longest job and its owner, for people.
        until: end of its time limit, epoch seconds; None without one.
        share: what all of them hold of the host; nothing where Slurm does not say: it may be all.
    """

    reason: str
    until: float | None
    share: HostShare = field(default_factory=HostShare)


def foreign_claims(
    rows: Iterable[Mapping[str, Any]], ours: Callable[[str], bool], halted: Collection[str] = ()
) -> dict[str, ForeignClaim]:
    """Return the claim of foreign jobs on each host.

    Args:
        rows: jobs in Slurm's JSON of any version.
        ours: returns whether an attempt is known here.
        halted: jobs of ours that were suspended: Slurm keeps what they have, for nobody knows how long.
    """
    found: dict[str, ForeignClaim] = {}
    for row in rows:
        attempt = commented_uuid(row)
        states = state_words(row.get("job_state"))
        rests = not _names(row).isdisjoint(halted)
        known = attempt is not None and not rests and ours(attempt)
        if known or not _OCCUPYING_STATES.intersection(states):
            continue
        job = plain_number(row.get("job_id"))
        owner = row.get("user_name") or "others"
        endless = rests or "SUSPENDED" in states or _has_no_time_limit(row)
        until = None if endless else plain_number(row.get("end_time")) or None
        reason = f"taken by job {int(job or 0)} of {owner}{', which is suspended' if _HALTED & {*states} else ''}"
        held = node_shares(row)
        for name in node_names(str(row.get("nodes") or "")):
            claim = ForeignClaim(reason, until, HostShare() if held is None else held.get(name, HostShare()))
            found[name] = _joined(found[name], claim) if name in found else claim
    return found


def _names(row: Mapping[str, Any]) -> set[str]:
    """Return a job's number, and that of its array with its index where it is an element."""
    array, index, job = (plain_number(row.get(key)) for key in ("array_job_id", "array_task_id", "job_id"))
    return {str(int(job or 0)), *([] if not array or index is None else [f"{int(array)}_{int(index)}"])}


def _joined(one: ForeignClaim, other: ForeignClaim) -> ForeignClaim:
    """Return the claim of the longer job, with the shares of both."""
    longest = max((one, other), key=lambda claim: claim.until or float("inf"))
    mine, theirs = one.share, other.share
    if HostShare() in (mine, theirs):
        return replace(longest, share=HostShare())
    both = HostShare(mine.memory + theirs.memory, mine.cores + theirs.cores, mine.gpus + theirs.gpus)
    return replace(longest, share=both)


def _has_no_time_limit(row: Mapping[str, Any]) -> bool:
    """Return whether a job has no time limit; Slurm gives it a year."""
    if "time_limit" not in row:
        return False
    minutes = plain_number(row["time_limit"])
    return minutes is None or minutes >= _NO_LIMIT


class ForeignJobs:
    """Finds foreign claims on busy hosts, asking Slurm at most once in a polling period.

    Args:
        jobs: returns the jobs of all users.
        ours: returns whether an attempt is known here.
        poll: seconds between two questions at least.
    """

    def __init__(
        self, jobs: Callable[[], Iterable[Mapping[str, Any]]], ours: Callable[[str], bool], poll: float
    ) -> None:
        self._jobs = jobs
        self._ours = ours
        self._poll = poll
        self._asked = float("-inf")
        self._halted: frozenset[str] = frozenset()
        self._known: dict[str, ForeignClaim] = {}

    def claims(self, unexplained: set[str], halted: Collection[str] = ()) -> dict[str, ForeignClaim]:
        """Return the foreign claims on these hosts.

        Args:
            unexplained: busy hosts whose jobs are not all known here.
            halted: jobs of ours that were suspended.

        Raises:
            ConnectorError: Slurm does not answer.
        """
        if not unexplained:
            return {}
        if self._halted != frozenset(halted) or time.monotonic() >= self._asked + self._poll:
            self._halted = frozenset(halted)
            self._known = foreign_claims(self._jobs(), self._ours, self._halted)
            self._asked = time.monotonic()
        return {name: claim for name, claim in self._known.items() if name in unexplained}
