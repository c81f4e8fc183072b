"""Arms of `benchmarks.against_managers`: what each found, kept in a file of its own, so that a long run has parts."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["ALONE", "Arm", "Circumstances", "Outcome", "Result", "goals", "keep_result", "kept_result", "table"]

ALONE = "alone"
"""The arm without cosched."""

_HEADINGS = (
    "arm",
    "makespan",
    "mean wait",
    "slowdown",
    "on time",
    "utilisation",
    "controller's seconds",
    "its requests",
    "load",
)


@dataclass(frozen=True, slots=True)
class Arm:
    """One measurement: jobs of the workload through one manager, in one way.

    Attributes:
        manager: "slurm" or "condor".
        variant: without cosched, or what cosched is told.
        jobs: how many of the workload's first ones were asked for.
        scale: of all times.
        nodes: of the pool.
    """

    manager: str
    variant: str
    jobs: int
    scale: float
    nodes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Figures of one arm; times in seconds.

    Attributes:
        makespan: from the first arrival's time 0 to the last end.
        wait: mean time from arrival to begin.
        slowdown: mean bounded slowdown.
        on_time: share of the jobs that ended by their deadline.
        utilisation: share of the cores' time until the last end.
        controller: processor time of the manager's central daemons.
        requests: that Slurm's controller answered; None where the manager does not count them.
        load: the machine's mean load average meanwhile.
    """

    makespan: float
    wait: float
    slowdown: float
    on_time: float
    utilisation: float
    controller: float
    requests: int | None
    load: float


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Time, machine and versions of a measurement.

    Attributes:
        date: in universal time.
        machine: its processors.
        manager: what it says of its version.
        python: version.
    """

    date: str
    machine: str
    manager: str
    python: str

    @classmethod
    def now(cls, manager: str) -> Circumstances:
        """Return those of this moment."""
        machine = f"{platform.machine()}, {os.cpu_count()} processors"
        return cls(f"{datetime.now(UTC):%Y-%m-%d %H:%M}", machine, manager, platform.python_version())


@dataclass(frozen=True, slots=True)
class Result:
    """An arm that was measured."""

    arm: Arm
    outcome: Outcome
    circumstances: Circumstances


def keep_result(folder: Path, result: Result) -> None:
    """Write a result into a folder; it replaces one of the same arm."""
    folder.mkdir(parents=True, exist_ok=True)
    file = _file(folder, result.arm)
    scratch = file.with_suffix(".new")
    scratch.write_text(json.dumps(asdict(result), indent=1) + "\n")
    scratch.replace(file)


def kept_result(folder: Path, arm: Arm) -> Result | None:
    """Return the result of an arm in a folder; None where it has not been measured."""
    file = _file(folder, arm)
    if not file.exists():
        return None
    values = json.loads(file.read_text())
    return Result(Arm(**values["arm"]), Outcome(**values["outcome"]), Circumstances(**values["circumstances"]))


def table(results: Sequence[Result]) -> str:
    """Return results as a table for pages."""
    rows = [_HEADINGS, tuple(["---"] * len(_HEADINGS)), *(_row(result) for result in results)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def goals(results: Sequence[Result]) -> list[str]:
    """Compare each arm with cosched to the manager alone; return a line each, with the goals."""
    alone = next((result.outcome for result in results if result.arm.variant == ALONE), None)
    found = []
    for result in results if alone is not None else ():
        if result.arm.variant != ALONE:
            assert alone is not None
            outcome = result.outcome
            points = round(100 * (outcome.on_time - alone.on_time), 1)
            slowdown, makespan = outcome.slowdown / alone.slowdown, outcome.makespan / alone.makespan
            found.append(
                f"{result.arm.variant}: on time {points:+.1f} points (goal +20: {_met(points >= 20)}), "
                f"slowdown {slowdown:.2f} of the manager's (goal 0.50: {_met(slowdown <= 0.5)}), "
                f"makespan {makespan:.3f} (goal 1: {_met(makespan <= 1.0)})"
            )
    return found


def _met(met: bool) -> str:
    return "met" if met else "missed"


def _file(folder: Path, arm: Arm) -> Path:
    return folder / f"{arm.manager}-{arm.variant}-{arm.jobs}-jobs-{arm.nodes}-nodes-scale-{arm.scale:g}.json"


def _row(result: Result) -> tuple[str, ...]:
    outcome = result.outcome
    return (
        f"{result.arm.manager} {result.arm.variant}",
        f"{outcome.makespan:.0f} s",
        f"{outcome.wait:.0f} s",
        f"{outcome.slowdown:.2f}",
        f"{outcome.on_time:.1%}",
        f"{outcome.utilisation:.1%}",
        f"{outcome.controller:.1f}",
        "" if outcome.requests is None else f"{outcome.requests:,}",
        f"{outcome.load:.0f}",
    )
