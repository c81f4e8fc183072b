"""Slurm's words where it does not take a job: never, not now, or a limit that passes by itself."""

from __future__ import annotations

import re

from cosched.connector import ConnectorError

__all__ = ["NO_ROOM", "full", "refusal"]

NO_ROOM = re.compile(rb"(sleeping and|temporarily disabled,) retrying\s*$", re.MULTILINE)
"""What sbatch says before it waits, up to two minutes, for room in the controller's queue (`MaxJobCount`)."""
# What no second try changes; all else may be the controller's state of the moment.
_FINAL = (
    "invalid",
    "not available",
    "more processors",
    "permission",
    "denied",
    "not permitted",
    "unrecognized",
    "unable to open file",
    "violates",
    "dependency problem",
    "unknown user",
)
_NO_ROOM = ("resource temporarily unavailable", "temporarily unable to accept", "job queue full")
_POLICY = "violates accounting/qos policy"
_SUBMITTED = re.compile(r"SubmitJob")  # AssocMaxSubmitJobLimit, QOSMaxSubmitJobPerUserLimit, MaxSubmitJobsPerAccount, …
_OTHER_LIMIT = re.compile(r"\b(?:Assoc|QOS|Max)[A-Z]\w+")


def refusal(context: str, words: str, *, submitting: bool) -> ConnectorError:
    """Return the error for what Slurm said.

    Args:
        context: who said it, for people.
        words: what was said, in one line.
        submitting: it was asked to take a job.
    """
    small = words.lower()
    if submitting and (_limited(words) or any(word in small for word in _NO_ROOM)):
        return ConnectorError(full(words), transient=True, refused=True)
    final = submitting and any(word in small for word in _FINAL)
    return ConnectorError(f"{context}: {words}", transient=not final)


def full(words: str) -> str:
    """Return the message for a job for which there is no room now."""
    return f"Slurm takes no more jobs for now: {words}"


def _limited(words: str) -> bool:
    """Whether a policy is violated that allows the same job as soon as there are fewer; Slurm need not say which."""
    if _POLICY not in words.lower():
        return False
    return bool(_SUBMITTED.search(words)) or not _OTHER_LIMIT.search(words)
