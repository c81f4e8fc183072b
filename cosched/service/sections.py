"""Every key of the configuration: its type, its bounds and its default. etc/cosched.toml explains them to people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from cosched.connector.registry import available
from cosched.errors import UserError
from cosched.service.duration import parse_duration
from cosched.service.listen import parse_listen

__all__ = ["Configuration", "Connector", "Database", "Dispatch", "Domain", "Folders", "Objective", "Planning", "Server"]


def _duration(value: Any) -> float:
    try:
        return parse_duration(value)
    except UserError as error:
        raise ValueError(str(error)) from error


def _folder(value: Any) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"{value!r} is not a path: write it as a string")
    return Path(value).expanduser()


def _address(value: str) -> str:
    try:
        parse_listen(value)
    except UserError as error:
        raise ValueError(str(error)) from error
    return value


Duration = Annotated[float, BeforeValidator(_duration)]
FolderPath = Annotated[Path, BeforeValidator(_folder)]
Weight = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Domain(_Section):
    """[domain]: name, resource model of its hosts, folder for state."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    hardware: Annotated[str, Field(min_length=1)]
    state: FolderPath


class Connector(_Section):
    """[connector]: which resource manager, and a table of settings for each kind, e.g. [connector.local]."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    __pydantic_extra__: dict[str, dict[str, Any]] = Field(init=False)
    kind: str

    @model_validator(mode="after")
    def _installed(self) -> Connector:
        for kind in (self.kind, *(self.__pydantic_extra__ or ())):
            if kind not in available():
                raise ValueError(f"connector {kind!r} is not installed: choose one of {', '.join(available())}")
        return self

    @property
    def table(self) -> dict[str, Any]:
        """The settings of the kind in force."""
        return dict((self.__pydantic_extra__ or {}).get(self.kind, {}))


class Database(_Section):
    """[database]: where tasks survive."""

    url: Annotated[str, Field(min_length=1)]


class Objective(_Section):
    """[objective]: what the search weighs; each term is a pure number of order one before its weight."""

    makespan: Weight
    idle: Weight
    lateness: Weight
    deadlines_first: bool

    @model_validator(mode="after")
    def _something(self) -> Objective:
        if self.makespan == self.idle == self.lateness == 0:
            raise ValueError("all three weights are 0, so that every schedule is as good as any: raise one")
        return self


class Planning(_Section):
    """[planning]: how the queue is planned and how much of the machine that may take."""

    policy: Literal["genetic", "fcfs-arbitrary", "fcfs-maximum", "fcfs-calculated"]
    staging: Duration
    margin: Annotated[float, Field(ge=0, lt=1)]
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)]
    share: Annotated[float, Field(gt=0, le=1)]
    nice: Annotated[int, Field(ge=0, le=19)]
    converged: Duration


class Dispatch(_Section):
    """[dispatch]: what happens between a decision and the manager."""

    grace: Duration
    attempts: Annotated[int, Field(ge=1, le=1000)]
    retry: Duration
    retry_longest: Duration


class Server(_Section):
    """[server]: where the API listens."""

    listen: Annotated[str, AfterValidator(_address)]


class Folders(_Section):
    """[applications] and [models]: folders, later ones count where names meet."""

    folders: list[FolderPath]


class Configuration(_Section):
    """The whole configuration of one daemon. Durations are seconds."""

    domain: Domain
    connector: Connector
    database: Database
    objective: Objective
    planning: Planning
    dispatch: Dispatch
    server: Server
    applications: Folders
    models: Folders
