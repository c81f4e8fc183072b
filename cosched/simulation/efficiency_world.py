"""One iterative program on hosts of several clusters in virtual time, with or without advice on its hosts.

Start at `run_iterations`. The program has an average parallelism A: workers whose speeds add up to m do the work of
S(m) = mA/(m + A - 1) hosts, whoever they are, for work is balanced as it goes. Trouble holds the whole program up by a
factor for as long as workers are there that it concerns. Advice comes at the end of each monitoring period.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.prediction.efficiency import WorkerStatistics, parallel_speedup
from cosched.scheduling.elastic.adaptation import AdaptationParameters, AvoidedPlaces, advise_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Crash", "IterativeProgram", "Monitoring", "Trouble", "TroubledRun", "run_iterations"]


@dataclass(frozen=True, slots=True)
class IterativeProgram:
    """The program, and where it begins.

    Attributes:
        iterations: how many it does.
        work: seconds of one iteration on one host of the speed 1.
        parallelism: its average parallelism.
        resize: seconds in which it does not go on when its workers change.
        clusters: number of hosts of each cluster, by name.
        begins: number of workers that begin in each cluster, by name.
    """

    iterations: int
    work: float
    parallelism: float
    resize: float
    clusters: Mapping[str, int]
    begins: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Trouble:
    """Workers that began in a cluster are slow, or its link to the others is.

    Attributes:
        cluster: name of the cluster.
        since: when it begins, seconds.
        speed: speed of these workers.
        hold_up: how many times longer each iteration lasts while one of them is there; 1 for not at all.
        link: whether the link is the reason: then they spend the time that is lost with other clusters.
    """

    cluster: str
    since: float = 0.0
    speed: float = 1.0
    hold_up: tuple[float, ...] = (1.0,)
    link: bool = False

    def factor(self, iteration: int) -> float:
        """Return the factor of an iteration, counted from 0; the last stands for all further ones."""
        return self.hold_up[min(iteration, len(self.hold_up) - 1)]


@dataclass(frozen=True, slots=True)
class Crash:
    """All hosts of some clusters are lost at a time, for good."""

    clusters: tuple[str, ...]
    time: float


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Advice on a program.

    Attributes:
        period: seconds between advice.
        overhead: how much longer everything lasts because of measurements, as a part.
        adapts: whether advice is followed.
        parameters: of the advice.
    """

    period: float
    overhead: float
    adapts: bool = True
    parameters: AdaptationParameters = field(default_factory=AdaptationParameters)


@dataclass(frozen=True, slots=True)
class TroubledRun:
    """Course of the program.

    Attributes:
        durations: of each iteration, seconds.
        hosts: number of workers at the end of each.
        efficiencies: weighted average efficiency of each monitoring period.
    """

    durations: tuple[float, ...]
    hosts: tuple[int, ...]
    efficiencies: tuple[float, ...] = ()

    @property
    def seconds(self) -> float:
        """Run time of the program."""
        return sum(self.durations)


def run_iterations(
    program: IterativeProgram,
    troubles: Sequence[Trouble] = (),
    crash: Crash | None = None,
    monitoring: Monitoring | None = None,
) -> TroubledRun:
    """Run the program to its end.

    Args:
        program: begins with one worker at least.
        troubles: at most one for each cluster.
        crash: workers that are lost; one at least is left.
        monitoring: advice; None: the workers stay as they are.
    """
    return _World(program, troubles, crash, monitoring).run()


@dataclass(slots=True)
class _Worker:
    """A worker.

    Attributes:
        number: its number.
        host: name of its host.
        cluster: name of the host's cluster.
        trouble: what concerns it, if anything.
        since: when it joined, or the monitoring period began.
        useful: seconds of work since then.
        linked: seconds that it lost over a slow link since then.
    """

    number: int
    host: str
    cluster: str
    trouble: Trouble | None
    since: float
    useful: float = 0.0
    linked: float = 0.0

    def speed(self, time: float) -> float:
        """Return its speed at a time."""
        return self.trouble.speed if self.trouble is not None and time >= self.trouble.since else 1.0

    def troubled(self, time: float) -> Trouble | None:
        """Return the trouble that concerns it at a time."""
        return self.trouble if self.trouble is not None and time >= self.trouble.since else None


class _World:
    """The loop over moments at which anything changes; `run` is called once."""

    def __init__(
        self,
        program: IterativeProgram,
        troubles: Sequence[Trouble],
        crash: Crash | None,
        monitoring: Monitoring | None,
    ) -> None:
        self._program = program
        self._crash = crash
        self._monitoring = monitoring
        self._troubles = {each.cluster: each for each in troubles}
        self._time = 0.0
        self._paused_until = 0.0
        self._joined = 0
        self._workers: list[_Worker] = []
        self._lost: set[str] = set()  # clusters that crashed
        self._avoided = AvoidedPlaces()
        self._efficiencies: list[float] = []
        for cluster, count in program.begins.items():
            self._join([(f"{cluster}/{place}", cluster) for place in range(count)], began=True)

    def run(self) -> TroubledRun:
        """Return how it went."""
        durations, hosts = [], []
        for iteration in range(self._program.iterations):
            began, left = self._time, self._program.work
            while left > 0:
                left = self._step(iteration, left)
            durations.append(self._time - began)
            hosts.append(len(self._workers))
        return TroubledRun(tuple(durations), tuple(hosts), tuple(self._efficiencies))

    def _step(self, iteration: int, left: float) -> float:
        """Go on to the next moment at which anything changes; return what is left of the iteration."""
        moment, rate = self._next_change(), self._rate(iteration)
        begins = max(self._time, self._paused_until)
        end = begins + left / rate if rate else math.inf
        until = min(end, moment)
        worked = max(0.0, until - begins)
        self._count(iteration, worked)
        self._time = until
        if moment <= until:
            self._change()
        return 0.0 if end <= moment else left - worked * rate

    def _next_change(self) -> float:
        moments = [each.since for each in self._troubles.values() if each.since > self._time]
        if self._crash is not None and self._crash.time > self._time:
            moments.append(self._crash.time)
        if self._monitoring is not None:
            moments.append((len(self._efficiencies) + 1) * self._monitoring.period)
        return min(moments, default=math.inf)

    def _change(self) -> None:
        if self._crash is not None and self._time >= self._crash.time and not self._lost:
            self._lost.update(self._crash.clusters)
            self._keep(lambda worker: worker.cluster not in self._lost)
        if self._monitoring is not None and self._time >= (len(self._efficiencies) + 1) * self._monitoring.period:
            self._advise(self._monitoring)

    def _speeds(self) -> float:
        return sum(each.speed(self._time) for each in self._workers)

    def _hold_up(self, iteration: int) -> float:
        concerned = {trouble.cluster: trouble for each in self._workers if (trouble := each.troubled(self._time))}
        return math.prod(trouble.factor(iteration) for trouble in concerned.values())

    def _rate(self, iteration: int) -> float:
        """Return the work that is done in a second, in seconds of a host of the speed 1."""
        slower = 1 + (self._monitoring.overhead if self._monitoring is not None else 0.0)
        speedup = parallel_speedup(self._speeds(), self._program.parallelism)
        return speedup / self._hold_up(iteration) / slower

    def _count(self, iteration: int, seconds: float) -> None:
        """Note what each worker did: measurements are neither work nor overhead."""
        busy = parallel_speedup(speeds := self._speeds(), self._program.parallelism) / speeds
        held = self._hold_up(iteration)
        for each in self._workers:
            each.useful += seconds * busy / held
            trouble = each.troubled(self._time)
            if trouble is not None and trouble.link:
                each.linked += seconds * busy * (1 - 1 / trouble.factor(iteration))

    def _advise(self, monitoring: Monitoring) -> None:
        statistics = [self._statistics(each) for each in self._workers if each.since < self._time]
        advice = advise_workers(statistics, self._avoided, monitoring.parameters, self._time)
        self._efficiencies.append(advice.efficiency)
        for each in self._workers:
            each.since, each.useful, each.linked = self._time, 0.0, 0.0
        if not monitoring.adapts:
            return
        self._avoided = advice.avoided
        self._keep(lambda worker: worker.number not in advice.leave)
        self._join(self._hosts(advice.more))

    def _statistics(self, worker: _Worker) -> WorkerStatistics:
        """Return what a worker measured in the period, its seconds as parts of it."""
        period = self._time - worker.since
        linked = min(worker.linked / period, 1.0)
        overhead = min(max(1 - worker.useful / period, linked), 1.0)
        return WorkerStatistics(worker.number, worker.host, worker.cluster, worker.speed(self._time), overhead, linked)

    def _keep(self, stays: Callable[[_Worker], bool]) -> None:
        kept = [each for each in self._workers if stays(each)]
        if len(kept) < len(self._workers):
            self._workers = kept
            self._paused_until = self._time + self._program.resize

    def _hosts(self, count: int) -> list[tuple[str, str]]:
        """Return hosts that may join: of clusters that are used already first, then of the others, in order."""
        taken = {each.host for each in self._workers}
        used = {each.cluster for each in self._workers}
        clusters = [name for name in self._program.clusters if name not in self._lost]
        found = [
            (host, cluster)
            for cluster in sorted(clusters, key=lambda name: name not in used)
            for place in range(self._program.clusters[cluster])
            if (host := f"{cluster}/{place}") not in taken and self._avoided.allows(host, cluster, self._time)
        ]
        return found[:count]

    def _join(self, hosts: Sequence[tuple[str, str]], *, began: bool = False) -> None:
        """Let workers join; trouble with a link concerns all hosts of its cluster, other trouble those that began."""
        for host, cluster in hosts:
            trouble = self._troubles.get(cluster)
            concerns = trouble is not None and (began or trouble.link)
            self._workers.append(_Worker(self._joined, host, cluster, trouble if concerns else None, self._time))
            self._joined += 1
        if hosts and not began:
            self._paused_until = self._time + self._program.resize
