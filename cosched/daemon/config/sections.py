"""Every key of the configuration, with type, bounds and default.

`etc/cosched.toml` explains the keys to people.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticKnownError

from cosched import resources
from cosched.access.proxies import parse_proxies
from cosched.addresses import ListenAddress, is_loopback_host, parse_listen_address
from cosched.connector.registry import available_connectors
from cosched.durations import parse_duration
from cosched.errors import UserError
from cosched.licence_requests import MOST_LICENCES, checked_licence
from cosched.paths import database_file
from cosched.prediction.contention import LARGEST_SLOWDOWN
from cosched.secret_files import check_private
from cosched.user_names import checked_user_name

__all__ = [
    "STATE",
    "AccessSection",
    "AdoptSection",
    "AgentSection",
    "ApplicationsSection",
    "Configuration",
    "ConnectorSection",
    "DatabaseSection",
    "DispatchSection",
    "DomainSection",
    "ElasticSection",
    "ModelsSection",
    "NotifySection",
    "ObjectiveSection",
    "PlanningSection",
    "PredictionSection",
    "RecorderSection",
    "ServerSection",
    "SharesSection",
]

STATE = "{state}"
"""Stands for the folder [domain] state in defaults; loading writes the folder, by default the user's state folder."""

_Slowdown = Annotated[float, Field(ge=0, le=LARGEST_SLOWDOWN, allow_inf_nan=False)]
_DEFAULT_POLICY = "genetic"
_LAST_PORT = 65535
_HOUR = 3600.0
_DAY = 24 * _HOUR


def _duration(value: Any) -> float:
    try:
        return parse_duration(value)
    except UserError as error:
        raise ValueError(str(error)) from error


def _database_url(value: str) -> str:
    try:
        database_file(value)
    except UserError as error:
        raise ValueError(str(error)) from error
    return value


def _folder(value: Any) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"{value!r} is not a path: write it as a string")
    try:
        return Path(value).expanduser()
    except RuntimeError as error:
        raise ValueError(
            f"{value!r} is in the home folder of a user that there is not: write the path itself"
        ) from error


def _policy(name: str) -> str:
    """Check that the registry has such a policy for domains."""
    if name == _DEFAULT_POLICY:
        return name  # known without the registry, which loads numpy: clients read configurations, too
    from cosched.scheduling.policies import DOMAIN_POLICIES

    if name not in DOMAIN_POLICIES:
        *others, last = map(repr, DOMAIN_POLICIES)
        raise PydanticKnownError("literal_error", {"expected": f"{', '.join(others)} or {last}"})
    return name


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
    if value and int(value.rpartition(":")[2]) > _LAST_PORT:
        raise ValueError(f"{value!r} has a port above {_LAST_PORT}: there is none")
    return value


def _text_or_list(value: Any) -> Any:
    """Take one text for a list of it."""
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


def _optional(value: Any) -> Path | None:
    return None if value in ("", None) else _folder(value)


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


def _licence(name: str) -> str:
    try:
        return checked_licence(name)
    except UserError as error:
        raise ValueError(str(error)) from error


LicenceName = Annotated[str, AfterValidator(_licence)]
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

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] = "local"
    hardware: Annotated[str, Field(min_length=1)] = "sgi_origin2000"
    state: FolderPath = Path(STATE)

    @property
    def named_hardware(self) -> str:
        """Return the hardware that the administrator named; empty where it is the default, which hosts hardly are."""
        return self.hardware if self.hardware != type(self).model_fields["hardware"].default else ""


class ConnectorSection(_Section):
    """[connector]: which resource manager, and a table of settings for each kind, e.g. [connector.local]."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    __pydantic_extra__: dict[str, dict[str, Any]] = Field(init=False)
    kind: str = "local"
    local: dict[str, Any] = Field(default_factory=lambda: {"hosts": 16, "spool": f"{STATE}/local"})

    @model_validator(mode="after")
    def _check_installed(self) -> ConnectorSection:
        for kind in (self.kind, *(self.__pydantic_extra__ or ())):
            if kind not in available_connectors():
                raise ValueError(
                    f"connector {kind!r} is not installed: choose one of {', '.join(available_connectors())}"
                )
        return self

    @property
    def table(self) -> dict[str, Any]:
        """The settings of the kind in force."""
        tables = {"local": self.local, **(self.__pydantic_extra__ or {})}
        return dict(tables.get(self.kind, {}))


class DatabaseSection(_Section):
    """[database]: URL of the database, and how long ended tasks are kept.

    Without `keep_days`, the choice made with the database holds.
    """

    url: Annotated[str, AfterValidator(_database_url)] = f"sqlite:///{STATE}/cosched.db"
    keep_days: Annotated[float, Field(ge=0, le=36_600, allow_inf_nan=False)] | None = None


class AdoptSection(_Section):
    """[adopt]: jobs that users submit to the resource manager themselves become tasks."""

    enabled: bool = False
    lease: Annotated[PositiveDuration, Field(ge=15.0)] = 300.0


class RecorderSection(_Section):
    """[recorder]: folder, size and number of the recordings of the core's last events.

    Each file replays alone.
    """

    folder: FolderPath = Path(f"{STATE}/recording")
    size: Annotated[int, Field(ge=10_000, le=10**10)] = 8_000_000
    files: Annotated[int, Field(ge=0, le=1000)] = 4


class ObjectiveSection(_Section):
    """[objective]: weights of the terms that the search minimises.

    Each term is a pure number of order one before it is weighted.
    """

    makespan: Weight = 1.0
    idle: Weight = 0.2
    lateness: Weight = 5.0
    slowdown: Weight = 0.0
    deadlines_first: bool = False

    @model_validator(mode="after")
    def _check_weights(self) -> ObjectiveSection:
        if self.makespan == self.idle == self.lateness == self.slowdown == 0:
            raise ValueError("all four weights are 0, so that every schedule is as good as any: raise one")
        return self


class PlanningSection(_Section):
    """[planning]: how the queue is planned and how much of the machine that may take."""

    policy: Annotated[str, AfterValidator(_policy)] = _DEFAULT_POLICY
    share_hosts: bool = False
    contention: dict[str, _Slowdown] = Field(default_factory=dict)
    staging: Duration = 1.0
    search_start: Duration = 10.0
    margin: Annotated[float, Field(ge=0, lt=1)] = 0.05
    quantile: Annotated[float, Field(gt=0, lt=1)] = 0.5
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 0
    share: Annotated[float, Field(gt=0, le=1)] = 0.5
    nice: Annotated[int, Field(ge=0, le=19)] = 10
    converged: Duration = 3.0
    exact: Duration = 30.0

    @model_validator(mode="after")
    def _check_sharing(self) -> PlanningSection:
        if self.share_hosts and self.policy != _DEFAULT_POLICY:  # the only one of a domain that packs
            raise ValueError(
                f'share_hosts = true needs policy = "{_DEFAULT_POLICY}": "{self.policy}" gives tasks whole hosts'
            )
        return self


class LoanExceptionsSection(_Section):
    """[elastic.applications.NAME] and [elastic.users.NAME]: other terms; what is left out is as for all."""

    lending: bool | None = None
    payback: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] | None = None
    settle: Duration | None = None
    grace: Duration | None = None


class ElasticSection(_Section):
    """[elastic]: how idle hosts are lent to tasks that may change theirs while they run."""

    lending: bool = True
    payback: Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)] = 2.0
    settle: Duration = 10.0
    grace: Duration = 30.0
    longest_grace: Duration = 600.0
    link_limit: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.25
    applications: dict[str, LoanExceptionsSection] = Field(default_factory=dict)
    users: dict[Annotated[str, AfterValidator(_user)], LoanExceptionsSection] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_grace(self) -> ElasticSection:
        tables = (("applications", self.applications), ("users", self.users))
        others = {f"{kind}.{name}.grace": each.grace for kind, table in tables for name, each in table.items()}
        for name, grace in {"grace": self.grace, **others}.items():
            if grace is not None and grace > self.longest_grace:
                raise ValueError(f"{name} is longer than longest_grace: lower the one, or raise the other")
        return self


class LoadSection(_Section):
    """[load]: whether plans reckon with hosts whose owners come back, what these do to tasks, and what follows."""

    planned: bool = True
    interruption: Literal["suspend", "evict"] = "suspend"
    trigger: Literal["act", "advise", "off"] = "act"
    notice: PositiveDuration = 600.0


class DispatchSection(_Section):
    """[dispatch]: tries and pauses between a decision and the manager."""

    grace: Duration = 30.0
    attempts: Annotated[int, Field(ge=1, le=1000)] = 5
    start_grace: PositiveDuration = 60.0
    retry: Duration = 1.0
    retry_longest: Duration = 60.0


class ServerSection(_Section):
    """[server]: where the API and the pages listen, and under which names."""

    listen: Annotated[tuple[Address, ...], Field(min_length=1), BeforeValidator(_text_or_list)] = (
        f"unix:{STATE}/cosched.sock",
        "127.0.0.1:0",
    )
    socket_mode: Annotated[str, Field(pattern=r"^0?6[06][06]$")] = "0600"
    names: Annotated[tuple[HostName, ...], BeforeValidator(_text_or_list)] = ()
    certificate: OptionalPath = None
    key: OptionalPath = None

    @model_validator(mode="after")
    def _check_certificate(self) -> ServerSection:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("TLS takes both certificate and key: give both, or neither")
        if self.key is not None:
            _private(self.key, "the key of the certificate")
        return self

    @property
    def addresses(self) -> tuple[ListenAddress, ...]:
        """The addresses to listen on."""
        return tuple(map(parse_listen_address, self.listen))


class AccessSection(_Section):
    """[access]: who may do what, and how often."""

    administrators: Users = ()
    operators: Users = ()
    proxy: Annotated[tuple[str, ...], BeforeValidator(_text_or_list), AfterValidator(_proxies)] = ()
    proxy_header: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,63}$")] = "X-Remote-User"
    proxy_secret_file: OptionalPath = None
    session: PositiveDuration = 12 * _HOUR
    longest_token: PositiveDuration = 366 * _DAY
    requests: Annotated[float, Field(gt=0, le=1e6)] = 100.0
    waiting: Annotated[int, Field(ge=1, le=10**9)] = 10_000
    waiting_bytes: Annotated[int, Field(ge=1 << 20, le=10**12)] = 256_000_000

    @model_validator(mode="after")
    def _check_proxies(self) -> AccessSection:
        if self.proxy_secret_file is not None:
            _private(self.proxy_secret_file, "the file with the proxy's secret")
        elif parse_proxies(self.proxy).forgeable:
            raise ValueError(
                "every user of this machine could pose as a proxy at its own addresses: name it as "
                "unix:USER, or give proxy_secret_file and have it send X-Proxy-Secret"
            )
        return self


class NotifySection(_Section):
    """[notify]: receivers of notices that users may name, and how notices are sent."""

    webhooks: Annotated[tuple[WebHook, ...], BeforeValidator(_text_or_list)] = ()
    secret_file: OptionalPath = None
    smtp: Annotated[str, Field(pattern=r"^((smtps?|smtp\+starttls)://[A-Za-z0-9.-]+(:[0-9]{1,5})?)?$")] = ""
    sender: Annotated[str, Field(pattern=r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+$")] = "cosched@localhost"
    recipients: Annotated[tuple[Recipient, ...], BeforeValidator(_text_or_list)] = ()
    user: str = ""
    password_file: OptionalPath = None
    patience: PositiveDuration = _DAY

    @model_validator(mode="after")
    def _check_receivers(self) -> NotifySection:
        if self.webhooks and self.secret_file is None:
            raise ValueError("webhooks are signed: name the file with the secret in secret_file")
        server = urlsplit(self.smtp)
        if int(server.netloc.partition(":")[2] or 0) > _LAST_PORT:
            raise ValueError(f"smtp has a port above {_LAST_PORT}: there is none")
        if self.password_file is not None and server.scheme == "smtp" and not is_loopback_host(server.hostname or ""):
            raise ValueError("the password could be read on its way: write smtps:// or smtp+starttls:// in smtp")
        if self.recipients and not self.smtp:
            raise ValueError("recipients are told by mail: name the mail server in smtp")
        for path, what in ((self.secret_file, "the secret file"), (self.password_file, "the password file")):
            if path is not None:
                _private(path, what)
        return self


class UserShareSection(_Section):
    """[shares.users.NAME]: what one user is entitled to."""

    weight: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] = 1.0
    budget: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    hosts: Annotated[int, Field(ge=0)] | None = None
    waiting: Annotated[int, Field(ge=0)] | None = None


class GroupShareSection(UserShareSection):
    """[shares.groups.NAME]: the same for a group; without `users` the Unix group of that name."""

    users: Users | None = None


class SharesSection(_Section):
    """[shares]: how the domain is divided between groups and users."""

    enabled: bool = False
    half_life: PositiveDuration = 7 * _DAY
    window: PositiveDuration = _DAY
    budget: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    hosts: Annotated[int, Field(ge=0)] | None = None
    waiting: Annotated[int, Field(ge=0)] | None = None
    groups: dict[Annotated[str, AfterValidator(_user)], GroupShareSection] = Field(default_factory=dict)
    users: dict[Annotated[str, AfterValidator(_user)], UserShareSection] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_groups(self) -> SharesSection:
        seen: dict[str, str] = {}
        for group, table in self.groups.items():
            for user in table.users or ():
                if user in seen:
                    raise ValueError(f"user {user!r} stands in groups {seen[user]!r} and {group!r}: leave one out")
                seen[user] = group
        return self


class ApplicationsSection(_Section):
    """[applications]: folders of the catalogue; a later folder's entry replaces one of the same name."""

    folders: list[FolderPath] = Field(default_factory=lambda: [resources.etc() / "applications.d"])


def _with_library(folders: list[Path]) -> list[Path]:
    """Add cosched's own library, whose templates derived models name."""
    library = resources.models()
    return folders if library in folders else [*folders, library]


class ModelsSection(_Section):
    """[models]: folders with PSL and HMCL models; the first that has a model counts, cosched's own library last."""

    folders: Annotated[list[FolderPath], AfterValidator(_with_library)] = Field(
        default_factory=lambda: [resources.models()]
    )


class PredictionSection(_Section):
    """[prediction]: whether runs foretell those like them, and for how long they are kept."""

    history: bool = True
    explore: Annotated[float, Field(ge=0, le=1)] = 0.05
    keep_runs: PositiveDuration = 400 * _DAY


class AgentSection(_Section):
    """[agent]: neighbouring domains; without `listen` there is no agent."""

    listen: Annotated[str, AfterValidator(_host_and_port)] = ""
    address: Annotated[str, AfterValidator(_host_and_port)] = ""
    key: FolderPath = Path(STATE, "agent.key")
    certificate: FolderPath = Path(STATE, "agent.crt")
    peers: FolderPath = Path(STATE, "peers.d")
    applications: Annotated[tuple[str, ...], BeforeValidator(_text_or_list)] = ()
    commands: bool = False
    hops: Annotated[int, Field(ge=1, le=64)] = 4
    fanout: Annotated[int, Field(ge=1, le=64)] = 3
    scope: Annotated[int, Field(ge=0, le=64)] = 1
    sooner: Annotated[float, Field(gt=0, le=1)] = 1.0
    admit_late: bool = True
    push: bool = True
    period: PositiveDuration = 10.0
    patience: PositiveDuration = 10.0
    lease: PositiveDuration = 60.0
    keep_models: PositiveDuration = 30 * _DAY
    adviser: Literal["off", "advise", "adopt"] = "advise"
    advise_every: PositiveDuration = 1800.0
    advise_shortest: PositiveDuration = 2.0
    advise_longest: PositiveDuration = 120.0
    advise_scope: Annotated[int, Field(ge=0, le=64)] = 3
    advise_lifetime: PositiveDuration = 600.0

    @model_validator(mode="after")
    def _check_advice_bounds(self) -> AgentSection:
        if self.advise_shortest > self.advise_longest:
            raise ValueError("advise_shortest is longer than advise_longest: exchange them")
        if self.advise_lifetime < self.advise_longest:
            raise ValueError("advise_lifetime is shorter than advise_longest: give it the longer time")
        return self

    @property
    def host_and_port(self) -> tuple[str, int]:
        """The host and port that the agent listens on."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


class Configuration(_Section):
    """The whole configuration of one daemon. Durations are seconds."""

    domain: DomainSection = Field(default_factory=DomainSection)
    connector: ConnectorSection = Field(default_factory=ConnectorSection)
    database: DatabaseSection = Field(default_factory=DatabaseSection)
    objective: ObjectiveSection = Field(default_factory=ObjectiveSection)
    planning: PlanningSection = Field(default_factory=PlanningSection)
    elastic: ElasticSection = Field(default_factory=ElasticSection)
    load: LoadSection = Field(default_factory=LoadSection)
    dispatch: DispatchSection = Field(default_factory=DispatchSection)
    adopt: AdoptSection = Field(default_factory=AdoptSection)
    server: ServerSection = Field(default_factory=ServerSection)
    access: AccessSection = Field(default_factory=AccessSection)
    shares: SharesSection = Field(default_factory=SharesSection)
    licences: dict[LicenceName, Annotated[int, Field(ge=0, le=MOST_LICENCES)]] = Field(default_factory=dict)
    notify: NotifySection = Field(default_factory=NotifySection)
    agent: AgentSection = Field(default_factory=AgentSection)
    applications: ApplicationsSection = Field(default_factory=ApplicationsSection)
    models: ModelsSection = Field(default_factory=ModelsSection)
    prediction: PredictionSection = Field(default_factory=PredictionSection)
    recorder: RecorderSection = Field(default_factory=RecorderSection)

    @model_validator(mode="after")
    def _check_licences(self) -> Configuration:
        if self.licences and self.planning.policy != _DEFAULT_POLICY:
            raise ValueError(
                f'[licences] need [planning] policy = "{_DEFAULT_POLICY}": "{self.planning.policy}" plans hosts alone'
            )
        return self
