"""The settings of the HTCondor connector: the table `[connector.condor]` of the configuration."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.connector import safe
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """

    spool: Path
    config: Path | None
    schedd: str
    host_class: str
    job_lease: int
    keep_claim: int
    timeout: float

    @classmethod
    def read(cls, table: Mapping[str, object]) -> CondorSettings:
        """Check the table and fill in what it leaves out.

        Raises:
            UserError: a key is unknown or its value is not usable; the message names it and what is expected.
        """
        valid = [field.name for field in fields(cls)]
        for key in table:
            if key not in valid:
                raise UserError(f"connector condor has no setting {key!r}: choose from {', '.join(valid)}")
        config = table.get("config")
        return cls(
            spool=_path("spool", table.get("spool", "/var/spool/cosched/condor"), "the absolute path of a folder"),
            config=None if config is None else _file(config),
            schedd=_name("schedd", table.get("schedd", "")),
            host_class=_attribute(table.get("host_class", "")),
            job_lease=int(_number("job_lease", table.get("job_lease", 60), 10, _DAY)),
            keep_claim=int(_number("keep_claim", table.get("keep_claim", 20), 0, _DAY)),
            timeout=_number("timeout", table.get("timeout", 30.0), 1, 3600),
        )


def _wrong(key: str, value: object, expected: str) -> UserError:
    return UserError(f"connector condor: {key} = {value!r} is not usable: give {expected}")


def _path(key: str, value: object, expected: str) -> Path:
    if not isinstance(value, str | Path) or not Path(value).is_absolute():
        raise _wrong(key, value, expected)
    safe(str(value), f"connector condor: {key}")
    return Path(value)


def _file(value: object) -> Path:
    expected = "the absolute path of HTCondor's configuration file (condor_config)"
    path = _path("config", value, expected)
    if not path.is_file():
        raise _wrong("config", value, expected)
    return path


def _name(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(key, value, "a name, as `condor_status -schedd` shows it")
    return safe(value, f"connector condor: {key}")


def _attribute(value: object) -> str:
    if not isinstance(value, str) or (value and not _ATTRIBUTE.match(value)):
        raise _wrong("host_class", value, "the name of a ClassAd attribute: letters, digits and underscores")
    return value


def _number(key: str, value: object, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise _wrong(key, value, f"a number of seconds from {low} to {high:.0f}")
    return float(value)
