"""How well runs foretell the next one, by their number: `python -m benchmarks.prediction`.

Made-up programs whose times grow with the square of a size and shrink with the hosts, with 3 % noise; sizes from 300 to
10,000 and 1 to 8 hosts are drawn at random. Each run is foretold from those before it. Beside: the mean of the last two
runs (Tsafrir, Etsion and Feitelson 2007) and the nearest run in logarithms of size and hosts.

Then the same programs with a model that is right, too short, of a wrong shape, always the same (a user's figure), or
right until something happens at run 21, and what a model alone says beyond what has run. Beside what runs make of it:
one factor for all runs, the newest weighing a fifth.
"""

from __future__ import annotations

import argparse
import math
import pickle
import random
import tempfile
import time
from collections import defaultdict
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

from cosched.coscheduler.changes import Changes, RunRecord
from cosched.prediction.calibration import Correction
from cosched.prediction.history import FEWEST_RUNS, MOST_RUNS, History, Run
from cosched.prediction.learning import LearntRuns
from cosched.prediction.pooling import Pool
from cosched.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_NOISE = 0.03
_GROUPS = (3, 6, 12, 24, 40, 60)  # runs seen, from each to the next
_COUNTS = range(1, 17)
_AFTER = (1, 2, 3, 4, 6, 10, 20)  # runs after which something is printed
_CHANGED = 20
_LARGER = 9.0
_EXPONENTS = (0.1, 0.3)
_TIMED = 21
_KEPT, _PROGRAMS = 10_000, 50
_CASES: dict[str, tuple[Callable[[Run], float], Callable[[int], float], int]] = {
    # the model's seconds, a factor of a run's time by its number, and the number from which runs are counted
    "right": (lambda run: run.seconds, lambda _number: 1.0, 0),
    "1.6 times too short": (lambda run: run.seconds / 1.6, lambda _number: 1.0, 0),
    "wrong shape": (lambda run: run.seconds / math.sqrt(run.hosts), lambda _number: 1.0, 0),
    "always the same": (lambda _run: 10.0, lambda _number: 1.0, 0),
    "program slower from run 21": (
        lambda run: run.seconds,
        lambda number: 1.6 if number >= _CHANGED else 1.0,
        _CHANGED,
    ),
    "run 21 four times too long": (
        lambda run: run.seconds,
        lambda number: 4.0 if number == _CHANGED else 1.0,
        _CHANGED,
    ),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prediction", description=__doc__)
    parser.add_argument("--programs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=3, help="of the first program; the next ones count on")
    options = parser.parse_args()
    errors: dict[tuple[int, str], list[float]] = defaultdict(list)
    held: dict[int, list[bool]] = defaultdict(list)
    for seed in range(options.seed, options.seed + options.programs):
        runs = _runs(random.Random(seed), _GROUPS[-1])
        for seen in range(FEWEST_RUNS, len(runs)):
            group = max(first for first in _GROUPS if first <= seen)
            run, before = runs[seen], runs[:seen]
            (expected,), (most,) = History(before).predict(run.numbers, [run.hosts], run.hardware)
            held[group].append(bool(expected**2 / most <= run.seconds <= most))
            for name, foretold in (
                ("history", float(expected)),
                ("last two", fmean(each.seconds for each in before[-2:])),
                ("nearest", min(before, key=lambda each: math.dist(_place(each), _place(run))).seconds),
            ):
                errors[group, name].append(abs(foretold / run.seconds - 1))
    print(f"{options.programs} programs: median and mean error of the next run; its 90 % range holds")
    for group in _GROUPS[:-1]:
        texts = (f"{name} {median(values):6.1%} {fmean(values):7.1%}" for name, values in _of(errors, group))
        print(f"from {group:2} runs on   {'   '.join(texts)}   range {fmean(held[group]):.0%}")
    _print_cases(range(options.seed, options.seed + options.programs))
    _print_beyond(range(options.seed, options.seed + options.programs))
    _print_times(random.Random(options.seed))
    _print_kept(random.Random(options.seed))


def _print_cases(seeds: range) -> None:
    """Print median errors after each number of runs, and how often the range holds."""
    print(f"with a model: median error after {', '.join(map(str, _AFTER))} runs (the range holds)")
    for case, (model, happens, first) in _CASES.items():
        errors: dict[tuple[str, int], list[float]] = defaultdict(list)
        held: dict[int, list[bool]] = defaultdict(list)
        for seed in seeds:
            draw = random.Random(seed)
            runs = [
                replace(run, stated=model(run), seconds=run.seconds * happens(number) * _disturbed(draw))
                for number, run in enumerate(_runs(draw, first + _AFTER[-1] + 1, noise=0.0))
            ]
            for after in _AFTER:
                run, before = runs[first + after], runs[: first + after]
                assert run.stated is not None
                factor = _factor(before)
                errors["one factor", after].append(abs(run.stated * factor / run.seconds - 1))
                foretold, most = run.stated * factor, math.inf
                if len(before) >= FEWEST_RUNS:
                    found = Pool(before).quantiles(run.numbers, [run.stated], [run.hosts], "")
                    least, foretold, most = (float(value[0]) for value in found)
                    held[after].append(least <= run.seconds <= most)
                errors["runs", after].append(abs(foretold / run.seconds - 1))
        print(f"  {case}")
        for name in ("runs", "one factor"):
            print(f"    {name:10}" + "".join(f"{median(errors[name, after]):8.1%}" for after in _AFTER))
        print(
            "    range     " + "".join(f"{fmean(held[after]):8.0%}" if held[after] else "       -" for after in _AFTER)
        )


def _print_beyond(seeds: range) -> None:
    """Print how wide the range is where a model alone tells how a larger size takes longer."""
    print("runs of one size under a model, then one nine times as large: the range, and how often it holds where the")
    print(f"model's exponent of the size is off by (standard deviation) {', '.join(map(str, _EXPONENTS))}")
    for seen in _GROUPS[:3]:
        texts = []
        for deviation in _EXPONENTS:
            held, wide = [], []
            for seed in seeds:
                draw = random.Random(seed)
                factor = _LARGER ** draw.gauss(0, deviation)
                before = [Run((100.0,), 1, "", 10 * _disturbed(draw), stated=10.0) for _ in range(seen)]
                stated = 10 * _LARGER**2
                found = Pool(before).quantiles((100 * _LARGER,), [stated], [1], "")
                least, expected, most = (float(value[0]) for value in found)
                held.append(least <= stated * factor * _disturbed(draw) <= most)
                wide.append(most / expected)
            texts.append(f"{fmean(held):.0%}")
        print(f"  after {seen:2} runs up to {median(wide):.1f} times the expected; holds {', '.join(texts)}")


def _disturbed(draw: random.Random) -> float:
    return math.exp(_NOISE * draw.gauss(0, 1))


def _factor(runs: Sequence[Run]) -> float:
    known = Correction()
    for run in runs:
        assert run.stated is not None
        known = known.learn(run.stated, run.seconds)
    return known.factor


def _runs(draw: random.Random, count: int, noise: float = _NOISE) -> list[Run]:
    found = []
    for _ in range(count):
        size, hosts = float(int(10 ** draw.uniform(2.5, 4))), draw.randint(1, 8)
        seconds = 2e-6 * size**2 / hosts + 0.3 + 2e-5 * size * hosts
        found.append(Run((size,), hosts, "", seconds * math.exp(noise * draw.gauss(0, 1))))
    return found


def _place(run: Run) -> tuple[float, float]:
    return math.log(run.numbers[0]), math.log(run.hosts)


def _of(errors: dict[tuple[int, str], list[float]], group: int) -> list[tuple[str, list[float]]]:
    return [(name, values) for (first, name), values in errors.items() if first == group]


def _print_times(draw: random.Random) -> None:
    """Print what learning and predicting take: processor time, the median of several."""
    for count in (10, 100):
        *runs, newest = (replace(run, stated=run.seconds / 1.6) for run in _runs(draw, count + 1))
        before = Pool(runs)

        def added(before: Pool = before, newest: Run = newest) -> Pool:
            pool = copy(before)
            pool.add(newest)
            return pool

        learn, predict = partial(Pool, runs), partial(added().quantiles, (1000.0,), [1.0] * 16, _COUNTS, "")
        anew, one, foretold = _milliseconds(learn), _milliseconds(added), _milliseconds(predict)
        print(
            f"{count:3} runs with a model: learnt anew in {anew:.1f} ms; one more taken in in {one:.2f} ms, "
            f"{len(_COUNTS)} numbers of hosts foretold in {foretold:.2f} ms"
        )


def _print_kept(draw: random.Random) -> None:
    """Print what kept runs take in a database, with what their tasks leave there when they are deleted."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.db"
        store = Store(f"sqlite:///{file}")
        sizes = [_size(file)]
        for first in range(0, _KEPT, 1000):
            runs = [
                RunRecord(
                    task=f"{first + number}",
                    key=f"ann/heat/{(first + number) % _PROGRAMS}",
                    numbers=(*run.numbers, 100.0, 10.0),
                    owner="ann",
                    application="heat",
                    hosts=run.hosts,
                    hardware="node_a",
                    predicted=run.seconds,
                    seconds=run.seconds,
                    finished=1e9 + first + number,
                    program_digest="0123456789abcdef" * 4,
                    stated=run.seconds,
                    low=run.seconds / 2,
                    high=run.seconds * 2,
                )
                for number, run in enumerate(_runs(draw, 1000))
            ]
            store.commit(Changes(runs=tuple(runs)))
        store.close()
        sizes.append(_size(file))
    print(f"{_KEPT:,} runs of {_PROGRAMS} programs kept: {(sizes[1] - sizes[0]) / (1 << 20):.1f} MiB")
    learnt = [LearntRuns.of(_runs(draw, MOST_RUNS)) for _ in range(3)]
    each = len(pickle.dumps(learnt)) / len(learnt)
    print(f"what {MOST_RUNS} runs of a program taught: {each / (1 << 20):.2f} MiB in memory")


def _size(file: Path) -> int:
    return sum(part.stat().st_size for part in file.parent.iterdir())


def _milliseconds(work: Callable[[], object]) -> float:
    found = []
    for _ in range(_TIMED):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return 1e3 * median(found)


if __name__ == "__main__":
    main()
