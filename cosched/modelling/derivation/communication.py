"""Messages that were watched in toy runs become calls of the library's templates.

Start at `communication_of`. Collective operations have templates of their own; sends between two processes are matched
by who sends to whom (`patterns.py`), and are a wavefront where all but one process wait for others before they send.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from cosched.language.vocabulary import PROCESSORS
from cosched.modelling.derivation.call_order import SENDS, Site, passes_through, turns
from cosched.modelling.derivation.patterns import (
    FROM_ROOT,
    GRID,
    GRID_SIDES,
    LINE,
    RING,
    TO_ALL,
    TO_ROOT,
    grid_sides,
    matched_moves,
)
from cosched.modelling.derivation.programs import source_lines
from cosched.modelling.derivation.symbolic import CountFormula, CountTerm, Solver, added

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cosched.measurement.programs.traces import Trace
    from cosched.modelling.derivation.patterns import Move

__all__ = ["FEWEST_WATCHED", "TEMPLATES", "Communication", "Exchange", "WatchedRun", "communication_of"]

FEWEST_WATCHED = 5
"""Runs of several processes, below which nothing is said of how messages grow."""

_COLLECTIVES = {
    "allreduce": "allreduce",
    "iallreduce": "allreduce",
    "barrier": "allreduce",
    "ibarrier": "allreduce",
    "reduce": "reduce",
    "bcast": "broadcast",
    "ibcast": "broadcast",
    "alltoall": "transpose",
    "allgather": "transpose",
    "allgatherv": "transpose",
    "alltoallv": "transpose",
    "gather": "gather",
    "gatherv": "gather",
    "scatter": "scatter",
    "scatterv": "scatter",
    "scan": "reduce",
    "exscan": "reduce",
}
_OTHERS = ("reduce_scatter", "reduce_scatter_block")
_ROOTED = {TO_ALL: "transpose", TO_ROOT: "gather", FROM_ROOT: "scatter"}
TEMPLATES = frozenset(("shift", "halo_1d", "halo", "wavefront", *_COLLECTIVES.values(), *_ROOTED.values()))
"""Names of the library's templates that models call."""

_TELLING = 3  # processes
_TWO = (
    "two processes at most were watched, on which a ring and a grid look like a line: "
    f"give {PROCESSORS}=1..4 or more in --sizes"
)
_NOTED = frozenset((*SENDS, *_COLLECTIVES, *_OTHERS))
_GRID = {side: side for side in GRID_SIDES}


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """A toy run with what its processes wrote of their calls."""

    size: Mapping[str, int]
    traces: Sequence[Trace]


@dataclass(frozen=True, slots=True)
class Exchange:
    """Messages of all processes, as a template of the library has them.

    Attributes:
        name: of the subtask that carries it out.
        template: of the library.
        settings: its variables, as PSL writes them.
        turns: how often a process calls it, as PSL writes it.
        calls: in the program, with their lines.
        exact: whether formulas met all that was seen.
        blocks: into how many the work is divided that passes through the processes; empty where none does.
    """

    name: str
    template: str
    settings: Mapping[str, str]
    turns: str
    calls: Sequence[str]
    exact: bool
    blocks: str = ""


@dataclass(frozen=True, slots=True)
class Communication:
    """What processes tell one another.

    Attributes:
        exchanges: those with a template.
        others: calls that no template describes, in words.
        remark: why nothing is known, or not all; empty where it is.
    """

    exchanges: Sequence[Exchange] = ()
    others: Sequence[str] = ()
    remark: str = ""

    @property
    def grid(self) -> bool:
        """Return whether processes lie on a grid of `npe_i` x `npe_j`."""
        return any(
            side in " ".join((*each.settings.values(), each.turns)) for each in self.exchanges for side in GRID_SIDES
        )


@dataclass(frozen=True, slots=True)
class _Place:
    """A call of the program: messages and the largest of their bytes, of each run by who sends how far."""

    counts: Sequence[Counter[tuple[int, int]]]
    largest: Sequence[Counter[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class _Flow:
    """Messages of a move from a place of the program."""

    site: Site
    move: Move
    counts: Sequence[int]
    turns: CountFormula
    size: CountFormula


def communication_of(runs: Sequence[WatchedRun], bounds: Sequence[str]) -> Communication:
    """Return what processes tell one another, as templates.

    Args:
        runs: at several sizes; those of one process say nothing.
        bounds: expressions in the parameters that the source names.
    """
    several = [run for run in runs if len(run.traces) > 1]
    if not any(run.traces for run in runs):
        return Communication(
            remark="its calls of MPI could not be watched: the `mpicc` in the path must be that of its MPI"
        )
    if len(several) < FEWEST_WATCHED:
        return Communication(
            remark=f"{len(several)} sizes ran on several processes, and it takes {FEWEST_WATCHED} to see how messages "
            f"grow: give {PROCESSORS} more values in --sizes, or more --runs"
        )
    return _Watched(several, bounds).communication()


class _Watched:
    """Runs of several processes whose messages are put into formulas."""

    def __init__(self, runs: Sequence[WatchedRun], bounds: Sequence[str]) -> None:
        self._runs = runs
        self._bounds = bounds
        self._solvers: dict[tuple[tuple[bool, ...], bool], Solver] = {}
        self._known: list[CountFormula] = []
        self._names: set[str] = set()
        self._lines: dict[Site, str] = {}

    def communication(self) -> Communication:
        """Return exchanges, and the calls that are none."""
        places = self._places()
        self._lines = _lines(list(places), self._runs[0].traces[0].program)
        exchanges, flows, others = [], [], []
        for site, place in places.items():
            kind = site[0]
            if kind in _COLLECTIVES:
                exchanges.append(self._collective(site, place))
            elif kind in _OTHERS:
                others.append(f"{self._called(site)}, for which there is no template")
            elif (found := self._flows(site, place)) is None:
                others.append(f"{self._called(site)}, whose receivers form no pattern that cosched knows")
            else:
                flows += found
        for group in _together(sorted(flows, key=lambda flow: -sum(count > 0 for count in flow.counts))):
            exchange = self._exchange(group)
            if exchange is None:
                others.append(f"{', '.join(self._calls(group))}, which go one way only")
            else:
                exchanges.append(exchange)
        most = max(len(run.traces) for run in self._runs)
        return Communication(exchanges, others, _TWO if most < _TELLING and flows else "")

    def _places(self) -> dict[Site, _Place]:
        """Return the calls of the program that send, in the order in which the first process makes them."""
        found: dict[Site, _Place] = {}
        runs = range(len(self._runs))
        for number, run in enumerate(self._runs):
            for trace in run.traces:
                for item in trace.items:
                    site = trace.sites[item.site]
                    if site[0] not in _NOTED:
                        continue
                    if site not in found:
                        found[site] = _Place([Counter() for _ in runs], [Counter() for _ in runs])
                    if item.peer == "none":
                        continue
                    place = found[site]
                    pair = (trace.rank, int(item.peer) if item.peer[0] in "+-" else 0)
                    place.counts[number][pair] += item.count
                    place.largest[number][pair] = max(place.largest[number][pair], item.bytes)
        return found

    def _flows(self, site: Site, place: _Place) -> list[_Flow] | None:
        """Return the moves of a place that sends to others; None where they are others than is known."""
        sent = [(len(run.traces), count) for run, count in zip(self._runs, place.counts, strict=True)]
        moves = matched_moves(sent)
        if moves is None:
            return None
        flows = []
        for move, counts in moves:
            pairs = [move.pairs(processes) for processes, _counts in sent]
            sizes = [
                max((largest[pair] for pair in each), default=0)
                for each, largest in zip(pairs, place.largest, strict=True)
            ]
            grid = move.shape == GRID
            flows.append(_Flow(site, move, counts, self._formula(counts, grid=False), self._formula(sizes, grid=grid)))
        return flows

    def _collective(self, site: Site, place: _Place) -> Exchange:
        """Return a collective operation; the process that calls it most often says how often."""
        sizes = [max(each.values(), default=0) for each in place.largest]
        count = self._formula([max(each.values(), default=0) for each in place.counts], grid=False)
        size = self._formula(sizes, grid=False)
        template = _COLLECTIVES[site[0]]
        return Exchange(
            self._name(template, site),
            template,
            {"size": size.text()},
            count.text(),
            [self._called(site)],
            count.exact and size.exact,
        )

    def _exchange(self, group: Sequence[_Flow]) -> Exchange | None:
        """Return flows that happen together as one template; None where there is none."""
        shape, both = group[0].move.shape, {flow.move.sign for flow in group} == {1, -1}
        if shape in (LINE, GRID) and passes_through([run.traces for run in self._runs], {flow.site for flow in group}):
            return self._wavefront(group)
        if shape == GRID:
            if not both:
                return None
            sizes = {side: self._largest(flow for flow in group if flow.move.side == side) for side in GRID_SIDES}
            template = "halo"
            settings = {**_GRID, "Tx_cells": "0", "size_i": sizes["npe_i"], "size_j": sizes["npe_j"]}
        elif shape in (LINE, RING):
            template = "halo_1d" if both else "shift"
            settings = {"size": self._largest(group), "periodic": "1" if shape == RING else "0"}
            settings |= {"Tx_cells": "0"} if both else {}
        else:
            template, settings = _ROOTED[shape], {"size": self._largest(group)}
        return self._made(group, template, settings)

    def _wavefront(self, group: Sequence[_Flow]) -> Exchange:
        """Return flows that work waits for; along the first side it turns with each sweep."""
        sites, moves = {flow.site for flow in group}, [flow.move for flow in group]
        changes = [turns(run.traces[0], sites, moves) for run in self._runs]
        sides = sorted({move.side for move in moves}, key=lambda side: -sum(each.get(side, 0) for each in changes))
        sweeps = self._formula([1 + max(each.values()) for each in changes], grid=False)
        along = [flow for flow in group if flow.move.side == sides[0]]
        blocks = added(along[0].turns for _ in along)  # as often each, in more runs than the others
        calls, each_call = _calls_of(sweeps, blocks)
        grid = {"npe_i": PROCESSORS, "npe_j": "1"}
        if sides[0]:
            grid = {"npe_i": sides[0], "npe_j": next(side for side in GRID_SIDES if side != sides[0])}
        settings = {
            **grid,
            **each_call,
            "size_i": self._largest(along),
            "size_j": self._largest(flow for flow in group if flow.move.side != sides[0]),
        }
        return replace(self._made(group, "wavefront", settings), turns=calls, blocks=blocks.text())

    def _made(self, group: Sequence[_Flow], template: str, settings: Mapping[str, str]) -> Exchange:
        return Exchange(
            self._name(template, group[0].site),
            template,
            settings,
            group[0].turns.text(),
            self._calls(group),
            all(flow.turns.exact and flow.size.exact for flow in group),
        )

    def _formula(self, values: Sequence[int], *, grid: bool) -> CountFormula:
        """Return the formula of numbers of each run; 0 says that a run has none."""
        there = tuple(value > 0 for value in values)
        wanted = [value for value in values if value > 0]
        if not wanted:
            return CountFormula((), exact=True)
        runs = [run for run, known in zip(self._runs, there, strict=True) if known]
        sizes = [{**run.size, **(grid_sides(len(run.traces)) if grid else {})} for run in runs]
        for known in self._known:  # what holds in more runs
            if all(_value(known, size) == value for size, value in zip(sizes, wanted, strict=True)):
                return known
        if (there, grid) not in self._solvers:
            self._solvers[there, grid] = Solver(sizes, self._bounds)
        found = self._solved(self._solvers[there, grid], sizes, wanted)
        if found.exact and all(there):
            self._known.append(found)
        return found

    def _solved(self, solver: Solver, sizes: Sequence[Mapping[str, int]], wanted: Sequence[int]) -> CountFormula:
        """Return a formula; one that is approximate may have the number of processes as a divisor."""
        found = solver.solve(wanted)
        for power in (1, 2):
            if found.exact:
                break
            each = CountTerm(Fraction(1), ((PROCESSORS, power),))
            whole = solver.solve([value * size[PROCESSORS] ** power for size, value in zip(sizes, wanted, strict=True)])
            if whole.exact or whole.error < found.error:
                found = replace(whole, terms=tuple(term.over(each) for term in whole.terms))
        return found

    def _largest(self, flows: Iterable[_Flow]) -> str:
        """Return the bytes of the largest message; of several formulas that which is most in the greatest run."""
        several = [flow.size for flow in flows]
        run = max(self._runs, key=lambda each: math.prod(each.size.values()))
        size = {**run.size, **grid_sides(len(run.traces))}
        return max(several, key=lambda each: _value(each, size)).text() if several else "0"

    def _name(self, template: str, site: Site) -> str:
        """Return a name for a subtask: its template's with the line of the call."""
        _file, _, line = self._lines.get(site, "").rpartition(":")
        name = wanted = f"{template}_{line}" if line else f"{template}_here"
        number = 1
        while name in self._names:
            number += 1
            name = f"{wanted}_{number}"
        self._names.add(name)
        return name

    def _called(self, site: Site) -> str:
        where = self._lines.get(site, "")
        return f"MPI_{site[0].capitalize()}" + (f" at {where}" if where else "")

    def _calls(self, group: Sequence[_Flow]) -> list[str]:
        return [self._called(site) for site in dict.fromkeys(flow.site for flow in group)]


def _value(formula: CountFormula, size: Mapping[str, int]) -> float:
    """Return the value of a formula at a size; NaN where it has none."""
    try:
        return float(formula.value(size))
    except (ValueError, ZeroDivisionError):
        return math.nan


def _together(flows: Sequence[_Flow]) -> list[list[_Flow]]:
    """Return flows in groups that happen together: equally often, in one shape, each move once."""
    groups: list[list[_Flow]] = []
    for flow in flows:
        for group in groups:
            if group[0].move.shape == flow.move.shape and all(
                each.move != flow.move and _as_often(each, flow) for each in group
            ):
                group.append(flow)
                break
        else:
            groups.append([flow])
    return groups


def _as_often(one: _Flow, other: _Flow) -> bool:
    """Return whether two flows have as many messages in each run that has both."""
    both = [pair for pair in zip(one.counts, other.counts, strict=True) if all(pair)]
    return all(count == same for count, same in both) if both else one.turns.text() == other.turns.text()


def _calls_of(sweeps: CountFormula, blocks: CountFormula) -> tuple[str, dict[str, str]]:
    """Return how often a wavefront is called, with the sweeps and blocks of a call: few, so that it is quick.

    The direction turns with each sweep. Where it never does, a call is for one block.
    """
    if sweeps.text() == "1":
        return blocks.text(), {"sweeps": "1", "blocks": "1"}
    if len(sweeps.terms) > 1:
        return "1", {"sweeps": sweeps.text(), "blocks": f"({blocks.text()}) / ({sweeps.text()})"}
    (term,) = sweeps.terms
    even = isinstance(term.coefficient, Fraction) and term.coefficient.denominator == 1 and not term.coefficient % 2
    repeated = CountTerm(Fraction(term.coefficient) if even else Fraction(1), ())
    return CountFormula((term.over(repeated),), exact=True).text() if even else "1", {
        "sweeps": CountFormula((repeated,), exact=True).text() if even else sweeps.text(),
        "blocks": CountFormula(tuple(each.over(term) for each in blocks.terms), exact=True).text(),
    }


def _lines(sites: Sequence[Site], program: str) -> dict[Site, str]:
    """Return file and line of the calls that the program itself makes; Python's are made by a library."""
    own = [site for site in sites if site[1].partition(" ")[2] == program]
    addresses = [int(place.partition(" ")[0], 16) - 1 for _kind, place in own]  # of the call, not of what follows
    return {site: line for site, line in zip(own, source_lines(program, addresses), strict=False) if line}
