"""The daemon runs one domain's co-scheduler: engine, resource manager, search and API, wired together.

Start at `Daemon.__init__`, which makes every part and names all that it works with.
"""

from __future__ import annotations

import queue
import signal
import threading
from functools import partial
from typing import TYPE_CHECKING, Protocol

import structlog

from cosched.access.lead_tokens import LeadTokens, lead_key
from cosched.agents.broker import Broker
from cosched.agents.transport.tls import CertificateFiles
from cosched.app.administration import AdministrationService
from cosched.app.core_access import CoreClient
from cosched.app.domain_notices import NoticeService
from cosched.app.domain_status import CurrentDomain, DomainIdentity, DomainStatus, TaskCounts
from cosched.app.elastic.service import ElasticService
from cosched.app.event_feed import EventFeed
from cosched.app.history import DomainHistory
from cosched.app.host_loads import HostLoadService
from cosched.app.model_queries import ModelQueries
from cosched.app.neighbours.neighbour_access import NoNeighbours
from cosched.app.notifications.notifier import NotificationSettings, Notifier, late_notices
from cosched.app.notifications.transports import MailServer, NotificationTargets
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
from cosched.connector.registry import load_connector
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.elastic.values import ElasticSettings, LoanExceptions
from cosched.coscheduler.events import SharesChanged
from cosched.coscheduler.progress import progress
from cosched.coscheduler.sharing.shares import with_settings
from cosched.daemon.adoption import Adopter
from cosched.daemon.clock import Clock
from cosched.daemon.config.shown import shown_values
from cosched.daemon.effects import Effects
from cosched.daemon.engine import Engine
from cosched.daemon.health import HealthInspector, daemon_checks
from cosched.daemon.housekeeping import Housekeeping
from cosched.daemon.inbox import Inbox
from cosched.daemon.lead_mail import LeadMail
from cosched.daemon.load_watch import LoadWatch
from cosched.daemon.locks import DaemonLocks
from cosched.daemon.manager.jobs_home import check_jobs_home
from cosched.daemon.manager.resource_manager import ManagerTimes, ResourceManager
from cosched.daemon.neighbours import AgentNetwork, DomainParts, make_agent_network
from cosched.daemon.peer_directory import PeerDirectory
from cosched.daemon.processes.planner import SearchAllowance
from cosched.daemon.processes.predictors import ModelProcesses
from cosched.daemon.processes.search import SearchProcess
from cosched.daemon.progress_watch import ProgressWatch
from cosched.daemon.recorder import Recorder, RecordingFiles
from cosched.daemon.runtime_tuning import raise_file_limit, tune_runtime
from cosched.daemon.site_shares import configured_shares
from cosched.daemon.web.server import web_server
from cosched.errors import SystemFault
from cosched.prediction.catalogue import Catalogue
from cosched.prediction.loads.host_load import Interruption, LoadTrigger
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.policies import find_policy
from cosched.secret_files import read_secret
from cosched.store.domain_notices import DomainNoticeTable
from cosched.store.host_loads import HostLoadTable
from cosched.store.plan_points import PlanPoints
from cosched.store.runs import RunTable
from cosched.store.saved_forms import SavedFormTable
from cosched.store.shares import ShareTable
from cosched.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.daemon.config.loading import ConfigurationValue
    from cosched.daemon.config.sections import Configuration, ElasticSection
    from cosched.daemon.web.server import WebServer

__all__ = ["Daemon", "core_settings", "notification_settings"]

_log = structlog.get_logger("cosched.daemon")

_LOOK = 1.0  # seconds after which a signal that woke no thread is noticed
_NEW_RUNS = 0.5  # seconds after which a run that ended is learnt from
_STUCK = 10.0  # seconds without a sign of the core that are a fault
_MODELS = 2.0  # seconds that evaluations may go on when the daemon ends; answers have five


class _Part(Protocol):
    """A part of the daemon that runs beside the others."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class _WebPart:
    """The web server, with the model processes that its answers wait for."""

    def __init__(self, server: WebServer, *models: ModelProcesses) -> None:
        self._server = server
        self._models = models

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        """Answer open requests; give long evaluations up in time for their clients to be told."""
        hurry = threading.Timer(_MODELS, self._close_models)
        hurry.start()
        self._server.stop()
        hurry.cancel()
        hurry.join()
        self._close_models()

    def _close_models(self) -> None:
        for each in self._models:
            each.close()


class Daemon:
    """Everything that `cosched serve` runs. Jobs outlive it; what it knows is in its database."""

    def __init__(self, configuration: Configuration, values: Sequence[ConfigurationValue] = ()) -> None:
        """Open what the configuration names; nothing runs yet.

        Args:
            configuration: what to run.
            values: the same with its origins, for administrators to see.

        Raises:
            UserError: the configuration cannot be carried out as it is.
            SystemFault: the database, the address or the state folder cannot be had.
        """
        self._configuration = configuration
        self._values = values
        self._locks = DaemonLocks(configuration.domain.state, configuration.database.url)
        self._clock = clock = Clock()
        models = ModelProcesses(configuration.models.folders)
        self._curves = ModelProcesses(configuration.models.folders)  # no submission waits for curves on a page
        notify = notification_settings(configuration)
        self._parts = parts = _domain_parts(configuration, clock, models, notify.targets)
        store, client = parts.store, CoreClient(parts.inbox)
        self._loads = LoadWatch(
            HostLoadTable(store),
            clock.now,
            planned=configuration.load.planned,
            follows=configuration.load.trigger != "off",
            notice=configuration.load.notice,
            shared=configuration.planning.share_hosts,
        )
        self._manager = _resource_manager(configuration, parts.inbox, clock, self._loads)
        check_jobs_home(configuration.domain.state / "jobs-home", self._manager.home, partial(_live_attempts, store))
        self._search = _search_process(configuration, parts, clock)
        self._models = models
        current = CurrentDomain(client)
        directory = _peer_directory(configuration)
        outputs = TaskOutputs(store, self._manager.output, None if directory is None else directory.output)
        self._network = (
            None
            if directory is None
            else make_agent_network(configuration, parts, directory, outputs, current.state, self._manager.check_task)
        )
        recorder = _recorder(configuration, parts.core)
        self._engine = _engine(parts, self._manager, self._search, self._network, recorder)
        self._plans = PlanHistory(parts.core, PlanPoints(store))
        self._progress = ProgressWatch(partial(client.ask, progress))
        self._feed = EventFeed()
        for listener in (current.on_change, self._feed.on_change, self._plans.on_change):
            self._engine.subscribe(listener)
        services = self._services(current, outputs, recorder)
        self._engine.subscribe(services.domain.on_change)
        key = lead_key(configuration.domain.state / "lead-key")
        self._web = web_server(configuration, services, store, clock, key)
        self._adopter = self._new_adopter(client, services)
        notifier = Notifier(store, notify, configuration.domain.name, partial(client.ask, late_notices), clock.now)
        self._running = self._in_order(recorder, notifier, self._lead_mail(services, key))

    def _in_order(self, recorder: Recorder | None, notifier: Notifier, mail: LeadMail | None) -> list[_Part]:
        """Return the parts in the order of their start; they are stopped from the last to the first."""
        parts: list[_Part | None] = [
            recorder,
            self._search,  # reads its machine code meanwhile, and no host is known before the core awaits it
            self._plans,  # writes the rest down when the engine has ended
            self._engine,
            self._loads,  # writes the rest down when nobody looks any more
            self._manager,
            self._adopter,
            _housekeeping(self._configuration, self._parts.store, self._clock, self._network),
            notifier,
            self._progress,
            mail,
            self._network,
            _WebPart(self._web, self._models, self._curves),
        ]
        return [part for part in parts if part is not None]

    def _new_adopter(self, client: CoreClient, services: DomainServices) -> Adopter | None:
        """Return what adopts users' own jobs; None where that is not wanted."""
        section = self._configuration.adopt
        if not section.enabled:
            return None
        locate = partial(self._manager.locate, fence=False)
        memory = self._configuration.domain.state / "adopted-deadlines.json"
        return Adopter(self._manager.adopts(), client, services.submissions, locate, section.lease, memory)

    def _lead_mail(self, services: DomainServices, key: str) -> LeadMail | None:
        """Return what speaks with leads of elastic tasks; None where the connector carries no mail."""
        mail = self._manager.mail
        if not mail.carries_mail:
            return None
        return LeadMail(mail, services.elastic, LeadTokens(key).token, lambda: self._web.addresses[0])

    def _services(self, current: CurrentDomain, outputs: TaskOutputs, recorder: Recorder | None) -> DomainServices:
        """Return what routes and pages can ask of the domain."""
        configuration, parts = self._configuration, self._parts
        store, catalogue, client = parts.store, parts.catalogue, CoreClient(parts.inbox)
        neighbours = NoNeighbours() if self._network is None else self._network.neighbours
        state = partial(submission_state, current, neighbours, carries_mail=self._manager.mail.carries_mail)
        return DomainServices(
            submissions=SubmissionService(
                client,
                store,
                parts.validator,
                state,
                self._manager.check_task,
                waiting=configuration.access.waiting,
                waiting_bytes=configuration.access.waiting_bytes,
            ),
            tasks=TaskService(client, store, outputs, neighbours, EditChecks(parts.validator, state)),
            reservations=ReservationService(client),
            domain=DomainStatus(client, TaskCounts(store, client.now), neighbours, _identity(configuration), self),
            neighbours=neighbours,
            models=ModelQueries(catalogue, self._curves, configuration.models.folders),
            history=DomainHistory(client, store, self._plans),
            feed=self._feed,
            shares=_share_service(configuration, parts),
            notices=NoticeService(DomainNoticeTable(store), client.now),
            forms=FormService(SavedFormTable(store), client.now),
            administration=AdministrationService(shown_values(self._values), self._health().report),
            elastic=ElasticService(client, store),
            recordings=RecordingService(None if recorder is None else recorder.blocks),
            loads=HostLoadService(self._loads, self._clock.now),
        )

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT.

        Raises:
            SystemFault: cosched ended by its own mistake.
        """
        raise_file_limit()
        # A signal handler may put into a SimpleQueue whatever the main thread is doing; an Event it may deadlock on.
        ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._engine.subscribe_failure(partial(ended.put, None))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ended.put(None))
        self.start()
        tune_runtime()
        _await_end(ended)
        self.stop()
        if self._engine.failed is not None:
            raise SystemFault(
                f"cosched made a mistake ({self._engine.failed!r}; its log says where) and ended: "
                "start it again, nothing that was accepted is lost"
            )

    def start(self) -> None:
        """Take up what a former process left, then serve."""
        for part in self._running:
            part.start()
        configuration = self._configuration
        _log.info(
            "serving",
            domain=configuration.domain.name,
            at=self._web.addresses,
            connector=configuration.connector.kind,
            policy=configuration.planning.policy,
        )

    def stop(self) -> None:
        """Answer open requests, write all changes, and end; jobs go on."""
        _log.info("stopping")
        self._feed.close()
        for part in reversed(self._running):
            part.stop()
        self._parts.store.close()
        self._locks.release()

    def _health(self) -> HealthInspector:
        models = (self._models, self._curves)
        checks = daemon_checks(self._configuration, self._parts.inbox, self._manager, self._search, models)
        return HealthInspector(checks, self.faults, self._engine.mistakes, self._clock.now)

    def calls(self) -> Mapping[str, int]:
        """Return how often the resource manager was asked, by verb."""
        return self._manager.calls()

    def silence(self) -> float:
        """Return for how many seconds the core has taken up nothing."""
        return self._parts.inbox.silence()

    def mistakes(self) -> int:
        """Return how many mistakes cosched has made and gone on from."""
        return self._engine.mistakes.count

    def refused_letters(self) -> Mapping[str, int]:
        """Return how many letters were refused since the start, by neighbour."""
        return {} if self._network is None else self._network.refused_letters()

    def faults(self) -> list[str]:
        """Return what does not work, in sentences."""
        faults = []
        if self._manager.fault:
            faults.append(f"resource manager: {self._manager.fault}")
        if self._web.fault:
            faults.append(self._web.fault)
        if self._network is not None:
            faults += self._network.faults()
        if self._parts.inbox.store_fault:
            faults.append(f"database: {self._parts.inbox.store_fault}")
        elif self.silence() > _STUCK:
            faults.append(
                f"core: nothing was handled for {self.silence():.0f} s; what is accepted is kept. If this lasts, save "
                "the log and start cosched again: jobs go on"
            )
        if self._clock.fault:
            faults.append(f"clock: {self._clock.fault}")
        faults += self._progress.faults()
        if self._adopter is not None and self._adopter.fault:
            faults.append(f"adoption: {self._adopter.fault}")
        if mistake := self._engine.mistakes.fault(self._parts.inbox.now()):
            faults.append(f"mistake: {mistake}")
        return faults


def notification_settings(configuration: Configuration) -> NotificationSettings:
    """Return the settings of the notifier, with the secrets that files hold.

    Raises:
        UserError: such a file cannot be read, or everybody can.
    """
    notify = configuration.notify
    password = read_secret(notify.password_file, "the password file")
    return NotificationSettings(
        targets=NotificationTargets(notify.webhooks, notify.recipients),
        secret=read_secret(notify.secret_file, "the secret file"),
        server=MailServer(notify.smtp, notify.user, password) if notify.smtp else None,
        sender=notify.sender,
        patience=notify.patience,
    )


def _domain_parts(
    configuration: Configuration, clock: Clock, models: ModelProcesses, targets: NotificationTargets
) -> DomainParts:
    store, catalogue = Store(configuration.database.url), Catalogue(configuration.applications.folders)
    learning = configuration.prediction
    return DomainParts(
        core=Coscheduler(core_settings(configuration, store.instance)),
        inbox=Inbox(clock),
        store=store,
        catalogue=catalogue,
        predictor=models,
        validator=TaskValidator(
            catalogue,
            models,
            configuration.domain.hardware,
            configuration.connector.kind,
            targets,
            RunHistory(RunTable(store), _NEW_RUNS, learning.explore, models.learnt) if learning.history else None,
            models,
        ),
    )


def _share_service(configuration: Configuration, parts: DomainParts) -> ShareService:
    """Return the service of shares; the core hears of them with its first event."""
    table, configured = ShareTable(parts.store), configured_shares(configuration.shares)
    if configured is not None:
        parts.inbox.post(SharesChanged(parts.inbox.now(), with_settings(configured, table.settings())))
    return ShareService(CoreClient(parts.inbox), table, configured)


def _resource_manager(configuration: Configuration, inbox: Inbox, clock: Clock, loads: LoadWatch) -> ResourceManager:
    connector = load_connector(configuration.connector.kind, configuration.connector.table)
    submitted = partial(CoreClient(inbox).ask, _submitted_attempts)
    times = ManagerTimes(configuration.dispatch.grace)
    named = configuration.domain.named_hardware
    return ResourceManager(connector, inbox.post, clock, submitted, times, loads.look, hardware=named)


def _live_attempts(store: Store) -> int:
    return sum(attempt.state.live for attempt in store.load()[1])


def _submitted_attempts(core: Coscheduler, _time: float) -> list[str]:
    return [each.uuid for each in core.attempts.values() if each.state is not AttemptState.SUBMITTING]


def _search_process(configuration: Configuration, parts: DomainParts, clock: Clock) -> SearchProcess | None:
    """Return the process that improves the plan; None under a policy that does not search."""
    planning = configuration.planning
    if not find_policy(planning.policy).searched:
        return None
    allowance = SearchAllowance(planning.nice, planning.share, planning.converged, planning.exact)
    return SearchProcess(parts.inbox.post, clock, parts.core.settings.weights, planning.seed, allowance)


def _recorder(configuration: Configuration, core: Coscheduler) -> Recorder | None:
    section = configuration.recorder
    return Recorder(core, RecordingFiles(section.folder, section.size, section.files)) if section.files else None


def _engine(
    parts: DomainParts,
    manager: ResourceManager,
    search: SearchProcess | None,
    network: AgentNetwork | None,
    recorder: Recorder | None,
) -> Engine:
    broker = Broker(
        parts.core, None if network is None else network.agent, None if recorder is None else recorder.handled
    )
    effects = Effects(manager, search, None if network is None else network.send)
    return Engine(broker, parts.store, parts.inbox, effects)


def _housekeeping(
    configuration: Configuration, store: Store, clock: Clock, network: AgentNetwork | None
) -> Housekeeping:
    runs = RunTable(store)
    sweeps: list[Callable[[], object]] = [lambda: runs.forget_before(clock.now() - configuration.prediction.keep_runs)]
    if network is not None:
        sweeps.append(partial(network.prune_models, configuration.agent.keep_models))
    return Housekeeping(store, configuration.database.keep_days, clock.now, sweeps)


def _identity(configuration: Configuration) -> DomainIdentity:
    return DomainIdentity(configuration.domain.name, configuration.connector.kind, configuration.planning.policy)


def _await_end(ended: queue.SimpleQueue[None]) -> None:
    """Wait for an item, in turns.

    A signal just before an endless wait would wake no thread.
    """
    while True:
        try:
            ended.get(timeout=_LOOK)
        except queue.Empty:
            continue
        return


def core_settings(configuration: Configuration, instance: str) -> CoreSettings:
    """Return the settings of the core of a database's instance."""
    objective, dispatch, planning = configuration.objective, configuration.dispatch, configuration.planning
    return CoreSettings(
        instance=instance,
        policy=planning.policy,
        weights=Weights(
            objective.makespan, objective.idle, objective.lateness, objective.deadlines_first, objective.slowdown
        ),
        staging=planning.staging,
        search_start=planning.search_start,
        margin=planning.margin,
        quantile=planning.quantile,
        attempts=dispatch.attempts,
        start_grace=dispatch.start_grace,
        retry=dispatch.retry,
        retry_longest=dispatch.retry_longest,
        seed=planning.seed,
        share_hosts=planning.share_hosts,
        elastic=_elastic_settings(configuration.elastic),
        licences=configuration.licences,
        interruption=Interruption(configuration.load.interruption),
        trigger=LoadTrigger(configuration.load.trigger),
        contention=planning.contention,
    )


def _elastic_settings(section: ElasticSection) -> ElasticSettings:
    applications, users = (
        {name: LoanExceptions(**each.model_dump()) for name, each in table.items()}
        for table in (section.applications, section.users)
    )
    values = section.model_dump(exclude={"applications", "users"})
    return ElasticSettings(**values, applications=applications, users=users)


def _peer_directory(configuration: Configuration) -> PeerDirectory | None:
    section = configuration.agent
    if not section.listen:
        return None
    return PeerDirectory(section.peers, configuration.domain.name, CertificateFiles(section.certificate, section.key))
