"""Parameters as people write them: `k=4`, `k=1,2,4`, `k=1..10`, `k=1..10:2`, `k=1..1000:*10`."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["parse_settings"]

_MOST = 10_000
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?::(\*?)({_NUMBER}))?")


def parse_settings(settings: Iterable[str]) -> dict[str, float | list[float]]:
    """Return the value, or the values to sweep over, of each parameter.

    Raises:
        UserError: not such a setting, a name twice, a range that never ends or has more than 10,000 values.
    """
    given: dict[str, float | list[float]] = {}
    for setting in settings:
        name, separator, value = (part.strip() for part in setting.partition("="))
        if not separator or not name:
            raise _unreadable(setting)
        if name in given:
            raise UserError(f"--set {setting!r}: {name} is set already")
        if "," in value:
            given[name] = [item for part in value.split(",") for item in _values(part.strip(), setting)]
        else:
            found = _values(value, setting)
            given[name] = found if ".." in value else found[0]
    return given


def _values(text: str, setting: str) -> list[float]:
    match = _RANGE.fullmatch(text)
    if match is None:
        try:
            return [float(text)]
        except ValueError:
            raise _unreadable(setting) from None
    first, last, step = float(match[1]), float(match[2]), float(match[4] or 1)
    if match[3]:
        if not (step > 1 and 0 < first <= last < math.inf):
            raise UserError(f"--set {setting!r}: a range by factors goes up from above 0 by more than 1")
        count = math.floor(math.log(last / first) / math.log(step) + 1e-9) + 1
    else:
        if not (step > 0 and first <= last and last - first < math.inf):
            raise UserError(f"--set {setting!r}: a range goes up by a step above 0")
        count = math.floor(min((last - first) / step, 2 * _MOST) + 1e-9) + 1
    if count > _MOST:
        raise UserError(f"--set {setting!r}: more than {_MOST} values")
    return [first * step**turn if match[3] else first + turn * step for turn in range(count)]


def _unreadable(setting: str) -> UserError:
    return UserError(f"--set {setting!r}: write NAME=NUMBER, or NAME=1,2,4, NAME=1..10:2 or NAME=1..64:*2 for a sweep")
