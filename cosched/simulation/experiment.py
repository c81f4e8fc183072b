"""What an experiment is: a name, what it reproduces, options, rows for a seed, and the paper's rows to hold beside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Experiment", "Option", "Row"]

Row = dict[str, str | float | int | None]
"""One line of a table, by column name. Times are seconds, shares 0…1."""


def _no_pictures(_rows: Sequence[Row], _seed: int, _options: Mapping[str, float]) -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Option:
    """A number that may be set with `--set`; whole where its default is.

    Attributes:
        default: as the paper has it, where it says.
        help: one line.
        least: the smallest value that makes sense.
        most: the largest.
    """

    default: float
    help: str
    least: float = 0
    most: float = 1e6


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment that `cosched simulate` runs.

    Attributes:
        name: as on the command line.
        reproduces: the paper and what of it, in one line.
        keys: the columns that say which row it is; the others are measured.
        run: (seed, options) → rows; the same arguments give the same rows but for `machine`.
        options: by name.
        paper: rows as published, with the same column names as far as the paper has them.
        pictures: (rows, seed, options) → SVG by name; the rows may be means with intervals.
        note: what to know when reading the paper's rows beside ours; one line, may be empty.
        machine: the columns that depend on the machine too, not on the arguments alone.
        searches: whether it needs the machine code of the searches.
    """

    name: str
    reproduces: str
    keys: tuple[str, ...]
    run: Callable[[int, Mapping[str, float]], list[Row]]
    options: Mapping[str, Option] = field(default_factory=dict)
    paper: Sequence[Row] = ()
    note: str = ""
    searches: bool = False
    machine: tuple[str, ...] = ()
    pictures: Callable[[Sequence[Row], int, Mapping[str, float]], dict[str, str]] = _no_pictures

    def settings(self, given: Mapping[str, str]) -> dict[str, float]:
        """Return every option's value.

        Args:
            given: what the user set, as text.

        Raises:
            UserError: an option is unknown, or its value is no number within its bounds.
        """
        for name in given:
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise UserError(f"{self.name} has no option {name!r}: there are {known}")
        return {name: _value(name, option, given.get(name)) for name, option in self.options.items()}


def _value(name: str, option: Option, text: str | None) -> float:
    if text is None:
        return option.default
    kind = int if isinstance(option.default, int) else float
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not option.least <= value <= option.most:
        what, digits = ("whole number", ".0f") if kind is int else ("number", "g")
        raise UserError(f"{name}={text}: give a {what} from {option.least:{digits}} to {option.most:{digits}}")
    return value
