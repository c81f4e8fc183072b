"""When a program ends whose hosts are not ours alone, as a distribution. Start at `interrupted`.

Sun and Wu's Grid Harvest Service, as Sliamu, Hou and Cao print it ("Enhanced Adaptive Scheduling for the Grid Harvest
Service", section 2.2): with S interruptions in the work w, Pr{T <= t} = e^(-lambda w) + (1 - e^(-lambda w))
Pr{U(S) <= t - w | S > 0} for t >= w; for parts on several hosts the product of these. The paper does not say how U is
distributed; here busy periods are gamma-distributed with their measured moments, and U(S) is their sum.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.prediction.loads.host_load import HostLoad

__all__ = [
    "CompletionTime",
    "Distribution",
    "LastCompletion",
    "interrupted",
    "interrupted_together",
    "lower_gamma",
    "restarted",
]

_DIGITS = 1e-12
_MOST_TERMS = 10_000  # of a series; more are needed only where the normal distribution is as near
_NORMAL_SHAPE = 1e5  # above this shape a gamma distribution is taken as normal (Wilson and Hilferty)
_STEPS = 2000  # of the integral of a covariance
_MOMENT_STEPS = 400  # of those of a distribution, which costs more
_LEAST_MEAN = 1e-300
_MOST_COUNTED = 30.0  # expected interruptions; the sum of more is told by its own two moments
_SMOOTH = 1e6  # largest shape of a busy period: its length hardly varies
_LEAST_SPEED = 1e-50  # of a program beside owners; one that is slower never ends


class Distribution(Protocol):
    """A distribution of completion times, in seconds from the start."""

    @property
    def mean(self) -> float:
        """The expected time."""
        ...

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        ...

    def within(self, seconds: float) -> float:
        """Return the probability of having ended after so many seconds."""
        ...

    def quantile(self, share: float) -> float:
        """Return the time that a share of the runs stays below, above 0 and below 1."""
        ...


@dataclass(frozen=True, slots=True)
class CompletionTime:
    """Completion of one program: its undisturbed time with some probability, else that and a delay.

    Attributes:
        work: seconds that it takes when nobody interrupts it; nothing ends sooner.
        undisturbed: probability that nobody does.
        mean: expected seconds.
        variance: their variance.
        interruptions: their expected number where it is Poisson, each with a gamma-distributed delay of its own; 0
            where the whole delay is taken as gamma-distributed.
    """

    work: float
    undisturbed: float
    mean: float
    variance: float
    interruptions: float = 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation in seconds."""
        return math.sqrt(self.variance)

    def within(self, seconds: float) -> float:
        """Return the probability of having ended after so many seconds."""
        if seconds < self.work:
            return 0.0
        disturbed = 1 - self.undisturbed
        delay = self.mean - self.work
        if disturbed <= 0 or delay <= _LEAST_MEAN:
            return 1.0
        if math.isinf(delay):
            return self.undisturbed
        if 0 < self.interruptions <= _MOST_COUNTED:
            return self._counted(seconds - self.work, delay / self.interruptions)
        expected = delay / disturbed
        spread = (self.variance + delay**2) / disturbed - expected**2
        if spread <= 0:
            return 1.0 if seconds - self.work >= expected else self.undisturbed
        shape, scale = expected**2 / spread, spread / expected
        return self.undisturbed + disturbed * lower_gamma(shape, (seconds - self.work) / scale)

    def _counted(self, delay: float, each: float) -> float:
        """Return the probability of at most so many seconds of delay.

        Args:
            delay: seconds, 0 or more.
            each: mean delay of an interruption in seconds.
        """
        spread = self.variance / self.interruptions - each**2
        shape = min(each**2 / spread, _SMOOTH) if spread > 0 else _SMOOTH
        likely = total = self.undisturbed
        count = 0
        while total < 1 - _DIGITS and count < _MOST_TERMS:
            count += 1
            share = math.exp(count * math.log(self.interruptions) - self.interruptions - math.lgamma(count + 1))
            likely += share * lower_gamma(count * shape, delay * shape / each)
            total += share
            if share < _DIGITS and count > self.interruptions:
                break
        return min(likely, 1.0)

    def quantile(self, share: float) -> float:
        """Return the time that a share of the runs stays below."""
        if share <= self.undisturbed:
            return self.work
        return _inverse(self.within, share, self.work, max(self.mean, self.work))


@dataclass(frozen=True, slots=True)
class LastCompletion:
    """Completion of the last of several programs that run independently of one another.

    Attributes:
        parts: their distributions, at least one; hashable.
    """

    parts: Sequence[Distribution]

    @property
    def mean(self) -> float:
        """The expected time: the integral of the probability that one of them still runs."""
        return _moments(tuple(self.parts))[0]

    @property
    def deviation(self) -> float:
        """The standard deviation in seconds."""
        mean, square = _moments(tuple(self.parts))
        return math.sqrt(max(square - mean**2, 0.0))

    def within(self, seconds: float) -> float:
        """Return the probability that all have ended after so many seconds."""
        return math.prod(part.within(seconds) ** count for part, count in Counter(self.parts).items())

    def quantile(self, share: float) -> float:
        """Return the time that a share of the runs stays below."""
        slowest = max(part.quantile(share) for part in set(self.parts))
        return _inverse(self.within, share, 0.0, slowest)


@lru_cache(maxsize=64)  # of some thousand steps each, and whoever asks for the mean asks for the deviation
def _moments(parts: tuple[Distribution, ...]) -> tuple[float, float]:
    """Return the mean and the mean square of the last completion of several, in seconds and their square."""
    last = LastCompletion(parts)
    begin, end = last.quantile(1e-12), last.quantile(1 - 1e-7)  # nothing ends sooner, hardly anything later
    times = np.linspace(begin, end, _MOMENT_STEPS + 1)
    runs = np.array([1 - last.within(float(time)) for time in times])
    mean, square = np.trapezoid(runs, times), np.trapezoid(2 * times * runs, times)
    return begin + float(mean), begin**2 + float(square)


def interrupted(work: float, load: HostLoad) -> CompletionTime:
    """Return when a program ends that stands still, or goes on more slowly, while its host's owner works.

    Where it stands still, the number of interruptions is Poisson with the mean lambda·w: E[T] = w/(1-rho) and Var[T] =
    lambda·w·E[B²] exactly. Where it goes on with a part of the host, both hold for long programs.

    Args:
        work: seconds on the idle host, above 0.
        load: of its host.
    """
    return interrupted_together(work, (load,))


def interrupted_together(work: float, loads: Sequence[HostLoad]) -> CompletionTime:
    """Return when a tightly coupled program ends: all its hosts wait for the one whose owner works.

    It advances only while all hosts are idle, so its mean is w/prod(1-rho_k) exactly. To add up the rates, as GHS
    does, would take owners to stay away from all other hosts while one is busy. The variance comes from the
    autocovariance of "all are idle", that of each host taken as exponential (which it is where busy periods are).

    Args:
        work: seconds on idle hosts, above 0.
        loads: of its hosts, at least one.
    """
    rate = sum(load.rate for load in loads)
    if rate * max(load.mean for load in loads) <= 0:
        return CompletionTime(work, 1.0, work, 0.0)
    depth = min(sum(load.depth * load.rate for load in loads) / rate, 1.0)
    all_idle = math.prod(1 - load.busy for load in loads)
    speed = 1 - depth + depth * all_idle
    if speed < _LEAST_SPEED:
        return CompletionTime(work, math.exp(-rate * work), math.inf, math.inf)
    variance = depth**2 * _variability(loads) * work / speed**3
    interruptions = rate * work if depth == 1 else 0.0  # else they come while it advances, too
    return CompletionTime(work, math.exp(-rate * work), work / speed, variance, interruptions)


def _variability(loads: Sequence[HostLoad]) -> float:
    """Return the variance of the time in which all hosts are idle, per second: twice its covariance's integral."""
    if len(loads) == 1:
        return loads[0].variability
    alike = Counter(loads)  # hosts of a domain have few different loads
    idle, hosts = np.array([1 - load.busy for load in alike]), np.array([*alike.values()])
    # The time constants of exponential covariances with each host's own variability.
    constants = np.array([load.variability for load in alike]) / (2 * idle * np.maximum(1 - idle, _LEAST_MEAN))
    longest = float(constants.max())
    if longest <= 0:
        return 0.0
    times = longest * np.expm1(np.linspace(0.0, math.log(41.0), _STEPS + 1))  # fine near 0, up to 40 constants
    decays = np.exp(-times[:, np.newaxis] / np.maximum(constants, longest * 1e-9))
    covariance = np.prod((idle**2 + idle * (1 - idle) * decays) ** hosts, axis=1) - np.prod(idle ** (2 * hosts))
    return float(2 * np.trapezoid(covariance, times))


def restarted(work: float, load: HostLoad) -> CompletionTime:
    """Return when a program ends that the owner drives away, and that begins anew once the host is idle.

    E[T] = (e^(lambda·w) - 1)(1/lambda + E[B]); failed tries are geometric in number, each as long as an exponential
    time cut at w, with the busy period behind it.

    Args:
        work: seconds on the idle host, above 0.
        load: of its host; its depth does not matter.
    """
    exponent = load.rate * work
    if exponent <= 0:
        return CompletionTime(work, 1.0, work, 0.0)
    undisturbed = math.exp(-exponent)
    if undisturbed < _LEAST_MEAN:
        return CompletionTime(work, 0.0, math.inf, math.inf)
    failed = -math.expm1(-exponent)  # probability of a try that fails
    tries = failed / undisturbed
    ran = 1 / load.rate - work * undisturbed / failed
    ran_square = 2 / load.rate**2 - (work**2 + 2 * work / load.rate) * undisturbed / failed
    once = ran + load.mean
    spread = max(ran_square - ran**2, 0.0) + max(load.square - load.mean**2, 0.0)
    variance = tries * spread + tries * (1 + tries) * once**2
    return CompletionTime(work, undisturbed, work + tries * once, variance)


def lower_gamma(shape: float, value: float) -> float:
    """Return the regularised lower incomplete gamma function P(shape, value).

    Series and continued fraction are those of Abramowitz and Stegun, 6.5.29 and 6.5.31.

    Args:
        shape: above 0.
        value: 0 or more.
    """
    if value <= 0:
        return 0.0
    if shape > _NORMAL_SHAPE:
        off = ((value / shape) ** (1 / 3) - 1 + 1 / (9 * shape)) * math.sqrt(9 * shape)
        return 0.5 * math.erfc(-off / math.sqrt(2))
    head = math.exp(shape * math.log(value) - value - math.lgamma(shape))
    if value < shape + 1:
        return min(head * _series(shape, value), 1.0)
    return max(1 - head * _fraction(shape, value), 0.0)


def _series(shape: float, value: float) -> float:
    term = total = 1 / shape
    for place in range(1, _MOST_TERMS):
        term *= value / (shape + place)
        total += term
        if term < total * _DIGITS:
            break
    return total


def _fraction(shape: float, value: float) -> float:
    """Return the continued fraction of the upper function, by Lentz's method."""
    base = value + 1 - shape
    ratio, inverse = math.inf, 1 / base
    found = inverse
    for place in range(1, _MOST_TERMS):
        factor = -place * (place - shape)
        base += 2
        inverse = 1 / (factor * inverse + base or _LEAST_MEAN)
        ratio = base + factor / ratio
        found *= ratio * inverse
        if abs(ratio * inverse - 1) < _DIGITS:
            break
    return found


def _inverse(within: Callable[[float], float], share: float, low: float, guess: float) -> float:
    """Return where a distribution reaches a share, by halving."""
    high = max(guess, _DIGITS)
    while within(high) < share and math.isfinite(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if within(middle) < share:
            low = middle
        else:
            high = middle
    return high
