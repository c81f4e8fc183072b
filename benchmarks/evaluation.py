"""Speed of model evaluation: `python -m benchmarks.evaluation`, about a minute.

Each figure is processor time, the best of fifteen, beside its target. The limit is what the events of an evaluation
would cost if each were nothing but an addition and a maximum in an array, measured here: no engine with a clock for
each processor goes below. An event is a step of a processor that is carried out; turns that repeat are not. A profile
has parameters that none before had; who waits for whom is known from those before, but for the first of its shape.
"""

from __future__ import annotations

import platform
import resource
import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np

from cosched.evaluation import load, load_hardware, profile
from cosched.evaluation.clocks import clocks
from cosched.evaluation.clocks.clocks import TimedSegment
from cosched.evaluation.interpreter import step_cache
from cosched.language import default_library
from cosched.language.parser import parser_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


REPEATS = 15
LARGE = {"it_g": 1000, "jt_g": 1000}
LARGE_STEPS = 100_000_000
TURNS = 20_000
LOOPS = {
    "assigns in a for": "for (i = 1; i <= turns; i = i + 1) x = x + i;",
    "branches in a while": "while (i < turns) { if (x > 3) x = 1; else x = x + 1; i = i + 1; }",
    "calls a procedure in each turn": "for (i = 1; i <= turns; i = i + 1) x = f(i);",
    "emits a step in a while": "while (i < turns) { step cpu on 1 { confdev x; } i = i + 1; }",
    "emits a step in a for": "for (i = 1; i <= turns; i = i + 1) step cpu on 1 { confdev i; }",
}
"""Loops of a sequential model: statements one after another, on a single number of hosts."""
SEQUENTIAL = """application sequential {{
    var numeric: turns = 20000;

    proc exec init {{ var numeric: i = 0, x = 1; {} }}
    proc exec f(a) {{ var numeric: b; b = a + 1; return b; }}
}}
"""


class _Counting(TimedSegment):
    """A plan that counts the events it carries out."""

    events = 0

    def advance(self, clocks: NDArray[np.float64]) -> NDArray[np.float64]:
        _Counting.events += len(self.steps)
        return super().advance(clocks)


def main() -> None:
    """Print every figure."""
    an_event = _limit()
    print(
        f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}; "
        f"an addition and a maximum: {an_event * 1e9:.1f} ns"
    )
    print(f"\n{'':48}{'measured':>12}{'target':>12}{'limit':>12}")
    _profiles("sweep3d", range(1, 17), ("it_g", 50), 5e-3, an_event)
    _profiles("jacobi", range(1, 257), ("cells", 1000), 50e-3, an_event)
    _sequential()
    slowest = max(
        (min(_timed(partial(load, path.stem)) for _ in range(REPEATS)), path.stem)
        for root in default_library()
        for path in root.rglob("applications/*.psl")
    )
    _row(f"parse, check and link {slowest[1]}, the slowest", slowest[0], 30e-3)
    _parsers()
    large = partial(profile, load("sweep3d"), load_hardware("sgi_origin2000"), [10_000], LARGE)
    taken = _timed(partial(large, steps=LARGE_STEPS))
    events = _events(partial(large, steps=LARGE_STEPS - 1))
    _row(f"sweep3d on 10000, {events} events", taken, 10.0, events * an_event)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "darwin" else 2**-10) / 2**20
    print(f"{'largest memory of this process':48}{memory:9.0f} MB{'2000 MB':>12}")


def _profiles(name: str, hosts: range, varied: tuple[str, float], target: float, an_event: float) -> None:
    """Print the time of a profile with new parameters, as the first of its shape, and of the same again."""
    size, value = varied
    run = partial(profile, load(name), load_hardware("sgi_origin2000"), hosts)
    run({"iterations": 1})
    taken = min(_timed(partial(run, {"iterations": 100 + turn, size: value + turn})) for turn in range(REPEATS))
    first = []
    for turn in range(REPEATS):
        step_cache.forget()
        first.append(_timed(partial(run, {"iterations": 100 + turn, size: value + REPEATS + turn})))
    known = partial(run, {"iterations": 99})
    events = _events(known)
    _row(f"{name} on 1 to {hosts[-1]}, {events} events", taken, target, events * an_event)
    _row(f"{name} on 1 to {hosts[-1]}, as the first of its shape", min(first))
    _row(f"{name} on 1 to {hosts[-1]}, again", min(_timed(known) for _ in range(REPEATS)), 20e-6)


def _sequential() -> None:
    """Print the time of loops whose turns come one after another, and of a model whose times were measured."""
    hardware = load_hardware("sgi_origin2000")
    with TemporaryDirectory() as folder:
        for what, body in LOOPS.items():
            path = Path(folder) / "sequential.psl"
            path.write_text(SEQUENTIAL.format(body), encoding="utf-8")
            run = partial(profile, load(path), hardware, [16])
            run({"turns": 1})
            taken = min(_timed(partial(run, {"turns": TURNS + turn})) for turn in range(REPEATS // 3))
            _row(f"{what}, {TURNS} turns", taken)
    run = partial(profile, load("sweep3d_measured"), hardware, range(1, 17))
    _row("sweep3d_measured on 1 to 16", min(_timed(partial(run, {"Scale": turn})) for turn in range(1, REPEATS)))


def _parsers() -> None:
    """Print what the first model of a process waits for: a parser from its tables, or where none can be kept."""
    with TemporaryDirectory() as folder, mock.patch.object(parser_tables, "_folders", return_value=[Path(folder)]):
        made = _timed(partial(parser_tables.parser.__wrapped__, "psl"))
        read = min(_timed(partial(parser_tables.parser.__wrapped__, "psl")) for _ in range(REPEATS))
    _row("first parser of a process, from its tables", read, 30e-3)
    _row("first parser where no tables can be kept", made)


def _limit() -> float:
    """Return the seconds of one addition and one maximum in an array that fits the cache."""
    clocks, costs = np.arange(10_000.0), np.arange(10_000.0)[::-1].copy()

    def work() -> None:
        for _ in range(100):
            np.maximum(clocks + costs, costs)

    return min(_timed(work) for _ in range(REPEATS)) / 100 / len(clocks)


def _events(work: Callable[[], object]) -> int:
    _Counting.events = 0
    with mock.patch.object(clocks, "TimedSegment", _Counting):
        work()
    return _Counting.events


def _timed(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _row(what: str, seconds: float, target: float | None = None, limit: float | None = None) -> None:
    more = ["" if figure is None else _shown(figure) for figure in (target, limit)]
    print(f"{what:48}{_shown(seconds):>12}{more[0]:>12}{more[1]:>12}")


def _shown(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} us"


if __name__ == "__main__":
    main()
