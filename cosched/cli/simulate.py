"""`cosched simulate EXPERIMENT`: the papers' experiments, by the daemon's own core in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cosched.cli.output import JsonOption, console, emit_json, print_table
from cosched.errors import UserError
from cosched.simulation.averages import INTERVAL, averaged
from cosched.simulation.experiments import NAMES, experiment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.simulation.experiment import Experiment, Row

__all__ = ["command"]


def command(
    name: Annotated[str, typer.Argument(metavar="[EXPERIMENT]", help="Which; without one they are listed.")] = "",
    json: JsonOption = False,
    seed: Annotated[int, typer.Option(help="Of all random numbers.", min=0, max=2**31)] = 1,
    seeds: Annotated[int, typer.Option(help="Average over so many seeds from --seed on.", min=1, max=1000)] = 1,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Set an option.")] = None,
) -> None:
    """Run an experiment in virtual time, by the daemon's own core."""
    if not name:
        _list(json=json)
        return
    chosen = experiment(name)
    options = chosen.settings(_pairs(set_ or []))
    rows = averaged([chosen.run(number, options) for number in range(seed, seed + seeds)], chosen.keys)
    if json:
        emit_json({"experiment": name, "seed": seed, "seeds": seeds, "options": options, "rows": rows,
                   "paper": list(chosen.paper)})  # fmt: skip
    else:
        _print(chosen, rows, seed, seeds)


def _list(*, json: bool) -> None:
    found = [experiment(name) for name in NAMES]
    if json:
        emit_json([{"experiment": item.name, "reproduces": item.reproduces, "options": _defaults(item)}
                   for item in found])  # fmt: skip
        return
    print_table(("experiment", "what it reproduces"), [(item.name, item.reproduces) for item in found])


def _defaults(chosen: Experiment) -> dict[str, Any]:
    return {
        name: {"default": option.default, "help": option.help, "least": option.least, "most": option.most}
        for name, option in chosen.options.items()
    }


def _pairs(words: Sequence[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UserError(f"--set {word}: give NAME=VALUE")
        pairs[name] = value
    return pairs


def _print(chosen: Experiment, rows: Sequence[Row], seed: int, seeds: int) -> None:
    console.print(f"{chosen.reproduces}\n", style="bold", markup=False)
    _table(rows)
    of = f"seed {seed}" if seeds == 1 else f"means over seeds {seed} to {seed + seeds - 1} ± 95 % confidence"
    console.print(of, markup=False)
    if chosen.paper:
        console.print("\nas published", style="bold")
        _table(chosen.paper)
    if chosen.note:
        console.print(chosen.note, markup=False)


def _table(rows: Sequence[Row]) -> None:
    columns = [column for column in dict.fromkeys(key for row in rows for key in row) if not column.endswith(INTERVAL)]
    print_table(columns, [[_cell(row, column) for column in columns] for row in rows])


def _cell(row: Row, column: str) -> str:
    value, half = row.get(column), row.get(column + INTERVAL)
    text = f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
    return f"{text} ± {half:.2g}" if isinstance(half, float) else text
