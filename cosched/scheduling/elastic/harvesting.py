"""The harvesting paper's policies: tasks that start take hosts of running ones.

Lee and Weissman, "Adaptive Resource Scheduling for Network Services", section 4 (Figs 2 and 3). Where the paper is
silent or cannot be read literally, the choices are said at each function; docs/experiments.md lists them.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from cosched.scheduling.elastic.fixed import keeps_all
from cosched.scheduling.elastic.policy import Draft, ElasticPolicy, ElasticPolicyName
from cosched.scheduling.elastic.starting import StartRule, start_in_order
from cosched.scheduling.elastic.tasks import HostLoan, PoolMemory

if TYPE_CHECKING:
    from cosched.scheduling.elastic.tasks import Allocation, ElasticParameters, ElasticPool, ElasticProgress

__all__ = ["ImpactHarvest", "ShortestRemainingHarvest"]


class ShortestRemainingHarvest(ElasticPolicy):
    """SRT_Harvest."""

    name = ElasticPolicyName.SRT_HARVEST
    summary = "the shortest task starts on hosts of those that run much longer"

    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        """Follow Fig. 2; the numbers below are its lines."""
        draft = Draft(pool)
        protected = {each.task.id for each in pool.running} & pool.memory.protected
        if not self._start_overdue(draft, protected, parameters.patience):
            return draft.allocation(PoolMemory(frozenset(protected)))  # hosts are saved up for one that waits too long
        harvest = _Harvest(draft, protected, parameters.harvest)
        harvest.start_shortest()  # 3 to 7
        if harvest.yield_rests():  # 8 to 11
            harvest.start_shortest()  # on what is left over
        return draft.allocation(PoolMemory(frozenset(protected)))

    def _start_overdue(self, draft: Draft, protected: set[str], patience: float) -> bool:
        """Start overdue tasks on idle hosts, which nobody may harvest (line 1).

        Returns:
            False where one needs more than one host and has to wait for them: the paper has no such tasks, and ours
            would starve.
        """
        for progress in list(draft.waiting):
            if draft.pool.time - progress.queued <= patience * progress.task.shortest:
                continue
            hosts = progress.task.fitting(draft.idle)
            if hosts:
                draft.set(progress, hosts)
                protected.add(progress.task.id)
            elif progress.task.least > 1:
                return False
        return True


class _Start(NamedTuple):
    """A waiting task's quickest start: run time, name, hosts, and the hosts it takes of others."""

    seconds: float
    name: str
    hosts: int
    taken: tuple[tuple[ElasticProgress, int], ...]


class _Harvest:
    """Lines 3 to 11 of SRT_Harvest."""

    def __init__(self, draft: Draft, protected: set[str], harvest: float) -> None:
        self._draft = draft
        self._protected = protected
        self._harvest = harvest
        self._settled: set[str] = set()  # given hosts at this event: taken by nobody at once, so that this ends
        self._harvested: list[ElasticProgress] = []

    def start_shortest(self) -> None:
        """Start the task with the smallest run time through harvesting, again and again.

        Idle hosts go to the running task that ends next where no waiting one would end sooner (section 5.2).
        """
        draft = self._draft
        while True:
            start = min((self._quickest(each) for each in draft.waiting), key=_seconds, default=_NEVER)
            growing = min(
                ((draft.remaining(each), each.task.id) for each in draft.having if self._grows(each)), default=None
            )
            if growing is not None and growing[0] <= start.seconds:
                progress = draft.tasks[growing[1]]
                draft.set(progress, progress.task.fitting(draft.held(progress) + draft.idle))
            elif start.hosts:
                self._begin(start)
            else:
                return

    def yield_rests(self) -> bool:
        """Let harvested tasks leave their rest to waiting tasks that end earlier on it; return whether any did."""
        draft, found = self._draft, False
        for lender in self._harvested:
            rest = draft.held(lender)
            if not rest or not lender.task.suspendable:
                continue
            sooner = [
                (each.remaining_on(rest), each.task.id)
                for each in draft.waiting
                if each.remaining_on(rest) < draft.remaining(lender)
            ]
            if sooner:
                progress = draft.tasks[min(sooner)[1]]
                draft.set(lender, 0)
                draft.set(progress, progress.task.fitting(rest))
                self._settled.add(progress.task.id)
                found = True
        return found

    def _grows(self, progress: ElasticProgress) -> bool:
        return progress.task.fitting(self._draft.held(progress) + self._draft.idle) > self._draft.held(progress)

    def _quickest(self, progress: ElasticProgress) -> _Start:
        """Return a waiting task's quickest start on idle hosts and those of others."""
        for hosts in reversed(progress.task.useful):
            seconds = progress.remaining_on(hosts)
            taken = self._taken(hosts - self._draft.idle, self._harvest * seconds)
            if taken is not None:
                return _Start(seconds, progress.task.id, hosts, taken)
        return _NEVER

    def _taken(self, hosts: int, below: float) -> tuple[tuple[ElasticProgress, int], ...] | None:
        """Return lenders with their parts, the last to end first; None where they have not enough."""
        draft = self._draft
        if hosts <= 0:
            return ()
        lenders = [
            (draft.remaining(each), each.task.id, each)
            for each in draft.having
            if each.task.id not in self._protected | self._settled and below < draft.remaining(each)
        ]
        found = []
        for _, _, each in sorted(lenders, reverse=True):
            held = draft.held(each)
            part = min(hosts, held if each.task.suspendable else held - each.task.least)
            if held - part < each.task.least and part:
                part = held  # less than it can run on is of no use to it
            if part > 0:
                found.append((each, part))
                hosts -= part
            if hosts <= 0:
                return tuple(found)
        return None

    def _begin(self, start: _Start) -> None:
        for lender, part in start.taken:
            self._draft.set(lender, self._draft.held(lender) - part)
            self._harvested.append(lender)
        self._draft.set(self._draft.tasks[start.name], start.hosts)
        self._settled.add(start.name)


_NEVER = _Start(float("inf"), "", 0, ())


def _seconds(start: _Start) -> tuple[float, str]:
    return start.seconds, start.name


class ImpactHarvest(ElasticPolicy):
    """IB_Harvest."""

    name = ElasticPolicyName.IB_HARVEST
    summary = "tasks start on hosts that others can spare without becoming too slow"

    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        """Return the hosts of tasks that have ended, then start waiting ones (Fig. 3).

        A task starts on the idle hosts if they are enough for its threshold, up to its optimum; else it takes the
        fewest more of others, drawn at random, or waits where they cannot spare them. Each is looked at by itself: one
        that waits holds up nobody, unless backfilling keeps hosts for it.
        """
        draft = Draft(pool)
        loans = _return_hosts(draft)
        draw = random.Random(f"{parameters.seed}/{pool.event}")  # noqa: S311  a repeatable draw, not a secret
        for progress in list(draft.waiting):
            needed = _fewest(progress, parameters.impact)
            if draft.idle < needed:
                spare = [(each, _harvestable(draft, each, parameters.impact)) for each in draft.having]
                if sum(hosts for _, hosts in spare) < needed - draft.idle:
                    if parameters.backfill:
                        break
                    continue
                loans += _collect(draft, progress, spare, needed - draft.idle, draw)
            draft.set(progress, progress.task.fitting(max(draft.idle, needed)))
        if parameters.backfill:
            start_in_order(draft, _rule_on_idle_hosts(parameters.impact))
        return draft.allocation(PoolMemory(loans=tuple(loans)))


def _rule_on_idle_hosts(impact: float) -> StartRule:
    def size(progress: ElasticProgress, free: int) -> int:
        hosts = progress.task.fitting(free)
        return hosts if hosts >= _fewest(progress, impact) else 0

    return StartRule(size, lambda progress: _fewest(progress, impact), keeps_all, backfill=True)


def _fewest(progress: ElasticProgress, impact: float) -> int:
    """Return the fewest hosts on which a task that starts keeps below its threshold."""
    task = progress.task
    return next((count for count in task.useful if task.on(count) < impact * task.shortest), task.optimal)


def _harvestable(draft: Draft, progress: ElasticProgress, impact: float) -> int:
    """Return how many hosts a task can spare and keep below its threshold.

    Printed is max{n: elapsed + remaining(n) < threshold} with n the hosts that are used, which is always all it has.
    """
    if progress.began is None:
        return 0
    elapsed, held = draft.pool.time - progress.began, draft.held(progress)
    for hosts in range(progress.task.least, held):
        if elapsed + progress.pause + progress.remaining_on(hosts) < impact * progress.task.shortest:
            return held - hosts
    return 0


def _collect(
    draft: Draft,
    borrower: ElasticProgress,
    spare: list[tuple[ElasticProgress, int]],
    missing: int,
    draw: random.Random,
) -> list[HostLoan]:
    """Take the missing hosts of the lenders, as many of each as is drawn, in turn until there are enough."""
    taken = [0] * len(spare)
    while missing:
        for place, (_, most) in enumerate(spare):
            part = draw.randint(0, min(missing, most - taken[place]))
            taken[place] += part
            missing -= part
    loans = []
    for (lender, _), hosts in zip(spare, taken, strict=True):
        if hosts:
            draft.set(lender, draft.held(lender) - hosts)
            loans.append(HostLoan(lender.task.id, borrower.task.id, hosts))
    return loans


def _return_hosts(draft: Draft) -> list[HostLoan]:
    """Give the hosts of borrowers that have ended back to lenders that still run; return the other loans."""
    kept = []
    for loan in draft.pool.memory.loans:
        if loan.borrower in draft.hosts:
            kept.append(loan)
        elif loan.lender in draft.hosts:
            lender = draft.tasks[loan.lender]
            held = draft.held(lender)
            hosts = lender.task.fitting(held + min(loan.hosts, draft.idle))
            if hosts > held:
                draft.set(lender, hosts)
    return kept
