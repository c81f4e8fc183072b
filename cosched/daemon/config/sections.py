"""Every key of the configuration: its type, its bounds and its default. etc/cosched.toml explains them to people."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from cosched.access.principals import checked_user_name
from cosched.access.proxies import parse_proxies
from cosched.addresses import ListenAddress, parse_listen_address
from cosched.api.times import parse_duration
from cosched.connector.registry import available_connectors
from cosched.errors import UserError
from cosched.secret_files import check_private

__all__ = [
    "AccessSection",
    "AgentSection",
    "Configuration",
    "ConnectorSection",
    "DatabaseSection",
    "DispatchSection",
    "DomainSection",
    "FoldersSection",
    "NotifySection",
    "ObjectiveSection",
    "PlanningSection",
    "ServerSection",
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
        parse_listen_address(value)
    except UserError as error:
        raise ValueError(str(error)) from error
    return value


def _host_and_port(value: str) -> str:
    """Check "host:port", or nothing."""
    if value and not re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9.-]*):\d{1,5}", value):
        raise ValueError(f"{value!r} is no address: write host:port")
    return value


def _text_or_list(value: Any) -> Any:
    """Take one text for a list of it."""
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


def _optional(value: Any) -> Path | None:
    return None if value == "" else _folder(value)


def _user(value: str) -> str:
    try:
        return checked_user_name(value)
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
Users = Annotated[tuple[Annotated[str, AfterValidator(_user)], ...], BeforeValidator(_text_or_list)]
WebHook = Annotated[str, Field(pattern=r"^(https?://)?[A-Za-z0-9.-]+(:[0-9]{1,5})?$")]
Recipient = Annotated[str, Field(pattern=r"^[A-Za-z0-9._%+-]*@[a-z0-9.-]+$")]
Weight = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class DomainSection(_Section):
    """[domain]: name, resource model of its hosts, folder for state."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    hardware: Annotated[str, Field(min_length=1)]
    state: FolderPath


class ConnectorSection(_Section):
    """[connector]: which resource manager, and a table of settings for each kind, e.g. [connector.local]."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    __pydantic_extra__: dict[str, dict[str, Any]] = Field(init=False)
    kind: str

    @model_validator(mode="after")
    def _installed(self) -> ConnectorSection:
        for kind in (self.kind, *(self.__pydantic_extra__ or ())):
            if kind not in available_connectors():
                raise ValueError(
                    f"connector {kind!r} is not installed: choose one of {', '.join(available_connectors())}"
                )
        return self

    @property
    def table(self) -> dict[str, Any]:
        """The settings of the kind in force."""
        return dict((self.__pydantic_extra__ or {}).get(self.kind, {}))


class DatabaseSection(_Section):
    """[database]: where tasks survive."""

    url: Annotated[str, Field(min_length=1)]
    keep_days: Annotated[float, Field(ge=0, le=36_600, allow_inf_nan=False)]


class ObjectiveSection(_Section):
    """[objective]: what the search weighs; each term is a pure number of order one before its weight."""

    makespan: Weight
    idle: Weight
    lateness: Weight
    deadlines_first: bool

    @model_validator(mode="after")
    def _something(self) -> ObjectiveSection:
        if self.makespan == self.idle == self.lateness == 0:
            raise ValueError("all three weights are 0, so that every schedule is as good as any: raise one")
        return self


class PlanningSection(_Section):
    """[planning]: how the queue is planned and how much of the machine that may take."""

    policy: Literal["genetic", "fcfs-arbitrary", "fcfs-maximum", "fcfs-calculated"]
    staging: Duration
    margin: Annotated[float, Field(ge=0, lt=1)]
    quantile: Annotated[float, Field(gt=0, lt=1)]
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)]
    share: Annotated[float, Field(gt=0, le=1)]
    nice: Annotated[int, Field(ge=0, le=19)]
    converged: Duration


class DispatchSection(_Section):
    """[dispatch]: what happens between a decision and the manager."""

    grace: Duration
    attempts: Annotated[int, Field(ge=1, le=1000)]
    retry: Duration
    retry_longest: Duration


class ServerSection(_Section):
    """[server]: where the API and the pages listen, and under which names."""

    listen: Annotated[tuple[Address, ...], Field(min_length=1), BeforeValidator(_text_or_list)]
    socket_mode: Annotated[str, Field(pattern=r"^0?6[06][06]$")]
    names: Annotated[tuple[HostName, ...], BeforeValidator(_text_or_list)]
    certificate: OptionalPath
    key: OptionalPath

    @model_validator(mode="after")
    def _both(self) -> ServerSection:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("TLS takes both certificate and key: give both, or neither")
        if self.key is not None:
            _private(self.key, "the key of the certificate")
        return self

    @property
    def addresses(self) -> tuple[ListenAddress, ...]:
        """Where to listen."""
        return tuple(map(parse_listen_address, self.listen))


class AccessSection(_Section):
    """[access]: who may do what, and how often."""

    administrators: Users
    operators: Users
    proxy: Annotated[tuple[str, ...], BeforeValidator(_text_or_list), AfterValidator(_proxies)]
    proxy_header: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,63}$")]
    proxy_secret_file: OptionalPath
    session: PositiveDuration
    longest_token: PositiveDuration
    requests: Annotated[float, Field(gt=0, le=1e6)]
    waiting: Annotated[int, Field(ge=1, le=10**9)]

    @model_validator(mode="after")
    def _whole(self) -> AccessSection:
        if self.proxy_secret_file is not None:
            _private(self.proxy_secret_file, "the file with the proxy's secret")
        elif parse_proxies(self.proxy).posed:
            raise ValueError(
                "every user of this machine could pose as a proxy at its own addresses: name it as "
                "unix:USER, or give proxy_secret_file and have it send X-Proxy-Secret"
            )
        return self


class NotifySection(_Section):
    """[notify]: whom tasks' owners may have told, and how."""

    webhooks: Annotated[tuple[WebHook, ...], BeforeValidator(_text_or_list)]
    secret_file: OptionalPath
    smtp: Annotated[str, Field(pattern=r"^((smtps?|smtp\+starttls)://[A-Za-z0-9.-]+(:[0-9]{1,5})?)?$")]
    sender: Annotated[str, Field(pattern=r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+$")]
    recipients: Annotated[tuple[Recipient, ...], BeforeValidator(_text_or_list)]
    user: str
    password_file: OptionalPath
    patience: PositiveDuration

    @model_validator(mode="after")
    def _whole(self) -> NotifySection:
        if self.webhooks and self.secret_file is None:
            raise ValueError("webhooks are signed: name the file with the secret in secret_file")
        if self.recipients and not self.smtp:
            raise ValueError("recipients are told by mail: name the mail server in smtp")
        for path, what in ((self.secret_file, "the secret file"), (self.password_file, "the password file")):
            if path is not None:
                _private(path, what)
        return self


class FoldersSection(_Section):
    """[applications] and [models]: folders, later ones count where names meet."""

    folders: list[FolderPath]


class AgentSection(_Section):
    """[agent]: neighbouring domains; without `listen` there is no agent."""

    listen: Annotated[str, AfterValidator(_host_and_port)]
    address: Annotated[str, AfterValidator(_host_and_port)]
    key: FolderPath
    certificate: FolderPath
    peers: FolderPath
    applications: Annotated[tuple[str, ...], BeforeValidator(_text_or_list)]
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

    domain: DomainSection
    connector: ConnectorSection
    database: DatabaseSection
    objective: ObjectiveSection
    planning: PlanningSection
    dispatch: DispatchSection
    server: ServerSection
    access: AccessSection
    notify: NotifySection
    agent: AgentSection
    applications: FoldersSection
    models: FoldersSection
