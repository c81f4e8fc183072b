"""Check a hardware configuration without evaluating it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from cosched.language.arithmetic import setting_values
from cosched.language.checks.curves import check_curves
from cosched.language.checks.expressions import Dimensions, misfit
from cosched.language.checks.objects import Findings, TooManyFaults
from cosched.language.diagnostics import suggestion
from cosched.language.syntax import Assign, Element, Group, Invoke, Name, Text, Vector, walk
from cosched.language.vocabulary import (
    BLOCKS_GROUP,
    CURVES,
    DIMENSIONLESS,
    FUNCTION_ARITIES,
    HOSTS_GROUP,
    MEMORY_GROUP,
    MEMORY_LEVELS,
    MEMORY_SETTINGS,
    MESSAGE_GROUPS,
    MESSAGE_SHARES,
    NOISE_GROUP,
    NOISE_SETTINGS,
    OPCODES,
    RATE,
    SETTING_GROUPS,
    SIZE,
    TIME,
    TIME_A_BYTE,
    unknown_opcode,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cosched.language.diagnostics import Diagnostic
    from cosched.language.syntax import Config, Node
    from cosched.language.vocabulary import Dimension

__all__ = ["COST_SETTINGS", "LONG_MESSAGE_SETTING", "MESSAGE_COSTS", "MESSAGE_SETTINGS", "check_config", "describes"]

MESSAGE_COSTS = ("COMM", "TSEND", "TRECV")
"""Parts of a message's cost: network transfer, and the processor's time at each end."""

COST_SETTINGS = {
    "COMM": ("transfer_latency", "transfer_bandwidth"),
    "TSEND": ("send_overhead", "send_bandwidth"),
    "TRECV": ("receive_overhead", "receive_bandwidth"),
}
"""The same in the self-describing form: the time of an empty message and, where it is not infinite, the rate."""

LONG_MESSAGE_SETTING = "long_message"
"""The size above which the settings with the prefix `long_` hold."""

_MOST_HOSTS = 100_000
_MOST_PROCESSORS = 10_000

_COEFFICIENTS = tuple(f"DD_{cost}_{letter}" for cost in MESSAGE_COSTS for letter in "ABCDE")
_REQUIRED = tuple(latency for latency, _ in COST_SETTINGS.values())
_PLAIN = tuple(name for part in COST_SETTINGS.values() for name in part)
_DESCRIBING = (*_PLAIN, LONG_MESSAGE_SETTING, *(f"long_{name}" for name in _PLAIN))
MESSAGE_SETTINGS = (*_COEFFICIENTS, *_DESCRIBING, *MESSAGE_SHARES)
"""What a message group may set, in either form."""


def check_config(config: Config) -> list[Diagnostic]:
    """Return the faults of a configuration, at most `MOST_FAULTS`.

    Groups, names, doubles, missing coefficients, uses before a value, units that do not fit, values that no cost has.
    """
    findings = Findings(config.source)
    with suppress(TooManyFaults):
        _check(config, findings.report)
        check_curves(config, findings.report)
        groups = setting_values(config, findings.report)
        for fault_at, message in (
            *_hosts(config, groups.get(HOSTS_GROUP, {})),
            *_processors(config, groups.get("hardware", {})),
            *_negative(config, groups),
            *_overfull(config, groups),
            *_shrinking(config, groups.get(MEMORY_GROUP, {})),
        ):
            findings.report(fault_at, message)
    return sorted(findings.faults)


def _negative(config: Config, groups: Mapping[str, Mapping[str, float | str]]) -> Iterable[tuple[Node, str]]:
    """Yield where coefficients make a message of some size cost less than nothing.

    Single ones may be negative: published lines for long messages begin below 0.
    """
    for group in config.groups:
        known = groups.get(group.name, {}) if group.name in MESSAGE_GROUPS else {}
        for cost in MESSAGE_COSTS:
            settings = [known.get(f"DD_{cost}_{letter}") for letter in "ABCDE"]
            a, b, c, d, e = (item if isinstance(item, float) else 0.0 for item in settings)
            if a < 0 or e < 0 or min(b, b + c * a, d + e * a) < 0:
                yield group, f"DD_{cost}_A to E of {group.name} make messages of some size cost less than nothing"


def _processors(config: Config, found: Mapping[str, float | str]) -> Iterable[tuple[Node, str]]:
    """Yield where a host has a number of processors that there is not."""
    given = [setting for group in config.groups if group.name == "hardware" for setting in group.settings]
    for setting in given:
        count = found.get(setting.name, 1.0) if setting.name == "processors" else 1.0
        if not (isinstance(count, float) and 1 <= count <= _MOST_PROCESSORS and count == int(count)):
            yield setting.value, f"processors is {count}: a host has 1 to {_MOST_PROCESSORS}"


def _overfull(config: Config, groups: Mapping[str, Mapping[str, float | str]]) -> Iterable[tuple[Node, str]]:
    """Yield each message group with shares of more than 1 together."""
    for group in config.groups:
        shares = [groups.get(group.name, {}).get(name) for name in MESSAGE_SHARES]
        if sum(share for share in shares if isinstance(share, float)) > 1:
            yield group, f"{' and '.join(MESSAGE_SHARES)} of {group.name} are more than 1 together"


def _shrinking(config: Config, found: Mapping[str, float | str]) -> Iterable[tuple[Node, str]]:
    """Yield each cache that is no larger than the one before it."""
    settings = {
        setting.name: setting for group in config.groups if group.name == MEMORY_GROUP for setting in group.settings
    }
    before, largest = "", 0.0
    for name, _ in MEMORY_LEVELS:
        size = found.get(name)
        if isinstance(size, float):
            if before and size <= largest:
                yield settings[name].value, f"{name} is not more than {before}: sizes grow from level to level"
            before, largest = name, size


def _check(config: Config, report: Callable[[Node, str], None]) -> None:
    for node, name, earlier in _doubles([(group, group.name) for group in config.groups]):
        report(node, f"group {name} is already given in line {earlier}")
    seen: set[str] = set(config.lost)
    texts: set[str] = set()
    known: dict[str, Dimension | None] = {}
    dimensions = Dimensions(known, (), report)
    for group in config.groups:
        if group.name not in SETTING_GROUPS:
            near = suggestion(group.name, SETTING_GROUPS) or f": known are {', '.join(SETTING_GROUPS)}"
            report(group, f"group {group.name} is not known{near}")
        for node, name, earlier in _doubles([(setting, setting.name) for setting in group.settings]):
            report(node, f"{name} is already given in line {earlier}")
        for setting in group.settings:
            for fault_at, message in _setting(group, setting, seen, texts):
                report(fault_at, message)
            seen.add(setting.name)
            (texts.add if isinstance(setting.value, Text) else texts.discard)(setting.name)
            known[setting.name] = dimensions.of(setting.value)
            message = misfit(known[setting.name], _dimension(group.name, setting.name))
            if message and group.name != "hardware":
                report(setting.value, f"{message} for {setting.name}")
        if not config.lost:
            for fault_at, message in _lacking(group):
                report(fault_at, message)


def _dimension(group: str, setting: str) -> Dimension:
    """Return the dimension of a setting, by its name and group."""
    if group == NOISE_GROUP or setting in MESSAGE_SHARES:
        return DIMENSIONLESS
    if group == MEMORY_GROUP:
        return SIZE if setting.endswith("_size") else RATE
    if setting == LONG_MESSAGE_SETTING or (setting in _COEFFICIENTS and setting.endswith("A")):
        return SIZE
    if setting in _COEFFICIENTS and setting[-1] in "CE":
        return TIME_A_BYTE
    return RATE if setting.endswith("_bandwidth") and group in MESSAGE_GROUPS else TIME


def describes(names: Iterable[str]) -> bool:
    """Return whether the settings of a message group are in the self-describing form."""
    return any(name in _DESCRIBING for name in names)


def _lacking(group: Group) -> Iterable[tuple[Node, str]]:
    """Yield what a group lacks that its other settings need."""
    if group.name in MESSAGE_GROUPS:
        yield from _messages(group)
    if group.name == MEMORY_GROUP:
        yield from _memory(group)


def _memory(group: Group) -> Iterable[tuple[Node, str]]:
    given = {setting.name for setting in group.settings}
    if "bandwidth" not in given and not group.curves:
        yield group, f"{MEMORY_GROUP} lacks bandwidth, that of main memory, or a {CURVES[MEMORY_GROUP].name}"
    for level in MEMORY_LEVELS:
        missing = set(level) - given
        if len(missing) == 1:
            yield group, f"{MEMORY_GROUP} lacks {missing.pop()}: a cache has a size and a bandwidth"


def _messages(group: Group) -> Iterable[tuple[Node, str]]:
    """Yield the faults of a message group, which has one of two forms.

    Settings may be missing or too many.
    """
    given = {setting.name: setting for setting in group.settings}
    points = CURVES[group.name].name
    for name in MESSAGE_SHARES:
        if name in given and not group.curves:
            yield given[name], f"{name} needs {points}, the times that it is part of"
    if group.curves and not any(name in (*_COEFFICIENTS, *_DESCRIBING) for name in given):
        return
    if not describes(given):
        missing = [name for name in _COEFFICIENTS if name not in given]
    else:
        missing = [name for name in _REQUIRED if name not in given]
        for name, setting in given.items():
            if name in _COEFFICIENTS:
                yield setting, f"{name} does not mix with {', '.join(_REQUIRED)}: use one form in a group"
            if name.startswith("long_") and LONG_MESSAGE_SETTING not in given:
                yield setting, f"{name} needs {LONG_MESSAGE_SETTING}, the size above which it holds"
    if missing:
        yield group, f"{group.name} lacks {', '.join(missing)}"


def _hosts(config: Config, counts: Mapping[str, float | str]) -> Iterable[tuple[Node, str]]:
    """Yield the faults of a list of hosts.

    It has whole numbers, and no costs beside it.
    """
    group = next((group for group in config.groups if group.name == HOSTS_GROUP), None)
    if group is None:
        return
    for setting in group.settings:
        count = counts.get(setting.name, 0)
        if not isinstance(count, float) or not 1 <= count <= _MOST_HOSTS or count != int(count):
            yield setting.value, f"a number of hosts is needed here, 1 to {_MOST_HOSTS}"
        if setting.name == config.name:
            yield setting, f"{config.name} cannot be among its own hosts"
    for other in config.groups:
        if other.name not in (HOSTS_GROUP, "hardware"):
            yield other, f"{other.name} beside {HOSTS_GROUP}: the costs are those of the configurations listed there"
    if not group.settings:
        yield group, f"{HOSTS_GROUP} lists none: write the name of a configuration = how many hosts"


def _setting(group: Group, setting: Assign, seen: set[str], texts: set[str]) -> Iterable[tuple[Node, str]]:
    message = _unknown(group.name, setting.name)
    if message:
        yield setting, message
    if group.name != "hardware" and isinstance(setting.value, Text):
        yield setting.value, "a number is needed here, not a text"
    if isinstance(setting.value, Text):
        return
    for node, _ in walk(setting.value):
        match node:
            case Name() if node.id in texts:
                yield node, f"a number is needed here: {node.id} is a text"
            case Name() if node.id not in seen:
                yield node, f"{node.id} has no value yet{suggestion(node.id, seen)}"
            case Invoke() if node.name not in FUNCTION_ARITIES:
                yield node, f"function {node.name} is not known{suggestion(node.name, FUNCTION_ARITIES)}"
            case Invoke() if (
                not FUNCTION_ARITIES[node.name][0] <= len(node.arguments) <= FUNCTION_ARITIES[node.name][1]
            ):
                yield node, f"{node.name} takes {FUNCTION_ARITIES[node.name][0]} arguments, not {len(node.arguments)}"
            case Vector() | Element() | Text():
                yield node, "a number is needed here"


def _unknown(group: str, name: str) -> str:
    """Return the fault of an unknown setting's name, or an empty text."""
    if group == BLOCKS_GROUP and "." not in name:
        return f"{name} is no block: write APPLICATION.BLOCK = a time"
    if group != BLOCKS_GROUP and "." in name:
        return f"{name} is a block's name: it belongs into the group {BLOCKS_GROUP}"
    if group == NOISE_GROUP and name not in NOISE_SETTINGS:
        return f"{name} is no noise{suggestion(name, NOISE_SETTINGS) or ': known are ' + ', '.join(NOISE_SETTINGS)}"
    if group in CURVES and name == CURVES[group].name:
        return f"{name} is a curve: write {name} = [size: value, …]"
    if group == "clc" and name not in OPCODES:
        return unknown_opcode(name)
    if group in MESSAGE_GROUPS and name not in MESSAGE_SETTINGS:
        return f"{name} is no cost of a message{suggestion(name, MESSAGE_SETTINGS)}"
    if group == MEMORY_GROUP and name not in MEMORY_SETTINGS:
        return f"{name} is no cost of memory{suggestion(name, MEMORY_SETTINGS)}"
    return ""


def _doubles(nodes: list[tuple[Node, str]]) -> Iterable[tuple[Node, str, int]]:
    first: dict[str, Node] = {}
    for node, name in nodes:
        if first.setdefault(name, node) is not node:
            yield node, name, first[name].at.line
