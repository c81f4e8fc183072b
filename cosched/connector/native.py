"""A job in the words of its manager, as a user's own file has them once it has been read."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import ClassVar

from cosched.errors import UserError

__all__ = ["Native", "check_native"]

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}\Z")
_LONGEST = 64 * 1024  # characters of a value
_MOST = 500  # settings of a job


@dataclass(frozen=True, slots=True)
class Native:
    """What a user's own submit file or batch script asks of its manager, beside hosts, times and names.

    Attributes:
        manager: connector that it is written for ("condor", "slurm").
        settings: HTCondor's submit commands, or the long options of sbatch; macros and shell are through.
        script: text of the batch script; empty where the settings name a program.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    manager: str
    settings: dict[str, str] = field(default_factory=dict)
    script: str = ""


def check_native(native: Native) -> None:
    """Refuse a job that could mean more than its settings say.

    Raises:
        UserError: a name that is none, a value of several lines or with characters that nobody sees.
    """
    if len(native.settings) > _MOST:
        raise UserError(f"the job has {len(native.settings)} settings: at most {_MOST} are allowed")
    for key, value in native.settings.items():
        if not _KEY.match(key):
            raise UserError(f"the job has a setting {key[:80]!r}: names are letters, digits, '_', '.' and '-'")
        if len(value) > _LONGEST:
            raise UserError(f"the job's setting {key} has {len(value)} characters: at most {_LONGEST} are allowed")
        for character in value:
            if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
                raise UserError(f"the job's setting {key} contains {character!r}: leave it out")
    if "\0" in native.script or any(unicodedata.category(c) == "Cs" for c in native.script):
        raise UserError("the job's script contains a zero byte or half a surrogate pair: leave it out")
