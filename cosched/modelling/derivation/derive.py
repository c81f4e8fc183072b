"""A program is built for counting and run at toy sizes; its counts become formulas.

Start at `derive`.
"""

from __future__ import annotations

import re
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.language.vocabulary import FUNCTION_ARITIES, HARDWARE_OBJECT, KEYWORDS, PROCESSORS
from cosched.measurement.programs.observing import shim_library
from cosched.modelling.derivation.blocks import blocks_of
from cosched.modelling.derivation.communication import TEMPLATES, Communication, WatchedRun, communication_of
from cosched.modelling.derivation.counting import Counter
from cosched.modelling.derivation.expressions import source_bounds
from cosched.modelling.derivation.operations import DUMP_FLAG
from cosched.modelling.derivation.patterns import GRID_SIDES
from cosched.modelling.derivation.sizes import FEWEST_RUNS, draw_sizes, parse_sizes
from cosched.modelling.derivation.skeleton import START, Derivation, SolvedBlock, with_operations
from cosched.modelling.derivation.symbolic import Solver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.modelling.derivation.blocks import SourceBlock
    from cosched.modelling.derivation.counting import CountedRun, Counts, Place
    from cosched.modelling.derivation.sizes import Parameter

__all__ = ["DerivationRequest", "derive"]

_MOST_RUNS = 100
_AT_ONCE = 4  # runs; those of MPI mostly wait
_ALIKE = 1.1  # greatest ratio of two counts to their least one, at larger sizes, of blocks that grow alike
_LARGER = 8
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_FORTRAN_CALL = re.compile(r"(?i)\b(?:call\s+(?=\w)|(?=matmul\b|dot_product\b))(\w+)")
_TEXT_OR_COMMENT = re.compile(r"\"[^\"]*\"|'[^']*'|//.*|/\*.*?\*/")
_NO_CALLS = frozenset(
    """
    if for while switch return sizeof do case defined static void char int long double float real main
    abs fabs min max sqrt mod range len program subroutine function call write print allocate dimension
    enumerate zip append items isinstance
    """.split()  # noqa: SIM905  a list of as many quoted words would be read less easily
)
_Lines = frozenset[tuple[int, int]]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}", re.ASCII)


@dataclass(frozen=True, slots=True)
class DerivationRequest:
    """A program to model, and how to build and run it.

    Attributes:
        sources: of the program.
        sizes: its parameters with the values of toy runs.
        application: the model's name; empty: the first source's.
        build: the command that compiles; empty: the usual compiler's.
        run: the command that runs; empty: the program with its parameters in order.
        gcov: the command that reads counts.
        runs: at how many sizes.
        limit: seconds of a run.
        seed: of the sizes drawn.
        operations: whether blocks cost the operations of their lines.
    """

    sources: Sequence[Path]
    sizes: str
    application: str = ""
    build: str = ""
    run: str = ""
    gcov: str = "gcov"
    runs: int = 16
    limit: float = 10.0
    seed: int = 1
    operations: bool = False

    @property
    def model(self) -> str:
        """Return the name of the model."""
        return self.application or re.sub(r"\W", "_", self.sources[0].stem, flags=re.ASCII)


def derive(request: DerivationRequest, tell: Callable[[str], None] = lambda _: None) -> Derivation:
    """Return a program's blocks with the formulas of their counts.

    Args:
        request: which program, at which sizes.
        tell: is told what is being done.

    Raises:
        UserError: the program cannot be built, run or counted.
    """
    begun = time.monotonic()
    parameters = parse_sizes(request.sizes)
    if not FEWEST_RUNS <= request.runs <= _MOST_RUNS:
        raise UserError(f"--runs {request.runs}: from {FEWEST_RUNS} to {_MOST_RUNS} runs can be made")
    if request.limit <= 0:
        raise UserError(f"--limit {request.limit:g}: give a time above 0")
    sizes = draw_sizes(parameters, request.runs, request.seed)
    with tempfile.TemporaryDirectory(prefix="cosched-derive-") as folder:
        several = any(each.name == PROCESSORS and len(each.values) > 1 for each in parameters)
        if several and (sides := [each.name for each in parameters if each.name in GRID_SIDES]):
            raise UserError(f"--sizes: {sides[0]} is a side of the processes' grid in models: call it {sides[0]}_")
        library = shim_library() if several else None
        counter = Counter(request.sources, Path(folder), gcov=request.gcov, library=library)
        name = _checked_name(request.model)
        counter.command(request.run, parameters, sizes[0])  # a fault in it is told before anything is built
        if request.operations and not counter.language.compilers:
            raise UserError("--operations: they are a compiler's, and a program in Python has none: leave it out")
        counter.build(request.build, DUMP_FLAG if request.operations else "")
        operations = counter.operations() if request.operations else {}
        if counter.language.compilers:
            tell(f"{name} is built: {time.monotonic() - begun:.1f} s")

        def counted(size: Mapping[str, int]) -> CountedRun:
            what = f"{name} at " + " ".join(f"{key}={value}" for key, value in size.items())
            return counter.count(counter.command(request.run, parameters, size), request.limit, what)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            try:
                runs = [*pool.map(counted, [*sizes, sizes[0]])]
            except UserError:
                pool.shutdown(cancel_futures=True)
                raise
        tell(f"{len(runs)} runs: {time.monotonic() - begun:.1f} s")
        solving = _Solving(counter, parameters, sizes, _unsteady(runs[0].counts, runs.pop().counts))
        watched = [WatchedRun(size, run.traces) for size, run in zip(sizes, runs, strict=True)]
        communication = communication_of(watched, solving.bounds) if several else Communication()
    blocks = blocks_of([run.counts for run in runs], {START, *GRID_SIDES, *(each.name for each in parameters)})
    solved = solving.solved(blocks)
    if not solved:
        raise UserError(
            f"{name}: no count depends on {', '.join(each.name for each in parameters)}: are they its arguments?"
        )
    if request.operations:
        solved = with_operations(solved, blocks, operations)
    tell(f"{len(solved)} blocks: {time.monotonic() - begun:.1f} s")
    return Derivation(
        application=name,
        sources=counter.sources,
        texts=counter.texts,
        parameters=parameters,
        sizes=sizes,
        blocks=solved,
        constant=len(blocks) - len(solved),
        communication=communication,
        seconds=time.monotonic() - begun,
    )


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name in {*KEYWORDS, *FUNCTION_ARITIES, PROCESSORS, HARDWARE_OBJECT, *TEMPLATES}:
        raise UserError(f"{name[:80]!r} cannot name a model: give another name with --application")
    return name


def _unsteady(first: Counts, again: Counts) -> _Lines:
    """Return the lines that two runs of one size do not execute equally often."""
    return frozenset(
        (place.file, place.line) for place in {*first, *again} if first.get(place, 0) != again.get(place, 0)
    )


class _Solving:
    """Solves the counts of blocks, and says what stands against it."""

    def __init__(
        self, counter: Counter, parameters: Sequence[Parameter], sizes: Sequence[Mapping[str, int]], unsteady: _Lines
    ) -> None:
        self._texts = counter.texts
        self._sizes = sizes
        self._call = _FORTRAN_CALL if counter.language.name == "Fortran" else _CALL
        self._functions = counter.functions
        self._unsteady = unsteady
        everything = "\n".join(line for text in counter.texts for line in text)
        self.bounds = [*source_bounds(everything, [each.name for each in parameters])]
        self._solver = Solver(sizes, self.bounds)

    def solved(self, blocks: Sequence[SourceBlock]) -> list[SolvedBlock]:
        """Return the blocks that depend on the size, with formulas."""
        totals = [sum(several) for several in zip(*(each.counts for each in blocks), strict=True)]
        largest = totals.index(max(totals))
        groups: list[list[SolvedBlock]] = []
        for each in blocks:
            if len(set(each.counts)) > 1:
                one = self._one(each, each.counts[largest] / max(totals))
                alike = next((group for group in groups if self._alike(one, group[0])), None)
                if alike is None:
                    groups.append([one])
                else:
                    alike.append(replace(one, like=alike[0].block.name))
        return [solved for group in groups for solved in _with_head(group)]

    def _one(self, block: SourceBlock, share: float) -> SolvedBlock:
        calls = self._calls(block)
        if self._unsteady & set(block.numbers()):
            return SolvedBlock(
                block, self._solver.approximate(block.counts), share, calls, "differs between equal runs"
            )
        formula = self._solver.solve(block.counts)
        recursive = sorted({place.function for place in block.places if self._recursive(place)})
        why = f"{recursive[0]} calls itself" if recursive else "depends on data, or on more than these sizes show"
        return SolvedBlock(block, formula, share, calls, "" if formula.exact else why)

    def _alike(self, one: SolvedBlock, head: SolvedBlock) -> bool:
        """Return whether two counts are nearly proportional at larger sizes."""
        larger = [{name: value * _LARGER for name, value in size.items()} for size in self._sizes]
        try:
            ratios = [float(one.formula.value(size) / head.formula.value(size)) for size in larger]
        except (ValueError, ZeroDivisionError):
            return False
        return 0 < max(ratios) <= _ALIKE * min(ratios)

    def _calls(self, block: SourceBlock) -> list[str]:
        """Return the functions of others that its lines name."""
        lines = [_TEXT_OR_COMMENT.sub("", self._texts[file][line - 1]) for file, line in block.numbers()]
        names = {name for line in lines for name in self._call.findall(line)}
        own = {name for _file, name in self._functions}
        return sorted(names - own - _NO_CALLS)

    def _recursive(self, place: Place) -> bool:
        """Return whether the function of a place names itself in its own lines."""
        first, last = self._functions.get((place.file, place.function), (0, 0))
        call = re.compile(rf"\b{re.escape(place.function)}\s*\(")
        return any(call.search(line) for line in self._texts[place.file][first:last])


def _with_head(group: Sequence[SolvedBlock]) -> list[SolvedBlock]:
    """Give the first of blocks that grow alike the share and the calls of all."""
    head, *others = group
    calls = sorted({name for each in group for name in each.calls})
    return [replace(head, share=sum(each.share for each in group), calls=calls), *others]
