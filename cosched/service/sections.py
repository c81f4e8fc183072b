"""Every key of the configuration: its type, its bounds and its default. etc/cosched.toml explains them to people."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from cosched.access.names import checked_name
from cosched.access.private_file import check_private
from cosched.access.proxies import parse_proxies
from cosched.connector.registry import available
from cosched.errors import UserError
from cosched.service.duration import parse_duration
from cosched.service.listen import Listen, parse_listen

__all__ = [
    "Access",
    "AgentSection",
    "Configuration",
    "Connector",
    "Database",
    "Dispatch",
    "Domain",
    "Folders",
    "Notify",
    "Objective",
    "Planning",
    "Server",
]


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


def _place(value: str) -> str:
    """Check "host:port", or nothing."""
    if value and not re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]*):\d{1,5}", value):
        raise ValueError(f"{value!r} is no address: write host:port")
    return value


def _several(value: Any) -> Any:
    """Take one text for a list of it."""
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


def _optional(value: Any) -> Path | None:
    return None if value == "" else _folder(value)


def _user(value: str) -> str:
    try:
        return checked_name(value)
    except UserError as error:
        raise ValueError(str(error)) from error


def _proxies(words: tuple[str, ...]) -> tuple[str, ...]:
    try:
        parse_proxies(words)
    except UserError as error:
        raise ValueError(str(error)) from error
    return words


def _private(path: Path, what: str) -> None:
    try:
        check_private(path, what)
    except UserError as error:
        raise ValueError(str(error)) from error


Duration = Annotated[float, BeforeValidator(_duration)]
FolderPath = Annotated[Path, BeforeValidator(_folder)]
OptionalPath = Annotated[Path | None, BeforeValidator(_optional)]
PositiveDuration = Annotated[float, BeforeValidator(_duration), Field(gt=0)]
Address = Annotated[str, AfterValidator(_address)]
HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$")]
Users = Annotated[tuple[Annotated[str, AfterValidator(_user)], ...], BeforeValidator(_several)]
WebHook = Annotated[str, Field(pattern=r"^(https?://)?[A-Za-z0-9.-]+(:[0-9]{1,5})?$")]
Recipient = Annotated[str, Field(pattern=r"^[A-Za-z0-9._%+-]*@[a-z0-9.-]+$")]
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
    keep_days: Annotated[float, Field(ge=0, le=36_600, allow_inf_nan=False)]


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
    quantile: Annotated[float, Field(gt=0, lt=1)]
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
    """[server]: where the API and the pages listen, and under which names."""

    listen: Annotated[tuple[Address, ...], Field(min_length=1), BeforeValidator(_several)]
    socket_mode: Annotated[str, Field(pattern=r"^0?6[06][06]$")]
    names: Annotated[tuple[HostName, ...], BeforeValidator(_several)]
    certificate: OptionalPath
    key: OptionalPath

    @model_validator(mode="after")
    def _both(self) -> Server:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("TLS takes both certificate and key: give both, or neither")
        if self.key is not None:
            _private(self.key, "the key of the certificate")
        return self

    @property
    def addresses(self) -> tuple[Listen, ...]:
        """Where to listen."""
        return tuple(map(parse_listen, self.listen))


class Access(_Section):
    """[access]: who may do what, and how often."""

    administrators: Users
    operators: Users
    proxy: Annotated[tuple[str, ...], BeforeValidator(_several), AfterValidator(_proxies)]
    proxy_header: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,63}$")]
    proxy_secret_file: OptionalPath
    session: PositiveDuration
    longest_token: PositiveDuration
    requests: Annotated[float, Field(gt=0, le=1e6)]
    waiting: Annotated[int, Field(ge=1, le=10**9)]

    @model_validator(mode="after")
    def _whole(self) -> Access:
        if self.proxy_secret_file is not None:
            _private(self.proxy_secret_file, "the file with the proxy's secret")
        elif parse_proxies(self.proxy).posed:
            raise ValueError(
                "every user of this machine could pose as a proxy at its own addresses: name it as "
                "unix:USER, or give proxy_secret_file and have it send X-Proxy-Secret"
            )
        return self


class Notify(_Section):
    """[notify]: whom tasks' owners may have told, and how."""

    webhooks: Annotated[tuple[WebHook, ...], BeforeValidator(_several)]
    secret_file: OptionalPath
    smtp: Annotated[str, Field(pattern=r"^((smtps?|smtp\+starttls)://[A-Za-z0-9.-]+(:[0-9]{1,5})?)?$")]
    sender: Annotated[str, Field(pattern=r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+$")]
    recipients: Annotated[tuple[Recipient, ...], BeforeValidator(_several)]
    user: str
    password_file: OptionalPath
    patience: PositiveDuration

    @model_validator(mode="after")
    def _whole(self) -> Notify:
        if self.webhooks and self.secret_file is None:
            raise ValueError("webhooks are signed: name the file with the secret in secret_file")
        if self.recipients and not self.smtp:
            raise ValueError("recipients are told by mail: name the mail server in smtp")
        for path, what in ((self.secret_file, "the secret file"), (self.password_file, "the password file")):
            if path is not None:
                _private(path, what)
        return self


class Folders(_Section):
    """[applications] and [models]: folders, later ones count where names meet."""

    folders: list[FolderPath]


class AgentSection(_Section):
    """[agent]: neighbouring domains; without `listen` there is no agent."""

    listen: Annotated[str, AfterValidator(_place)]
    address: Annotated[str, AfterValidator(_place)]
    key: FolderPath
    certificate: FolderPath
    peers: FolderPath
    applications: Annotated[tuple[str, ...], BeforeValidator(_several)]
    commands: bool
    hops: Annotated[int, Field(ge=1, le=64)]
    fanout: Annotated[int, Field(ge=1, le=64)]
    scope: Annotated[int, Field(ge=0, le=64)]
    sooner: Annotated[float, Field(gt=0, le=1)]
    admit_late: bool
    push: bool
    period: PositiveDuration
    patience: PositiveDuration
    lease: PositiveDuration
    keep_models: PositiveDuration
    adviser: Literal["off", "advise", "adopt"]
    advise_every: PositiveDuration
    advise_shortest: PositiveDuration
    advise_longest: PositiveDuration
    advise_scope: Annotated[int, Field(ge=0, le=64)]
    advise_lifetime: PositiveDuration

    @model_validator(mode="after")
    def _between(self) -> AgentSection:
        if self.advise_shortest > self.advise_longest:
            raise ValueError("advise_shortest is longer than advise_longest: exchange them")
        if self.advise_lifetime < self.advise_longest:
            raise ValueError("advise_lifetime is shorter than advise_longest: give it the longer time")
        return self

    @property
    def host_and_port(self) -> tuple[str, int]:
        """Where neighbours are listened to."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


class Configuration(_Section):
    """The whole configuration of one daemon. Durations are seconds."""

    domain: Domain
    connector: Connector
    database: Database
    objective: Objective
    planning: Planning
    dispatch: Dispatch
    server: Server
    access: Access
    notify: Notify
    agent: AgentSection
    applications: Folders
    models: Folders
