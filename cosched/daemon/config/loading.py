"""Load the configuration in force: defaults, a TOML file, its config.d/*.toml and the environment.

Later layers win, key by key, and each value keeps the layer it came from. Start at `load_configuration`.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from cosched.addresses import parse_listen_address
from cosched.daemon.config.sections import STATE, Configuration
from cosched.errors import UserError, expected_text
from cosched.paths import ENVIRONMENT_PREFIX, configuration_file, default_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

__all__ = ["ConfigurationValue", "load_configuration", "read_configuration"]

_LARGEST_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class ConfigurationValue:
    """One key of the configuration in force.

    Attributes:
        key: name with dots, e.g. "planning.seed".
        value: the value, of a JSON type.
        origin: "default", "FILE" or "environment VARIABLE".
    """

    key: str
    value: Any
    origin: str


def load_configuration(path: Path | None = None, environment: Mapping[str, str] | None = None) -> Configuration:
    """Read and check the configuration.

    Args:
        path: the file; None reads the usual places, and does without where there is none.
        environment: instead of this process's own.

    Raises:
        UserError: all that is wrong with it, each with its key and where it is written.
    """
    return _read_layers(path, os.environ if environment is None else environment).check()


def read_configuration(
    path: Path | None = None, environment: Mapping[str, str] | None = None
) -> tuple[Configuration, list[ConfigurationValue]]:
    """Read and check the configuration; return it, and every value in force with its origin.

    The values are in the order of etc/cosched.toml.

    Raises:
        UserError: as `load_configuration`.
    """
    merged = _read_layers(path, os.environ if environment is None else environment)
    checked = merged.check()
    values = dict(_leaves(checked.model_dump(mode="json")))
    return checked, [ConfigurationValue(key, value, merged.origin(key)) for key, value in values.items()]


@dataclass(frozen=True, slots=True)
class _Layer:
    """Values that are written in one place.

    Attributes:
        values: section → key → value, as TOML has them.
        place: the file or variable that has it, for people.
        path: the file, where it is one.
        names: how single keys are called there, where `place` alone does not say it.
    """

    values: dict[str, Any]
    place: str
    path: Path | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    def origin(self, key: str) -> str:
        name = self.names.get(key)
        return f"{self.place} {name}" if name else self.place


class _MergedLayers:
    """Merges the values of layers, and knows which layer last wrote a key or table."""

    def __init__(self, layers: Sequence[_Layer]) -> None:
        self._default = layers[0]
        self._values: dict[str, Any] = {}
        self._layers: dict[str, _Layer] = {}
        for layer in layers:
            self._merge(self._values, layer.values, layer)

    def _merge(self, into: dict[str, Any], values: dict[str, Any], layer: _Layer, table: str = "") -> None:
        for key, value in values.items():
            known = into.get(key)
            if not table and key in into and not isinstance(known, dict):
                continue  # A value in place of a section is an error, which a later layer must not hide.
            self._layers[table + key] = layer
            if isinstance(value, dict):
                into[key] = known if isinstance(known, dict) else {}
                self._merge(into[key], value, layer, f"{table}{key}.")
            else:
                into[key] = value

    def layer(self, key: str) -> _Layer:
        """Return the layer that wrote the key.

        For a part of a value it is the layer that wrote the value.
        """
        while key and key not in self._layers:
            key = key.rpartition(".")[0]
        return self._layers.get(key, self._default)

    def origin(self, key: str) -> str:
        return self.layer(key).origin(key)

    def check(self) -> Configuration:
        try:
            configuration = Configuration.model_validate(self._values)
        except ValidationError as error:
            raise UserError("; ".join(dict.fromkeys(map(self._message, error.errors())))) from error
        self._check_public_ports(configuration)
        return configuration

    def _message(self, fault: ErrorDetails) -> str:
        key = ".".join(map(str, fault["loc"]))
        place = self.origin(key)
        match fault["type"]:
            case "extra_forbidden":
                return f"{place}: unknown key {key}{_alternatives(fault['loc'])}"
            case "model_type" | "model_attributes_type" | "dict_type":
                return f"{place}: {key} must be a table: write [{key}]"
            case "value_error" if not key:  # of several sections, which it names; they may be of several files
                return str(fault["ctx"]["error"])
            case "value_error":
                return f"{place}: {key}: {fault['ctx']['error']}"
            case _:
                wanted = expected_text(fault["msg"]).replace("String should", "it should")
                return f"{place}: {key} is {fault['input']!r}: {wanted}"

    def _check_public_ports(self, configuration: Configuration) -> None:
        public = [text for text in configuration.server.listen if parse_listen_address(text).public]
        if public and configuration.server.certificate is None and not configuration.access.proxy:
            raise UserError(
                f"{self.origin('server.listen')}: server.listen: {public[0]!r} can be reached from other machines, and "
                "there is neither TLS nor a proxy: give [server] certificate and key, or name the proxy in [access] "
                "proxy, or write 127.0.0.1:PORT"
            )


def _read_layers(path: Path | None, environment: Mapping[str, str]) -> _MergedLayers:
    path = path or configuration_file(environment)
    files = () if path is None else (path, *sorted((path.parent / "config.d").glob("*.toml")))
    layers = [*map(_file_layer, files), _environment_layer(environment)]
    states = [value for layer in layers for key, value in _leaves(layer.values) if key == "domain.state" and value]
    written = bool(states) and isinstance(states[-1], str) and states[-1].startswith("/")
    return _MergedLayers([_default_layer(Path(states[-1]) if written else default_state(environment)), *layers])


def _default_layer(state: Path) -> _Layer:
    text = Configuration().model_dump_json().replace(STATE, json.dumps(str(state))[1:-1])
    return _Layer(json.loads(text), "default")


def _file_layer(path: Path) -> _Layer:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
        if len(content) > _LARGEST_FILE:
            raise UserError(f"{path} is larger than {_LARGEST_FILE} bytes: it is not a configuration of cosched")
        values = tomllib.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise UserError(
            f"the configuration {path} cannot be read ({error.strerror}): name another with --config"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text (byte {error.start}): save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path}: {error}: correct this line; a key or table may be given once only") from error
    _resolve_paths(values, path.resolve().parent)
    return _Layer(values, str(path), path)


def _environment_layer(environment: Mapping[str, str]) -> _Layer:
    """Return what variables COSCHED_SECTION__KEY set; other COSCHED_… variables belong to jobs and clients.

    A value for a key of type string or path is taken as it is, others are read as TOML.
    """
    values: dict[str, Any] = {}
    names: dict[str, str] = {}
    for variable in sorted(environment):
        parts = variable.removeprefix(ENVIRONMENT_PREFIX).lower().split("__")
        if not variable.startswith(ENVIRONMENT_PREFIX) or len(parts) < 2:
            continue
        raw = environment[variable]
        table = values
        for part in parts[:-1]:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise UserError(f"environment {variable}: {part} is set as a value by another variable: unset one")
        known = _FIELDS.get(tuple(parts))
        table[parts[-1]] = raw if known and known.annotation in (str, Path) else _literal(raw)
        names[".".join(parts)] = variable
    _resolve_paths(values, Path.cwd())
    return _Layer(values, "environment", names=names)


def _literal(raw: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {raw}")
    except tomllib.TOMLDecodeError:
        return raw
    return parsed["value"] if parsed.keys() == {"value"} else raw


def _leaves(values: Mapping[str, Any], table: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of nested tables under names with dots."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{table}{key}.")
        else:
            yield f"{table}{key}", value


def _fields(model: type[BaseModel], table: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Yield every key of the configuration with its type: (section, key) → field."""
    for key, known in model.model_fields.items():
        if isinstance(known.annotation, type) and issubclass(known.annotation, BaseModel):
            yield from _fields(known.annotation, (*table, key))
        else:
            yield (*table, key), known


def _holds_paths(annotation: Any) -> bool:
    return annotation is Path or any(map(_holds_paths, get_args(annotation)))


_FIELDS = dict(_fields(Configuration))
_PATHS = [parts for parts, known in _FIELDS.items() if _holds_paths(known.annotation)]


def _resolve_paths(values: dict[str, Any], folder: Path) -> None:
    """Make relative paths absolute from the folder of the file that has them.

    Values that are not texts are left for the check, which names them.
    """
    for section, key in _PATHS:
        table = values.get(section)
        value = table.get(key) if isinstance(table, dict) else None
        if isinstance(table, dict) and isinstance(value, str) and value:
            table[key] = _absolute(value, folder)
        elif isinstance(table, dict) and isinstance(value, list):
            table[key] = [_absolute(item, folder) if isinstance(item, str) and item else item for item in value]


def _absolute(value: str, folder: Path) -> str:
    with contextlib.suppress(RuntimeError):  # the home of a user that there is not: the check names the key
        return str(folder / Path(value).expanduser())
    return value


def _alternatives(location: tuple[int | str, ...]) -> str:
    """Return the nearest valid key and all valid ones, for a message."""
    model: type[BaseModel] = Configuration
    for part in location[:-1]:
        known = model.model_fields.get(str(part))
        if known is None:
            continue  # a name that the site gave one table among others
        # Of tables with such names, the type of each.
        annotation = get_args(known.annotation)[-1] if get_args(known.annotation) else known.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
    valid = list(model.model_fields)
    close = difflib.get_close_matches(str(location[-1]), valid, n=1)
    meant = f" (did you mean {close[0]}?)" if close else ""
    return f"{meant}: valid {'here' if location[:-1] else 'sections'} are {', '.join(valid)}"
