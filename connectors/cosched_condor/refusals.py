"""HTCondor's words where it does not take a job: never, not now, or a limit that passes by itself."""

from __future__ import annotations

import re

from cosched.connector import ConnectorError

__all__ = ["PER_SUBMISSION", "refusal"]

PER_SUBMISSION = "MAX_JOBS_PER_SUBMISSION"
_NAMED = re.compile(r"MAX_JOBS_(?:SUBMITTED|PER_OWNER|PER_SUBMISSION)")
_NUMBERED = re.compile(r"Schedd says -(\d)")
# What the scheduler answers in place of a job's number (NewJobErr in its sources); the library shows the number alone.
_LIMITS = {"2": "MAX_JOBS_SUBMITTED", "3": "MAX_JOBS_PER_OWNER", "4": PER_SUBMISSION}
# What no second try changes; all else may be the scheduler's state of the moment.
_FINAL = (
    "failed to create job ad",
    "permission",
    "not authorized",
    "owner",
    "invalid",
    "parse",
    "no such",
    "undefined",
)


def refusal(context: str, words: str, *, submitting: bool) -> ConnectorError:
    """Return the error for what HTCondor said.

    Args:
        context: what it was asked for, for people.
        words: what was said, in one line.
        submitting: it was asked to take jobs.
    """
    limit = _limit(words) if submitting else ""
    if limit:  # the whole submission is undone
        return ConnectorError(
            f"HTCondor takes no more jobs for now: its limit {limit} is reached", transient=True, refused=True
        )
    final = submitting and any(word in words.lower() for word in _FINAL)
    return ConnectorError(f"{context}: {words}", transient=not final)


def _limit(words: str) -> str:
    """Return the name of the limit that the words speak of; empty for none."""
    named = _NAMED.search(words)
    if named:
        return named.group()
    numbered = _NUMBERED.search(words)
    return _LIMITS.get(numbered.group(1), "") if numbered else ""
