"""The layers that a configuration is made of, each with its own place to name in an error."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from cosched import resources
from cosched.errors import UserError
from cosched.paths import ENVIRONMENT_PREFIX, default_state

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ConfigurationLayer", "defaults", "environment_layer", "file_layers", "flatten"]

_LARGEST_FILE = 1 << 20
_PATHS = (
    ("domain", "state"),
    ("applications", "folders"),
    ("models", "folders"),
    ("server", "certificate"),
    ("server", "key"),
    ("access", "proxy_secret_file"),
    ("notify", "secret_file"),
    ("notify", "password_file"),
    ("agent", "key"),
    ("agent", "certificate"),
    ("agent", "peers"),
)


@dataclass(frozen=True, slots=True)
class ConfigurationLayer:
    """Part of a configuration.

    Attributes:
        values: section → key → value, as TOML has them.
        place: where it is written, for people.
        path: the file, where it is one.
        names: how single keys are called there, where `place` alone does not say it.
    """

    values: dict[str, Any]
    place: str
    path: Path | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    def get(self, section: str, key: str) -> Any:
        """Return a value of this layer, None where it has none."""
        table = self.values.get(section)
        return table.get(key) if isinstance(table, dict) else None

    def origin(self, key: str) -> str:
        """Return where a key of this layer is written."""
        name = self.names.get(key)
        return f"{self.place} {name}" if name else self.place


def defaults(environment: Mapping[str, str], state: object) -> ConfigurationLayer:
    """Return what holds where nobody says otherwise: the local connector, and all state in one folder.

    Args:
        environment: says where the user's state belongs.
        state: the folder that another layer sets; None for none.
    """
    folder = Path(state).expanduser() if isinstance(state, str) else default_state(environment)
    values = {
        "domain": {"name": "local", "hardware": "sgi_origin2000", "state": str(folder)},
        "connector": {"kind": "local", "local": {"hosts": 16, "spool": str(folder / "local")}},
        "database": {"url": f"sqlite:///{folder / 'cosched.db'}", "keep_days": 0.0},
        "objective": {"makespan": 1.0, "idle": 0.2, "lateness": 5.0, "deadlines_first": False},
        "planning": {
            "policy": "genetic",
            "staging": 1.0,
            "margin": 0.05,
            "quantile": 0.5,
            "seed": 0,
            "share": 0.5,
            "nice": 10,
            "converged": 3.0,
        },
        "dispatch": {"grace": 30.0, "attempts": 5, "retry": 1.0, "retry_longest": 60.0},
        "server": {
            "listen": [f"unix:{folder / 'cosched.sock'}", "127.0.0.1:0"],
            "socket_mode": "0600",
            "names": [],
            "certificate": "",
            "key": "",
        },
        "access": {
            "administrators": [],
            "operators": [],
            "proxy": [],
            "proxy_header": "X-Remote-User",
            "proxy_secret_file": "",
            "session": 43200.0,
            "longest_token": 366 * 86400.0,
            "requests": 100.0,
            "waiting": 10_000,
        },
        "notify": {
            "webhooks": [],
            "secret_file": "",
            "smtp": "",
            "sender": "cosched@localhost",
            "recipients": [],
            "user": "",
            "password_file": "",
            "patience": 86400.0,
        },
        "agent": {
            "listen": "",
            "address": "",
            "key": str(folder / "agent.key"),
            "certificate": str(folder / "agent.crt"),
            "peers": str(folder / "peers.d"),
            "applications": [],
            "commands": False,
            "hops": 4,
            "fanout": 3,
            "scope": 1,
            "sooner": 1.0,
            "admit_late": True,
            "push": True,
            "period": 10.0,
            "patience": 10.0,
            "lease": 60.0,
            "keep_models": 2592000.0,
            "adviser": "advise",
            "advise_every": 1800.0,
            "advise_shortest": 2.0,
            "advise_longest": 120.0,
            "advise_scope": 3,
            "advise_lifetime": 600.0,
        },
        "applications": {"folders": [str(resources.etc() / "applications.d")]},
        "models": {"folders": [str(resources.models())]},
    }
    return ConfigurationLayer(values, "default")


def file_layers(path: Path) -> list[ConfigurationLayer]:
    """Return the file and what is in config.d/ beside it, in the order of names.

    Raises:
        UserError: a file cannot be read or is not TOML.
    """
    folder = path.parent / "config.d"
    return [_file(each) for each in (path, *sorted(folder.glob("*.toml")))]


def environment_layer(environment: Mapping[str, str], model: type[BaseModel]) -> ConfigurationLayer:
    """Return what variables COSCHED_SECTION__KEY set. Other COSCHED_… variables are not ours to read.

    Args:
        environment: the variables.
        model: the configuration: a value for a key of type string is taken as it is, others are read as TOML.
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
        table[parts[-1]] = raw if _is_text(model, parts) else _literal(raw)
        names[".".join(parts)] = variable
    _resolve_paths(values, Path.cwd())
    return ConfigurationLayer(values, "environment", names=names)


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the leaves of nested tables under names with dots."""
    leaves: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            leaves |= flatten(value, f"{prefix}{key}.")
        else:
            leaves[f"{prefix}{key}"] = value
    return leaves


def _file(path: Path) -> ConfigurationLayer:
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
    return ConfigurationLayer(values, str(path), path)


def _resolve_paths(values: dict[str, Any], folder: Path) -> None:
    """Make relative paths start where they are written; what is no path is left for the check to name."""
    for section, key in _PATHS:
        table = values.get(section)
        value = table.get(key) if isinstance(table, dict) else None
        if isinstance(table, dict) and isinstance(value, str) and value:
            table[key] = _absolute(value, folder)
        elif isinstance(table, dict) and isinstance(value, list):
            table[key] = [_absolute(item, folder) if isinstance(item, str) and item else item for item in value]


def _absolute(value: str, folder: Path) -> str:
    return str(folder / Path(value).expanduser())


def _is_text(model: type[BaseModel], parts: list[str]) -> bool:
    known = model.model_fields.get(parts[0])
    section = known.annotation if known else None
    if len(parts) != 2 or not (isinstance(section, type) and issubclass(section, BaseModel)):
        return False
    key = section.model_fields.get(parts[1])
    return key is not None and key.annotation in (str, Path)


def _literal(raw: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {raw}")
    except tomllib.TOMLDecodeError:
        return raw
    return parsed["value"] if parsed.keys() == {"value"} else raw
