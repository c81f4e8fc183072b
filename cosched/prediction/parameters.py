"""Parameters of an application: what a user may choose, and what a choice must look like."""

from __future__ import annotations

import difflib
import math
import unicodedata
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Parameter", "Value", "choose"]

Value = float | int | str

_LONGEST_TEXT = 1000


class Parameter(BaseModel):
    """One parameter of an application.

    Attributes:
        type: of its values.
        model: whether a number enters the performance model under the same name; text never does.
        default: taken where the user says nothing; None: the user must say.
        min: smallest value allowed.
        max: largest value allowed.
        choices: the values allowed; empty for any.
        help: one line for people.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["integer", "number", "text"] = "number"
    model: bool = True
    default: int | float | str | None = None
    min: Annotated[float | None, Field(allow_inf_nan=False)] = None
    max: Annotated[float | None, Field(allow_inf_nan=False)] = None
    choices: tuple[int | float | str, ...] = ()
    help: str = ""

    @model_validator(mode="after")
    def _fits(self) -> Parameter:
        if self.type == "text" and (self.min is not None or self.max is not None):
            raise ValueError("text has no min and max: use choices")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}")
        for value in (*self.choices, *(() if self.default is None else (self.default,))):
            try:
                self.read("its own value", value)
            except UserError as error:
                raise ValueError(str(error)) from error
        return self

    def read(self, name: str, given: Value) -> Value:
        """Return a given value as the type says.

        Args:
            name: of the parameter, for the error.
            given: a number or text; text that spells a number is one where a number is wanted.

        Raises:
            UserError: not of the type, out of range, or not among the choices.
        """
        value = _text(name, given) if self.type == "text" else self._number(name, given)
        if self.choices and value not in self.choices:
            raise UserError(f"{name} is {given!r}: choose one of {', '.join(map(str, self.choices))}")
        return value

    def _number(self, name: str, given: Value) -> Value:
        value = _parse(given)
        if value is None or (self.type == "integer" and value != int(value)):
            raise UserError(
                f"{name} is {given!r}: give {'an integer' if self.type == 'integer' else 'a number'}{self._range()}"
            )
        if (self.min is not None and value < self.min) or (self.max is not None and value > self.max):
            raise UserError(f"{name} is {given!r}: give a value{self._range()}")
        return int(value) if self.type == "integer" else value

    def _range(self) -> str:
        least = "" if self.min is None else f" from {self.min:.12g}"
        return least + ("" if self.max is None else f" up to {self.max:.12g}")


def choose(parameters: Mapping[str, Parameter], given: Mapping[str, Value], application: str) -> dict[str, Value]:
    """Return a value for every parameter: the given ones checked, defaults for the others.

    Raises:
        UserError: an unknown parameter (near match and all names), a missing or a wrong value.
    """
    for name in given:
        if name not in parameters:
            raise UserError(f"{application} has no parameter {name!r}{_near(name, list(parameters))}")
    values: dict[str, Value] = {}
    for name, parameter in parameters.items():
        value = given.get(name, parameter.default)
        if value is None:
            raise UserError(
                f"{application} needs the parameter {name!r}"
                f"{f' ({parameter.help})' if parameter.help else ''}: set {name}=…"
            )
        values[name] = parameter.read(name, value)
    return values


def _near(name: str, valid: list[str]) -> str:
    if not valid:
        return ": it takes none"
    close = difflib.get_close_matches(name, valid, n=1)
    return (f" (did you mean {close[0]}?)" if close else "") + f": it takes {', '.join(valid)}"


def _parse(given: Value) -> float | None:
    if isinstance(given, bool):
        return None
    try:
        value = float(given)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _text(name: str, given: Value) -> str:
    text = str(given)
    if len(text) > _LONGEST_TEXT:
        raise UserError(f"{name} has {len(text)} characters: at most {_LONGEST_TEXT} are allowed")
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            raise UserError(f"{name} contains the character {character!r}: leave it out")
    return text
