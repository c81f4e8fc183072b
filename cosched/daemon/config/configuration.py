"""The configuration in force merges defaults, a TOML file, its config.d/*.toml and the environment.

Later layers win, key by key; every value knows where it came from.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from cosched.addresses import parse_listen_address
from cosched.daemon.config.layers import ConfigurationLayer, defaults, environment_layer, file_layers, flatten
from cosched.daemon.config.sections import Configuration
from cosched.errors import UserError
from cosched.paths import configuration_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic_core import ErrorDetails

__all__ = ["Configuration", "ConfigurationValue", "configuration_values", "load_configuration"]


@dataclass(frozen=True, slots=True)
class ConfigurationValue:
    """One key of the configuration in force.

    Attributes:
        key: with dots, e.g. "planning.seed".
        value: as JSON knows it.
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
    return _MergedLayers(path, os.environ if environment is None else environment).check()


def configuration_values(
    path: Path | None = None, environment: Mapping[str, str] | None = None
) -> list[ConfigurationValue]:
    """Return every value in force and where it came from, in the order of etc/cosched.toml; passwords are hidden.

    Raises:
        UserError: as `load`.
    """
    merged = _MergedLayers(path, os.environ if environment is None else environment)
    values = flatten(merged.check().model_dump(mode="json"))
    secret = urlsplit(values["database.url"]).password
    if secret:
        values["database.url"] = values["database.url"].replace(f":{secret}@", ":***@")
    return [ConfigurationValue(key, value, merged.origin(key)) for key, value in values.items()]


class _MergedLayers:
    def __init__(self, path: Path | None, environment: Mapping[str, str]) -> None:
        path = path or configuration_file(environment)
        layers = [
            *([] if path is None else file_layers(path)),
            environment_layer(environment, Configuration),
        ]
        state = next((layer.get("domain", "state") for layer in reversed(layers) if layer.get("domain", "state")), None)
        self.layers: list[ConfigurationLayer] = [defaults(environment, state), *layers]
        self.values: dict[str, Any] = {}
        for layer in self.layers:
            _merge(self.values, layer.values)

    def origin(self, key: str) -> str:
        """Return where the key is written; for a part of a value, where the value is."""
        for layer in reversed(self.layers):
            leaves = flatten(layer.values)
            if key in leaves or any(leaf.startswith(f"{key}.") for leaf in leaves):
                return layer.origin(key)
        return self.origin(key.rpartition(".")[0]) if "." in key else "default"

    def check(self) -> Configuration:
        try:
            configuration = Configuration.model_validate(self.values)
        except ValidationError as error:
            raise UserError("; ".join(dict.fromkeys(map(self._sentence, error.errors())))) from error
        self._guard_password(configuration.database.url)
        self._guard_ports(configuration)
        return configuration

    def _sentence(self, fault: ErrorDetails) -> str:
        key = ".".join(map(str, fault["loc"]))
        place = self.origin(key)
        match fault["type"]:
            case "extra_forbidden":
                return f"{place}: unknown key {key}{_alternatives(fault['loc'])}"
            case "model_type" | "model_attributes_type" | "dict_type":
                return f"{place}: {key} must be a table: write [{key}]"
            case "value_error":
                return f"{place}: {key}: {fault['ctx']['error']}"
            case _:
                wanted = fault["msg"].replace("Input should be", "it must be").replace("String should", "it should")
                return f"{place}: {key} is {fault['input']!r}: {wanted}"

    def _guard_password(self, url: str) -> None:
        layer = next(layer for layer in reversed(self.layers) if layer.get("database", "url"))
        try:
            secret = urlsplit(url).password
        except ValueError as error:
            raise UserError(f"{layer.place}: database.url is not a URL ({error})") from error
        if secret and layer.path and layer.path.stat().st_mode & 0o007:
            raise UserError(
                f"{layer.place}: database.url holds a password and everybody can read the file: chmod o= {layer.path}"
            )

    def _guard_ports(self, configuration: Configuration) -> None:
        public = [text for text in configuration.server.listen if parse_listen_address(text).public]
        if public and configuration.server.certificate is None and not configuration.access.proxy:
            raise UserError(
                f"{self.origin('server.listen')}: server.listen: {public[0]!r} can be reached from other machines, and "
                "there is neither TLS nor a proxy: give [server] certificate and key, or name the proxy in [access] "
                "proxy, or write 127.0.0.1:PORT"
            )


def _merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        known = into.get(key)
        if isinstance(value, dict) and isinstance(known, dict):
            _merge(known, value)
        else:
            into[key] = dict(value) if isinstance(value, dict) else value


def _alternatives(location: tuple[int | str, ...]) -> str:
    """Say what may have been meant, and which keys there are."""
    model: type[BaseModel] = Configuration
    for part in location[:-1]:
        annotation = model.model_fields[str(part)].annotation
        assert isinstance(annotation, type)
        model = annotation
    valid = list(model.model_fields)
    close = difflib.get_close_matches(str(location[-1]), valid, n=1)
    meant = f" (did you mean {close[0]}?)" if close else ""
    return f"{meant}: valid {'here' if location[:-1] else 'sections'} are {', '.join(valid)}"
