"""The connector's end of the process that runs HTCondor's library, and its errors.

Start at `CondorClient`; `refusal_error` says whether a submission may succeed later.
"""

from __future__ import annotations

import importlib.util
import os
import re
from typing import TYPE_CHECKING

from cosched.connector import ConnectorError
from cosched.connector.worker_process import WorkerProcess

if TYPE_CHECKING:
    from cosched_condor.condor_settings import CondorSettings

__all__ = ["PER_SUBMISSION", "CondorClient", "refusal_error"]

if importlib.util.find_spec("htcondor2") is None:
    raise ImportError("no module named 'htcondor2'")

PER_SUBMISSION = "MAX_JOBS_PER_SUBMISSION"
_NAMED = re.compile(r"MAX_JOBS_(?:SUBMITTED|PER_OWNER|PER_SUBMISSION)")
_NUMBERED = re.compile(r"Schedd says -(\d)")
# What the scheduler answers in place of a job's number (NewJobErr in its sources); the library shows the number alone.
_LIMITS = {"2": "MAX_JOBS_SUBMITTED", "3": "MAX_JOBS_PER_OWNER", "4": PER_SUBMISSION}
_NOT_EDITED = "Unable to edit jobs"  # the library says no more, whatever the scheduler's reason
# Errors that no second try changes; any other may be the scheduler's state of the moment.
_FINAL_WORDS = (
    "failed to create job ad",
    "permission",
    "not authorized",
    "owner",
    "invalid",
    "parse",
    "no such",
    "undefined",
)


def refusal_error(context: str, words: str, *, submitting: bool) -> ConnectorError:
    """Return the error that HTCondor's answer means.

    Args:
        context: the question, for people.
        words: the answer, in one line.
        submitting: whether it was asked to take jobs.
    """
    limit = _submit_limit(words) if submitting else ""
    if limit:  # the whole submission is undone
        return ConnectorError(
            f"HTCondor takes no more jobs for now: its limit {limit} is reached", transient=True, refused=True
        )
    final = submitting and any(word in words.lower() for word in _FINAL_WORDS)
    return ConnectorError(f"{context}: {words}", transient=not final)


def _submit_limit(words: str) -> str:
    """Return the name of the limit that the words speak of; empty for none."""
    named = _NAMED.search(words)
    if named:
        return named.group()
    numbered = _NUMBERED.search(words)
    return _LIMITS.get(numbered.group(1), "") if numbered else ""


_NO_COLLECTOR = "communication with collector"
_VERB_TEXTS = {
    "hosts": "list its hosts",
    "queue": "show its queue",
    "history": "show its history",
    "unmatched": "say why a job is idle",
    "act": "change a job",
    "edit": "change a job",
    "follow": "tell its events",
    "slots": "list its hosts",
    "scheduler": "name its scheduler",
    "user": "say as whom it knows cosched",
    "submit_spooled": "submit",
    "retrieve": "give back what jobs wrote",
}


class CondorClient(WorkerProcess):
    """Asks HTCondor through a process that runs its library.

    Args:
        settings: address of HTCondor, and the longest time for an answer.
    """

    def __init__(self, settings: CondorSettings) -> None:
        super().__init__(
            ["cosched_condor.htcondor_worker", settings.schedd],
            dict(os.environ) | _library_environment(settings),
            settings.timeout,
            manager="HTCondor",
            daemon="its scheduler",
        )

        self._pool = settings.pool

    def refusal(self, verb: str, message: str) -> ConnectorError:
        """Turn the library's words into an error, transient where it might pass by itself."""
        if message.startswith(_NOT_EDITED):
            message += (
                ": is it still in the queue, and cosched's user among QUEUE_SUPER_USERS and known to the scheduler "
                "(`condor_qusers -add USER@DOMAIN`)?"
            )
        elif _NO_COLLECTOR in message.lower():
            where = self._pool or "COLLECTOR_HOST of HTCondor's configuration"
            asked = f"condor_status -pool {self._pool}" if self._pool else "condor_status"
            message = message.rstrip(".") + (
                f" ({where}): does `{asked}` list slots here? Else start it, or correct [connector.condor] pool"
            )
        return refusal_error(
            f"HTCondor, asked to {_VERB_TEXTS.get(verb, verb)}", message, submitting=verb.startswith("submit")
        )


def _library_environment(settings: CondorSettings) -> dict[str, str]:
    """Return the variables that HTCondor's library reads; of tokens only the folder."""
    found = {}
    if settings.config is not None:
        found["CONDOR_CONFIG"] = str(settings.config)
    elif settings.pool:
        found["CONDOR_CONFIG"] = "ONLY_ENV"  # a machine beside the pool needs no configuration of HTCondor's
    if settings.pool:
        found["_CONDOR_COLLECTOR_HOST"] = settings.pool
    if settings.tokens is not None:
        found["_CONDOR_SEC_TOKEN_DIRECTORY"] = str(settings.tokens)
    return found
