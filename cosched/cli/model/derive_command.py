"""`cosched model derive`: from a program's source to the skeleton of its model."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cosched.cli.output import JsonOption, clean, emit_json, print_table, write_text
from cosched.durations import parse_duration
from cosched.errors import UserError
from cosched.modelling.derivation import TOOL, Derivation, DerivationRequest, SolvedBlock
from cosched.modelling.derivation import derive as derived
from cosched.modelling.seals import changed_by_hand, sealed

__all__ = ["derive"]

_LONGEST_FORMULA = 100
_SURELY = 0.1


def derive(
    sources: Annotated[list[Path], typer.Argument(metavar="SOURCE…", help="C, C++ or Fortran; or one in Python.")],
    sizes: Annotated[
        str,
        typer.Option(metavar="'NAME=VALUES …'", help="Parameters in order: 'nx=16..48 n=16..256:*2 k=3,5 steps=10'."),
    ],
    build: Annotated[str, typer.Option(metavar="COMMAND", help="As 'gcc {flags} {sources} -o {program} -lm'.")] = "",
    run: Annotated[str, typer.Option(metavar="COMMAND", help="As '{program} {nx} {n}': the program, then them.")] = "",
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the model goes: APPLICATION.psl.")] = None,
    application: Annotated[str, typer.Option(metavar="NAME", help="What to call it; else as the source.")] = "",
    runs: Annotated[int, typer.Option(help="How many sizes are drawn and run.")] = 16,
    limit: Annotated[str, typer.Option(metavar="DURATION", help="Of one run.")] = "10s",
    seed: Annotated[int, typer.Option(help="Of the sizes that are drawn.")] = 1,
    gcov: Annotated[str, typer.Option(metavar="COMMAND", help="Reads counts; of the compiler's version.")] = "gcov",
    operations: Annotated[
        bool, typer.Option("--operations", help="Blocks cost their operations, by the hardware's clc.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Count a program's blocks at toy sizes and write formulas for them as a model.

    The program is compiled and run here, with your rights, in a temporary folder.

    With --json: {"application", "file", "sizes", "seconds", "constant", "messages", "blocks": [{"name", "lines",
    "source", "formula", "exact", "error", "share", "calls", "note", "like", "stated",
    "operations"}]}: the opcodes of an execution, with --operations.
    """
    request = DerivationRequest(
        sources, sizes, application, build, run, gcov, runs, parse_duration(limit), seed, operations
    )
    file = out or Path(f"{request.model}.psl")
    _check_ours(file)  # before a minute of building and running
    found = derived(request, _say_nothing if json else _say)
    write_text(file, sealed(found.psl()))
    if json:
        emit_json(_document(found, file))
        return
    print_table(
        ("BLOCK", "LINES", "COUNT", "HOW"),
        [(each.block.name, found.lines(each.block), _shortened(each), _how(each)) for each in found.blocks],
    )
    for line in _summary(found, file):
        sys.stdout.write(f"{clean(line)}\n")


def _say(text: str) -> None:
    sys.stderr.write(f"cosched: {clean(text)}\n")


def _say_nothing(_text: str) -> None:
    return


def _shortened(solved: SolvedBlock) -> str:
    formula = solved.formula.text()
    return formula if len(formula) <= _LONGEST_FORMULA else f"{formula[:_LONGEST_FORMULA]}…"


def _how(solved: SolvedBlock) -> str:
    place = f", grows as {solved.like}" if solved.like else ", left out" if solved.small else ""
    if solved.formula.exact:
        return f"exact{place}"
    digits = 0 if solved.formula.error > _SURELY else 1
    return f"approx ±{solved.formula.error:.{digits}%}{place}: {solved.note}"


def _summary(found: Derivation, file: Path) -> list[str]:
    exact = sum(each.formula.exact for each in found.blocks)
    calls = sorted({name for each in found.blocks for name in each.calls})
    lines = [
        f"counts: {exact} of {len(found.blocks)} exact, {found.constant} the same at every size; "
        f"{len(found.sizes)} sizes, {found.seconds:.1f} s",
    ]
    if calls:
        lines.append(f"not counted within: {', '.join(calls)}")
    for each in found.communication.exchanges:
        size = max((value for name, value in each.settings.items() if name.startswith("size")), key=len)
        lines.append(
            f"messages: {each.template} of {size} bytes, {each.blocks or each.turns} times: " + ", ".join(each.calls)
        )
    lines += [
        f"not in the model: {each}; runs teach its time with that of its block" for each in found.communication.others
    ]
    if found.communication.remark:
        lines.append(f"of messages: {found.communication.remark}")
    if small := sum(each.small for each in found.blocks):
        lines.append(f"left out: {small} with less than 1 % of the counts each at the largest size")
    if found.from_operations:
        return [*lines, f"wrote {file}; from operation counts: right to a factor of a few, on any hardware with clc"]
    return [
        *lines,
        f"wrote {file}; each block costs 1 ns, a guess: `cosched model fit --derived` learns costs from runs",
    ]


def _document(found: Derivation, file: Path) -> dict[str, Any]:
    return {
        "application": found.application,
        "file": str(file),
        "sizes": list(found.sizes),
        "seconds": round(found.seconds, 3),
        "constant": found.constant,
        "messages": [
            {
                "calls": list(each.calls),
                "template": each.template,
                "variables": dict(each.settings),
                "turns": each.turns,
                "exact": each.exact,
            }
            for each in found.communication.exchanges
        ],
        "not_modelled": [*found.communication.others, *filter(None, [found.communication.remark])],
        "blocks": [
            {
                "name": each.block.name,
                "lines": found.lines(each.block),
                "source": found.quoted(each.block),
                "formula": each.formula.text(),
                "exact": each.formula.exact,
                "error": round(each.formula.error, 6),
                "share": round(each.share, 6),
                "calls": list(each.calls),
                "note": each.note,
                "like": each.like,
                "stated": not each.small and not each.like,
                "operations": {name: round(often, 4) for name, often in each.operations.items()},
            }
            for each in found.blocks
        ],
    }


def _check_ours(file: Path) -> None:
    """Refuse to write over a model that somebody wrote by hand."""
    if not file.exists():
        return
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
        if TOOL not in text:
            raise UserError(f"{file} was not written by `{TOOL}`: choose another --out")
        if changed_by_hand(text):
            raise UserError(f"{file} was changed by hand since a command wrote it: choose another --out")
    except OSError as error:
        raise UserError(f"{file} cannot be read ({error.strerror}): choose another --out") from error
