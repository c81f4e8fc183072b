"""The daemon runs one domain's co-scheduler: resource manager, search and API, wired together.

Start at `Daemon.__init__`: what is made of which part of the configuration.
"""

from __future__ import annotations

import fcntl
import gc
import os
import queue
import signal
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Protocol

import structlog

from cosched.agents.transport.tls import CertificateFiles
from cosched.app.core_access import CoreClient
from cosched.app.domain_status import CurrentDomain, DomainIdentity, DomainStatus
from cosched.app.event_feed import EventFeed
from cosched.app.model_queries import ModelQueries
from cosched.app.neighbour_access import NoNeighbours
from cosched.app.notifier import NotificationSettings, Notifier, late_notices
from cosched.app.outputs import TaskOutputs
from cosched.app.plan_history import PlanHistory
from cosched.app.queries import DomainQueries
from cosched.app.reservations import ReservationService
from cosched.app.services import DomainServices
from cosched.app.submissions import SubmissionService
from cosched.app.task_service import TaskService
from cosched.app.transports import MailServer, NotificationTargets
from cosched.app.validation import TaskValidator
from cosched.connector.registry import load_connector
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.task import AttemptState
from cosched.daemon.clock import Clock
from cosched.daemon.engine import Engine
from cosched.daemon.housekeeping import Housekeeping
from cosched.daemon.manager import ResourceManager
from cosched.daemon.neighbours import AgentNetwork, DomainParts, make_agent_network
from cosched.daemon.peer_directory import PeerDirectory
from cosched.daemon.planner import SearchAllowance
from cosched.daemon.predictors import ModelProcesses
from cosched.daemon.search import SearchProcess
from cosched.daemon.server import web_server
from cosched.errors import SystemFault
from cosched.prediction.catalogue import Catalogue
from cosched.scheduling.objective.weights import Weights
from cosched.secret_files import read_secret
from cosched.store.plan_points import PlanPoints
from cosched.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cosched.daemon.config.sections import Configuration
    from cosched.daemon.server import WebServer
    from cosched.store.rows import Notice

__all__ = ["Daemon", "notification_settings", "tune_runtime"]

# ── How the daemon uses the interpreter: many threads answer, and none of them may keep the others waiting for long.


# Seconds for which a thread that computes keeps the interpreter while others want it. An answer passes through several
# threads: at Python's own 5 ms each of them waited so long behind a thread that compares plans.
_SWITCH_SECONDS = 0.001
# New objects between two looks for cycles among them, and such looks between two at what lived through them. Handling
# a thousand tasks makes objects by the ten thousand, hardly a cycle among them.
_YOUNG, _LOOKS, _LONG_LOOKS = 20_000, 20, 50


def tune_runtime() -> None:
    """Set the process up to serve. Call once, when everything is loaded."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # modules and routes stay: hundreds of thousands of objects that need no more looking at
    gc.set_threshold(_YOUNG, _LOOKS, _LONG_LOOKS)


# ── From the configuration to what the notifier needs.


def notification_settings(configuration: Configuration) -> NotificationSettings:
    """Return the settings, with the secrets that the files hold.

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


# ── The daemon: one domain's co-scheduler, its resource manager, its search and its API, wired together.


_log = structlog.get_logger("cosched.daemon")

_LOOK = 1.0  # seconds after which a signal that woke nobody is noticed
_WATCH = 1.0  # seconds between looks at the hosts
_MODELS = 2.0  # seconds that evaluations may go on when the daemon ends; answers have five
_STATUS = 60.0  # seconds between questions for the status of all live attempts; events tell sooner


class _Part(Protocol):
    """Something that runs beside the others."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class _WebPart:
    """The web server, with the model processes whose evaluations its answers wait for."""

    def __init__(self, server: WebServer, models: ModelProcesses) -> None:
        self._server = server
        self._models = models

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        """Answer what has been asked; models that take long are given up in time for their clients to be told."""
        hurry = threading.Timer(_MODELS, self._models.close)
        hurry.start()
        self._server.stop()
        hurry.cancel()
        hurry.join()
        self._models.close()


class Daemon:
    """Everything that `cosched serve` runs. Jobs outlive it; what it knows is in its database."""

    def __init__(self, configuration: Configuration) -> None:
        """Open what the configuration names; nothing runs yet.

        Raises:
            UserError: the configuration cannot be carried out as it is.
            SystemFault: the database, the address or the state folder cannot be had.
        """
        self._configuration = configuration
        self._lock = _lock_state(configuration.domain.state)
        clock = Clock()
        catalogue = Catalogue(configuration.applications.folders)
        self._models = predictor = ModelProcesses(configuration.models.folders)
        connector = load_connector(configuration.connector.kind, configuration.connector.table)
        self._store = Store(configuration.database.url)
        self._core = Coscheduler(_core_settings(configuration, self._store.instance))
        self._engine = Engine(self._core, self._store, clock)
        self._manager = ResourceManager(
            connector,
            self._engine.post,
            clock,
            grace=configuration.dispatch.grace,
            watch=_WATCH,
            status=_STATUS,
            live=self._submitted,
        )
        planning = configuration.planning
        self._search = SearchProcess(
            self._engine.post,
            clock,
            self._core.settings.weights,
            planning.seed,
            SearchAllowance(planning.nice, planning.share, planning.converged),
        )
        self._engine.manager = self._manager
        if planning.policy == "genetic":
            self._engine.search = self._search
        notify = notification_settings(configuration)
        validator = TaskValidator(
            catalogue, predictor, configuration.domain.hardware, configuration.connector.kind, notify.targets
        )
        self._notifier = Notifier(self._store, notify, configuration.domain.name, self._late, clock.now)
        core = CoreClient(self._engine)
        current = CurrentDomain(core)
        self._plans = PlanHistory(self._core, PlanPoints(self._store))
        self._feed = EventFeed()
        for listener in (current.on_change, self._feed.on_change, self._plans.on_change):
            self._engine.subscribe(listener)
        directory = _peer_directory(configuration)
        outputs = TaskOutputs(self._store, self._manager.output, None if directory is None else directory.output)
        self._network: AgentNetwork | None = None
        sweeps = []
        if directory is not None:
            parts = DomainParts(self._core, self._engine, self._store, clock, catalogue, predictor)
            self._network = make_agent_network(configuration, parts, directory, outputs, validator, current.state)
            sweeps.append(partial(self._network.prune_models, configuration.agent.keep_models))
        housekeeping = Housekeeping(self._store, configuration.database.keep_days, clock.now, sweeps)
        neighbours = NoNeighbours() if self._network is None else self._network.neighbours
        identity = DomainIdentity(configuration.domain.name, configuration.connector.kind, planning.policy)
        services = DomainServices(
            submissions=SubmissionService(
                core, self._store, validator, current, neighbours, waiting=configuration.access.waiting
            ),
            tasks=TaskService(core, self._store, outputs, neighbours),
            reservations=ReservationService(core),
            domain=DomainStatus(core, self._store, catalogue, identity, self),
            neighbours=neighbours,
            models=ModelQueries(catalogue, predictor, configuration.models.folders),
            queries=DomainQueries(core, self._store, self._plans),
            feed=self._feed,
        )
        self._web = web_server(configuration, services, self._store, clock)
        # In the order of their start; they are stopped from the last to the first.
        search = [self._search] if planning.policy == "genetic" else []
        network = [] if self._network is None else [self._network]
        self._parts: list[_Part] = [
            self._plans,  # writes the rest down when the engine has ended
            self._engine,
            self._manager,
            housekeeping,
            self._notifier,
            *search,
            *network,
            _WebPart(self._web, self._models),
        ]

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT.

        Raises:
            SystemFault: cosched ended by its own mistake.
        """
        # A signal handler may put into a SimpleQueue whatever the main thread is doing; an Event it may deadlock on.
        ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._engine.on_failure = partial(ended.put, None)
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
        self._engine.restore()
        self._plans.restore(list(self._core.waiting.counts))
        for part in self._parts:
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
        """Answer what has been asked, write down what has happened, and end; jobs go on."""
        _log.info("stopping")
        self._feed.close()
        for part in reversed(self._parts):
            part.stop()
        self._store.close()
        os.close(self._lock)

    def _submitted(self) -> list[str]:
        """Return the attempts that the manager has been given; called from the manager's threads."""
        return CoreClient(self._engine).ask(
            lambda core, _time: [a.uuid for a in core.attempts.values() if a.state is not AttemptState.SUBMITTING]
        )

    def _late(self) -> list[Notice]:
        """Return notices of tasks that will be late; called from the notifier."""
        return CoreClient(self._engine).ask(late_notices)

    def calls(self) -> Mapping[str, int]:
        """Return how often the resource manager was asked, by verb."""
        return self._manager.calls()

    def faults(self) -> list[str]:
        """Return what does not work, in sentences."""
        faults = []
        if self._manager.fault:
            faults.append(f"resource manager: {self._manager.fault}")
        if self._web.fault:
            faults.append(self._web.fault)
        if self._network is not None:
            faults += self._network.faults()
        if self._engine.store_fault:
            faults.append(f"database: {self._engine.store_fault}")
        return faults


def _await_end(ended: queue.SimpleQueue[None]) -> None:
    """Wait for an item. A signal that comes just before a wait without end begins would wake nobody: so look again."""
    while True:
        try:
            ended.get(timeout=_LOOK)
        except queue.Empty:
            continue
        return


def _core_settings(configuration: Configuration, instance: str) -> CoreSettings:
    objective, dispatch, planning = configuration.objective, configuration.dispatch, configuration.planning
    return CoreSettings(
        instance=instance,
        policy=planning.policy,
        weights=Weights(objective.makespan, objective.idle, objective.lateness, objective.deadlines_first),
        staging=planning.staging,
        margin=planning.margin,
        quantile=planning.quantile,
        attempts=dispatch.attempts,
        retry=dispatch.retry,
        retry_longest=dispatch.retry_longest,
        seed=planning.seed,
    )


def _peer_directory(configuration: Configuration) -> PeerDirectory | None:
    section = configuration.agent
    if not section.listen:
        return None
    return PeerDirectory(section.peers, configuration.domain.name, CertificateFiles(section.certificate, section.key))


def _lock_state(state: Path) -> int:
    """Make the state folder ours: two daemons on one database would run every task twice."""
    try:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(state / "cosched.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SystemFault(f"{state} cannot be used ({error.strerror}): correct it, or set [domain] state") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise SystemFault(f"another cosched runs with {state}: stop it, or set another [domain] state") from error
    return lock
