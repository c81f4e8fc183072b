"""README's rows of figures, made from what benchmarks keep: `python -m benchmarks.readme_rows FOLDER …`.

The folders `kept` beside this file and in `scheduling` have those that README and docs/figures.md tell of; a test
compares them with it. Of rows that take hours (faults, soak) README says what was measured when.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.figures import kept_sections

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["KEPT", "readme_rows"]

KEPT = (Path(__file__).with_name("kept"), Path(__file__).parent / "scheduling" / "kept")
_BUDGETS = ("10 ms", "100 ms", "1000 ms")


def readme_rows(folders: Iterable[Path]) -> list[str]:
    """Return the rows of README's table, in order, of what folders keep."""
    sections = {name: section for folder in folders for name, section in kept_sections(folder).items()}
    makers: list[tuple[str, Callable[[Mapping[str, Any]], str]]] = [
        ("daemon", _submissions),
        ("portal", _requests),
        ("portal", _answers_in_time),
        ("events", partial(_arrivals, classes=1)),
        ("events", partial(_arrivals, classes=2)),
        ("daemon", _memory),
        ("daemon", _answers),
        ("pages", _pages),
        ("200 tasks on 16 hosts", _long_queue),
        ("makespan, tuned on", partial(_short_queues, about="that the search was tuned on")),
        ("makespan, held out", partial(_short_queues, about="held out")),
        ("deadlines, held out", _deadlines),
        ("braun", _braun),
        ("traces", _traces),
    ]
    return [make(sections[name]) for name, make in makers if name in sections]


def _submissions(section: Mapping[str, Any]) -> str:
    return _row(
        f"1,000 tasks submitted one by one over the API, each durable {_when(section)}",
        f"{section['rows']['one by one']['seconds to submit']:.1f} s",
        "python -m benchmarks.daemon",
    )


def _memory(section: Mapping[str, Any]) -> str:
    daemon, search = (section["rows"]["one by one"][f"{name} memory MB, RSS"] for name in ("daemon", "search"))
    return _row(
        f"resident memory of the daemon with 1,000 waiting tasks (and of the search beside it) {_when(section)}",
        f"{daemon:.0f} MB ({search:.0f} MB)",
        "python -m benchmarks.daemon",
    )


def _answers(section: Mapping[str, Any]) -> str:
    plan, explanation = (section["rows"]["one by one"][f"{name} ms, median"] for name in ("plan", "explain"))
    return _row(
        f"plan, explain with 1,000 waiting tasks, median {_when(section)}",
        f"{plan:.0f} ms, {explanation:.0f} ms",
        "python -m benchmarks.daemon",
    )


def _requests(section: Mapping[str, Any]) -> str:
    rates = (_span(section, name, "requests a second", ".0f") for name in ("submissions", "reads"))
    costs = (_span(section, name, "processor ms of the daemon a request", ".1f") for name in ("submissions", "reads"))
    return _row(
        "HTTP with 10,000 tasks in the database, on two cores that also plan and make the load: durable submissions a "
        f"second, then reads a second, with the processor time of each {_when(section, 'three runs')}",
        ", ".join(f"{rate} ({cost} ms)" for rate, cost in zip(rates, costs, strict=True)),
        "python -m benchmarks.portal --runs 3",
    )


def _answers_in_time(section: Mapping[str, Any]) -> str:
    return _row(
        "time within which 99 % of them are answered, at 150 submissions and at 250 reads a second, while more than "
        "3,000 tasks wait and are planned on the same cores (the same runs)",
        ", ".join(f"{_span(section, f'half the {name}', 'ms, 99 %', '.0f')} ms" for name in ("submissions", "reads")),
        "python -m benchmarks.portal --runs 3",
    )


def _arrivals(section: Mapping[str, Any], classes: int) -> str:
    names = ("64 hosts, 2 classes", "256 hosts, 2 classes") if classes == 2 else ("16 hosts", "64 hosts", "256 hosts")
    rows = [section["rows"][name] for name in names]
    busy, idle = (", ".join(f"{row[what]:.2g}" for row in rows) for what in ("all hosts busy", "one idle"))
    what = (
        "the same on 64, 256 hosts of two classes"
        if classes == 2
        else "the core takes one more task behind 1,000 waiting ones, on 16, 64, 256 hosts: all busy; one idle "
        f"{_when(section)}"
    )
    return _row(what, f"{busy} ms; {idle} ms", "python -m benchmarks.events")


def _pages(section: Mapping[str, Any]) -> str:
    few, many = section["rows"]["1000 tasks"], section["rows"]["5000 tasks"]
    figures = (
        ("KiB of an update, compressed", "KiB"),
        ("ms in which the browser draws it, median", "ms"),
        ("ms of a frame under the moving pointer, median", "ms"),
    )
    return _row(
        "schedule page, 1,000 tasks on 256 hosts (in brackets 5,000): size of each update, time to draw it in "
        f"Chromium, time of a frame while the pointer moves {_when(section, 'one run each')}",
        ", ".join(f"{few[name]:.0f} {unit} ({many[name]:.0f})" for name, unit in figures),
        "python -m benchmarks.pages --tasks 1000 5000",
    )


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
        "are proved optimal; in brackets ÷ the best bounds proved): search of 10 ms, 100 ms, 1 s; CP-SAT, 10 s of "
        f"two cores {_circumstances(section)}",
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


def _when(section: Mapping[str, Any], runs: str = "") -> str:
    known = section["circumstances"]
    return f"({f'{runs}, ' if runs else ''}{known['date']}, load {known['load']:.1f})"


def _span(section: Mapping[str, Any], name: str, value: str, form: str) -> str:
    """Return the least and the largest value of several runs."""
    found = [row[value] for run, row in section["rows"].items() if run.startswith(f"{name}, run ")]
    least, most = f"{min(found):{form}}", f"{max(found):{form}}"
    return least if least == most else f"{least} to {most}"


def _ratios(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.4f}" for value in values)


def _row(what: str, measured: str, command: str) -> str:
    return f"| {what} | {measured} | `{command}` |"


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.readme_rows", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*", default=KEPT, help="as `--keep` of benchmarks has filled them")
    options = parser.parse_args()
    print("\n".join(readme_rows(options.folders)))


if __name__ == "__main__":
    main()
