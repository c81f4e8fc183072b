"""Records of a program become runs that can be fitted.

Start at `observed_runs`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.counts import plural
from cosched.errors import UserError
from cosched.measurement.programs.records import DISTURBED
from cosched.modelling.points import TimedRun
from cosched.modelling.writing import check_name, check_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.measurement.programs.records import ObservedRun

__all__ = ["ObservedRuns", "observed_runs"]

_A_CALL = 0.8e-6  # seconds by which watching a call makes a run longer
_MOST_WATCHING = 0.02  # of the run time; more is not taken off, and the run left out
_MOST_DISTURBED = 0.5  # of the sizes


@dataclass(frozen=True, slots=True)
class ObservedRuns:
    """Runs, with remarks on records that were left out."""

    runs: tuple[TimedRun, ...]
    remarks: tuple[str, ...]


def observed_runs(records: Sequence[ObservedRun], application: str, waited: float | None = None) -> ObservedRuns:
    """Return the runs of an application that records tell of.

    Left out are runs of other applications, of the program as it was before it was built anew, disturbed ones, and such
    that watching made much longer. What disturbs tasks is a part of how long they take where they run, and will disturb
    later ones: the least disturbed of them alone would foretell too little.

    Args:
        records: in any order.
        application: its name.
        waited: part of its time that a run may have waited for processors to count; infinite: however long; None: of
            tasks however long, of others until they count as disturbed.

    Raises:
        UserError: there are none, or of most sizes no undisturbed ones.
    """
    own = [record for record in records if record.application == application]
    if not own:
        others = sorted({record.application[:80] for record in records})
        raise UserError(f"no record is of {application}: they are of {', '.join(others[:5]) or 'nothing'}")
    remarks: list[str] = []
    newest = max(own, key=lambda record: record.started).digest
    same = [record for record in own if record.digest == newest]
    _remark(remarks, len(own) - len(same), "of the program before it was built anew")
    quiet = [record for record in same if record.waited < _longest(record, waited)]
    lost = len(set(map(_size, same)) - set(map(_size, quiet)))
    if lost > _MOST_DISTURBED * len(set(map(_size, same))):
        raise UserError(
            f"{len(same) - len(quiet)} of {plural(len(same), 'run')} waited for processors that others kept busy, "
            f"all runs of {plural(lost, 'size')}: run them again on an idle machine, or take those of half the sizes "
            f"with --waited {_half_of_sizes(same)}%, all with --disturbed"
        )
    among = f", all runs of {plural(lost, 'size')}" if lost else ""
    _remark(remarks, len(same) - len(quiet), f"that waited for a processor{among}")
    plain = [record for record in quiet if _watching(record) <= _MOST_WATCHING * record.wall]
    if not plain:
        raise UserError(
            f"watching took more than {_MOST_WATCHING:.0%} of the time of all runs of {application}: run larger sizes, "
            "or observe it with --times"
        )
    _remark(remarks, len(quiet) - len(plain), "in which watching took more than 2 %: observe them with --times")
    return ObservedRuns(tuple(map(_run, plain)), tuple(remarks))


def _longest(record: ObservedRun, waited: float | None) -> float:
    """Return the part of its time below which a run may have waited for processors to count."""
    if waited is not None:
        return waited
    return math.inf if record.by_task else DISTURBED


def _half_of_sizes(records: Sequence[ObservedRun]) -> int:
    """Return the percentage below which a run of at least half of the sizes waited."""
    least: dict[object, float] = {}
    for record in records:
        least[_size(record)] = min(record.waited, least.get(_size(record), math.inf))
    return math.floor(100 * sorted(least.values())[(len(least) - 1) // 2]) + 1


def _size(record: ObservedRun) -> tuple[tuple[tuple[str, float], ...], int]:
    return tuple(sorted(record.parameters.items())), record.processors


def _remark(remarks: list[str], count: int, why: str) -> None:
    if count:
        remarks.append(f"left out: {plural(count, 'run')} {why}")


def _watching(record: ObservedRun) -> float:
    """Return the seconds by which watching made a run longer."""
    return _A_CALL * record.calls if record.shim else 0.0


def _run(record: ObservedRun) -> TimedRun:
    for name in record.parameters:
        check_name(name, "parameter")
    check_text(record.hardware, "class")
    return TimedRun(
        record.parameters,
        record.processors,
        record.wall - _watching(record),
        record.hosts,
        record.hardware,
        float(record.rss),
        record.startup or None,
        record.by_task,
    )
