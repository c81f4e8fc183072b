"""The settings of the Slurm connector: the table `[connector.slurm]` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.connector import safe
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SlurmSettings"]


@dataclass(frozen=True, slots=True)
class SlurmSettings:
    """What an administrator may choose.

    Attributes:
        spool: folder of the attempts; all hosts must reach it under the same path.
        config: path of slurm.conf; None for the one that Slurm finds by itself.
        bin: folder of Slurm's commands; None to look for them in PATH.
        partition: partition that jobs go to and whose hosts count; empty for Slurm's default and all hosts.
        account: account that jobs are charged to; empty for the user's default.
        qos: quality of service of the jobs; empty for the default.
        host_class: what the node feature begins with whose rest names a host's class; empty where there is none.
        completions: Slurm's job completion file (JobCompLoc of jobcomp/filetxt); None where there is none.
        poll: seconds between two looks at the queue while jobs are in it.
        timeout: seconds that Slurm may take for an answer.
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

    @classmethod
    def read(cls, table: Mapping[str, object]) -> SlurmSettings:
        """Check the table and fill in what it leaves out.

        Raises:
            UserError: a key is unknown or its value is not usable; the message names it and what is expected.
        """
        valid = [field.name for field in fields(cls)]
        for key in table:
            if key not in valid:
                raise UserError(f"connector slurm has no setting {key!r}: choose from {', '.join(valid)}")
        config, folder, completions = (table.get(key) for key in ("config", "bin", "completions"))
        return cls(
            spool=_spool(table.get("spool", "/var/spool/cosched/slurm")),
            config=None if config is None else _existing("config", config, "Slurm's configuration file (slurm.conf)"),
            bin=None if folder is None else _existing("bin", folder, "the folder that holds sbatch and squeue"),
            partition=_name("partition", table.get("partition", "")),
            account=_name("account", table.get("account", "")),
            qos=_name("qos", table.get("qos", "")),
            host_class=_name("host_class", table.get("host_class", "")),
            completions=None if completions is None else _path("completions", completions, "a file"),
            poll=_number("poll", table.get("poll", 2.0), 0.1, 3600),
            timeout=_number("timeout", table.get("timeout", 30.0), 1, 3600),
        )


def _wrong(key: str, value: object, expected: str) -> UserError:
    return UserError(f"connector slurm: {key} = {value!r} is not usable: give {expected}")


def _path(key: str, value: object, what: str) -> Path:
    if not isinstance(value, str | Path) or not Path(value).is_absolute():
        raise _wrong(key, value, f"the absolute path of {what}")
    safe(str(value), f"connector slurm: {key}")
    return Path(value)


def _spool(value: object) -> Path:
    path = _path("spool", value, "a folder")
    if "%" in str(path):
        raise _wrong("spool", value, "a path without '%', which Slurm replaces in names of files")
    return path


def _existing(key: str, value: object, what: str) -> Path:
    path = _path(key, value, what)
    if not path.exists():
        raise _wrong(key, value, f"the absolute path of {what}")
    return path


def _name(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(key, value, "a name")
    return safe(value, f"connector slurm: {key}")


def _number(key: str, value: object, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise _wrong(key, value, f"a number of seconds from {low} to {high:.0f}")
    return float(value)
