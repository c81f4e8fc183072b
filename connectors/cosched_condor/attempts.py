"""The spool: a folder for each attempt with its script, its output and its fence, and the event log of all."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from cosched.connector.attempts import FENCED, AttemptFolders, exports, prepared_command

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.connector import Launch

__all__ = ["FENCED", "Attempts"]

_SCRIPT = """\
#!/bin/sh
# An attempt that was cancelled while its submission was under way must not run.
[ -e {fence} ] && exit {fenced}
export PATH="${{PATH:-/usr/local/bin:/usr/bin:/bin}}"
{exports}
{command}
"""


class Attempts(AttemptFolders):
    """The folders of attempts.

    They and what is in them are open to others as far as the spool itself is. A pool whose jobs do not run as cosched's
    own user needs a spool that this user may write to (mode 1777 or a common group).
    """

    def __init__(self, spool: Path) -> None:
        super().__init__(spool)
        self.log = spool / "events.log"

    def prepare(self) -> None:
        """Make the spool and the event log where they are missing."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.log.exists():
            self.log.touch(exist_ok=True)
            self.log.chmod(self.mode() & 0o666)

    def created(self, attempt: str) -> float | None:
        """Return when the attempt's script was written: nothing of it is older; None where there is none."""
        try:
            return (self.folder(attempt) / "run.sh").stat().st_mtime
        except FileNotFoundError:
            return None

    def write_script(self, launch: Launch) -> Path:
        """Write what each process runs.

        Raises:
            UserError: the program's name begins with a dash.
        """
        return self.write(launch.attempt, "run.sh", _SCRIPT.format(
            fence=shlex.quote(str(self.folder(launch.attempt) / "cancelled")),
            fenced=FENCED,
            exports=exports(launch),
            command=prepared_command(launch, self.folder(launch.attempt)),
        ))  # fmt: skip
