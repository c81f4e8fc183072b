"""Programs on hosts whose owners come and go, in virtual time.

Start at `completion_times` for one program, at `LoadedDomain` for a domain.

Nothing here knows the formulas of `prediction.loads.completion`: owners come and go by themselves, whether a
program runs or not, and programs advance while they may.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.connector.hosts import Host
from cosched.coscheduler.events import HostsObserved
from cosched.prediction.loads.host_load import HostLoad
from cosched.simulation.simulated_domain import SimulatedDomain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.task import Task
    from cosched.simulation.simulated_domain import SimulatedPlanner

__all__ = ["LoadedDomain", "OwnerDiary", "OwnerHabits", "completion_times"]

_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class OwnerHabits:
    """Coming and going of a host's owner.

    Attributes:
        idle: mean length of his absence in seconds; exponential.
        busy: mean length of his presence in seconds; gamma-distributed.
        variation: standard deviation of his presence ÷ its mean, 0 or more.
        depth: part of the host that he takes meanwhile, above 0 and at most 1.
    """

    idle: float
    busy: float
    variation: float = 1.0
    depth: float = 1.0

    @property
    def load(self) -> HostLoad:
        """The same as formulas take it."""
        return HostLoad(1 / self.idle, self.busy, (1 + self.variation**2) * self.busy**2, self.depth)

    def absences(self, draw: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Draw lengths of absences in seconds."""
        return draw.exponential(self.idle, count)

    def presences(self, draw: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Draw lengths of presences in seconds."""
        if not self.variation:
            return np.full(count, self.busy)
        shape = 1 / self.variation**2
        return draw.gamma(shape, self.busy / shape, count)


def completion_times(
    draw: np.random.Generator, work: float, habits: OwnerHabits, hosts: int, runs: int, *, evict: bool = False
) -> NDArray[np.float64]:
    """Return how long a program takes in each of many runs, that begin when all its hosts are idle.

    Args:
        draw: source of randomness.
        work: seconds of the program on idle hosts.
        habits: of the owner of each host; they are independent.
        hosts: number of hosts; all wait for the one whose owner works.
        runs: number of runs.
        evict: whether a program loses what it has done when an owner comes, and begins anew once all are away.

    Returns:
        (runs,) seconds.
    """
    now, left = np.zeros(runs), np.full(runs, work)
    present = np.zeros((runs, hosts), dtype=np.bool_)
    change = habits.absences(draw, runs * hosts).reshape(runs, hosts)  # when each owner comes or goes next
    end = np.full(runs, np.nan)
    running = np.arange(runs)
    while len(running):
        rows = np.arange(len(running))
        host = change[running].argmin(axis=1)
        then = change[running, host]
        speed = np.where(present[running].any(axis=1), 0.0 if evict else 1 - habits.depth, 1.0)
        done = speed * (then - now[running])
        over = done >= left[running]
        ended = running[over]
        end[ended] = now[ended] + left[ended] / speed[over]
        going, host, rows = running[~over], host[~over], rows[~over]
        left[going] -= done[rows]
        now[going] = then[rows]
        came = ~present[going, host]
        present[going, host] = came
        length = np.where(came, habits.presences(draw, len(going)), habits.absences(draw, len(going)))
        change[going, host] = now[going] + length
        if evict:
            left[going[came]] = work
        running = going
    return end


@dataclass(frozen=True, slots=True)
class OwnerDiary:
    """Times at which the owner of a host is there, and takes it whole.

    Attributes:
        came: times at which he comes, ascending, seconds.
        went: times at which he goes, each between two of these.
    """

    came: tuple[float, ...] = ()
    went: tuple[float, ...] = ()

    @classmethod
    def drawn(
        cls, draw: np.random.Generator, part: Callable[[float], float], presence: float, window: tuple[float, float]
    ) -> OwnerDiary:
        """Draw one.

        Args:
            draw: source of randomness.
            part: returns which part of the host he takes at a time; it stays the same within an hour.
            presence: mean length of his presence in seconds; exponential.
            window: from when until when.
        """
        time, until = window
        came, went = list[float](), list[float]()
        while time < until:
            busy, hour_ends = part(time), (time // _HOUR + 1) * _HOUR
            idle = draw.exponential(presence * (1 - busy) / busy) if busy else np.inf
            if time + idle >= hour_ends:
                time = hour_ends  # without memory: the next hour's habits count
                continue
            came.append(time + idle)
            time += idle + draw.exponential(presence)
            went.append(time)
        return cls(tuple(came), tuple(went))

    def there(self, time: float) -> bool:
        """Return whether he is there."""
        return bisect.bisect_right(self.came, time) > bisect.bisect_right(self.went, time)

    def end(self, start: float, work: float) -> float:
        """Return when a program ends that stands still while he is there.

        Args:
            start: when it begins, seconds.
            work: seconds on the idle host.
        """
        for came, went in zip(self.came, self.went, strict=True):
            if went <= start:
                continue
            if came >= start + work:
                break
            done = max(came - start, 0.0)
            start, work = went, work - done
        return start + work


class LoadedDomain(SimulatedDomain):
    """A domain whose hosts have owners: no task begins while one is there, and those that run wait for him."""

    def __init__(
        self,
        settings: CoreSettings,
        diaries: Mapping[str, OwnerDiary],
        loads: Callable[[float], Mapping[str, HostLoad]],
        planner: SimulatedPlanner | None = None,
    ) -> None:
        """Build a domain at the time 0.

        Args:
            settings: settings of the core.
            diaries: the owner of each host.
            loads: returns what the core is told of loads at a time.
            planner: the search; without it the core plans by itself.
        """
        self._diaries = diaries
        self._loads = loads
        super().__init__(settings, [Host(name) for name in diaries], _work, planner)
        for time in sorted({time for diary in diaries.values() for time in (*diary.came, *diary.went) if time > 0}):
            self.calendar.at(time, self.look)
        self.calendar.at(0.0, self.look)

    def look(self) -> None:
        """Tell the core which hosts have their owners now, and what to expect of them."""
        if self.core.tasks or self.time == 0:
            hosts = tuple(self._seen(host) for host in self._hosts.values())
            self._handle_event(HostsObserved(self.time, hosts, self._loads(self.time)))

    def _seen(self, host: Host) -> Host:
        return replace(host, claimed=self._diaries[host.name].there(self.time))

    def run_time(self, attempt: Attempt, task: Task) -> float:
        """Return for how long an attempt on one host will run."""
        (host,) = attempt.hosts
        return self._diaries[host].end(self.time, _work(task, 1)) - self.time


def _work(task: Task, count: int) -> float:
    assert task.profile is not None
    return task.profile.on(count)
