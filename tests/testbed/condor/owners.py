"""Owners of a pool's hosts: while a host's file is there, its owner is, and HTCondor lets jobs stand still.

    owners = Owners(folder, ["node01", "node02"])
    with CondorPool(hosts=2, settings=owners.settings) as pool:
        owners.come("node01")
        owners.go("node01")

Every startd looks once a second (STARTD_CRON) and publishes what it saw as `OwnerIsHere`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Owners"]

_LOOK = """\
#!/bin/sh
if test -e "$1"; then echo "OwnerIsHere = true"; else echo "OwnerIsHere = false"; fi
echo "- update:true"
"""

_POLICY = """
STARTD_CRON_JOBLIST = OWNER
STARTD_CRON_OWNER_EXECUTABLE = {look}
STARTD_CRON_OWNER_MODE = Periodic
STARTD_CRON_OWNER_PERIOD = 1s
START = OwnerIsHere =!= true
IS_OWNER = START =?= false
WANT_SUSPEND = true
SUSPEND = OwnerIsHere =?= true
CONTINUE = OwnerIsHere =!= true
POLLING_INTERVAL = 1
"""


class Owners:
    """Owners of hosts, each there or away.

    Attributes:
        settings: what a pool with them is configured with.
    """

    def __init__(self, folder: Path, hosts: Sequence[str]) -> None:
        """Set up; all are away.

        Args:
            folder: for their files; the pool's daemons must be able to read it.
            hosts: names of the hosts.
        """
        self._folder = folder
        look = folder / "look"
        look.write_text(_LOOK)
        look.chmod(0o755)
        folder.chmod(0o755)
        own = (f"{name.upper()}.STARTD_CRON_OWNER_ARGS = {folder / name}\n" for name in hosts)
        self.settings = _POLICY.format(look=look) + "".join(own)

    def come(self, host: str) -> None:
        """Have the owner of a host come."""
        (self._folder / host).touch()

    def go(self, host: str) -> None:
        """Have the owner of a host go."""
        (self._folder / host).unlink(missing_ok=True)
