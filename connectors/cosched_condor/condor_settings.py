"""The settings of the HTCondor connector: the table `[connector.condor]` of the configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.connector.settings_table import SettingsTable, read_settings, setting

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["CondorSettings"]

_ATTRIBUTE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ACCOUNTING_GROUP = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", re.ASCII)
_DAY = 86400.0
_TOKENS = "the absolute path of a folder with files of tokens that cosched can read"


def _attribute(keys: SettingsTable, key: str) -> str:
    value = keys.get(key, "")
    if not isinstance(value, str) or (value and not _ATTRIBUTE.match(value)):
        raise keys.wrong(key, value, "the name of a ClassAd attribute: letters, digits and underscores")
    return value


def _accounting_group(keys: SettingsTable, key: str) -> str:
    expected = "a name such as group_physics.hep: letters, digits, underscores, hyphens and points"
    name = keys.name(key, expected)
    if name and not _ACCOUNTING_GROUP.fullmatch(name):
        raise keys.wrong(key, name, expected)
    return name


def _groups(keys: SettingsTable, key: str) -> str:
    chosen = keys.choice(key, "pinned", "parallel")
    if chosen == "parallel" and keys.get("files") == "spooled":
        raise keys.wrong(key, chosen, '"pinned" beside files = "spooled"')
    return chosen


def _whole_seconds(keys: SettingsTable, key: str, default: int, low: int) -> int:
    return int(keys.seconds(key, default, low, _DAY))


def _schedd(keys: SettingsTable, key: str) -> str:
    name = keys.name(key, "a name, as `condor_status -schedd` shows it")
    if keys.get("pool") and not name:
        raise keys.wrong(key, name, "the scheduler's name beside pool, as `condor_status -schedd` shows it")
    return name


def _tokens(keys: SettingsTable, key: str) -> Path | None:
    """Return the folder of tokens.

    It has at least one, and others can read none of them.
    """
    folder = keys.optional_path(key, _TOKENS)
    if folder is None:
        return None
    try:
        files = [file for file in folder.iterdir() if file.is_file()]
    except OSError:
        files = []
    if not files:
        raise keys.wrong(key, str(folder), _TOKENS)
    for file in files:
        if file.stat().st_mode & 0o077:
            raise keys.wrong(key, str(file), "files that only their owner can read: chmod 600")
    return folder


@dataclass(frozen=True, slots=True)
class CondorSettings:
    """Settings of the connector, checked.

    Attributes:
        spool: folder of the attempts and of the event log; HTCondor must reach it under this path, unless `spooled`.
        config: HTCondor's configuration file; None for the one that HTCondor finds by itself.
        pool: address of the collector; empty for the one in HTCondor's configuration.
        schedd: name of the scheduler to submit to; empty for this machine's.
        tokens: folder of the tokens to show; None for where HTCondor looks by itself.
        files: "shared" (the scheduler reaches the spool) or "spooled": files go to the scheduler and come back from it.
        groups: "pinned", or "parallel": groups are jobs of the parallel universe, all of their hosts or none.
        static_slots: "together" (a machine is one host, whatever static slots it is cut in) or "hosts": each is one.
        host_class: attribute of a machine that names its class; empty where machines have none.
        cluster_attribute: attribute of a machine that names its cluster, such as its site; empty for none.
        job_lease: seconds that a job may go on while its host or the scheduler is out of reach.
        keep_claim: seconds that a host stays claimed after a job, so that the next starts at once; 0 for not at all.
        timeout: seconds that HTCondor may take for an answer.
        keep_days: days after which the folder of an attempt that has ended is deleted.
        accounting_group: accounting group of all jobs; the task's owner is its user. Empty for none.
        request_cpus: cores that a job asks for.
        request_memory: MiB that a job asks for; 0 leaves it to HTCondor.
        request_disk: KiB that a job asks for; 0 leaves it to HTCondor.
        request_gpus: devices that a job asks for.
    """

    spool: Path = setting(SettingsTable.path, "/var/spool/cosched/condor", "the absolute path of a folder")
    config: Path | None = setting(
        SettingsTable.optional_path, "the absolute path of HTCondor's configuration file (condor_config)"
    )
    pool: str = setting(SettingsTable.name, "the address of a collector, such as cm.example.org:9618")
    schedd: str = setting(_schedd)
    tokens: Path | None = setting(_tokens)
    files: str = setting(SettingsTable.choice, "shared", "spooled")
    groups: str = setting(_groups)
    static_slots: str = setting(SettingsTable.choice, "together", "hosts")
    host_class: str = setting(_attribute)
    cluster_attribute: str = setting(_attribute)
    job_lease: int = setting(_whole_seconds, 60, 10)
    keep_claim: int = setting(_whole_seconds, 20, 0)
    timeout: float = setting(SettingsTable.seconds, 30.0, 1, 3600)
    keep_days: float = setting(SettingsTable.number, 7.0, 0, 36500)
    accounting_group: str = setting(_accounting_group)
    request_cpus: int = setting(SettingsTable.whole, 1, 1, 100_000)
    request_memory: int = setting(SettingsTable.whole, 0, 0, 1e9)
    request_disk: int = setting(SettingsTable.whole, 0, 0, 1e12)
    request_gpus: int = setting(SettingsTable.whole, 0, 0, 1000)

    @property
    def spooled(self) -> bool:
        """Return whether files go to the scheduler and come back from it."""
        return self.files == "spooled"

    @property
    def slot_hosts(self) -> bool:
        """Return whether each static slot is a host."""
        return self.static_slots == "hosts"

    @property
    def parallel(self) -> bool:
        """Return whether groups are jobs of the parallel universe."""
        return self.groups == "parallel"

    @classmethod
    def read(cls, table: Mapping[str, object]) -> CondorSettings:
        """Check the table and fill in what it leaves out.

        Raises:
            UserError: a key is unknown or its value is not usable; the message names it and what is expected.
        """
        return read_settings(cls, "condor", table)
