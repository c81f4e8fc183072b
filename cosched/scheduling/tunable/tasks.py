"""Tunable tasks are chains of stages with alternatives, admitted where one meets its deadlines.

After Chang, Karamcheti and Kedem, "Exploiting Application Tunability for Efficient, Predictable Parallel Resource
Management" (MILAN). A tunable task is an OR-graph: a sequence of stages and choices between sequences; each way through
it is a chain. Stages are rigid and not preempted; a task is admitted with all its stages or not at all.

Of the chains that fit, the one of the highest quality is taken; of equals the one that ends first; of these the one
that keeps the hosts busiest until then; of these the one that needs less for its first stages (section 5.2, which has
one quality for all). Where ways need different host-seconds, hosts that end a task a little sooner at a high price are
missing for the next tasks: `AdmissionRule.THRIFTY` prefers the fewest host-seconds among equals in quality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate, product
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.tunable_bounds import MOST_CHAINS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.decoding.holes import Holes

__all__ = [
    "AdmissionRule",
    "Chain",
    "Stage",
    "StageChoice",
    "TunablePlacement",
    "TunableQueue",
    "TunableTask",
    "admit",
    "chains",
    "deadline",
    "is_late",
]


class AdmissionRule(StrEnum):
    """Which of the chains that fit is taken, of the highest quality."""

    PAPER = "paper"  # that ends first
    THRIFTY = "thrifty"  # that needs the fewest host-seconds


@dataclass(frozen=True, slots=True)
class Stage:
    """A rigid, non-preemptible piece of work.

    Attributes:
        hosts: how many it occupies, 1 or more.
        seconds: for how long, above 0.
        deadline: seconds after the task's release by which it and all before it must have ended; infinite for none.
            In a turn of a loop they count from the turn's beginning.
        quality: quality of its output, above 0; that of a chain is the product.
        name: for people; may be empty.
        since: index of the first stage of that turn in the chain; None outside loops. The turn begins when the stage
            before it ends.
        turn: number of that turn, from 1; 0 outside loops.
        known: the control parameters as they are while it runs; stages of equal work are equal whatever these are.
    """

    hosts: int
    seconds: float
    deadline: float = math.inf
    quality: float = 1.0
    name: str = ""
    since: int | None = None
    turn: int = field(default=0, compare=False)
    known: tuple[tuple[str, float], ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class StageChoice:
    """One of several sequences is run."""

    sequences: tuple[tuple[Stage | StageChoice, ...], ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """One way through a tunable task."""

    stages: tuple[Stage, ...]

    @property
    def quality(self) -> float:
        """The product of the stages' qualities."""
        return math.prod(stage.quality for stage in self.stages)


@dataclass(frozen=True, slots=True)
class TunableTask:
    """A task with at least one chain.

    Attributes:
        id: its name.
        release: when it arrives, seconds.
        chains: the ways through it, in order of preference between equals.
    """

    id: str
    release: float
    chains: tuple[Chain, ...]


@dataclass(frozen=True, slots=True)
class TunablePlacement:
    """An admitted task with the start and hosts of each stage.

    Attributes:
        task: its name.
        chain: index of the chain chosen.
        stages: the stages of that chain.
        starts: when each begins, seconds; it ends its `seconds` later.
    """

    task: str
    chain: int
    stages: tuple[Stage, ...]
    starts: tuple[float, ...]

    @property
    def end(self) -> float:
        """Return when the last stage ends, in seconds."""
        return self.starts[-1] + self.stages[-1].seconds


def chains(sequence: Sequence[Stage | StageChoice]) -> tuple[Chain, ...]:
    """Return every way through an OR-graph.

    Args:
        sequence: stages and choices, one after the other; not empty, nor any sequence in it.

    Raises:
        UserError: there are more than `MOST_CHAINS`.
    """
    return tuple(Chain(stages) for stages in _ways(sequence))


def admit(holes: Holes, task: TunableTask, rule: AdmissionRule = AdmissionRule.PAPER) -> TunablePlacement | None:
    """Place a task in the holes and occupy them, by a rule; return None if no chain fits.

    A chain fits where its stages meet their deadlines. Nothing is occupied for None.
    """
    placed = [placement for index in range(len(task.chains)) if (placement := _fit(holes, task, index)) is not None]
    if not placed:
        return None
    best = placed[0] if len(placed) == 1 else min(placed, key=lambda placement: _rank(task, placement, rule))
    for stage, start in zip(best.stages, best.starts, strict=True):
        holes.take(stage.hosts, start, start + stage.seconds)
    return best


def _ways(sequence: Sequence[Stage | StageChoice]) -> list[tuple[Stage, ...]]:
    parts = [
        [(part,)] if isinstance(part, Stage) else [way for inner in part.sequences for way in _ways(inner)]
        for part in sequence
    ]
    if math.prod(len(part) for part in parts) > MOST_CHAINS:
        raise UserError(f"there are more than {MOST_CHAINS} ways through it: offer fewer alternatives")
    return [tuple(stage for part in way for stage in part) for way in product(*parts)]


def _fit(holes: Holes, task: TunableTask, index: int) -> TunablePlacement | None:
    """Place each stage of a chain as early as possible; None if one is late.

    No later placement lets the chain end earlier.
    """
    stages = task.chains[index].stages
    ready = [task.release]  # of each stage, when it may begin
    starts: list[float] = []
    for stage in stages:
        start = holes.earliest(stage.hosts, stage.seconds, ready[-1])
        end = start + stage.seconds
        if start == math.inf or is_late(task.release, stage, ready, end):
            return None
        starts.append(start)
        ready.append(end)
    return TunablePlacement(task.id, index, stages, tuple(starts))


def deadline(release: float, stage: Stage, ready: Sequence[float]) -> float:
    """Return when a stage must have ended, in seconds.

    Args:
        release: when its task arrives.
        stage: a stage of a chain.
        ready: when each stage of the chain up to this one may begin: when the one before it ends.
    """
    return (release if stage.since is None else ready[stage.since]) + stage.deadline


def is_late(release: float, stage: Stage, ready: Sequence[float], end: float) -> bool:
    """Tell whether a stage that ends at `end` misses its deadline; for the others see `deadline`.

    Sums of times that are equal on paper differ in their last digits: that is not late.
    """
    due = deadline(release, stage, ready)
    return end > due and not math.isclose(end, due, rel_tol=1e-12)


def _rank(task: TunableTask, placement: TunablePlacement, rule: AdmissionRule) -> tuple[float, ...]:
    """Order placements by quality, then by end, of equals the largest area first; or by area, then by end."""
    prefixes = list(accumulate(stage.hosts * stage.seconds for stage in placement.stages))
    if rule is AdmissionRule.THRIFTY:
        return (-task.chains[placement.chain].quality, prefixes[-1], placement.end, *prefixes)
    return (-task.chains[placement.chain].quality, placement.end, -prefixes[-1], *prefixes)


@dataclass(frozen=True, slots=True)
class TunableQueue:
    """Tunable tasks and the names of the identical hosts that they are to run on."""

    hosts: tuple[str, ...]
    tasks: tuple[TunableTask, ...]
