"""Blocks with their formulas are written as an application model that costs complete.

Start at `Derivation.psl`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.language import Source, format_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from cosched.modelling.derivation.blocks import Block
    from cosched.modelling.derivation.sizes import Parameter
    from cosched.modelling.derivation.symbolic import Formula

__all__ = ["TOOL", "Derivation", "SolvedBlock"]

TOOL = "cosched model derive"
_QUOTED = 70
_MOST = 10**9
_SMALL = 0.01


@dataclass(frozen=True, slots=True)
class SolvedBlock:
    """A block with its count as a function of the parameters.

    Attributes:
        block: its lines and counts.
        formula: its count.
        share: of all counts at the largest size that was run.
        calls: functions that it calls and whose lines are not counted.
        note: why it is approximate; empty for an exact one.
    """

    block: Block
    formula: Formula
    share: float
    calls: Sequence[str]
    note: str = ""

    @property
    def small(self) -> bool:
        """Return whether the model does without it."""
        return self.share < _SMALL and not self.calls


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
        seconds: that the runs took.
    """

    application: str
    sources: Sequence[Path]
    texts: Sequence[Sequence[str]]
    parameters: Sequence[Parameter]
    sizes: Sequence[Mapping[str, int]]
    blocks: Sequence[SolvedBlock]
    constant: int
    seconds: float

    def lines(self, block: Block) -> str:
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

    def quoted(self, block: Block) -> str:
        """Return the longest line of a block, as its source has it."""
        lines = [self.texts[file][line - 1].strip() for file, line in block.numbers()]
        return max(lines, key=len, default="")[:_QUOTED].strip()

    def psl(self) -> str:
        """Return the model, in the canonical layout."""
        text = "".join(f"{line}\n" for line in self._psl_lines())
        return format_source(Source(f"{self.application}.psl", text))

    def _psl_lines(self) -> Iterator[str]:
        names = ", ".join(path.name for path in self.sources)
        yield f"(* {_comment(self.application)}: the blocks of {_comment(names)}, counted by `{TOOL}`"
        yield f"   in {len(self.sizes)} runs: {_comment(self.seen())}."
        yield "   What a block costs is a guess until `cosched model fit` has learnt it from runs. *)"
        yield f"application {self.application} {{"
        yield "include hardware;"
        for each in self.parameters:
            middle, varies = each.values[len(each.values) // 2], len(each.values) > 1
            least = min(each.values[0], 1) if varies else middle
            yield f"var numeric: {each.name} = {middle} in ({least}, {_MOST if varies else middle});"
        yield "option { error_below = 0.75, error_above = 4; }"
        yield "link { hardware: Nproc = 1; }"
        yield "proc exec init { step cpu { confdev work(); } }"
        yield "proc cflow work {"
        for solved in self.blocks:
            if not solved.small:
                yield from self._statement(solved)
        if any(solved.small for solved in self.blocks):
            yield f"(* Less than {_SMALL:.0%} of the counts, and left out:"
            yield from (
                f"   {self._described(solved)}: {solved.formula.text()}" for solved in self.blocks if solved.small
            )
            yield "*)"
        yield "}"
        yield "}"

    def _statement(self, solved: SolvedBlock) -> Iterator[str]:
        yield f"(* {self._described(solved)} *)"
        yield f"compute <is measured, 1 ns * {_factor(solved.formula.text())}>;"

    def _described(self, solved: SolvedBlock) -> str:
        how = "exact" if solved.formula.exact else f"approx, {solved.formula.error:.0%} off at worst"
        return _comment(f"{self.lines(solved.block)}: {how}: {self.quoted(solved.block)}")


def _factor(text: str) -> str:
    """Return a formula that can be multiplied."""
    return f"({text})" if re.search(r" [+-] ", text) else text


def _comment(text: str) -> str:
    """Return text that stands in a comment of PSL without ending it."""
    plain = "".join(character if character.isprintable() else " " for character in text)
    return re.sub(r"(?<=\()(?=\*)|(?<=\*)(?=\))", " ", plain)
