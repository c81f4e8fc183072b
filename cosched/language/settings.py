"""The values of a hardware configuration's settings, each from those before it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.language.arithmetic import UndefinedError, value
from cosched.language.names import MEMORY, MESSAGES
from cosched.language.syntax import Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.language.syntax import Config, Node

__all__ = ["values"]


def values(config: Config, report: Callable[[Node, str], None] | None = None) -> dict[str, dict[str, float | str]]:
    """Return the value of each setting by group; those without one are left out.

    Args:
        config: each of its settings may use any that stands before it.
        report: called with each node at fault and the message.
    """
    known: dict[str, float] = {}
    groups: dict[str, dict[str, float | str]] = {}
    for group in config.groups:
        settings = groups.setdefault(group.name, {})
        for setting in group.settings:
            name = setting.name
            if isinstance(setting.value, Text):
                settings[name] = setting.value.value
                continue
            try:
                found = value(setting.value, known)
            except UndefinedError as error:
                if report and error.node is not None:
                    report(error.node, error.message)
                continue
            settings[name] = known[name] = found
            message = _unusable(group.name, name, found)
            if report and message:
                report(setting.value, message)
    return groups


def _unusable(group: str, name: str, found: float) -> str:
    """Return what is wrong with a value, if anything is."""
    if group in MESSAGES and name.startswith("DD_"):  # a line may begin below 0: what it says for real sizes counts
        return "" if math.isfinite(found) else f"{name} is {found}: a coefficient is finite"
    if group != "hardware" and not 0 <= found < math.inf:
        return f"{name} is {found}: a cost is finite and not negative"
    if group in MESSAGES and name.endswith("_bandwidth") and found == 0:
        return f"{name} is 0: leave it out where the size costs nothing"
    if group == MEMORY and found == 0:
        return f"{name} is 0: sizes and bandwidths of memory are more than that"
    return ""
