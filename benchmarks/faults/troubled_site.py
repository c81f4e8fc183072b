"""A site whose daemon's clock can be set, and whose manager can be spoilt."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cosched.errors import SystemFault
from tests.testbed.forked.nursery import QuickSite, forked_command, forked_daemon
from tests.testbed.trouble import TroubleFile

if TYPE_CHECKING:
    from pathlib import Path

    from demo.site import Process

__all__ = ["TroubledSite"]


class TroubledSite(QuickSite):
    """A site runs daemons with the trouble that a file describes."""

    @property
    def trouble(self) -> TroubleFile:
        """What the daemon reads at each call of its manager and each look at its clock."""
        return TroubleFile(self._trouble)

    @property
    def wrong_answers(self) -> int:
        """How many wrong, late or missing answers the manager has given."""
        file = self._trouble.with_name("wrong-answers")
        return file.stat().st_size if file.exists() else 0

    def database(self, *words: str) -> None:
        """Do what an administrator does with `cosched database`.

        Raises:
            SystemFault: it ended with another code than 0.
        """
        said = self.folder / "database.log"
        if forked_command(["database", *words, "--config", str(self.config)], said):
            raise SystemFault(f"cosched database {words[0]}: {said.read_text()[-2000:]}")

    @property
    def _trouble(self) -> Path:
        return self.folder / "trouble.json"

    def _spawn(self) -> Process:
        return forked_daemon(self.config, self.log, os.environ, self._trouble)
