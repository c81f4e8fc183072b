"""Documents of the catalogue and the model library: entries, texts and predicted curves."""

from __future__ import annotations

from dataclasses import dataclass

from cosched.api.documents.predictions import ProfileView

__all__ = [
    "ApplicationView",
    "CurvesView",
    "ModelText",
    "ModelView",
    "ParameterView",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterView:
    """A parameter that may be set.

    Attributes:
        type: "integer", "number" or "text".
        default: null where it must be given, or (of a model) where it depends on the number of hosts or the hardware.
        min: smallest value allowed; null for any.
        max: largest value allowed; null for any.
        choices: the values allowed; empty for any.
        help: one line for people.
    """

    name: str
    type: str = "number"
    default: int | float | str | None = None
    min: float | None = None
    max: float | None = None
    choices: tuple[int | float | str, ...] = ()
    help: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationView:
    """An entry of the catalogue.

    Attributes:
        model: name of its performance model; empty: its tasks pass through to the resource manager.
        least: how many hosts it needs.
        most: how many it can use; null for any number.
        observe: whether its programs are to be watched.
    """

    name: str
    description: str
    model: str
    least: int
    most: int | None
    parameters: tuple[ParameterView, ...]
    observe: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelView:
    """A file of the library with its first line for people as `title`.

    `kind` is applications, templates or hardware.
    """

    kind: str
    name: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelText:
    """The text of a model file, PSL or HMCL."""

    kind: str
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvesView:
    """An application model on every hardware of the library.

    Attributes:
        parameters: parameters of the model.
        values: the parameters that were set.
        profiles: run times by name of the hardware.
        faults: why there is no profile, by name of the hardware.
    """

    model: str
    parameters: tuple[ParameterView, ...]
    values: dict[str, float]
    profiles: dict[str, ProfileView]
    faults: dict[str, str]
