"""What the figures shall come to: today's, the goal and the strongest peer's, made from the parts of a run.

`python -m benchmarks.scheduling --keep FOLDER --resume` prints this table in the end; docs/figures.md has it of the
kept figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["GOALS", "Goal", "goal_table"]

_HEADINGS = ("figure", "today", "goal", "", "peer")


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure that shall be reached.

    Attributes:
        about: what is measured, for people.
        section: of the figures.
        row: of the section.
        value: of the row.
        form: how values are shown, a format specification.
        least: the figure shall be this at least…
        most: …and this at most.
        peer: another row of the section, and its name for people.
        as_peer: the figure shall be the peer's at least.
        published: the peer's figure where others have measured it, with its name.
    """

    about: str
    section: str
    row: str
    value: str
    form: str = ".4f"
    least: float = -inf
    most: float = inf
    peer: tuple[str, str] | None = None
    as_peer: bool = False
    published: tuple[float, str] | None = None

    def cells(self, sections: Mapping[str, Any]) -> tuple[str, ...]:
        """Return its row of the table."""
        today, peer = self._of(sections, self.row), self._of(sections, self.peer[0]) if self.peer else None
        least = self.least if not self.as_peer or peer is None else peer
        met = "" if today is None else "met" if self._rounds_to(today, least) else "missed"
        beside = self.published or (None if peer is None or self.peer is None else (peer, self.peer[1]))
        return (
            self.about,
            "not measured" if today is None else self._shown(today),
            self._aim(least),
            met,
            "" if beside is None else f"{self._shown(beside[0])} ({beside[1]})",
        )

    def _rounds_to(self, today: float, least: float) -> bool:
        """Return whether the figure is met as it is shown."""
        shown, low, high = (_number(self._shown(each)) for each in (today, least, self.most))
        return low <= shown <= high

    def _aim(self, least: float) -> str:
        if least > -inf and self.most < inf:
            return f"{self._shown(least)} to {self._shown(self.most)}"
        if self.as_peer and least == -inf:
            return "≥ the peer's"
        return f"≥ {self._shown(least)}" if least > -inf else f"≤ {self._shown(self.most)}"

    def _shown(self, value: float) -> str:
        return format(value, self.form)

    def _of(self, sections: Mapping[str, Any], row: str) -> float | None:
        found: float | None = sections.get(self.section, {}).get("rows", {}).get(row, {}).get(self.value)
        return found


def _number(shown: str) -> float:
    return float(shown.removesuffix("%"))


def goal_table(sections: Mapping[str, Any]) -> list[str]:
    """Return the table's lines, for pages; goals of sections that were not measured are in it, too."""
    rows = [_HEADINGS, ("---",) * len(_HEADINGS), *(goal.cells(sections) for goal in GOALS)]
    return [f"| {' | '.join(row)} |" for row in rows]


def _short_queues() -> Iterator[Goal]:
    peer = ("CP-SAT 10 s of two cores", "CP-SAT, 10 s of two cores")
    for budget, mean, worst in (("10 ms", 1.006, inf), ("100 ms", 1.001, inf), ("1000 ms", 1.0, 1.0)):
        about = f"makespan ÷ optimum, 30 tasks on 16 hosts, queues held out whose optimum is proved, {budget}"
        section, row = "makespan, held out", f"genetic {budget}"
        yield Goal(f"{about}: mean", section, row, "over_optimum", most=mean, peer=peer)
        if worst < inf:
            yield Goal(f"{about}: worst", section, row, "worst_over_optimum", most=worst, peer=peer)


def _gaps() -> Iterator[Goal]:
    for tasks in (30, 200):
        for row in ("the search's own bound", "with the exact partner"):
            if (tasks, row) != (200, "with the exact partner"):  # which takes 60 tasks at most
                about = f"gap shown after 10 s, {tasks} tasks on 16 hosts, held out, {row}"
                yield Goal(about, f"gap {tasks} held out", row, "mean", ".2%", most=0.01)
    for name in ("tuned on", "held out"):
        about = f"share of plans shown as optimal within 20 s, 30 tasks on 16 hosts, {name}"
        yield Goal(about, f"gap 30 {name}", "with the exact partner", "share", ".0%", least=0.7)


def _matrices() -> Iterator[Goal]:
    for budget, most in (("10 ms", 1.009), ("100 ms", 1.006), ("1000 ms", 1.0035), ("10000 ms", 1.0022)):
        about = f"makespan ÷ best known, Braun's twelve matrices, geometric mean, {budget}"
        yield Goal(about, "braun", f"dual-price {budget}", "all", most=most, peer=("min-min", "Min-Min"))


def _classes() -> Iterator[Goal]:
    for tasks, hosts in ((30, 16), (200, 16), (1000, 64)):
        for classes in (2, 4):
            size = f"{tasks} tasks on {hosts} hosts, {classes} classes"
            about = f"makespan ÷ bound, {size}, 100 ms"
            yield Goal(about, "several classes", size, "genetic", most=1.02)
    for classes in (2, 4):
        about = f"makespan ÷ CP-SAT's after 60 s of two cores, 30 tasks on 16 hosts, {classes} classes, 100 ms"
        yield Goal(about, "several classes, CP-SAT", f"{classes} classes", "early_over_solver", most=1.02)


def _deadlines() -> Iterator[Goal]:
    peer = ("CP-SAT 10 s of two cores", "CP-SAT, 10 s of two cores")
    for stretch in ("tight", "medium", "loose"):
        about = f"tasks on time, {stretch} deadlines, 30 tasks on 16 hosts, held out, 100 ms"
        row = "genetic 100 ms, deadlines first"
        yield Goal(about, "deadlines, held out", row, stretch, ".1%", peer=peer, as_peer=True)


def _objectives() -> Iterator[Goal]:
    for section in ("slowdown", "weighted tardiness"):
        about = f"mean {section} ÷ CP-SAT's after 10 s of two cores, 30 tasks on 16 hosts, held out, 1 s"
        yield Goal(about, f"{section}, held out", "genetic 1000 ms", "over_peer", most=1.0)
    about = "makespan of deadlines first ÷ the shortest of CP-SAT with as many on time, medium, held out, 100 ms"
    yield Goal(about, "cost of deadlines, held out", "genetic 100 ms, deadlines first", "over_peer", most=1.05)


def _ranges() -> Iterator[Goal]:
    for kind in ("rigid", "downey"):
        peer = (f"{kind}, points", "by points")
        about = f"share of deadlines met, KTH's first jobs by times that 80 % of runs keep, {kind}"
        yield Goal(about, "ranges", f"{kind}, times that 80 % keep", "on_time", ".1%", peer=peer, as_peer=True)


def _traces() -> Iterator[Goal]:
    for row, published, spread in (("easy", 92.58, 0.01), ("easy-sjbf", 69.41, 0.01), ("EASY++", 63.50, 0.03)):
        yield Goal(
            f"mean bounded slowdown, KTH-SP2-1996-2, {row}",
            "traces",
            row,
            "slowdown",
            ".2f",
            published * (1 - spread),
            published * (1 + spread),
            published=(published, "their simulator"),
        )
    search = "genetic, slowdown"
    best = (45.80, "the best of 5,770 combinations")
    about = "mean bounded slowdown, KTH-SP2-1996-2, the search with this objective"
    yield Goal(about, "traces", search, "slowdown", ".2f", most=45.8, published=best)
    for row, most in (("easy", 60.0), (search, 600.0)):
        yield Goal(f"a year of KTH replayed in seconds of one core, {row}", "traces", row, "seconds", ".0f", most=most)


GOALS = (*_short_queues(), *_gaps(), *_matrices(), *_classes(), *_deadlines(), *_objectives(), *_traces(), *_ranges())
