"""The settings of the Slurm connector: the table `[connector.slurm]` of the configuration."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from cosched.connector.settings_table import SettingsTable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["SlurmSettings"]


@dataclass(frozen=True, slots=True)
class SlurmSettings:
    """Settings of the connector, checked.

    Attributes:
        spool: folder of the attempts; all hosts must reach it under the same path.
        config: path of slurm.conf; None for the one that Slurm finds by itself.
        bin: folder of Slurm's commands; None to look for them in PATH.
        partition: partition that jobs go to and whose hosts count; empty for Slurm's default and all hosts.
        account: account that jobs are charged to; empty for the user's default.
        qos: quality of service of the jobs; empty for the default.
        host_class: beginning of the node feature whose rest names a host's class; empty for none.
        completions: Slurm's job completion file (JobCompLoc of jobcomp/filetxt); None where there is none.
        poll: seconds between two looks at the queue while jobs are in it.
        timeout: seconds that Slurm may take for an answer.
        keep_days: days after which the folder of an attempt that has ended is deleted.
        reservation: reservation that jobs run in; empty for none.
        gres: generic resources that each job asks for on each host ("gpu:1"); empty for none.
        identity: owner of the jobs: "daemon" (all are cosched's user's), "account" (cosched's user's, charged to the
            account that has the name of the task's owner), or "user" (the owner's own; cosched must run as root).
        lowest_uid: smallest number of a user for whom jobs are submitted, with `identity = "user"`.
        interface: "cli" (Slurm's commands) or "pyslurm" (its library).
    """

    spool: Path
    config: Path | None
    bin: Path | None
    partition: str
    account: str
    qos: str
    host_class: str
    completions: Path | None
    poll: float
    timeout: float
    keep_days: float
    reservation: str
    gres: str
    identity: str
    lowest_uid: int
    interface: str

    @classmethod
    def read(cls, table: Mapping[str, object]) -> SlurmSettings:
        """Check the table and fill in what it leaves out.

        Raises:
            UserError: a key is unknown or its value is not usable; the message names it and what is expected.
        """
        keys = SettingsTable("slurm", table, [field.name for field in fields(cls)])
        return cls(
            spool=_spool(keys),
            config=keys.optional_path("config", "the absolute path of Slurm's configuration file (slurm.conf)"),
            bin=keys.optional_path("bin", "the absolute path of the folder that holds sbatch and squeue"),
            partition=keys.name("partition"),
            account=keys.name("account"),
            qos=keys.name("qos"),
            host_class=keys.name("host_class"),
            completions=keys.optional_path("completions", "the absolute path of a file", exists=False),
            poll=keys.seconds("poll", 2.0, 0.1, 3600),
            timeout=keys.seconds("timeout", 30.0, 1, 3600),
            keep_days=keys.number("keep_days", 7.0, 0, 36500),
            reservation=keys.name("reservation"),
            gres=keys.name("gres", "generic resources such as gpu:1"),
            identity=_identity(keys),
            lowest_uid=int(keys.number("lowest_uid", 1000, 1, 2**32 - 2)),
            interface=keys.choice("interface", ("cli", "pyslurm")),
        )


def _identity(keys: SettingsTable) -> str:
    chosen = keys.choice("identity", ("daemon", "account", "user"))
    if chosen == "user" and os.geteuid() != 0:
        raise keys.wrong("identity", chosen, "another one: only root may submit for other users")
    return chosen


def _spool(keys: SettingsTable) -> Path:
    path = keys.path("spool", "/var/spool/cosched/slurm", "the absolute path of a folder")
    if "%" in str(path):
        raise keys.wrong("spool", str(path), "a path without '%', which Slurm replaces in names of files")
    return path
