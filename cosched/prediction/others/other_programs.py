"""Other programs tell how a new one is likely to grow with its numbers and to fall with its hosts.

A program that ran on one number of hosts says nothing of others, and three runs say little of how it grows. Start at
`OtherPrograms`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.prediction.number_scale import NumberScale
from cosched.prediction.others.exponents import (
    BENDS,
    USUAL_HOSTS,
    USUAL_HOSTS_STATED,
    USUAL_NUMBER,
    Exponent,
    HostScaling,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["KeyedRun", "OtherPrograms"]

_ANY = 3.0  # deviation of what one program's runs alone are to tell
_NOISE = 0.01 * 2 ** (np.arange(13) / 2)
_USUAL_NOISE, _NOISE_VARIES = 0.05, 1.0  # a weak prior: deviation of the logarithm, and of the logarithm of that
_MEANS = np.linspace(-3.0, 3.0, 121)  # of all programs, in parts of the usual deviation
_LEAST_APART, _MOST_APART = 0.2, 2.0  # deviations from one program to the next, likewise
_APART = np.geomspace(_LEAST_APART, _MOST_APART, 12)[:, np.newaxis]
_STEPS = np.gradient(_APART[:, 0])[:, np.newaxis]
_MEAN_VARIES = 0.6  # deviation of the mean before any program has told, likewise
_USUALLY_APART = 0.6  # mean of an exponential prior; both together are about the usual deviation


@dataclass(frozen=True, slots=True)
class KeyedRun:
    """A run with the key of its program.

    Attributes:
        key: the same for runs of one program.
        numbers: see `RunFeatures`.
        hosts: how many it had.
        hardware: class of its hosts.
        seconds: run time.
        stated: seconds that its model or its user foretold; None where neither did.
    """

    key: str
    numbers: tuple[float, ...]
    hosts: int
    hardware: str
    seconds: float
    stated: float | None


class _Told(NamedTuple):
    """Exponents that a program's runs alone tell.

    Attributes:
        numbers: of its numbers.
        doublings: of those doublings of hosts that its runs go through.
    """

    numbers: list[Exponent]
    doublings: dict[int, Exponent]


class OtherPrograms:
    """Exponents of the next program, as likely as the runs of all others make them.

    A program's exponents follow from its runs by Bayesian linear regression on logarithms, those of the next program
    from all others' by a normal distribution, whose mean and deviation are averaged over a grid (Gelman and others,
    Bayesian Data Analysis, 2013, 5.4). Of what no program did nothing is told.

    Attributes:
        hosts: how run times change with hosts.
        stated_hosts: how far stated times are off changes with hosts.
    """

    def __init__(self, runs: Iterable[KeyedRun]) -> None:
        """Learn from runs of all programs."""
        programs: dict[tuple[str, str, int], list[KeyedRun]] = defaultdict(list)
        for run in runs:
            programs[run.key, run.hardware, len(run.numbers)].append(run)
        plain = {place: _told(each, stated=False) for place, each in programs.items()}
        stated = [_told([run for run in each if run.stated is not None], stated=True) for each in programs.values()]
        self._numbers = {place: told.numbers for place, told in plain.items()}
        self.hosts = _scaling(plain.values(), USUAL_HOSTS)
        self.stated_hosts = _scaling(stated, USUAL_HOSTS_STATED)

    def number(self, key: str) -> Exponent:
        """Return the exponent of a number of a program, by those of all others; each program counts once."""
        others = [told for (other, *_), told in self._numbers.items() if other != key and told]
        return _next_program(others, USUAL_NUMBER)


def _scaling(programs: Iterable[_Told], usual: Exponent) -> HostScaling:
    told: dict[int, list[list[Exponent]]] = defaultdict(list)
    for program in programs:
        for doubling, exponent in program.doublings.items():
            told[doubling].append([exponent])
    return HostScaling(usual, {doubling: _next_program(each, usual) for doubling, each in told.items()})


def _told(runs: Sequence[KeyedRun], *, stated: bool) -> _Told:
    """Return the exponents that runs of one program on one class of hosts tell.

    Where the hosts of all of them are as many, to the nearest power of two, no doubling is among them.
    """
    hosts = np.log([run.hosts for run in runs])
    nearest = np.round(hosts / math.log(2)).astype(int).tolist()
    doublings = range(min(nearest, default=0), max(nearest, default=0))
    if len(runs) < 2 or (stated and not doublings):
        return _Told([], {})
    numbers = []
    for column in zip(*(run.numbers for run in runs), strict=True):
        scale = NumberScale.of(column)
        numbers.append([scale.place(value) for value in column])
    steps = [np.clip(hosts - doubling * math.log(2), 0.0, math.log(2)) for doubling in doublings]
    columns = np.array([*numbers, hosts, *steps, np.ones(len(runs))]).T
    columns[:, :-1] -= columns[:, :-1].mean(axis=0)
    prior = np.array([*[_ANY] * (len(numbers) + 1), *[BENDS] * len(steps), _ANY])
    logs = np.log([run.seconds / (run.stated if stated and run.stated else 1.0) for run in runs])
    mean, covariance = _regression(columns * prior, logs - logs.mean())
    which = np.eye(len(prior))[:-1]
    which[len(numbers) + 1 :, len(numbers)] = 1.0  # an exponent of a doubling is what all share, and its own
    which *= prior
    variances = ((which @ covariance) * which).sum(axis=1)
    exponents = [
        Exponent(*each)
        for each in zip((which @ mean).tolist(), np.sqrt(np.maximum(variances, 0.0)).tolist(), strict=True)
    ]
    return _Told(exponents[: len(numbers)], dict(zip(doublings, exponents[len(numbers) + 1 :], strict=True)))


def _regression(
    columns: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and covariance of coefficients, by the likeliest noise; their prior is the standard normal."""
    eigenvalues, vectors = np.linalg.eigh(columns.T @ columns)
    eigenvalues, along = np.maximum(eigenvalues, 0.0), vectors.T @ (columns.T @ values)
    noise = np.square(_NOISE)[:, np.newaxis]
    left = (values @ values - (along**2 / (eigenvalues + noise)).sum(axis=1)) / noise[:, 0]
    spread = (len(values) - len(along)) * np.log(noise[:, 0]) + np.log(eigenvalues + noise).sum(axis=1)
    rare = (np.log(_NOISE / _USUAL_NOISE) / _NOISE_VARIES) ** 2
    best = noise[int(np.argmin(left + spread + rare)), 0]
    return vectors @ (along / (eigenvalues + best)), (vectors * (best / (eigenvalues + best))) @ vectors.T


def _next_program(programs: Sequence[Sequence[Exponent]], usual: Exponent) -> Exponent:
    """Return the exponent of the next program.

    Args:
        programs: those of each other program; of several the likelihood is averaged.
        usual: what it is without them.
    """
    if not programs:
        return usual
    logs = -0.5 * (_MEANS / _MEAN_VARIES) ** 2 - _APART / _USUALLY_APART
    for exponents in programs:
        for exponent in exponents:
            variance = _APART**2 + (exponent.deviation / usual.deviation) ** 2
            off = (exponent.mean - usual.mean) / usual.deviation - _MEANS
            logs = logs - 0.5 * (np.log(variance) + off**2 / variance) / len(exponents)
    weights = np.exp(logs - logs.max()) * _STEPS
    weights /= weights.sum()
    mean = float((weights @ _MEANS).sum())
    unsure = math.sqrt(float((weights * ((_MEANS - mean) ** 2 + _APART**2)).sum()))
    return Exponent(usual.mean + usual.deviation * mean, usual.deviation * unsure)
