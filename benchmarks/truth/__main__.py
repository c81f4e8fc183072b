"""How true predictions of real programs are, by runs that the predictors have not seen.

    python -m benchmarks.truth [--seed 1] [--sizes 10] [--launches 5] [--minutes 25] [--kernels heat,sort]
                               [--samples FILE [--resume]] [--baseline FILE]
    python -m benchmarks.truth --made-up 30 [--seed 1] [--sizes 10] [--launches 5]

The programs of `examples/kernels/real` are built and run at sizes drawn by the seed, on one processor and on two, all
runs shuffled; runs that waited for a processor are left out. Some sizes are held out: between the others (inside), at
an end, more than half or a quarter of the greatest work (2x, 4x), or two processors where one was seen (new host
count). The predictions of them are written into a file, whose digest is shown, before their run times are looked at.

A file of samples that is there is read, and nothing is run; with --resume the runs are made first that it lacks, and
those anew, up to three times, that others disturbed: so a session can be ended at any time, and made in parts
(--minutes). Each part is shuffled, as the whole is. "count" is the count of the dominant loop, as its author would give
it; Extra-P is beside where its package can be imported (`extra_p.py`). Then each run in the order in which it was made
is foretold from those before it; the oracle knows the median of the other runs of the same size. What cosched uses
knows all runs of the other programs, as a daemon does. Of new networks and new classes of hosts one machine says
nothing. Exits with 1 where a split is worse than `--baseline` by more than their intervals.

With --made-up, programs with such laws as real ones have are foretold likewise, and nothing is run: so many that they
say how often ranges hold where eight programs cannot.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import platform
import sys
import tempfile
import time
from collections import defaultdict
from itertools import pairwise, permutations
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING

from benchmarks.truth.kernels import KERNELS
from benchmarks.truth.made_up import made_up
from benchmarks.truth.predictors import PREDICTORS, other_programs, predictors_beside, stated
from benchmarks.truth.report import Answer, goals, ranges_held, summarise, table, worse_than
from benchmarks.truth.session import build, drawn_launches, missing_launches, run_session
from benchmarks.truth.splits import Question, floor_of, splits_of, truths_of
from cosched.errors import UserError
from cosched.measurement.programs.records import DISTURBED, read_records
from cosched.modelling.observed import observed_runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.truth.kernels import Kernel
    from cosched.modelling.points import TimedRun
    from cosched.prediction.others.other_programs import OtherPrograms

__all__: list[str] = []

_GROUPS = (1, 3, 6, 12, 24, 40)  # runs seen, from each to the next
_OF_MANY_RUNS = ("model fit", "model + history", "Extra-P")
_BASELINE = Path(__file__).with_name("baseline.json")


def main() -> int:
    """Run, foretell, compare, print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.truth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="of sizes and order")
    parser.add_argument("--sizes", type=int, default=10, help="of each program")
    parser.add_argument("--launches", type=int, default=5, help="of each size on each number of processors")
    parser.add_argument("--minutes", type=float, default=25.0, help="no more runs after this")
    parser.add_argument("--kernels", default=",".join(kernel.name for kernel in KERNELS))
    parser.add_argument("--disturbed", action="store_true", help="take runs that waited for a processor, too")
    parser.add_argument("--samples", type=Path, help="records of runs: read if the file is there, else written")
    parser.add_argument("--resume", action="store_true", help="run what the samples lack")
    parser.add_argument("--sealed", type=Path, help="file for the predictions; default: beside the samples")
    parser.add_argument("--baseline", type=Path, default=_BASELINE, help="written where it is not there")
    parser.add_argument("--made-up", type=int, metavar="N", help="programs that are made up, in place of the real ones")
    options = parser.parse_args()
    names = options.kernels.split(",")
    unknown = set(names) - {kernel.name for kernel in KERNELS}
    if unknown:
        parser.error(f"--kernels: there is no {', '.join(sorted(unknown))}: {','.join(each.name for each in KERNELS)}")
    print(
        f"{platform.machine()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; seed {options.seed}, "
        f"{options.sizes} sizes, {options.launches} launches"
    )
    with tempfile.TemporaryDirectory(prefix="cosched-truth-") as room:
        samples = options.samples or Path(room) / "samples.jsonl"
        if options.made_up:
            return _foretell_made_up(samples, options)
        if options.resume or not samples.exists():
            _run(Path(room), samples, options, names)
        runs = _runs(samples, names, disturbed=options.disturbed)
        sealed = options.sealed or samples.with_suffix(".foretold.json")
        digest = _foretell(KERNELS, runs, sealed)
        print(f"predictions of runs not seen: {sealed.name}, sha256 {digest}")
        answers = _compare(runs, sealed, digest)
    return _tell(runs, answers, options.baseline)


def _foretell_made_up(room: Path, options: argparse.Namespace) -> int:
    made = [made_up(options.seed + number, options.sizes, options.launches) for number in range(options.made_up)]
    runs = {kernel.name: found for kernel, found in made}
    sealed = options.sealed or room.with_suffix(".foretold.json")
    digest = _foretell([kernel for kernel, _ in made], runs, sealed)
    figures = summarise(_compare(runs, sealed, digest))
    print("\n".join(["", *table(figures), "", *ranges_held(figures)]))
    return 0


def _run(folder: Path, samples: Path, options: argparse.Namespace, names: Sequence[str]) -> None:
    """Make the runs that the file lacks, as far as the minutes go."""
    launches = drawn_launches(options.seed, options.sizes, options.launches, names)
    kept = read_records(samples.read_text(encoding="utf-8"), samples.name) if samples.exists() else []
    missing = missing_launches(launches, kept)
    if missing:
        build(folder)
        begin = time.monotonic()
        done = run_session(folder, samples, missing, options.minutes)
        print(f"{done} of {len(missing)} runs that were wanted, in {(time.monotonic() - begin) / 60:.1f} minutes")
    left = missing_launches(launches, read_records(samples.read_text(encoding="utf-8"), samples.name))
    print(f"{len(left)} of {len(launches)} runs are still wanted{': --resume makes them' if left else ''}")


def _runs(samples: Path, names: Sequence[str], *, disturbed: bool) -> dict[str, tuple[TimedRun, ...]]:
    """Return the undisturbed runs of each program, the oldest first."""
    records = read_records(samples.read_text(encoding="utf-8"), samples.name)
    found: dict[str, tuple[TimedRun, ...]] = {}
    for name in names:
        try:
            seen = observed_runs(records, name, math.inf if disturbed else DISTURBED)
        except UserError as error:
            print(f"{name} is left out: {error}")
            continue
        print(f"{name}: {len(seen.runs)} runs{'; ' if seen.remarks else ''}{'; '.join(seen.remarks)}")
        found[name] = seen.runs
    return found


def _foretell(kernels: Sequence[Kernel], runs: Mapping[str, Sequence[TimedRun]], sealed: Path) -> str:
    """Write what each predictor says of the questions of all splits; return the file's digest."""
    lines = []
    for kernel in kernels:
        ways = predictors_beside(_others(kernel, kernels, runs))
        for split in splits_of(runs.get(kernel.name, ())) if kernel.name in runs else ():
            for predictor, foretell in ways.items():
                for question, said in zip(split.questions, foretell(kernel, split.seen, split.questions), strict=True):
                    if said is not None:
                        place = [dict(question.parameters), question.processors]
                        lines.append(json.dumps([split.name, kernel.name, predictor, *place, *said]) + "\n")
    sealed.write_text("".join(lines), encoding="utf-8")
    return hashlib.sha256(sealed.read_bytes()).hexdigest()


def _others(kernel: Kernel, kernels: Sequence[Kernel], runs: Mapping[str, Sequence[TimedRun]]) -> OtherPrograms:
    """Return what all programs but one tell of it."""
    return other_programs((each, runs.get(each.name, ())) for each in kernels if each is not kernel)


def _compare(runs: Mapping[str, Sequence[TimedRun]], sealed: Path, digest: str) -> list[Answer]:
    """Open the truth, and hold the predictions against it."""
    if hashlib.sha256(sealed.read_bytes()).hexdigest() != digest:
        raise UserError(f"{sealed} was changed after it was sealed")
    truths = {name: truths_of(found) for name, found in runs.items()}
    answers = []
    for line in sealed.read_text(encoding="utf-8").splitlines():
        split, kernel, predictor, parameters, processors, seconds, low, high = json.loads(line)
        times = truths[kernel][Question(parameters, processors).key]
        within = math.nan if math.isnan(low) else fmean(low <= time <= high for time in times)
        width = high / low if low else math.inf
        answers.append(Answer(split, kernel, predictor, math.log(seconds / median(times)), within, width))
    return answers


def _tell(runs: Mapping[str, Sequence[TimedRun]], answers: Sequence[Answer], baseline: Path) -> int:
    floors = {name: floor_of(truths_of(found)) for name, found in runs.items()}
    known = [floor for floor in floors.values() if floor is not None]
    floor = fmean(known) if known else None
    figures = summarise(answers)
    print("floor (a run against the median of its size's others): ", end="")
    print(", ".join(f"{name} {each:.1%}" for name, each in floors.items() if each is not None), end="; ")
    print(f"mean {floor:.1%}" if floor is not None else "not known")
    print("\n".join(["", *table(figures), "", *_by_kernel(answers), ""]))
    learnt = _next_runs(runs)
    print("\n".join(["", *goals(figures, floor, learnt, _first_run(runs))]))
    worse = worse_than(figures, baseline)
    for line in worse:
        sys.stderr.write(f"worse than the baseline by more than the intervals: {line}\n")
    return 1 if worse else 0


def _by_kernel(answers: Sequence[Answer]) -> list[str]:
    """Return a table of mean errors by program."""
    errors: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for answer in answers:
        errors[answer.split, answer.predictor, answer.kernel].append(answer.error)
    names = list(dict.fromkeys(answer.kernel for answer in answers))
    lines = [f"| split | foretold by | {' | '.join(names)} |", f"|{'---|' * (len(names) + 2)}"]
    for split, predictor in dict.fromkeys((answer.split, answer.predictor) for answer in answers):
        if predictor not in ("history", "count + history", "model fit", "model + history"):
            continue
        cells = [errors.get((split, predictor, name)) for name in names]
        lines.append(f"| {split} | {predictor} | {' | '.join(f'{fmean(c):.1%}' if c else '' for c in cells)} |")
    return lines


def _first_run(runs: Mapping[str, Sequence[TimedRun]]) -> float | None:
    """Return the error of what a count says after a single run, the median over programs.

    Of a program it is the median over all runs that might have been the first one, and what may be asked for then:
    that of the two which happened to be first differs by a factor of five.
    """
    found = []
    for kernel in KERNELS:
        places = [
            (Question(run.parameters, run.processors).key, run.seconds / stated(kernel, run.parameters, run.processors))
            for run in runs.get(kernel.name, ())
        ]
        errors = [abs(first / asked - 1) for (here, first), (there, asked) in permutations(places, 2) if here != there]
        found += [median(errors)] if errors else []
    return median(found) if found else None


def _next_runs(runs: Mapping[str, Sequence[TimedRun]]) -> dict[str, float]:
    """Print how each next run is foretold from those before; return the mean errors of runs 24 to 39."""
    errors: dict[tuple[int, str], list[float]] = defaultdict(list)
    for kernel in KERNELS:
        found = runs.get(kernel.name, ())
        truths, ways = truths_of(found), predictors_beside(_others(kernel, KERNELS, runs))
        for number in range(1, min(len(found), _GROUPS[-1])):
            run, group = found[number], max(first for first in _GROUPS if first <= number)
            question = Question(run.parameters, run.processors)
            for name, foretell in ways.items():
                (said,) = foretell(kernel, found[:number], [question]) if name not in _OF_MANY_RUNS else [None]
                if said is not None:
                    errors[group, name].append(abs(said.seconds / run.seconds - 1))
            others = list(truths[question.key])
            others.remove(run.seconds)
            if others:
                errors[group, "oracle"].append(abs(median(others) / run.seconds - 1))
    names = [name for name in (*PREDICTORS, "oracle") if any(key[1] == name for key in errors)]
    print(f"| next run, mean / median error | {' | '.join(f'{g}–{n - 1} seen' for g, n in _pairs())} |")
    print(f"|{'---|' * len(_GROUPS)}")
    for name in names:
        cells = [errors.get((group, name)) for group in _GROUPS[:-1]]
        print(f"| {name} | {' | '.join(f'{fmean(c):.1%} / {median(c):.1%}' if c else '' for c in cells)} |")
    return {name: fmean(errors[24, name]) for name in names if errors.get((24, name))}


def _pairs() -> list[tuple[int, int]]:
    return list(pairwise(_GROUPS))


if __name__ == "__main__":
    sys.exit(main())
