"""Where a request is submitted, by ways of sharing work between domains that are not ours: to hold the agents against.

A broker that knows every domain's state at the moment of submission decides once, for good; nobody moves a task later.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

__all__ = ["DomainLoad", "PlacementRule", "chosen_domains"]


class PlacementRule(StrEnum):
    """A rule."""

    HOME = "home"  # where its user is
    RANDOM = "random"
    LEAST_LOADED = "least-loaded"  # fewest tasks a host
    EARLIEST_START = "earliest-start"  # as Slurm's federations: whoever can start it first
    RACE = "race"  # everywhere; the others give up once one has started it


class DomainLoad(NamedTuple):
    """What a broker knows of a domain: live tasks a host, and when one more task would start (seconds)."""

    load: float
    start: Callable[[], float]


def chosen_domains(
    placement: PlacementRule, home: str, outlooks: Mapping[str, DomainLoad], draw: random.Random
) -> list[str]:
    """Return the domains that a request is submitted to; of equals the first.

    Args:
        placement: the rule.
        home: the domain of the request's user.
        outlooks: by domain.
        draw: for `RANDOM`.
    """
    match placement:
        case PlacementRule.HOME:
            return [home]
        case PlacementRule.RANDOM:
            return [draw.choice(list(outlooks))]
        case PlacementRule.LEAST_LOADED:
            return [min(outlooks, key=lambda name: outlooks[name].load)]
        case PlacementRule.EARLIEST_START:
            return [min(outlooks, key=lambda name: outlooks[name].start())]
        case PlacementRule.RACE:
            return list(outlooks)
