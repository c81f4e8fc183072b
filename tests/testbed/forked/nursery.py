"""Daemons that start at once: forked from a process that has read all of cosched's modules before.

What runs is `cosched serve` as ever, with the environment of who starts it; its planner and its predictors are forked
likewise.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demo.site import Site
from tests.store.new_database import new_database
from tests.testbed.forked.quick_command import quick_python
from tests.testbed.forked.server import Forked, fork_server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from demo.site import Process

__all__ = ["QuickSite", "forked_command", "forked_daemon"]

# What these daemons are tested for is not how good their plans are: they search no longer than that for a better one,
# and their tasks wait for no search that starts, which takes long beside other tests.
_PLANNING = {"converged": "0.05s", "exact": "0s", "search_start": "0s"}


class QuickSite(Site):
    """A site whose daemons are forked."""

    def _write(self, connector: Mapping[str, Any]) -> None:
        self._settings = {**self._settings, "planning": {**_PLANNING, **self._settings.get("planning", {})}}
        super()._write(connector)
        state = self.folder / "state"
        if not state.exists():
            state.mkdir(mode=0o700)
            new_database(state)

    @staticmethod
    def prepare_forks() -> None:
        """Start the process that daemons are forked from; it keeps the environment of this moment for all to see."""
        fork_server()

    def _spawn(self) -> Process:
        return forked_daemon(self.config, self.log, os.environ)


def forked_daemon(config: Path, log: Path, environment: Mapping[str, str], trouble: Path | None = None) -> Process:
    """Start `cosched serve` with a configuration file; what it says is added to the log.

    With a file of trouble it lives with what that has (`tests.testbed.trouble`).
    """
    words = [str(config), str(quick_python()), str(trouble or "")]
    return _forked("daemon", words, log, environment)


def forked_command(words: Sequence[str], log: Path) -> int:
    """Do what `cosched` does with such words, adding what it says to a file; return its exit code."""
    return _forked("cosched", words, log, os.environ).wait()


def _forked(what: str, words: Sequence[str], log: Path, environment: Mapping[str, str]) -> Forked:
    with Path(os.devnull).open("rb") as nothing, log.open("ab") as said:
        return Forked(what, words, environment, (nothing.fileno(), said.fileno(), said.fileno()))
