"""Start-up is what the runs of all programs take beside what their models say.

A launcher that begins processes on other hosts takes as long for one program as for another. So the first run of a
program can be foretold with the start-up of others. Start at `StartUps`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.prediction.student import NORMAL_TAIL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cosched.prediction.profile import Profile

__all__ = ["StartUps", "StartedRun"]

_LONGEST = 30.0  # seconds
_SECONDS = np.concatenate(([0.0], np.geomspace(0.01, _LONGEST, 400)))
_STEPS = np.gradient(_SECONDS)
_USUAL = 1.0  # seconds, the mean of an exponential prior
_MODEL = 0.2  # deviation of a model's error, a part of what it says
_SPREADS = np.array([[0.1], [0.2], [0.4], [0.8]])  # seconds; deviations from one run to the next, equally likely
_VARIES = 0.2  # deviation from one program to the next, a part of the start-up
_WRONG = 0.2  # part of the models that tell nothing, as they are far off
_KNOWN = 0.4  # deviation, a part of it, up to which a start-up counts as known
_ELSEWHERE = 2.0  # times as unsure with other numbers of hosts


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run of a program that a model had foretold.

    Attributes:
        key: the same for runs of one program.
        launch: how it was launched.
        hosts: how many it had.
        seconds: run time.
        stated: what the model had said, before anything was learnt.
    """

    key: str
    launch: str
    hosts: int
    seconds: float
    stated: float


class _StartUp(NamedTuple):
    """Seconds, with the standard deviation that the next program's has."""

    seconds: float
    deviation: float


class StartUps:
    """Start-up by launch and number of hosts, as the runs of all programs tell it.

    Of each program its shortest run counts, which is start-up most. What is left of its time without what its model
    says is start-up, the model's error, or all wrong: a mixture, of which the distribution of the start-up follows on
    a grid of seconds.
    """

    def __init__(self, runs: Iterable[StartedRun]) -> None:
        """Learn from runs, the newest last."""
        shortest: dict[tuple[str, int, str], StartedRun] = {}
        for run in runs:
            place = run.launch, _group(run.hosts), run.key
            known = shortest.get(place)
            if known is None or run.stated <= known.stated:
                shortest[place] = run
        grouped: dict[tuple[str, int], list[StartedRun]] = {}
        for (launch, group, _), run in shortest.items():
            grouped.setdefault((launch, group), []).append(run)
        found = {place: _start_up(each) for place, each in grouped.items()}
        self._known = {place: each for place, each in found.items() if each is not None}

    def added(self, profile: Profile, launch: str) -> Profile:
        """Return a model's prediction with the start-up of a launch; as it is where none is known."""
        groups = [group for name, group in self._known if name == launch]
        if not groups:
            return profile
        starts = [self._start(launch, groups, count) for count in range(1, len(profile.seconds) + 1)]
        return replace(_longer(profile, starts), stated=profile.stated or profile.seconds)

    def _start(self, launch: str, groups: Sequence[int], count: int) -> _StartUp:
        group = min(groups, key=lambda each: (abs(each - _group(count)), each))
        found = self._known[launch, group]
        return found if group == _group(count) else found._replace(deviation=_ELSEWHERE * found.deviation)


def _group(hosts: int) -> int:
    """Return one number for about as many hosts: 1, 2, 3 to 4, 5 to 8 and so on."""
    return (hosts - 1).bit_length()


def _start_up(runs: Sequence[StartedRun]) -> _StartUp | None:
    """Return the start-up that programs have in common, by one run of each; None where they do not tell it.

    How far it spreads is learnt with it: some managers know run times to the second alone.
    """
    logs = np.repeat(-_SECONDS[np.newaxis] / _USUAL, len(_SPREADS), axis=0)
    for run in runs:
        more = run.seconds - run.stated
        deviation = np.sqrt((_MODEL * run.stated) ** 2 + _SPREADS**2 + (_VARIES * _SECONDS) ** 2)
        right = np.exp(-0.5 * ((more - _SECONDS) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))
        width = max(run.stated, _USUAL)
        wrong = 1 / (math.pi * width * (1 + (more / width) ** 2))
        logs = logs + np.log((1 - _WRONG) * right + _WRONG * wrong)
    weights = np.exp(logs - logs.max()) * _STEPS
    weights /= weights.sum()
    mean = float((weights @ _SECONDS).sum())
    unsure = math.sqrt(float((weights @ (_SECONDS - mean) ** 2).sum()))
    if unsure > _KNOWN * mean:
        return None
    spread = math.sqrt(float(weights.sum(axis=1) @ _SPREADS[:, 0] ** 2))
    return _StartUp(mean, math.hypot(unsure, _VARIES * mean, spread))


def _longer(profile: Profile, starts: Sequence[_StartUp]) -> Profile:
    """Return a profile with start-up on 1, 2, … hosts."""
    seconds = tuple(each + start.seconds for each, start in zip(profile.seconds, starts, strict=True))
    classes = tuple(_longer(each, starts) for each in profile.classes)
    if profile.low is None or profile.high is None:
        return replace(profile, seconds=seconds, classes=classes)
    least = (max(start.seconds - NORMAL_TAIL * start.deviation, 0.0) for start in starts)
    most = (start.seconds + NORMAL_TAIL * start.deviation for start in starts)
    low = tuple(each + more for each, more in zip(profile.low, least, strict=True))
    high = tuple(each + more for each, more in zip(profile.high, most, strict=True))
    return replace(profile, seconds=seconds, low=low, high=high, classes=classes)
