"""What an administrator should look at of settings that Slurm does not take: start at `SetupRemarks`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from cosched.connector import ConnectorError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched_slurm.commands import SlurmCommands
    from cosched_slurm.slurm_settings import SlurmSettings

__all__ = ["SetupRemarks"]

_ASK_AGAIN = 60.0  # seconds after which Slurm is asked again about settings that it refused


class SetupRemarks:
    """Finds settings with which every task would fail when it is submitted."""

    def __init__(self, settings: SlurmSettings, commands: SlurmCommands) -> None:
        self._settings = settings
        self._commands = commands
        self._ask_at = 0.0  # monotonic time; infinite once Slurm would take a job
        self._refusal = ""

    def lines(self) -> Sequence[str]:
        """Return a line for each; asks Slurm at most once a minute, and no more once it would take a job."""
        return [*self._completions(), *self._account()]

    def _completions(self) -> Sequence[str]:
        file = self._settings.completions
        if file is None or os.access(file, os.R_OK):
            return []
        return [
            f"completions is {file}, which cannot be read: name the JobCompLoc of slurm.conf in [connector.slurm] "
            "completions, and let cosched's user read it; without it jobs that ended while cosched was away may be "
            "taken for lost"
        ]

    def _account(self) -> Sequence[str]:
        named = {name: str(getattr(self._settings, name)) for name in ("account", "qos", "reservation")}
        options = [f"--{name}={value}" for name, value in named.items() if value]
        if not options or self._settings.identity != "daemon":  # others' jobs are not asked for in their place
            return []
        if time.monotonic() >= self._ask_at:
            try:
                self._commands.test_submission(options)
            except ConnectorError as error:
                self._refusal = "" if error.transient else str(error)
                self._ask_at = time.monotonic() + _ASK_AGAIN
            else:
                self._refusal, self._ask_at = "", float("inf")
        if not self._refusal:
            return []
        return [
            f"Slurm takes no job with {' '.join(options)} ({self._refusal}): correct these keys of [connector.slurm], "
            "or have the account or the quality of service added (sacctmgr); until then tasks fail, or wait, when "
            "their turn comes"
        ]
