"""Placement rules choose the domain of a request; the agents are compared with them.

A broker that knows every domain's state at the moment of submission decides once; no task is moved later.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

__all__ = ["DomainLoad", "PlacementRule", "chosen_domains"]


class PlacementRule(StrEnum):
    """A rule by which the broker places a request."""

    HOME = "home"  # where its user is
    RANDOM = "random"
    LEAST_LOADED = "least-loaded"  # fewest tasks a host
    EARLIEST_START = "earliest-start"  # as Slurm's federations: the domain that can start it first
    RACE = "race"  # everywhere; the others give up once one has started it


class DomainLoad(NamedTuple):
    """A domain's load, and when one more task would start there.

    The load is in live tasks a host, the start in seconds.
    """

    load: float
    earliest_start: Callable[[], float]


def chosen_domains(rule: PlacementRule, home: str, loads: Mapping[str, DomainLoad], draw: random.Random) -> list[str]:
    """Return the domains that a request is submitted to; of equals the first.

    Args:
        rule: rule of the broker.
        home: the domain of the request's user.
        loads: by domain.
        draw: for `RANDOM`.
    """
    match rule:
        case PlacementRule.HOME:
            return [home]
        case PlacementRule.RANDOM:
            return [draw.choice(list(loads))]
        case PlacementRule.LEAST_LOADED:
            return [min(loads, key=lambda name: loads[name].load)]
        case PlacementRule.EARLIEST_START:
            return [min(loads, key=lambda name: loads[name].earliest_start())]
        case PlacementRule.RACE:
            return list(loads)
