"""The values that may reach a submit description: checked strings and users' own settings.

A newline in a submit value can run code in our process, `$` reads our environment, a leading `-` is an option: `safe`
refuses these. A user's command never goes this way: it is quoted in a script of its own.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import ClassVar

from cosched.errors import UserError

__all__ = ["NativeDescription", "SafeValue", "check_native_description", "safe"]


class SafeValue(str):
    """A string that `safe` has checked; templates print nothing else."""

    __slots__ = ()


# Cc control, Cf format (right-to-left override), Cs lone surrogates, Zl and Zp line and paragraph separators.
_FORBIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
_LONGEST = 4096
_SETTING_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}\Z")
_LONGEST_SETTING = 64 * 1024  # characters of a value
_MOST_SETTINGS = 500  # settings of a job


def safe(value: str, what: str) -> SafeValue:
    """Check a value for use in a submit description or script.

    Args:
        value: the text.
        what: name of the value, for the error ("task name").

    Raises:
        UserError: control or format characters, `$`, quotes, backslashes or backticks, a leading `-`, or too long.
    """
    if len(value) > _LONGEST:
        raise UserError(f"{what} has {len(value)} characters: at most {_LONGEST} are allowed")
    for character in value:
        if unicodedata.category(character) in _FORBIDDEN or character in "$`\\\"'":
            raise UserError(
                f"{what} contains {character!r}, which cannot be passed to a resource manager: leave it out"
            )
    if value.startswith("-"):
        raise UserError(f"{what} {value!r} starts with '-': start it with another character")
    return SafeValue(value)


@dataclass(frozen=True, slots=True)
class NativeDescription:
    """The requests of a user's submit file or batch script to the manager.

    Attributes:
        manager: connector that it is written for ("condor", "slurm").
        settings: HTCondor's submit commands, or the long options of sbatch, with macros and shell expanded.
        script: text of the batch script; empty where the settings name a program.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    manager: str
    settings: dict[str, str] = field(default_factory=dict)
    script: str = ""

    @property
    def partitions(self) -> tuple[str, ...]:
        """Return the manager's partitions in one of which the job is to run; () where it names none."""
        return tuple(name for name in self.settings.get("partition", "").split(",") if name)


def check_native_description(native: NativeDescription) -> None:
    """Refuse settings that could hide other ones.

    Raises:
        UserError: a wrong name, a value of several lines or with invisible characters.
    """
    if len(native.settings) > _MOST_SETTINGS:
        raise UserError(f"the job has {len(native.settings)} settings: at most {_MOST_SETTINGS} are allowed")
    for key, value in native.settings.items():
        if not _SETTING_NAME.match(key):
            raise UserError(f"the job has a setting {key[:80]!r}: names are letters, digits, '_', '.' and '-'")
        if len(value) > _LONGEST_SETTING:
            raise UserError(
                f"the job's setting {key} has {len(value)} characters: at most {_LONGEST_SETTING} are allowed"
            )
        for character in value:
            if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
                raise UserError(f"the job's setting {key} contains {character!r}: leave it out")
    if "\0" in native.script or any(unicodedata.category(c) == "Cs" for c in native.script):
        raise UserError("the job's script contains a zero byte or half a surrogate pair: leave it out")
