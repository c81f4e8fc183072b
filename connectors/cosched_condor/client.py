"""Our end of the process that runs HTCondor's library."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from cosched.connector import ConnectorError
from cosched.connector.workers import WorkerProcess

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Worker"]

if importlib.util.find_spec("htcondor2") is None:
    raise ImportError("no module named 'htcondor2'")

_FINAL = ("failed to create job ad", "permission", "not authorized", "owner", "invalid", "parse", "no such",
          "undefined")  # fmt: skip
_PURPOSE = {
    "hosts": "list its hosts",
    "queue": "show its queue",
    "history": "show its history",
    "act": "change a job",
    "follow": "tell its events",
}


class Worker(WorkerProcess):
    """A process that runs HTCondor's library for us.

    Args:
        config: path of HTCondor's configuration; None for the one that HTCondor finds by itself.
        schedd: name of the scheduler; empty for this machine's.
        timeout: seconds that HTCondor may take for an answer.
    """

    def __init__(self, config: Path | None, schedd: str, timeout: float) -> None:
        environment = dict(os.environ) | ({} if config is None else {"CONDOR_CONFIG": str(config)})
        super().__init__(["cosched_condor.worker", schedd], environment, timeout, manager="HTCondor",
                         daemon="its scheduler")  # fmt: skip

    def refusal(self, verb: str, message: str) -> ConnectorError:
        """Turn the library's words into an error; what might pass by itself is transient."""
        final = verb == "submit" and any(word in message.lower() for word in _FINAL)
        return ConnectorError(f"HTCondor, asked to {_PURPOSE.get(verb, verb)}: {message}", transient=not final)
