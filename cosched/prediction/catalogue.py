"""The catalogue lists the administrator's applications, which users start by name.

One TOML file for each application; `etc/applications.d/` has examples that explain every key.
Start at `Catalogue`; `ApplicationParameter` checks what a user chose.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
import unicodedata
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from cosched.counts import number_text
from cosched.errors import UserError, expected_text
from cosched.licence_requests import checked_amounts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

__all__ = [
    "ApplicationParameter",
    "Catalogue",
    "CatalogueEntry",
    "HostRange",
    "ParameterValue",
    "StageCommand",
    "choose_values",
]


ParameterValue = float | int | str

_LONGEST_TEXT = 1000
_DIGITS = re.compile(r"[+-]?\d+", re.ASCII)


class ApplicationParameter(BaseModel):
    """One parameter of an application.

    Attributes:
        type: type of its values.
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
    def _fits(self) -> ApplicationParameter:
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

    def read(self, name: str, given: ParameterValue) -> ParameterValue:
        """Return a given value as the type says.

        Args:
            name: name of the parameter, for the error.
            given: a number or text; text that spells a number is one where a number is wanted.

        Raises:
            UserError: not of the type, out of range, or not among the choices.
        """
        value = _text(name, given) if self.type == "text" else self._number(name, given)
        if self.choices and value not in self.choices:
            raise UserError(f"{name} is {given!r}: choose one of {', '.join(map(str, self.choices))}")
        return value

    def _number(self, name: str, given: ParameterValue) -> ParameterValue:
        value = _parse(given)
        if value is None or (self.type == "integer" and value != int(value)):
            raise UserError(
                f"{name} is {given!r}: give {'an integer' if self.type == 'integer' else 'a number'}{self._range()}"
            )
        if (self.min is not None and value < self.min) or (self.max is not None and value > self.max):
            raise UserError(f"{name} is {given!r}: give a value{self._range()}")
        return _whole(given, value) if self.type == "integer" else value

    def _range(self) -> str:
        least = "" if self.min is None else f" from {self.min:.12g}"
        return least + ("" if self.max is None else f" up to {self.max:.12g}")


def choose_values(
    parameters: Mapping[str, ApplicationParameter], given: Mapping[str, ParameterValue], application: str
) -> dict[str, ParameterValue]:
    """Return a value for every parameter: the given ones checked, defaults for the others.

    Raises:
        UserError: an unknown parameter (near match and all names), a missing or a wrong value.
    """
    for name in given:
        if name not in parameters:
            raise UserError(f"{application} has no parameter {name!r}{_near(name, list(parameters))}")
    values: dict[str, ParameterValue] = {}
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


def _parse(given: ParameterValue) -> float | None:
    if isinstance(given, bool):
        return None
    try:
        value = float(given)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _whole(given: ParameterValue, value: float) -> int:
    """Return a whole number with all its digits, of which a float holds sixteen.

    Args:
        given: as it was given.
        value: the same as a float.
    """
    digits = str(given).strip()
    return int(digits) if _DIGITS.fullmatch(digits) else int(value)


def _text(name: str, given: ParameterValue) -> str:
    text = str(given)
    if len(text) > _LONGEST_TEXT:
        raise UserError(f"{name} has {len(text)} characters: at most {_LONGEST_TEXT} are allowed")
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            raise UserError(f"{name} contains the character {character!r}: leave it out")
    return text


_LARGEST_FILE = 1 << 20
_NO_COMMAND = "command is missing: set it"
_SPAN = re.compile(r"\d{1,9}(?:-\d{1,9})?", re.ASCII)
# "{{" and "}}" stand for themselves, "{name}" for a parameter; any other brace is a mistake.
_OF_WORKERS = ("lead", "worker")  # placeholders that are filled in when a worker starts
_PIECE = re.compile(r"\{\{|\}\}|\{(?P<name>[A-Za-z_]\w*)\}|[{}]", re.ASCII)


class HostRange(BaseModel):
    """Host counts that an application can use."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    min: Annotated[int, Field(ge=1)] = 1
    max: Annotated[int, Field(ge=1)] = 1_000_000

    @model_validator(mode="after")
    def _ordered(self) -> HostRange:
        if self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}")
        return self


class StageCommand(BaseModel):
    """What a stage of a tunable application runs.

    Attributes:
        command: argument vector, as an entry's; `{name}` stands for a control parameter, too.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: Annotated[tuple[str, ...], Field(min_length=1)]


class CatalogueEntry(BaseModel):
    """One entry of the catalogue.

    Attributes:
        name: the name that users submit it by.
        description: one line for people.
        model: name or path of its PSL model; empty: its tasks pass through to the resource manager.
        command: argument vector; `{parameter}` in an argument is replaced by the parameter's value, never by a shell.
            A program with a relative path is meant from the folder of the entry's file. Of a tunable application it
            is what the stages run that are not in `stages`.
        parameters: by name.
        hosts: how many it can use.
        environment: additions to its environment.
        prepare: argument vector that runs before the command, where that runs, with the same placeholders.
        launch: how its command is launched, where its task does not say.
        processes_per_host: ranks on each host of a program that is launched once, likewise.
        cores: of each host, a number or a range "8-32" of which cosched chooses, where its task does not say; 0: none.
        processes: ranks on all hosts together, likewise, in place of `processes_per_host`.
        licences: how many of each of the domain's licences its tasks hold while they run, where they do not say.
        observe: whether its programs are watched, in tasks that the command line submits.
        stages: what stages run, by their names in the model's tunable procedure; with any, the application is tunable.
        worker: argument vector on each other host of a tunable application whose command is one program that stays
            through all stages; `{lead}` stands for the address that this tells, `{worker}` for the worker's number.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    description: str = ""
    model: str = ""
    command: Annotated[tuple[str, ...], Field(min_length=1)] = ()
    parameters: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], ApplicationParameter] = {}
    hosts: HostRange = HostRange()
    environment: dict[str, str] = {}
    prepare: tuple[str, ...] = ()
    launch: Literal["each", "once", "openmpi", "mpich", "intel"] = "each"
    processes_per_host: Annotated[int, Field(ge=1)] = 1
    cores: int | str = 0
    processes: int | str = 0
    licences: dict[str, Annotated[int, Field(ge=1)]] = {}
    observe: bool = False
    stages: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], StageCommand] = {}
    worker: Annotated[tuple[str, ...], Field(min_length=1)] | tuple[()] = ()

    @model_validator(mode="after")
    def _runs(self) -> CatalogueEntry:
        if not self.command and not self.stages:
            raise ValueError(_NO_COMMAND)
        if self.stages and not self.model:
            raise ValueError("stages are those of a model with a tunable procedure: name it, model = …")
        if self.worker and (self.stages or not self.command or not self.model):
            raise ValueError(
                "worker is of an application whose command is one program for all stages of its model: give model and "
                "command, and leave stages out"
            )
        if self.worker and (self.launch != "each" or self.processes_per_host > 1):
            raise ValueError("a program with workers runs once, and its worker on each other host: leave launch out")
        if self.tunable and (self.cores or self.processes):
            raise ValueError("the model of a tunable application chooses for it: leave cores and processes out")
        return self

    @model_validator(mode="after")
    def _licences(self) -> CatalogueEntry:
        try:
            checked_amounts(self.licences)
        except UserError as error:
            raise ValueError(str(error)) from error
        return self

    @model_validator(mode="after")
    def _once(self) -> CatalogueEntry:
        if self.processes_per_host > 1 and self.launch == "each":
            raise ValueError('processes_per_host is for a command that is launched once: add launch = "openmpi"')
        return self

    @model_validator(mode="after")
    def _shapes(self) -> CatalogueEntry:
        for name in ("cores", "processes"):
            text = str(getattr(self, name))
            least, _, most = text.partition("-")
            if not _SPAN.fullmatch(text) or int(least) > int(most or least):
                raise ValueError(f'{name} is {text!r}: give a number, or a range such as "8-32"')
        if self.processes and (self.launch == "each" or self.processes_per_host > 1 or self.cores):
            raise ValueError(
                "processes is for a command that is launched once, in place of processes_per_host and cores: "
                'add launch = "openmpi", and leave these out'
            )
        return self

    @model_validator(mode="after")
    def _placeholders(self) -> CatalogueEntry:
        for command in (self.command, self.worker, *[stage.command for stage in self.stages.values()]):
            if command and (not command[0] or command[0].startswith("-") or _PIECE.search(command[0])):
                raise ValueError(f"command starts with {command[0]!r}: name the program there, without placeholders")
        control = [argument for stage in self.stages.values() for argument in stage.command]
        if self.tunable:  # which control parameters there are is known to the model
            control += self.command
        else:
            self._check_arguments(self.command, self.parameters)
        self._check_arguments(control, None)
        self._check_arguments(self.worker, {*self.parameters, *_OF_WORKERS})
        self._check_arguments(self.prepare, self.parameters)
        return self

    @staticmethod
    def _check_arguments(arguments: Iterable[str], names: Collection[str] | None) -> None:
        """Refuse arguments with placeholders that are none; with names, those for others, too."""
        for argument in arguments:
            if "\0" in argument:
                raise ValueError(f"command has a zero byte in {argument!r}: leave it out")
            for piece in _PIECE.finditer(argument):
                if piece[0] in "{}":
                    raise ValueError(f"command has a stray {piece[0]!r} in {argument!r}: write it twice to mean itself")
                if piece["name"] and names is not None and piece["name"] not in names:
                    raise ValueError(f"command uses {piece[0]}, which is not among its parameters")

    @property
    def tunable(self) -> bool:
        """Return whether its model has several ways through its stages."""
        return bool(self.stages or self.worker)

    def worker_arguments(self, values: Mapping[str, ParameterValue]) -> tuple[str, ...]:
        """Return the command of its workers with values in place; what is known at their start stays open."""
        return _filled(self.worker, {**values, **{name: f"{{{name}}}" for name in _OF_WORKERS}})

    def values(self, given: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
        """Return a value for every parameter: the given ones checked, defaults for the others.

        Raises:
            UserError: an unknown, missing or wrong value.
        """
        return choose_values(self.parameters, given, self.name)

    def model_parameters(self, values: Mapping[str, ParameterValue]) -> dict[str, float]:
        """Return those of `values` that enter the model."""
        entering = [name for name, kind in self.parameters.items() if kind.model and kind.type != "text"]
        return {name: float(values[name]) for name in entering}

    def arguments(self, values: Mapping[str, ParameterValue]) -> tuple[str, ...]:
        """Return the command with values in place: one argument stays one argument."""
        return _filled(self.command, values)

    def stage_arguments(self, stage: str, values: Mapping[str, ParameterValue]) -> tuple[str, ...]:
        """Return the command of a stage with values in place, of control parameters, too.

        Raises:
            UserError: it has none, or names a parameter that has no value by then.
        """
        command = self.stages[stage].command if stage in self.stages else self.command
        if not command:
            raise UserError(
                f"the catalogue does not say what the stage {stage} of {self.name} runs: its administrator adds "
                f"[stages.{stage}] with a command"
            )
        for argument in command:
            for piece in _PIECE.finditer(argument):
                if piece["name"] and piece["name"] not in values:
                    raise UserError(
                        f"the command of the stage {stage} of {self.name} uses {piece[0]}, which is neither one of "
                        "its parameters nor a control parameter that is set by then: its administrator corrects it"
                    )
        return _filled(command, values)

    def preparation(self, values: Mapping[str, ParameterValue]) -> tuple[str, ...]:
        """Return what runs before the command, with values in place."""
        return _filled(self.prepare, values)


class Catalogue:
    """All applications of some folders; where names meet, the later folder's entry counts."""

    def __init__(self, folders: Iterable[Path]) -> None:
        """Read the catalogue.

        Raises:
            UserError: everything that is wrong with it, each with its file.
        """
        self._entries: dict[str, CatalogueEntry] = {}
        faults: list[str] = []
        for folder in folders:
            self._entries |= _read_folder(folder, faults)
        if faults:
            raise UserError("; ".join(faults))

    def applications(self) -> list[CatalogueEntry]:
        """Return all entries, sorted by name."""
        return [self._entries[name] for name in sorted(self._entries)]

    def get(self, name: str) -> CatalogueEntry:
        """Return an entry.

        Raises:
            UserError: there is none of this name.
        """
        entry = self._entries.get(name)
        if entry is None:
            close = difflib.get_close_matches(name, self._entries, n=1)
            known = ", ".join(sorted(self._entries)) or "empty"
            raise UserError(
                f"no application {name!r}{f' (did you mean {close[0]}?)' if close else ''}: the catalogue is {known}"
            )
        return entry


def _filled(words: tuple[str, ...], values: Mapping[str, ParameterValue]) -> tuple[str, ...]:
    return tuple(_PIECE.sub(lambda piece: _replacement(piece, values), word) for word in words)


def _replacement(piece: re.Match[str], values: Mapping[str, ParameterValue]) -> str:
    if piece["name"] is None:
        return piece[0][0]
    return number_text(values[piece["name"]])


def _read_folder(folder: Path, faults: list[str]) -> dict[str, CatalogueEntry]:
    entries: dict[str, CatalogueEntry] = {}
    if not folder.is_dir():
        faults.append(f"{folder}: no such folder: make it, or name another in [applications] folders")
    for path in sorted(folder.glob("*.toml")):
        try:
            entry = _read(path)
        except UserError as error:
            faults.append(str(error))
            continue
        if entry.name in entries:
            faults.append(f"{path}: another file of this folder has the name {entry.name!r}: rename one")
        entries[entry.name] = entry
    return entries


def _read(path: Path) -> CatalogueEntry:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise UserError(f"{path} is larger than {_LARGEST_FILE} bytes: it describes no application")
        document: dict[str, Any] = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        return _anchored(CatalogueEntry.model_validate({"name": path.stem, **document}), path.parent)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): correct its permissions or move it away") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: {error}: correct this line") from error
    except ValidationError as error:
        faults = [f"{path}: {_sentence(fault['loc'], fault['type'], fault['msg'])}" for fault in error.errors()]
        if not document.keys() & {"command", "stages"} and not any(_NO_COMMAND in fault for fault in faults):
            faults.append(f"{path}: {_NO_COMMAND}")
        raise UserError("; ".join(faults)) from error


def _anchored(entry: CatalogueEntry, folder: Path) -> CatalogueEntry:
    return entry.model_copy(
        update={
            "command": _from(folder, entry.command),
            "prepare": _from(folder, entry.prepare),
            "worker": _from(folder, entry.worker),
            "stages": {name: StageCommand(command=_from(folder, each.command)) for name, each in entry.stages.items()},
        }
    )


def _from(folder: Path, words: tuple[str, ...]) -> tuple[str, ...]:
    if not words or "/" not in words[0] or words[0].startswith("/"):
        return words  # a bare name is looked up where it runs
    return (str((folder / words[0]).resolve()), *words[1:])


def _sentence(location: tuple[int | str, ...], kind: str, message: str) -> str:
    key = ".".join(map(str, location))
    if kind == "extra_forbidden":
        model = (
            ApplicationParameter
            if location[0] == "parameters"
            else HostRange
            if location[0] == "hosts"
            else StageCommand
            if location[0] == "stages"
            else CatalogueEntry
        )
        return f"unknown key {key}: valid here are {', '.join(model.model_fields)}"
    if kind == "missing":
        return f"{key} is missing: set it"
    text = expected_text(message)
    return f"{key}: {text}" if key else text
