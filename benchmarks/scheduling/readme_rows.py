"""README's rows about scheduling, made from the parts of a run: `python -m benchmarks.scheduling.readme_rows FOLDER`.

The folder `kept` beside this file has those that README and docs/scheduling.md tell of; a test compares them with it.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.scheduling.figures import kept_sections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["KEPT", "readme_rows"]

KEPT = Path(__file__).with_name("kept")
_BUDGETS = ("10 ms", "100 ms", "1000 ms")


def readme_rows(sections: Mapping[str, Any]) -> list[str]:
    """Return the rows of README's table, in order, of the sections that were measured."""
    makers: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "200 tasks on 16 hosts": _long_queue,
        "makespan, tuned on": partial(_short_queues, about="that the search was tuned on"),
        "makespan, held out": partial(_short_queues, about="held out"),
        "deadlines, held out": _deadlines,
        "braun": _braun,
        "traces": _traces,
    }
    return [make(sections[name]) for name, make in makers.items() if name in sections]


def _long_queue(section: Mapping[str, Any]) -> str:
    names = ("genetic 100 ms", "two-phase", "DEAP 1000 ms, from two-phase", "DEAP 1000 ms, as its examples")
    return _row(
        "makespan ÷ lower bound, 200 tasks on 16 hosts, five queues: search of 100 ms; two-phase heuristic; DEAP in "
        f"1 s from its plan; stock DEAP in 1 s {_circumstances(section)}",
        "; ".join(f"{section['rows'][name]['over_bound']:.4f}" for name in names),
        "python -m benchmarks.scheduling --processor-time",
    )


def _short_queues(section: Mapping[str, Any], about: str) -> str:
    rows = section["rows"]
    solver = rows["CP-SAT 10 s of two cores"]
    searched = [rows[f"genetic {budget}"] for budget in _BUDGETS]
    return _row(
        f"makespan ÷ best known, 30 tasks on 16 hosts, {solver['queues']} queues {about} ({solver['proved']} of these "
        "are proved optimal; in brackets ÷ the best bounds proved): search of 10 ms, 100 ms, 1 s; CP-SAT, all "
        "host-time in one sum, 10 s of two cores (what the exact partner tells it is stronger) "
        f"{_circumstances(section)}",
        f"{_ratios([each['mean'] for each in searched])} ({_ratios([each['over_bound'] for each in searched])}); "
        f"{solver['mean']:.4f}",
        "python -m benchmarks.scheduling --processor-time",
    )


def _deadlines(section: Mapping[str, Any]) -> str:
    rows = section["rows"]
    names = ("genetic 100 ms, deadlines first", "CP-SAT 10 s of two cores", "no plan can have more (CP-SAT)")
    shown = [", ".join(f"{100 * rows[name][kind]:.1f}" for kind in ("tight", "medium", "loose")) for name in names]
    return _row(
        "tasks on time in % under tight, medium, loose deadlines, 30 tasks on 16 hosts, ten queues held out: search of "
        f"100 ms, deadlines first; CP-SAT, 10 s of two cores; what it proves to be the most {_circumstances(section)}",
        "; ".join(shown),
        "python -m benchmarks.scheduling --processor-time",
    )


def _braun(section: Mapping[str, Any]) -> str:
    rows = section["rows"]
    searched = [row for name, row in rows.items() if name.startswith("dual-price")]
    budgets = [name.removeprefix("dual-price ") for name in rows if name.startswith("dual-price")]
    return _row(
        "makespan ÷ best known, 512 independent tasks on 16 unlike machines (Braun's twelve matrices, geometric mean; "
        f"in brackets the eight that no setting was tuned on): search of {', '.join(budgets)}; Min-Min "
        f"{_circumstances(section)}",
        f"{_ratios([each['all'] for each in searched])} ({_ratios([each['others'] for each in searched])}); "
        f"{rows['min-min']['all']:.3f}",
        "python -m benchmarks.scheduling --processor-time --braun FOLDER",
    )


def _traces(section: Mapping[str, Any]) -> str:
    rows = section["rows"]
    names = ("easy", "easy-sjbf", "genetic, slowdown")
    return _row(
        "mean bounded slowdown of a year of a real machine (KTH-SP2-1996-2, 28,481 jobs on 100 processors, known by "
        "what their users asked for): EASY backfilling, EASY with the shortest first, the search with this objective; "
        "best of 5,770 published combinations on this log ([more](docs/experiments.md#replaying-a-trace)) "
        f"{_circumstances(section)}",
        ", ".join(f"{rows[name]['slowdown']:.2f}" for name in names) + "; 45.8",
        "python -m benchmarks.scheduling --trace FILE",
    )


def _circumstances(section: Mapping[str, Any]) -> str:
    known = section["circumstances"]
    return f"({known['date']}, {known['budgets']}, load {known['load']:.0f})"


def _ratios(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.4f}" for value in values)


def _row(what: str, measured: str, command: str) -> str:
    return f"| {what} | {measured} | `{command}` |"


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scheduling.readme_rows", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=KEPT, help="as `--keep` of the benchmark has filled it")
    options = parser.parse_args()
    print("\n".join(readme_rows(kept_sections(options.folder))))


if __name__ == "__main__":
    main()
