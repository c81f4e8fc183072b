"""Values of parameters as people write them: numbers, and sweeps over several (k=1..10:2)."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["parse_parameter_values"]

_MOST_VALUES = 10_000
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VALUE_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:(?::| +step +)(\*?)({_NUMBER}))?")


def parse_parameter_values(settings: Iterable[str], option: str = "--set") -> dict[str, float | list[float]]:
    """Return the value, or the values to sweep over, of each parameter.

    Args:
        settings: NAME=NUMBER, or a sweep: NAME=1,2,4, NAME=1..10:2 (`1..10 step 2`), NAME=1..64:*2.
        option: where they are given, for messages.

    Raises:
        UserError: not such a setting, a name twice, a range that never ends or has more than 10,000 values.
    """
    given: dict[str, float | list[float]] = {}
    for setting in settings:
        name, separator, value = (part.strip() for part in setting.partition("="))
        if not separator or not name:
            raise _unreadable_setting(setting, option)
        if name in given:
            raise UserError(f"{option} {setting!r}: {name} is set already")
        if "," in value:
            given[name] = [
                item for part in value.split(",") for item in _parameter_values(part.strip(), setting, option)
            ]
        else:
            found = _parameter_values(value, setting, option)
            given[name] = found if ".." in value else found[0]
    return given


def _parameter_values(text: str, setting: str, option: str) -> list[float]:
    match = _VALUE_RANGE.fullmatch(text)
    if match is None:
        try:
            value = float(text)
        except ValueError:
            raise _unreadable_setting(setting, option) from None
        if not math.isfinite(value):
            raise UserError(f"{option} {setting!r}: write a finite number")
        return [value]
    first, last, step = float(match[1]), float(match[2]), float(match[4] or 1)
    if match[3]:
        if not (step > 1 and 0 < first <= last < math.inf):
            raise UserError(f"{option} {setting!r}: a range by factors goes up from above 0 by more than 1")
        count = math.floor(min(math.log(last / first) / math.log(step), 2 * _MOST_VALUES) + 1e-9) + 1
    else:
        if not (step > 0 and first <= last and last - first < math.inf):
            raise UserError(f"{option} {setting!r}: a range goes up, by a step above 0: write the smaller number first")
        count = math.floor(min((last - first) / step, 2 * _MOST_VALUES) + 1e-9) + 1
    if count > _MOST_VALUES:
        raise UserError(f"{option} {setting!r}: more than {_MOST_VALUES} values: take a larger step, or a part")
    return [first * step**turn if match[3] else first + turn * step for turn in range(count)]


def _unreadable_setting(setting: str, option: str) -> UserError:
    return UserError(
        f"{option} {setting!r}: write NAME=NUMBER, or NAME=1,2,4, NAME=1..10:2 or NAME=1..64:*2 for a sweep of numbers"
    )
