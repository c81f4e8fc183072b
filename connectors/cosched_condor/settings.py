"""The settings of the HTCondor connector: the table `[connector.condor]` of the configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from cosched.connector.settings import SettingsTable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["CondorSettings"]

_ATTRIBUTE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class CondorSettings:
    """What an administrator may choose.

    Attributes:
        spool: folder of the attempts and of the event log; HTCondor must reach it under the same path.
        config: HTCondor's configuration file; None for the one that HTCondor finds by itself.
        schedd: name of the scheduler to submit to; empty for this machine's.
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
    schedd: str
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
        keys = SettingsTable("condor", table, [field.name for field in fields(cls)])
        return cls(
            spool=keys.path("spool", "/var/spool/cosched/condor", "the absolute path of a folder"),
            config=keys.optional_path("config", "the absolute path of HTCondor's configuration file (condor_config)"),
            schedd=keys.name("schedd", "a name, as `condor_status -schedd` shows it"),
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
