"""Alternatives of a task that may run in several shapes: what each takes of a host, and how long the task runs then.

Start at `Alternative`. Of one task no two alternatives take equally many cores of a host.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.prediction.profile import Profile, slowest_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.connector.hosts import Host

__all__ = ["Alternative", "alternative_on", "quickest_profile", "tried_numbers", "useful_alternatives"]

_WORTH = 1.02  # times as long as on what takes more: less is not worth that
_MOST_COUNTS = 16  # numbers of hosts of one alternative; of more some are left out


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the shapes in which a task may run.

    Attributes:
        cores: that it takes of each of its hosts, at least 1.
        profile: run times on 1, 2, … such hosts.
        memory: MiB of each host; 0: what comes with the cores.
        gpus: of each host.
        processes_per_host: ranks of a program that is launched once.
    """

    cores: int
    profile: Profile
    memory: int = 0
    gpus: int = 0
    processes_per_host: int = 1

    @property
    def needs(self) -> tuple[int, int, int]:
        """Return what it needs on each host: memory, cores, GPUs."""
        return self.memory, self.cores, self.gpus


def tried_numbers(least: int, most: int) -> list[int]:
    """Return numbers of a range that are worth a look: its ends, and 2^k and 3·2^k between them."""
    powers = [factor << power for power in range(most.bit_length()) for factor in (1, 3)]
    return sorted({least, most, *(number for number in powers if least <= number <= most)})


def alternative_on(alternatives: Sequence[Alternative], cores: int, hosts: Sequence[Host]) -> Alternative:
    """Return the alternative with so many cores of each host.

    Where there is none, or they are not chosen (0): the quickest on these hosts, of equals the one with fewest cores.
    """
    chosen = [each for each in alternatives if each.cores == cores]
    if chosen:
        return chosen[0]
    classes = {host.host_class for host in hosts}
    able = [each for each in alternatives if all(host.offers(*each.needs) for host in hosts)] or list(alternatives)
    return min(able, key=lambda each: (each.profile.among(classes).on(len(hosts)), each.cores))


def quickest_profile(alternatives: Sequence[Alternative]) -> Profile:
    """Return the profile of the quickest alternative for each number of hosts, and of each class of hosts."""
    profiles = [each.profile for each in alternatives]
    width = max(len(profile.seconds) for profile in profiles)
    if not profiles[0].classes:
        return _quickest(profiles, width)
    classes = zip(*(profile.classes for profile in profiles), strict=True)
    return slowest_profile([_quickest(each, width) for each in classes], profiles[0].hardware)


def _quickest(profiles: Sequence[Profile], width: int) -> Profile:
    counts = range(1, width + 1)
    chosen = [min(profiles, key=lambda profile: profile.on(count)) for count in counts]

    def times(name: str) -> tuple[float, ...]:
        rows = (getattr(profile, name) for profile in chosen)
        return tuple(
            [row[count - 1] if count <= len(row) else math.inf for count, row in zip(counts, rows, strict=True)]
        )

    ranged = all(profile.low is not None for profile in profiles)
    return replace(
        profiles[0],
        seconds=times("seconds"),
        low=times("low") if ranged else None,
        high=times("high") if ranged else None,
        stated=times("stated") if all(profile.stated for profile in profiles) else (),
        explores=any(profile.explores for profile in profiles),
    )


def useful_alternatives(alternatives: Sequence[Alternative], hosts: Sequence[Host]) -> tuple[Alternative, ...]:
    """Return the alternatives that are worth a place in a plan, each on the numbers of hosts that are worth it.

    They are the Pareto front of time, on each class of hosts, against cores, memory and GPUs of all its hosts together.
    One that takes no less than another and is not quicker by 2 % is left out, unless it fits on hosts on which that one
    does not. So is what fewer hosts have than it takes. Of more than 16 numbers of hosts of an alternative only those
    of `tried_numbers` are looked at.

    Args:
        alternatives: of one task, with profiles of the same classes.
        hosts: of the domain; empty where they are not known.
    """
    like: dict[tuple[int | None, ...], list[Host]] = {}
    for host in hosts:
        like.setdefault((host.memory, host.cores, host.gpus), []).append(host)
    fits = np.array(
        [[found[0].offers(*each.needs) for found in like.values()] for each in alternatives], dtype=np.bool_
    )
    room = fits @ np.array([len(found) for found in like.values()], dtype=np.int64) if like else None
    rows = [
        (number, count)
        for number, each in enumerate(alternatives)
        for count in _counts(each.profile)
        if room is None or count <= room[number]
    ]
    if not rows:
        return ()
    number, count = np.array(rows, dtype=np.int64).T
    needs = np.array([each.needs for each in alternatives], dtype=np.float64)
    parts = [each.profile.classes or (each.profile,) for each in alternatives]
    times = [[part.on(on) for part in parts[each]] for each, on in rows]
    kept = _front(needs[number] * count[:, np.newaxis], np.array(times), ~fits[number], count)
    counts = [count[kept & (number == each)].tolist() for each in range(len(alternatives))]
    return tuple(
        [replace(each, profile=each.profile.only(on)) for each, on in zip(alternatives, counts, strict=True) if on]
    )


def _counts(profile: Profile) -> list[int]:
    """Return the numbers of hosts of a profile that are looked at."""
    usable = [count for count, seconds in enumerate(profile.seconds, 1) if seconds < math.inf]
    if len(usable) <= _MOST_COUNTS:
        return usable
    return sorted({*tried_numbers(usable[0], usable[-1])}.intersection(usable))


def _front(
    amounts: NDArray[np.float64], times: NDArray[np.float64], misfits: NDArray[np.bool_], hosts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return (S,): which shapes are not bettered by another that is kept.

    Of equal ones that on fewer hosts stays, and then the first.

    Args:
        amounts: (S, R) what each takes of all its hosts together.
        times: (S, K) its run times on each class.
        misfits: (S, kinds) on which hosts it does not fit.
        hosts: (S,) how many it takes.
    """
    order = np.lexsort((np.arange(len(hosts)), hosts, times.max(axis=1), *amounts.T))
    kept: list[int] = []
    for each in order.tolist():  # whoever betters it has come before
        before = np.array(kept, dtype=np.int64)
        bettered = (amounts[before] <= amounts[each]).all(axis=1) & (misfits[before] <= misfits[each]).all(axis=1)
        bettered &= (times[before] <= times[each] * _WORTH).all(axis=1)
        if not bettered.any():
            kept.append(each)
    found = np.zeros(len(hosts), dtype=np.bool_)
    found[kept] = True
    return found
