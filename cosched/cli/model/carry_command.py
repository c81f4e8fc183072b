"""`cosched model carry`: costs of a model's blocks for a class of hosts that has run none of it."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

from pathlib import Path
from typing import Annotated

import typer

from cosched.cli.model.arguments import model_folders
from cosched.cli.model.runs_argument import read_text
from cosched.cli.output import JsonOption, print_answer, write_text
from cosched.counts import plural
from cosched.errors import UserError
from cosched.evaluation import Hardware, load, load_hardware
from cosched.language.vocabulary import BLOCK_ERROR
from cosched.modelling.block_costs import overlay
from cosched.modelling.carrying import CarriedCosts, carried
from cosched.modelling.writing import TOOL as FIT

__all__ = ["carry"]

_TOOL = "cosched model carry"


def carry(
    model: Annotated[Path, typer.Argument(metavar="APP.psl", help="A model whose blocks have costs of a class.")],
    to: Annotated[str, typer.Option(metavar="CLASS", help="The other class: a name or a measured .hmcl file.")],
    origin: Annotated[
        str, typer.Option("--from", metavar="CLASS", help="The class that has run it; default: the model's hrduse.")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Write what a model's blocks should cost on hosts that have run none of it: a first guess, with a wide range.

    Costs go by the ratio of the two measured resource models. Runs there are better: `cosched model fit --blocks`
    writes theirs in the place of these.
    """
    application = load(model, model_folders())
    name = origin or application.hardware
    if not name:
        raise UserError(f"{model} names no hardware in its option hrduse: give --from, the class that has run it")
    old, new = _known(name, model.parent), _known(to, model.parent)
    own = f"{application.name}."
    blocks = {key.removeprefix(own): cost for key, cost in old.blocks.items() if key.startswith(own)}
    off = blocks.pop(BLOCK_ERROR, 0.0)
    if not blocks:
        raise UserError(
            f"{old.name} has no costs of blocks of {application.name}: "
            f"`{FIT} {application.name} RECORDS --derived {model} --blocks` learns them from runs"
        )
    if old.name == new.name:
        raise UserError(f"{old.name} is the class that the costs are of: name another one with --to")
    file = model.parent / f"{new.name}.d" / f"{application.name}.hmcl"
    if file.exists() and _TOOL not in read_text(file):
        raise UserError(f"{file} has costs of its own, which are better: move it away if you want a guess in its place")
    found = carried(blocks, old, new, off)
    told = (
        f"{application.name} on {new.name}: a guess by `{_TOOL}` from {old.name}; no run was seen here. "
        f"`{FIT} --blocks` learns costs from runs"
    )
    try:
        file.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"{file.parent} cannot be made ({error.strerror}): choose another folder") from error
    write_text(file, overlay(application.name, new.name, found.costs, told, found.error))
    print_answer(
        json,
        {
            "file": str(file),
            "from": old.name,
            "to": new.name,
            "operations": found.operations,
            "memory": found.memory,
            "error": found.error,
            "costs": dict(found.costs),
        },
        lambda: _lines(found, old, new, file),
    )


def _known(name: str, beside: Path) -> Hardware:
    found = load_hardware(name, model_folders(), beside)
    if found.hosts:
        raise UserError(f"{name} lists hosts of several classes: name one of them")
    return found


def _lines(found: CarriedCosts, old: Hardware, new: Hardware, file: Path) -> list[str]:
    memory = ""
    if found.memory is not None:
        near, far = found.memory
        memory = f", bytes near the processor {near:.2f} times, far from it {far:.2f} times"
    return [
        f"an operation of {new.name} takes {found.operations:.2f} times as long as one of {old.name}{memory}",
        f"wrote {file}: {plural(len(found.costs), 'block')}, a guess within {found.error:.0%}; runs there are better",
    ]
