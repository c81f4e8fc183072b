"""Our end of the process that runs HTCondor's library."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from cosched.connector.workers import WorkerProcess
from cosched_condor.refusals import refusal

if TYPE_CHECKING:
    from cosched.connector import ConnectorError
    from cosched_condor.settings import CondorSettings

__all__ = ["Worker"]

if importlib.util.find_spec("htcondor2") is None:
    raise ImportError("no module named 'htcondor2'")

_PURPOSE = {
    "hosts": "list its hosts",
    "queue": "show its queue",
    "history": "show its history",
    "act": "change a job",
    "follow": "tell its events",
    "slots": "list its hosts",
    "scheduler": "name its scheduler",
    "submit_spooled": "submit",
    "retrieve": "give back what jobs wrote",
}


class Worker(WorkerProcess):
    """A process that runs HTCondor's library for us.

    Args:
        settings: where HTCondor is, and how long it may take for an answer.
    """

    def __init__(self, settings: CondorSettings) -> None:
        super().__init__(
            ["cosched_condor.worker", settings.schedd],
            dict(os.environ) | _environment(settings),
            settings.timeout,
            manager="HTCondor",
            daemon="its scheduler",
        )

    def refusal(self, verb: str, message: str) -> ConnectorError:
        """Turn the library's words into an error; what might pass by itself is transient."""
        return refusal(f"HTCondor, asked to {_PURPOSE.get(verb, verb)}", message, submitting=verb.startswith("submit"))


def _environment(settings: CondorSettings) -> dict[str, str]:
    """Return what HTCondor's library reads from its environment; of tokens only where they are."""
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
