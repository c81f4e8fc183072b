"""The settings of the HTCondor connector: the table `[connector.condor]` of the configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from cosched.connector.settings_table import SettingsTable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["CondorSettings"]

_ATTRIBUTE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DAY = 86400.0
_TOKENS = "the absolute path of a folder with files of tokens that cosched can read"
_KEYS = {"spooled": "files", "parallel": "groups"}  # field → what it is called in the configuration


@dataclass(frozen=True, slots=True)
class CondorSettings:
    """Settings of the connector, checked.

    Attributes:
        spool: folder of the attempts and of the event log; HTCondor must reach it under this path, unless `spooled`.
        config: HTCondor's configuration file; None for the one that HTCondor finds by itself.
        pool: address of the collector; empty for the one in HTCondor's configuration.
        schedd: name of the scheduler to submit to; empty for this machine's.
        tokens: folder of the tokens to show; None for where HTCondor looks by itself.
        parallel: groups are jobs of the parallel universe: all of their hosts or none.
        spooled: files go to the scheduler and come back from it, which shares no folder with cosched.
        host_class: attribute of a machine that names its class; empty where machines have none.
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

    spool: Path
    config: Path | None
    pool: str
    schedd: str
    tokens: Path | None
    spooled: bool
    parallel: bool
    host_class: str
    job_lease: int
    keep_claim: int
    timeout: float
    keep_days: float
    accounting_group: str
    request_cpus: int
    request_memory: int
    request_disk: int
    request_gpus: int

    @classmethod
    def read(cls, table: Mapping[str, object]) -> CondorSettings:
        """Check the table and fill in what it leaves out.

        Raises:
            UserError: a key is unknown or its value is not usable; the message names it and what is expected.
        """
        keys = SettingsTable("condor", table, [_KEYS.get(field.name, field.name) for field in fields(cls)])
        if keys.get("files") == "spooled" and keys.get("groups") == "parallel":
            raise keys.wrong("groups", "parallel", '"pinned" beside files = "spooled"')
        return cls(
            spool=keys.path("spool", "/var/spool/cosched/condor", "the absolute path of a folder"),
            config=keys.optional_path("config", "the absolute path of HTCondor's configuration file (condor_config)"),
            pool=keys.name("pool", "the address of a collector, such as cm.example.org:9618"),
            schedd=_schedd(keys),
            tokens=_tokens(keys),
            spooled=keys.choice("files", ("shared", "spooled")) == "spooled",
            parallel=keys.choice("groups", ("pinned", "parallel")) == "parallel",
            host_class=_attribute(keys, "host_class"),
            job_lease=int(keys.seconds("job_lease", 60, 10, _DAY)),
            keep_claim=int(keys.seconds("keep_claim", 20, 0, _DAY)),
            timeout=keys.seconds("timeout", 30.0, 1, 3600),
            keep_days=keys.number("keep_days", 7.0, 0, 36500),
            accounting_group=keys.name("accounting_group", "a name such as group_physics"),
            request_cpus=int(keys.number("request_cpus", 1, 1, 100_000, whole=True)),
            request_memory=int(keys.number("request_memory", 0, 0, 1e9, whole=True)),
            request_disk=int(keys.number("request_disk", 0, 0, 1e12, whole=True)),
            request_gpus=int(keys.number("request_gpus", 0, 0, 1000, whole=True)),
        )


def _attribute(keys: SettingsTable, key: str) -> str:
    value = keys.get(key, "")
    if not isinstance(value, str) or (value and not _ATTRIBUTE.match(value)):
        raise keys.wrong(key, value, "the name of a ClassAd attribute: letters, digits and underscores")
    return value


def _schedd(keys: SettingsTable) -> str:
    name = keys.name("schedd", "a name, as `condor_status -schedd` shows it")
    if keys.get("pool") and not name:
        raise keys.wrong("schedd", name, "the scheduler's name beside pool, as `condor_status -schedd` shows it")
    return name


def _tokens(keys: SettingsTable) -> Path | None:
    """Return the folder of tokens: it has one at least, and none that others can read."""
    folder = keys.optional_path("tokens", _TOKENS)
    if folder is None:
        return None
    try:
        files = [file for file in folder.iterdir() if file.is_file()]
    except OSError:
        files = []
    if not files:
        raise keys.wrong("tokens", str(folder), _TOKENS)
    for file in files:
        if file.stat().st_mode & 0o077:
            raise keys.wrong("tokens", str(file), "files that only their owner can read: chmod 600")
    return folder
