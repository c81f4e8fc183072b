"""Blocks with their formulas are written as an application model that costs complete.

Start at `Derivation.psl`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

from cosched.language import Source, format_source
from cosched.language.vocabulary import PROCESSORS
from cosched.modelling.derivation.patterns import GRID_SIDES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cosched.modelling.derivation.blocks import SourceBlock
    from cosched.modelling.derivation.communication import Communication, Exchange
    from cosched.modelling.derivation.sizes import Parameter
    from cosched.modelling.derivation.symbolic import CountFormula

__all__ = [
    "GUESSED_COSTS",
    "GUESSED_ERROR",
    "OPERATION_COSTS",
    "START",
    "TOOL",
    "Derivation",
    "SolvedBlock",
    "with_operations",
]

TOOL = "cosched model derive"
START = "startup"
"""The variable for what a run takes whatever its size."""

GUESSED_ERROR = "error_below = 0.75, error_above = 4"
GUESSED_COSTS = "What an execution of a block costs is a guess: `cosched model fit --derived` learns it from runs."
_OPERATIONS_ERROR = "error_below = 0.85, error_above = 4"  # python -m benchmarks.derivation --hardware
OPERATION_COSTS = "Costs are from operation counts, by which programs are foretold to a factor of a few."
_QUOTED = 70
_MOST = "1e9"
_SMALL = 0.01


@dataclass(frozen=True, slots=True)
class SolvedBlock:
    """A block with its count as a function of the parameters.

    Attributes:
        block: its lines and counts.
        formula: its count.
        share: of all counts at the largest size that was run, with blocks that grow alike.
        calls: functions that it or those call and whose lines are not counted.
        note: why it is approximate; empty for an exact one.
        like: the block that it grows alike, whose cost holds its own; empty for none.
        operations: opcodes of an execution, with those of blocks that grow alike; none where they were not asked for.
    """

    block: SourceBlock
    formula: CountFormula
    share: float
    calls: Sequence[str]
    note: str = ""
    like: str = ""
    operations: Mapping[str, float] = field(default_factory=dict)

    @property
    def small(self) -> bool:
        """Return whether the model does without it."""
        return self.share < _SMALL and not self.calls and not self.like


@dataclass(frozen=True, slots=True)
class Derivation:
    """A program's blocks with formulas.

    Attributes:
        application: the model's name.
        sources: of the program.
        texts: their lines.
        parameters: in order.
        sizes: that were run.
        blocks: those whose count depends on the size, most executed first.
        constant: number of blocks that are executed equally often at every size.
        communication: messages between its processes.
        seconds: that the runs took.
    """

    application: str
    sources: Sequence[Path]
    texts: Sequence[Sequence[str]]
    parameters: Sequence[Parameter]
    sizes: Sequence[Mapping[str, int]]
    blocks: Sequence[SolvedBlock]
    constant: int
    communication: Communication
    seconds: float

    def lines(self, block: SourceBlock) -> str:
        """Return where a block is, as `heat.c:31-33`."""
        return block.lines([path.name for path in self.sources])

    def seen(self) -> str:
        """Return the sizes that were run, as `nx 16 to 48`."""
        found = []
        for each in self.parameters:
            values = [size[each.name] for size in self.sizes]
            low, high = min(values), max(values)
            found.append(f"{each.name} = {low}" + (f" to {high}" if high > low else ""))
        return ", ".join(found)

    def quoted(self, block: SourceBlock) -> str:
        """Return the longest line of a block, as its source has it."""
        lines = [self.texts[file][line - 1].strip() for file, line in block.numbers()]
        return max(lines, key=len, default="")[:_QUOTED].strip()

    def stated(self) -> list[SolvedBlock]:
        """Return the blocks that the model states."""
        return [each for each in self.blocks if not each.small and not each.like]

    @property
    def from_operations(self) -> bool:
        """Return whether blocks cost their operations."""
        return any(each.operations for each in self.blocks)

    def psl(self) -> str:
        """Return the model, in the canonical layout."""
        text = "".join(f"{line}\n" for line in self._psl_lines())
        return format_source(Source(f"{self.application}.psl", text))

    def _psl_lines(self) -> Iterator[str]:
        names = ", ".join(path.name for path in self.sources)
        exchanges = self.communication.exchanges
        yield f"(* {_comment(self.application)}: the blocks of {_comment(names)}, counted by `{TOOL}`"
        yield f"   in {len(self.sizes)} runs: {_comment(self.seen())}."
        yield f"   {OPERATION_COSTS if self.from_operations else GUESSED_COSTS} *)"
        yield f"application {self.application} {{"
        yield "include hardware;"
        yield from (f"include {each.name};" for each in exchanges)
        yield from self._declarations()
        grid = f', decompose = "{", ".join(GRID_SIDES)}"' if self.communication.grid else ""
        yield f"option {{ {_OPERATIONS_ERROR if self.from_operations else GUESSED_ERROR}{grid}; }}"
        yield from self._links()
        yield from self._init()
        yield "proc cflow work {"
        for solved in self.stated():
            yield from self._statement(solved)
        if small := [solved for solved in self.blocks if solved.small]:
            yield f"(* Less than {_SMALL:.0%} of the counts, and left out:"
            yield from (f"   {self._counted(solved)}" for solved in small[:-1])
            yield f"   {self._counted(small[-1])} *)"
        yield "}"
        yield "}"
        for each in exchanges:
            settings = ", ".join(f"{name} = {name}" for name in self._settings(each))
            yield f"subtask {each.name} {{"
            yield f"include {each.template}; var numeric: {', '.join(self._settings(each))};"
            yield f"link {{ {each.template}: {settings}; }}"
            yield "}"

    def _declarations(self) -> Iterator[str]:
        yield from (self._declared(each) for each in self.parameters if each.name != PROCESSORS)
        if not self.from_operations:
            yield from (f"var numeric: {solved.block.name} = 1 ns;" for solved in self.stated())
        if self.communication.grid:
            yield f"var numeric: {', '.join(GRID_SIDES)};"
        if self._starts():
            yield f"var numeric: {START} = 0 us;"

    def _links(self) -> Iterator[str]:
        processes = next((each.values for each in self.parameters if each.name == PROCESSORS), (1,))
        links = [f"hardware: Nproc = {processes[0]};"] if len(processes) == 1 else []
        links += [f"hardware: Nproc = {' * '.join(GRID_SIDES)};"] if self.communication.grid else []
        for each in self.communication.exchanges:
            settings = ", ".join(f"{name} = {value}" for name, value in self._settings(each).items())
            links.append(f"{each.name}: {settings};")
        if links:
            yield f"link {{ {' '.join(links)} }}"

    def _settings(self, exchange: Exchange) -> dict[str, str]:
        """Return the variables of an exchange; the first one that work passes through has it."""
        if not exchange.blocks:
            return dict(exchange.settings)
        work = f"work() / ({exchange.blocks})" if exchange == self._passed() else "0"
        return {**exchange.settings, "Tx_block": work}

    def _passed(self) -> Exchange | None:
        """Return the exchange through which the work passes."""
        return next((each for each in self.communication.exchanges if each.blocks), None)

    def _init(self) -> Iterator[str]:
        exchanges = self.communication.exchanges
        work = [START] if self._starts() else []
        work += ["work()"] if self._passed() is None else []
        yield "proc exec init {"
        if any(each.turns != "1" for each in exchanges):
            yield "var numeric: turn;"
        if work:
            yield f"step cpu {{ confdev {' + '.join(work)}; }}"
        for each in exchanges:
            yield f"(* {_comment(', '.join(each.calls))} *)"
            turns = "" if each.turns == "1" else f"for (turn = 1; turn <= {each.turns}; turn = turn + 1) "
            yield f"{turns}call {each.name};"
        yield from (f"(* Not in the model: {_comment(each)}. *)" for each in self.communication.others)
        if self.communication.remark:
            yield f"(* Of messages: {_comment(self.communication.remark)}. *)"
        yield "}"

    def _starts(self) -> bool:
        """Return whether the time of the program's start is a variable: unless a parameter has its name."""
        return all(each.name != START for each in self.parameters)

    def _statement(self, solved: SolvedBlock) -> Iterator[str]:
        alike = [each for each in self.blocks if each.like == solved.block.name]
        lines = [f"(* {self._described(solved)}", *(f"   alike {self._counted(each)}" for each in alike)]
        yield from lines[:-1]
        yield f"{lines[-1]} *)"
        count = f"({solved.formula.text()})" if len(solved.formula.terms) > 1 else solved.formula.text()
        if any(each.name == PROCESSORS for each in self.parameters):
            count = f"{count} / {PROCESSORS}"
        if not self.from_operations:
            yield f"compute <is measured, {solved.block.name} * {count}>;"
        elif solved.operations:
            done = ", ".join(_times(often, name) for name, often in sorted(solved.operations.items()))
            yield f"loop (<is clc>, {count}) compute <is clc, {done}>;"

    def _declared(self, parameter: Parameter) -> str:
        """Return the declaration of a parameter: from 1, or from the least one seen where a count would be negative."""
        values = parameter.values
        middle = values[len(values) // 2]
        if len(values) == 1:
            return f"var numeric: {parameter.name} = {middle} in ({middle}, {middle});"
        least = min(1, values[0]) if self._never_negative() else values[0]
        return f"var numeric: {parameter.name} = {middle} in ({least}, {_MOST});"

    def _never_negative(self) -> bool:
        """Return whether no count is negative where some parameters are 1 and the others large."""
        ends = [(1, each.values[-1]) if len(each.values) > 1 else each.values for each in self.parameters]
        names = [each.name for each in self.parameters]
        corners = [dict(zip(names, corner, strict=True)) for corner in product(*ends)]
        return all(each.formula.value(corner) >= 0 for each in self.stated() for corner in corners)

    def _described(self, solved: SolvedBlock) -> str:
        how = "exact" if solved.formula.exact else f"approx, {solved.formula.error:.1%} off at worst"
        return _comment(f"{self.lines(solved.block)}: {how}: {self.quoted(solved.block)}")

    def _counted(self, solved: SolvedBlock) -> str:
        return f"{solved.formula.text()}: {self._described(solved)}"


def with_operations(
    solved: Sequence[SolvedBlock],
    blocks: Sequence[SourceBlock],
    operations: Mapping[tuple[int, int], Mapping[str, int]],
) -> list[SolvedBlock]:
    """Return the blocks with the operations of their lines; those of a line with several belong to the most frequent.

    Args:
        solved: blocks whose count depends on the size.
        blocks: all.
        operations: by source and line.
    """
    owners: dict[tuple[int, int], SourceBlock] = {}
    for block in sorted(blocks, key=lambda block: sum(block.counts)):
        owners |= dict.fromkeys(block.numbers(), block)
    heads = {each.block.name: each.block for each in solved}
    totals: dict[str, dict[str, float]] = {each.block.name: defaultdict(float) for each in solved}
    for each in solved:
        head = heads[each.like or each.block.name]
        place = head.counts.index(max(head.counts))
        part = each.block.counts[place] / head.counts[place]
        for line in each.block.numbers():
            if owners[line] is each.block:
                for name, often in operations.get(line, {}).items():
                    totals[head.name][name] += often * part
    return [replace(each, operations=dict(totals[each.block.name])) for each in solved]


def _times(often: float, opcode: str) -> str:
    return opcode if often == 1 else f"{often:.4g}*{opcode}"


def _comment(text: str) -> str:
    """Return text that stands in a comment of PSL without ending it."""
    plain = "".join(character if character.isprintable() else " " for character in text)
    return re.sub(r"(?<=\()(?=\*)|(?<=\*)(?=\))", " ", plain)
