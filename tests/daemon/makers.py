"""A daemon without a resource manager: store, core, engine and services are real, what the core decides is recorded."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from cosched import resources
from cosched.access.authentication import AccessSettings, Authenticator
from cosched.addresses import ListenAddress
from cosched.agents.broker import Broker
from cosched.api.documents import ConfigurationEntry
from cosched.app.administration import AdministrationService
from cosched.app.core_access import CoreClient
from cosched.app.domain_notices import NoticeService
from cosched.app.domain_status import CurrentDomain, DomainIdentity, DomainStatus, TaskCounts
from cosched.app.elastic.service import ElasticService
from cosched.app.event_feed import EventFeed
from cosched.app.history import DomainHistory
from cosched.app.model_queries import ModelQueries
from cosched.app.neighbours.neighbour_access import NoNeighbours
from cosched.app.outputs import TaskOutputs
from cosched.app.plan_history import PlanHistory
from cosched.app.recordings import RecordingService
from cosched.app.reservations import ReservationService
from cosched.app.services import DomainServices
from cosched.app.share_service import ShareService
from cosched.app.submission.run_history import RunHistory
from cosched.app.submission.saved_forms import FormService
from cosched.app.submission.submissions import SubmissionService, submission_state
from cosched.app.submission.validation import TaskValidator
from cosched.app.task_service import EditChecks, TaskService
from cosched.connector.hosts import Host
from cosched.connector.jobs import Output
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import HostsObserved, SharesChanged
from cosched.daemon.clock import Clock
from cosched.daemon.effects import Effects
from cosched.daemon.engine import Engine
from cosched.daemon.health import HealthInspector
from cosched.daemon.inbox import Inbox
from cosched.daemon.recorder import Recorder, RecordingFiles
from cosched.daemon.web.server import WebServer
from cosched.daemon.web.sockets import open_socket
from cosched.errors import UserError
from cosched.portal.application import build_application
from cosched.prediction.catalogue import Catalogue
from cosched.prediction.model_predictor import ModelPredictor
from cosched.prediction.profile import PredictionSource, Profile
from cosched.scheduling.tunable.modelled import library_chains
from cosched.store import Store
from cosched.store.credentials import Credentials
from cosched.store.domain_notices import DomainNoticeTable
from cosched.store.plan_points import PlanPoints
from cosched.store.runs import RunTable
from cosched.store.saved_forms import SavedFormTable
from cosched.store.shares import ShareTable
from tests.store.new_database import new_database

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from cosched.app.host_loads import HostLoadService
    from cosched.connector.jobs import LaunchMode
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.sharing.shares import Shares
    from cosched.coscheduler.task import Task
    from cosched.prediction.catalogue import CatalogueEntry, ParameterValue
    from cosched.scheduling.tunable.tasks import Chain

HALVING = """
model = "halving"
command = ["/opt/halving", "--work={work}"]
hosts = { min = 1, max = 8 }
[parameters.work]
default = 80.0
min = 1
max = 1e6
"""
PLAIN = 'command = ["/bin/true"]\n'
BROKEN = 'model = "broken"\ncommand = ["/bin/true"]\n'


class Halving:
    """Predicts work / n on n hosts, twice that on the class "slow"; the model "broken" is at fault."""

    def profile(
        self,
        application: CatalogueEntry,
        values: Mapping[str, ParameterValue],
        hardware: str,
        hosts: int,
        ranks: int = 0,
    ) -> Profile:
        if application.model == "broken":
            raise UserError("models/broken.psl:3:7: 'Nprok' is not declared: did you mean Nproc?")
        factor = 2.0 if hardware == "slow" else 1.0
        work = float(values["work"]) * factor
        return Profile(tuple(work / count for count in range(1, hosts + 1)), PredictionSource.MODEL, hardware)

    def text_profile(
        self, text: str, values: Mapping[str, float], hardware: str, hosts: int, ranks: int = 0
    ) -> Profile:
        if text != "a model":
            raise UserError("your model:1:1: a model is wanted")
        return Profile(tuple(values["work"] / count for count in range(1, hosts + 1)), PredictionSource.MODEL, hardware)


class StillClock(Clock):
    """A clock that stands: all that a test asks for is asked for in one moment, on the busiest machine too."""

    def __init__(self) -> None:
        super().__init__()
        self._moment = super().now()

    def now(self) -> float:
        return self._moment


@dataclass
class RecordingManager:
    """Takes the core's decisions and does nothing."""

    submitted: list[tuple[Attempt, Task]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    retracted: list[str] = field(default_factory=list)
    written: dict[tuple[str, str, int], bytes] = field(default_factory=dict)

    def submit(self, leaving: Iterable[tuple[Attempt, Task]]) -> None:
        self.submitted += leaving

    def cancel(self, uuid: str, adopted: str = "") -> None:
        (self.retracted if adopted else self.cancelled).append(uuid)

    def diagnose(self, uuid: str) -> None:
        """Say nothing of why it has not begun."""

    def output(self, uuid: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        written = self.written.get((uuid, stream, rank))
        if written is None:
            return None
        first = max(len(written) + offset, 0) if offset < 0 else offset
        return Output(written[first : first + limit], first, len(written))

    def locate(self, uuid: str, *, fence: bool) -> None:
        raise AssertionError(f"nothing here is restored, and {uuid} is asked for")


@dataclass
class Daemon:
    """What a test needs to reach."""

    services: DomainServices
    engine: Engine
    inbox: Inbox
    store: Store
    manager: RecordingManager
    clock: Clock
    faults: list[str]


def access_to(store: Store, settings: AccessSettings | None = None) -> Authenticator:
    return Authenticator(Credentials(store), settings or AccessSettings(), time.time)


def catalogue(folder: Path) -> Catalogue:
    folder.mkdir(exist_ok=True)
    for name, text in (("halving", HALVING), ("plain", PLAIN), ("broken", BROKEN)):
        (folder / f"{name}.toml").write_text(text)
    return Catalogue([folder])


class LibraryChains:
    """Finds the ways through tunable applications of the package's library, or of a file."""

    def chains(
        self, model: str, values: Mapping[str, float], hardware: str, hosts: int, stages: Collection[str] = ()
    ) -> tuple[Chain, ...]:
        return library_chains(model, [resources.models()], hardware, values, hosts, stages)


CONFIGURED = (
    ConfigurationEntry(key="domain.name", value='"here"', origin="default"),
    ConfigurationEntry(key="planning.seed", value="7", origin="/etc/cosched/cosched.toml"),
    ConfigurationEntry(key="connector.own.password", value="", origin="environment", secret=True),
)


@dataclass
class Health:
    """What a daemon without a resource manager says of itself."""

    inbox: Inbox
    broken: list[str] = field(default_factory=list)

    def silence(self) -> float:
        return self.inbox.silence()

    def faults(self) -> list[str]:
        return self.broken

    def calls(self) -> dict[str, int]:
        return {}

    def mistakes(self) -> int:
        return 0

    def refused_letters(self) -> dict[str, int]:
        return {}


def engine_of(
    core: Coscheduler, store: Store, inbox: Inbox, effects: Effects, recorder: Recorder | None = None
) -> Engine:
    """Return the engine of a domain without neighbours."""
    broker = Broker(core, record=None if recorder is None else recorder.handled)
    return Engine(broker, store, inbox, effects, retry=0.02)


def services_of(
    engine: Engine,
    inbox: Inbox,
    core: Coscheduler,
    store: Store,
    folder: Path,
    *,
    outputs: TaskOutputs,
    health: Health,
    waiting: int,
    waiting_bytes: int,
    patience: float,
    check_task: Callable[[str, LaunchMode], None],
) -> DomainServices:
    """Return the services of a domain without neighbours; the models are those of the package."""
    client, neighbours, applications = CoreClient(inbox, patience), NoNeighbours(), catalogue(folder / "applications.d")
    current, plans, feed = CurrentDomain(client), PlanHistory(core, PlanPoints(store)), EventFeed()
    for listener in (current.on_change, feed.on_change, plans.on_change):
        engine.subscribe(listener)
    identity = DomainIdentity("here", "none", "genetic")
    validator = TaskValidator(
        applications, Halving(), "fast", history=RunHistory(RunTable(store)), chains=LibraryChains()
    )
    models = [resources.models()]
    state = partial(submission_state, current, neighbours)
    services = DomainServices(
        submissions=SubmissionService(
            client,
            store,
            validator,
            state,
            check_task,
            waiting=waiting,
            waiting_bytes=waiting_bytes,
        ),
        tasks=TaskService(client, store, outputs, neighbours, EditChecks(validator, state)),
        reservations=ReservationService(client),
        domain=DomainStatus(client, TaskCounts(store, client.now), neighbours, identity, health),
        neighbours=neighbours,
        models=ModelQueries(applications, ModelPredictor(models), models, longest=1e6),  # however busy the machine is
        history=DomainHistory(client, store, plans),
        feed=feed,
        shares=ShareService(client, ShareTable(store), None),
        notices=NoticeService(DomainNoticeTable(store), client.now),
        forms=FormService(SavedFormTable(store), client.now),
        elastic=ElasticService(client, store),
        administration=AdministrationService(
            CONFIGURED, HealthInspector((), health.faults, engine.mistakes, client.now).report
        ),
    )
    engine.subscribe(services.domain.on_change)
    return services


@contextmanager
def daemon(
    tmp_path: Path,
    hosts: int = 16,
    staging: float = 1000.0,
    waiting: int = 10**6,
    waiting_bytes: int = 10**9,
    patience: float = 60.0,
    clock: Clock | None = None,
    check_task: Callable[[str, LaunchMode], None] = lambda _owner, _launch: None,
) -> Iterator[Daemon]:
    """Run one; with so long a staging no task leaves by itself."""
    store = Store(new_database(tmp_path))
    clock = clock or Clock()
    core = Coscheduler(CoreSettings(store.instance, staging=staging))
    inbox = Inbox(clock)
    manager = RecordingManager()
    recorder = Recorder(core, RecordingFiles(tmp_path / "recording", 10**6, 2))
    engine = engine_of(core, store, inbox, Effects(cast("Any", manager)), recorder)
    health, outputs = Health(inbox), TaskOutputs(store, manager.output)
    services = services_of(
        engine,
        inbox,
        core,
        store,
        tmp_path,
        outputs=outputs,
        health=health,
        waiting=waiting,
        waiting_bytes=waiting_bytes,
        patience=patience,
        check_task=check_task,
    )
    services = replace(services, recordings=RecordingService(recorder.blocks))
    recorder.start()
    engine.start()
    if hosts:
        names = tuple(Host(f"h{number:02}") for number in range(1, hosts + 1))
        inbox.apply(HostsObserved(clock.now(), names)).result(60)
    try:
        yield Daemon(services, engine, inbox, store, manager, clock, health.broken)
    finally:
        engine.stop()
        recorder.stop()
        store.close()
        assert engine not in threading.enumerate()


@contextmanager
def serving(
    tmp_path: Path,
    hosts: int = 16,
    staging: float = 1000.0,
    shares: Shares | None = None,
    loads: HostLoadService | None = None,
) -> Iterator[tuple[Daemon, str]]:
    """Run one with its API on a socket; gives it and its address."""
    with daemon(tmp_path, hosts, staging) as running:
        if loads is not None:
            running.services = replace(running.services, loads=loads)
        if shares is not None:
            running.inbox.apply(SharesChanged(running.clock.now(), shares)).result(60)
            service = ShareService(CoreClient(running.inbox), ShareTable(running.store), shares)
            running.services = replace(running.services, shares=service)
        listen = ListenAddress(path=str(tmp_path / "cosched.sock"))
        app = build_application(running.services, access_to(running.store))
        server = WebServer(app, [open_socket(listen)])
        server.start()
        try:
            yield running, f"unix:{listen.path}"
        finally:
            server.stop()
