"""Tables of errors, and what is said of the goals."""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = ["Answer", "Figures", "goals", "ranges_held", "summarise", "table", "worse_than"]

_DRAWN = 2000  # samples of the bootstrap
_JUDGED = "count + history"
_INSIDE, _INSIDE_MEDIAN, _TWICE, _NEW_COUNT = 0.03, 0.025, 0.05, 0.08
_HELD = (0.85, 0.95)
_OF_ORACLE, _FIRST = 1.4, 0.15
_BY_CHANCE = 0.05


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with its prediction and the truth.

    Attributes:
        split: of which split.
        kernel: which program.
        predictor: who foretold.
        off: logarithm of foretold by true seconds, the median of the runs.
        within: share of the single runs that were within the range; NaN where none was said.
        width: the range's end by its beginning; NaN likewise.
    """

    split: str
    kernel: str
    predictor: str
    off: float
    within: float
    width: float

    @property
    def error(self) -> float:
        """Return by which part of the truth the prediction was off."""
        return abs(math.expm1(self.off))


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one predictor in one split.

    Attributes:
        mean: mean over programs of their mean errors.
        low: beginning of its 95 % interval, by a bootstrap over programs.
        high: its end.
        median: over all questions.
        worst: likewise.
        bias: by how much it is too long (above 0) or short, the mean of logarithms.
        within: share of runs within the range that is said to hold nine in ten.
        width: median width of that range.
        questions: how many.
        programs: of how many programs; errors of one program's questions are alike.
    """

    mean: float
    low: float
    high: float
    median: float
    worst: float
    bias: float
    within: float
    width: float
    questions: int
    programs: int


def summarise(answers: Iterable[Answer]) -> dict[tuple[str, str], Figures]:
    """Return the figures by split and predictor."""
    groups: dict[tuple[str, str], list[Answer]] = defaultdict(list)
    for answer in answers:
        groups[answer.split, answer.predictor].append(answer)
    return {key: _figures(found) for key, found in groups.items()}


def _figures(answers: Sequence[Answer]) -> Figures:
    by_kernel: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        by_kernel[answer.kernel].append(answer.error)
    means, draw = [fmean(errors) for errors in by_kernel.values()], random.Random(1)
    drawn = sorted(fmean(draw.choices(means, k=len(means))) for _ in range(_DRAWN))
    within = [answer.within for answer in answers if not math.isnan(answer.within)]
    widths = [answer.width for answer in answers if not math.isnan(answer.width)]
    errors = [answer.error for answer in answers]
    return Figures(
        fmean(means),
        drawn[_DRAWN // 40],
        drawn[-_DRAWN // 40],
        median(errors),
        max(errors),
        math.expm1(fmean(answer.off for answer in answers)),
        fmean(within) if within else math.nan,
        median(widths) if widths else math.nan,
        len(answers),
        len(means),
    )


def table(figures: Mapping[tuple[str, str], Figures]) -> list[str]:
    """Return the lines of a table."""
    lines = [
        "| split | foretold by | mean (95 % interval) | median | worst | bias | range holds | its width | questions |",
        f"|{'---|' * 9}",
    ]
    for (split, predictor), found in figures.items():
        held = "" if math.isnan(found.within) else f"{found.within:.0%} | × {found.width:.2f}"
        lines.append(
            f"| {split} | {predictor} | {found.mean:.1%} ({found.low:.1%}–{found.high:.1%}) | {found.median:.1%} "
            f"| {found.worst:.0%} | {found.bias:+.1%} | {held or ' | '} | {found.questions} |"
        )
    return lines


def goals(
    figures: Mapping[tuple[str, str], Figures],
    floor: float | None,
    next_run: Mapping[str, float],
    first: float | None,
) -> list[str]:
    """Return a line for each goal: met, not met, or that this machine cannot judge it.

    Args:
        figures: by split and predictor.
        floor: how far a run is from the median of the others of its size; None where it is not known.
        next_run: mean error of the next run by predictor, of runs 24 to 39.
        first: error of a prediction from one run and a count, the median over programs.
    """
    found = []
    inside, twice, new = (figures.get((split, _JUDGED)) for split in ("inside", "2x", "new host count"))
    if inside is not None:
        found.append(_said("inside, mean", inside.mean, max(_INSIDE, floor or 0.0), floor, _INSIDE))
        found.append(_said("inside, median", inside.median, _INSIDE_MEDIAN, floor))
    if twice is not None:
        found.append(_said("2x, mean (cache boundaries not told apart)", twice.mean, _TWICE, floor))
    if new is not None:
        found.append(_said("a number of processors never run, mean", new.mean, _NEW_COUNT, floor))
    found += ranges_held(figures)
    if _JUDGED in next_run and "oracle" in next_run:
        ratio = next_run[_JUDGED] / next_run["oracle"]
        word = "met" if ratio <= _OF_ORACLE else "not met"
        found.append(f"next run (24–39), × the oracle's error: {ratio:.2f}, goal {_OF_ORACLE}: {word}")
    if first is not None:
        found.append(_said("first run with a count, median", first, _FIRST, None))
    return found


def ranges_held(figures: Mapping[tuple[str, str], Figures]) -> list[str]:
    """Return a line for each split: whether the range that is said to hold nine runs in ten holds as many."""
    found = []
    for split in ("inside", "ends", "2x", "4x", "new host count"):
        held = figures.get((split, _JUDGED))
        if held is not None:
            word = "met" if _HELD[0] <= held.within <= _HELD[1] else _off(held.within, held.programs)
            found.append(f"{split}, range holds: {held.within:.0%}, goal 85–95 %: {word}")
    return found


def _off(within: float, programs: int) -> str:
    """Return whether so many programs tell a share that holds from the goal's nearer end, by the binomial tail.

    They count, and not their runs: what is not known of a program makes all of its ranges miss, or none.
    """
    above = within > _HELD[1]
    bound = _HELD[1] if above else _HELD[0]
    counts = range(math.ceil(within * programs), programs + 1) if above else range(math.floor(within * programs) + 1)
    chance = sum(math.comb(programs, n) * bound**n * (1 - bound) ** (programs - n) for n in counts)
    told = "" if chance < _BY_CHANCE else f"; {programs} programs do not tell it from {bound:.0%}"
    return f"not met{told}"


def _said(name: str, value: float, limit: float, floor: float | None, wanted: float | None = None) -> str:
    wanted = limit if wanted is None else wanted
    text = f"{name}: {value:.1%}, goal {limit:.1%}: "
    if value <= limit and floor is not None and floor > wanted:
        return text + f"met; floor {floor:.1%}: cannot judge {wanted:.1%}"
    if value <= limit:
        return text + "met"
    if floor is not None and floor > limit:
        return text + f"floor {floor:.1%}: cannot judge {limit:.1%}"
    return text + "not met"


def worse_than(figures: Mapping[tuple[str, str], Figures], baseline: Path) -> list[str]:
    """Return the splits that are worse than a committed baseline by more than both intervals; write it if it is none.

    Each is a line with both figures.
    """
    if not baseline.exists():
        kept = [{"split": split, "predictor": name} | _written(each) for (split, name), each in figures.items()]
        baseline.write_text(json.dumps(kept, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        return []
    before = {(item["split"], item["predictor"]): item for item in json.loads(baseline.read_text(encoding="utf-8"))}
    return [
        f"{key[0]}, {key[1]}: {now.mean:.1%}, and {before[key]['mean']:.1%} before"
        for key, now in figures.items()
        if key in before and now.low > before[key]["high"]
    ]


def _written(figures: Figures) -> dict[str, Any]:
    """Return the figures with None where there is none: JSON has no NaN."""
    return {name: value if math.isfinite(value) else None for name, value in asdict(figures).items()}
