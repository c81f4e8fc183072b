"""Read a connector's table of the configuration into a dataclass.

Errors name the key and the expected value.

A field of the dataclass is a key; `setting` says there how it is read. Start at `read_settings`.
"""

from __future__ import annotations

import os
import re
from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from cosched.connector.values import safe
from cosched.errors import UserError
from cosched.sizes import parse_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from _typeshed import DataclassInstance

__all__ = ["SettingsTable", "numbered_hosts", "read_settings", "setting"]

_Value = TypeVar("_Value")
_Limits = ParamSpec("_Limits")
_Settings = TypeVar("_Settings", bound="DataclassInstance")

_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}\Z")
_MOST_HOSTS = 4096


def numbered_hosts(count: int) -> tuple[str, ...]:
    """Return names (host01, host02, …) for hosts that have none of their own."""
    width = max(2, len(str(count)))
    return tuple(f"host{number:0{width}}" for number in range(1, count + 1))


def setting(
    read: Callable[Concatenate[SettingsTable, str, _Limits], _Value], *limits: _Limits.args, **named: _Limits.kwargs
) -> _Value:
    """Return the field of a setting.

    Args:
        read: returns the value of a key, a method of `SettingsTable` or a function like one.
        limits: further arguments of `read`, after the table and the key, such as the default.
        named: the same, by name.
    """
    declared: _Value = field(metadata={"read": lambda table, key: read(table, key, *limits, **named)})
    return declared


def read_settings(kind: type[_Settings], connector: str, table: Mapping[str, object]) -> _Settings:
    """Return settings from a table; `setting` has made every field of their dataclass.

    Args:
        kind: their dataclass.
        connector: its name, for errors.
        table: the table as configured.

    Raises:
        UserError: a key is unknown or its value is not usable; the message names it and what is expected.
    """
    keys = SettingsTable(connector, table, [each.name for each in fields(kind)])
    return kind(**{each.name: each.metadata["read"](keys, each.name) for each in fields(kind)})


class SettingsTable:
    """The settings of one connector; each method returns a key's value or its default.

    Args:
        connector: its name, for errors.
        table: as configured.
        valid: all keys that the connector knows.

    Raises:
        UserError: a key is unknown.
    """

    def __init__(self, connector: str, table: Mapping[str, object], valid: Iterable[str]) -> None:
        self._connector = connector
        self._table = table
        names = list(valid)
        for key in table:
            if key not in names:
                raise UserError(f"connector {connector} has no setting {key!r}: choose from {', '.join(names)}")

    def get(self, key: str, default: object = None) -> object:
        """Return a value as it is."""
        return self._table.get(key, default)

    def wrong(self, key: str, value: object, expected: str) -> UserError:
        """Return the error for a value that cannot be used."""
        return UserError(f"connector {self._connector}: {key} = {value!r} is not usable: give {expected}")

    def path(self, key: str, default: str, expected: str) -> Path:
        """Return an absolute path that can be passed on safely."""
        return self._absolute(key, self._table.get(key, default), expected)

    def optional_path(self, key: str, expected: str, *, exists: bool = True) -> Path | None:
        """Return an absolute path; None where the key is left out.

        With `exists`, it must be there.
        """
        value = self._table.get(key)
        if value is None:
            return None
        path = self._absolute(key, value, expected)
        if exists and not path.exists():
            raise self.wrong(key, value, expected)
        return path

    def state_folder(self, key: str) -> Path:
        """Return an absolute path, by default the connector's own folder in the user's state.

        That is below $XDG_STATE_HOME, or below the home folder where this is not an absolute path.
        """
        base = os.environ.get("XDG_STATE_HOME", "")
        state = Path(base) if base.startswith("/") else Path.home() / ".local" / "state"
        return self.path(key, str(state / "cosched" / self._connector), "the absolute path of a folder")

    def hosts(self, key: str, default: int) -> tuple[str, ...]:
        """Return the names of hosts that are made up: given one by one, or numbered."""
        value = self._table.get(key, default)
        expected = f"a number from 1 to {_MOST_HOSTS} or a list of different names of letters, digits, '.', '_' and '-'"
        if isinstance(value, int) and not isinstance(value, bool):
            if not 1 <= value <= _MOST_HOSTS:
                raise self.wrong(key, value, expected)
            return numbered_hosts(value)
        if not isinstance(value, list | tuple) or not value or len(value) > _MOST_HOSTS:
            raise self.wrong(key, value, expected)
        if len(set(map(str, value))) < len(value):
            raise self.wrong(key, value, expected)
        for name in value:
            if not isinstance(name, str) or not _HOST.match(name):
                raise self.wrong(key, name, expected)
        return tuple(value)

    def name(self, key: str, expected: str = "a name") -> str:
        """Return a word that can be passed on safely; empty where it is left out."""
        value = self._table.get(key, "")
        if not isinstance(value, str):
            raise self.wrong(key, value, expected)
        return safe(value, f"connector {self._connector}: {key}")

    def choice(self, key: str, *words: str) -> str:
        """Return one of several words; the first where the key is left out."""
        value = self._table.get(key, words[0])
        if value not in words:
            raise self.wrong(key, value, f"one of {', '.join(words)}")
        return str(value)

    def seconds(self, key: str, default: float, low: float, high: float) -> float:
        """Return a duration."""
        return self.number(key, default, low, high, unit=" of seconds")

    def number(
        self, key: str, default: float, low: float, high: float, *, whole: bool = False, unit: str = ""
    ) -> float:
        """Return a number within limits."""
        value = self._table.get(key, default)
        kind = int if whole else int | float
        if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
            what = f"a {'whole ' if whole else ''}number{unit} from {low:g} to {high:.15g}"
            raise self.wrong(key, value, what)
        return float(value)

    def whole(self, key: str, default: int, low: int, high: float) -> int:
        """Return a whole number within limits."""
        return int(self.number(key, default, low, high, whole=True))

    def optional_whole(self, key: str, low: int, high: float) -> int | None:
        """Return a whole number within limits; None where the key is left out."""
        return None if self._table.get(key) is None else self.whole(key, low, low, high)

    def optional_memory(self, key: str) -> int | None:
        """Return a size of memory in MiB; None where the key is left out."""
        value = self._table.get(key)
        if value is None:
            return None
        try:
            size = parse_memory(value) if isinstance(value, str | int) and not isinstance(value, bool) else 0
        except UserError:
            size = 0
        if size < 1:
            raise self.wrong(key, value, 'a size such as "256G", or a number of MiB')
        return size

    def _absolute(self, key: str, value: object, expected: str) -> Path:
        if not isinstance(value, str | Path) or not Path(value).is_absolute():
            raise self.wrong(key, value, expected)
        safe(str(value), f"connector {self._connector}: {key}")
        return Path(value)
