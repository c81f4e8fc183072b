"""The hosts of a problem file: how many, or which of what class, and when they are there.

    {"hosts": 16 | [{"name": "n1", "class": "fast", "available": [{"from": 0, "until": 3600}, {"from": 7200}]}, …],
     "reservations": [{"hosts": ["n1", "n2"], "from": 600, "until": 900, "name": "course"}, …]}

Times are seconds from the start of the plan. A host without `available` is always there, one with it in these windows
only; a window without `until` does not end. A reservation keeps its hosts for others, without `until` for good.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.errors import UserError
from cosched.scheduling.absences import Absence
from cosched.scheduling.json_elements import a_list, a_name, a_time, an_object, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["MOST_HOSTS", "HostElements", "read_hosts", "read_reservations"]

MOST_HOSTS = 4096
_MOST_WINDOWS = 1000
_SAME = "default"


@dataclass(frozen=True, slots=True)
class HostElements:
    """Hosts as a file has them.

    Attributes:
        names: of the N hosts.
        classes: names of the classes.
        host_class: (N,) index of each host's class.
        absences: between the windows in which they are available, in no order.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    host_class: NDArray[np.int64]
    absences: tuple[Absence, ...] = ()


def read_hosts(value: object) -> HostElements:
    """Return the hosts of an element `hosts`.

    Raises:
        UserError: with the path of the bad element.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_HOSTS:
            raise UserError(f"hosts: {value} hosts: give 1 to {MOST_HOSTS}")
        width = len(str(value))
        names = [f"host{number:0{width}d}" for number in range(1, value + 1)]
        return HostElements(tuple(names), (_SAME,), np.zeros(value, dtype=np.int64))
    if not isinstance(value, list):
        raise UserError("hosts: give a number of hosts or a list of {name, class}")
    seen: dict[str, int] = {}
    classes: dict[str, int] = {}
    absences: list[Absence] = []
    for number, item in enumerate(a_list(value, "hosts", 1, MOST_HOSTS)):
        where = f"hosts[{number}]"
        host = an_object(item, where, {"name", "class", "available"}, {"name", "class"})
        name = a_name(host["name"], f"{where}.name")
        if name in seen:
            raise UserError(f"{where}.name: {name!r} is there twice: give each host a name of its own")
        seen[name] = classes.setdefault(a_name(host["class"], f"{where}.class"), len(classes))
        if "available" in host:
            absences += _outside(number, host["available"], f"{where}.available")
    return HostElements(tuple(seen), tuple(classes), np.array(list(seen.values()), dtype=np.int64), tuple(absences))


def read_reservations(value: object, names: Sequence[str]) -> list[Absence]:
    """Return the absences that an element `reservations` stands for; raises as `read_hosts`."""
    index = {name: host for host, name in enumerate(names)}
    absences = []
    for number, item in enumerate(a_list(value, "reservations", 0, _MOST_WINDOWS)):
        where = f"reservations[{number}]"
        found = an_object(item, where, {"hosts", "from", "until", "name"}, {"hosts"})
        if "name" in found:
            a_name(found["name"], f"{where}.name")
        begin, end = _window(found, where)
        for place, name in enumerate(a_list(found["hosts"], f"{where}.hosts", 1, MOST_HOSTS)):
            if not isinstance(name, str) or name not in index:
                raise UserError(f"{where}.hosts[{place}]: {shown(name)} is not the name of a host")
            absences.append(Absence(index[name], begin, end))
    return absences


def _outside(host: int, value: object, where: str) -> list[Absence]:
    """Return the times between the windows in which a host is there."""
    absences = []
    left = 0.0
    for number, item in enumerate(a_list(value, where, 1, _MOST_WINDOWS)):
        here = f"{where}[{number}]"
        begin, end = _window(an_object(item, here, {"from", "until"}, set()), here)
        if begin < left or (number and begin == left):
            raise UserError(
                f"{here}.from: {begin:g} s is not after the window before it ends, {left:g} s: "
                "give windows in order, each after the one before"
            )
        if begin > left:
            absences.append(Absence(host, left, begin))
        left = end
    return absences if math.isinf(left) else [*absences, Absence(host, left, math.inf)]


def _window(item: dict[str, Any], where: str) -> tuple[float, float]:
    begin = a_time(item.get("from", 0), f"{where}.from", zero=True)
    if "until" not in item:
        return begin, math.inf
    end = a_time(item["until"], f"{where}.until")
    if end <= begin:
        raise UserError(f"{where}.until: {end:g} s is not after {begin:g} s, where it begins: give a later time")
    return begin, end
