"""The daemon's agent: neighbours from their files, letters in and out, and what people ask about them."""

from __future__ import annotations

import http.client
import threading
from typing import TYPE_CHECKING

import structlog

from cosched.agents import Agent, AgentSettings, DomainView, LetterReceived, PeersChanged
from cosched.agents.agent_settings import AdvertisingSettings
from cosched.agents.protocol.messages import Commit, Request
from cosched.agents.transport import tls
from cosched.agents.transport.allow_list import PeerAllowList
from cosched.agents.transport.peer_client import LetterSender, call_peer
from cosched.agents.transport.peer_server import PeerServer
from cosched.agents.transport.remote_output import read_output_reply
from cosched.agents.transport.tls import CertificateFiles
from cosched.app.core_access import CoreClient
from cosched.app.forwarding_status import explain_forwarding
from cosched.app.guest_tasks import CarriedModels, GuestTerms, GuestValidator, ModelKnowledge
from cosched.app.views import peer_views
from cosched.daemon.adviser import Adviser, network_view
from cosched.errors import CoschedError, SystemFault, UserError
from cosched.store.handovers import HandoverTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.agents.protocol.messages import Letter
    from cosched.agents.transport.allow_list import PeerEntry
    from cosched.agents.transport.remote_output import OutputQuery
    from cosched.api.documents import NetworkView, PeerView
    from cosched.app.outputs import TaskOutputs
    from cosched.app.validation import DomainState, TaskValidator
    from cosched.connector.interface import Output
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.explain import TaskExplanation
    from cosched.coscheduler.task import Task
    from cosched.daemon.clock import Clock
    from cosched.daemon.config.sections import Configuration
    from cosched.daemon.engine import Engine
    from cosched.prediction.catalogue import Catalogue
    from cosched.prediction.model_predictor import ModelPredictor
    from cosched.store.store import Store

__all__ = ["Neighbours"]

_log = structlog.get_logger("cosched.agents")
_OUTPUT = 5.0  # seconds for an answer with part of an output
_WATCH = 1.0  # seconds between looks at the peers' files


class Neighbours:
    """Wires agent, engine and network together. Made only where [agent] listen is set."""

    def __init__(
        self,
        configuration: Configuration,
        core: Coscheduler,
        engine: Engine,
        store: Store,
        clock: Clock,
        catalogue: Catalogue,
        predictor: ModelPredictor,
        intake: TaskValidator,
        state: Callable[[], DomainState],
        outputs: TaskOutputs,
    ) -> None:
        """Set up; nothing is said before `start`.

        Args:
            configuration: of the daemon; [agent] listen is set.
            core: of the domain.
            engine: gets the agent.
            store: has what was handed over before.
            clock: of the daemon.
            catalogue: applications.
            predictor: evaluates the models that come with tasks.
            intake: makes tasks.
            state: asks the engine what a task is measured against.
            outputs: what tasks wrote; gets a way to ask neighbours.

        Raises:
            UserError: a peer's file, the key or the certificate is wrong.
            SystemFault: the address cannot be had.
        """
        section = configuration.agent
        self._name = configuration.domain.name
        self._admits = section.admit_late
        self._engine = engine
        self._clock = clock
        self._state = state
        self._book = PeerAllowList(section.peers)
        models = CarriedModels(configuration.domain.state / "carried-models", configuration.models.folders, predictor)
        self._models, self._keep_models = models, section.keep_models
        self._knowledge = ModelKnowledge(catalogue, models)
        hardware = configuration.domain.hardware
        terms = GuestTerms(section.applications, section.commands)
        self._guests = GuestValidator(intake, catalogue, models, terms, hardware)
        settings = AgentSettings(
            self._name,
            store.instance,
            section.hops,
            section.fanout,
            AdvertisingSettings(section.period, section.push, section.scope, 6 * section.period),
            applications=section.applications or tuple(entry.name for entry in catalogue.applications()),
            commands=section.commands,
            manager=configuration.connector.kind,
            lease=section.lease,
            sooner=section.sooner,
            longest_timeout=section.patience,
        )
        life = HandoverTable(store).next_life(clock.now())
        self.agent = Agent(settings, DomainView(core, hardware), self._knowledge, life, engine.next_number)
        engine.join_agent(self.agent)
        self.adviser = Adviser(section, self.agent, engine, store, self._knowledge, clock)
        self._office = LetterSender(CertificateFiles(section.certificate, section.key))
        engine.send = self._office.send
        self._files = CertificateFiles(section.certificate, section.key)
        self._server = PeerServer(section.host_and_port, self._files, self._name, self.deliver, outputs.for_peer)
        outputs.ask = self.output
        self.fault = ""
        self.entries: dict[str, PeerEntry] = {}
        self._stamp: tuple[object, ...] | None = None
        self._stopped = threading.Event()
        self._watch = threading.Thread(target=self._look, name="peers", daemon=True)

    def start(self) -> None:
        """Begin to talk to neighbours; the engine runs."""
        self._read()
        self._server.start()
        self._watch.start()
        self.adviser.start()

    def stop(self) -> None:
        """End; what is under way goes on when the daemon is back."""
        self._stopped.set()
        self.adviser.stop()
        if self._watch.ident is not None:
            self._watch.join()  # first: it would have the office serve again
        self._server.stop()
        self._office.stop()
        self._knowledge.close()

    @property
    def accepts_late(self) -> bool:
        """Whether a task is accepted whose deadline cannot be met here: there is somebody to offer it to."""
        return self._admits and any(not entry.paused for entry in self.entries.values())

    @property
    def port(self) -> int:
        """Where neighbours are listened to."""
        return self._server.port

    def explain(self, core: Coscheduler, task: str, time: float) -> TaskExplanation | None:
        """Explain a live task, with what offering it brought; on the core's thread."""
        return explain_forwarding(core, self.agent, task, time)

    def peers(self) -> list[PeerView]:
        """Return all neighbours, by name."""
        entries, faults = self.entries, self.faults()
        return CoreClient(self._engine).ask(lambda core, time: peer_views(entries, faults, self.agent, core, time))

    def network(self) -> NetworkView:
        """Return what the agent has done and how it is advised."""
        return CoreClient(self._engine).ask(lambda _core, _time: network_view(self.agent, self.adviser))

    def tidy(self) -> None:
        """Forget the models of others that nobody has asked for in a long time."""
        self._models.prune(self._keep_models)

    def faults(self) -> dict[str, str]:
        """Return why neighbours cannot be reached, by name."""
        return self._office.faults()

    def deliver(self, letter: Letter) -> None:
        """Take a letter whose sender has proved who it is; evaluates what it asks for."""
        task, fault = None, ""
        if isinstance(letter.body, Request | Commit):
            task, fault = self._evaluated(letter.body, letter.sender)
        self._engine.post(LetterReceived(self._clock.now(), letter, task, fault))

    def output(self, name: str, query: OutputQuery) -> Output | None:
        """Ask a neighbour for what a task wrote that it has from us; called from the threads of API and agent.

        Raises:
            SystemFault: it does not answer, or refuses; says so.
        """
        entry = self.entries.get(name)
        if entry is None:
            raise SystemFault(f"{name}, where that output is, is no neighbour any more: `cosched peer add` it again")
        try:
            context = tls.client_context(*self._files, entry.certificate)
            return read_output_reply(call_peer(entry, context, "GET", query.path, timeout=_OUTPUT), query)
        except (OSError, http.client.HTTPException, SystemFault) as error:
            raise SystemFault(f"{name}, where that output is, does not give it ({error}): try again later") from error

    def _evaluated(self, body: Request | Commit, peer: str) -> tuple[Task | None, str]:
        try:
            return self._guests.task(body.document, peer, self._state()), ""
        except CoschedError as error:
            return None, str(error)

    def _look(self) -> None:
        while not self._stopped.wait(_WATCH):
            if self._book.fingerprint() != self._stamp:
                self._read()

    def _read(self) -> None:
        """Read the peers' files; while one is wrong, those that were in force stay."""
        self._stamp = self._book.fingerprint()
        try:
            entries = self._book.entries()
        except UserError as error:
            self.fault = str(error)
            _log.error("peers", fault=self.fault)
            return
        self.fault = ""
        self.entries = {entry.name: entry for entry in entries if entry.name != self._name}
        self._server.set_peers(self.entries.values())
        self._office.set_peers(self.entries.values())
        self._engine.post(PeersChanged(self._clock.now(), tuple(entry.peer for entry in self.entries.values())))
        _log.info("peers", known=",".join(self.entries))
