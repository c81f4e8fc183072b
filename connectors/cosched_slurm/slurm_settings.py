"""The settings of the Slurm connector: the table `[connector.slurm]` of the configuration."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.connector.settings_table import SettingsTable, read_settings, setting

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["SlurmSettings"]


def _identity(keys: SettingsTable, key: str) -> str:
    chosen = keys.choice(key, "daemon", "account", "user")
    if chosen == "user" and os.geteuid() != 0:
        raise keys.wrong(key, chosen, "another one: only root may submit for other users")
    return chosen


def _lowest_uid(keys: SettingsTable, key: str) -> int:
    return int(keys.number(key, 1000, 1, 2**32 - 2))


def _spool(keys: SettingsTable, key: str) -> Path:
    path = keys.path(key, "/var/spool/cosched/slurm", "the absolute path of a folder")
    if "%" in str(path):
        raise keys.wrong(key, str(path), "a path without '%', which Slurm replaces in names of files")
    return path


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
        cluster: "switch" (a host's leaf switch in topology.conf is its cluster), or the beginning of the node feature
            whose rest names it; empty for none.
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

    spool: Path = setting(_spool)
    config: Path | None = setting(
        SettingsTable.optional_path, "the absolute path of Slurm's configuration file (slurm.conf)"
    )
    bin: Path | None = setting(
        SettingsTable.optional_path, "the absolute path of the folder that holds sbatch and squeue"
    )
    partition: str = setting(SettingsTable.name)
    account: str = setting(SettingsTable.name)
    qos: str = setting(SettingsTable.name)
    host_class: str = setting(SettingsTable.name)
    cluster: str = setting(SettingsTable.name, '"switch", or the beginning of a node feature')
    completions: Path | None = setting(SettingsTable.optional_path, "the absolute path of a file", exists=False)
    poll: float = setting(SettingsTable.seconds, 2.0, 0.1, 3600)
    timeout: float = setting(SettingsTable.seconds, 30.0, 1, 3600)
    keep_days: float = setting(SettingsTable.number, 7.0, 0, 36500)
    reservation: str = setting(SettingsTable.name)
    gres: str = setting(SettingsTable.name, "generic resources such as gpu:1")
    identity: str = setting(_identity)
    lowest_uid: int = setting(_lowest_uid)
    interface: str = setting(SettingsTable.choice, "cli", "pyslurm")

    @classmethod
    def read(cls, table: Mapping[str, object]) -> SlurmSettings:
        """Check the table and fill in what it leaves out.

        Raises:
            UserError: a key is unknown or its value is not usable; the message names it and what is expected.
        """
        return read_settings(cls, "slurm", table)
