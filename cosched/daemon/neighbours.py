"""The daemon's agent is made here, joined to the network, and shown to the services.

Start at `make_agent_network`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.agents import Agent, AgentSettings, DomainView, LetterReceived, PeersChanged
from cosched.agents.agent_settings import AdvertisingSettings
from cosched.agents.protocol.letter_xml import write_task_document
from cosched.agents.protocol.letters import Commit, Request
from cosched.agents.transport.peer_client import LetterSender
from cosched.agents.transport.peer_server import PeerServer
from cosched.agents.transport.tls import CertificateFiles
from cosched.app.core_access import CoreClient
from cosched.app.neighbours.forwarding_status import explain_forwarding, forwarded_ends
from cosched.app.neighbours.guest_tasks import CarriedModels, GuestTerms, GuestValidator, ModelKnowledge
from cosched.app.views.neighbour_views import peer_views
from cosched.daemon.processes.adviser import Adviser, network_view
from cosched.errors import CoschedError
from cosched.store.handovers import HandoverTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.agents.protocol.letters import Letter
    from cosched.api.documents import NetworkView, PeerView
    from cosched.app.outputs import TaskOutputs
    from cosched.app.submission.admission import DomainState
    from cosched.app.submission.validation import TaskValidator
    from cosched.connector.jobs import LaunchMode
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.explanation.task_explanation import TaskExplanation
    from cosched.coscheduler.task import Task
    from cosched.daemon.config.sections import Configuration
    from cosched.daemon.inbox import Inbox
    from cosched.daemon.peer_directory import PeerDirectory
    from cosched.prediction.catalogue import Catalogue
    from cosched.prediction.model_predictor import ModelPredictor
    from cosched.store.store import Store

__all__ = ["AgentNetwork", "DomainParts", "Neighbours", "make_agent_network"]


@dataclass(frozen=True, slots=True)
class DomainParts:
    """The parts of a domain that others work with.

    Attributes:
        core: its state, touched on the engine's thread only.
        inbox: the way to the core.
        store: its database.
        catalogue: its applications.
        predictor: evaluates models.
        validator: makes tasks of requests.
    """

    core: Coscheduler
    inbox: Inbox
    store: Store
    catalogue: Catalogue
    predictor: ModelPredictor
    validator: TaskValidator


@dataclass(frozen=True, slots=True)
class AgentParts:
    """The agent with what serves it."""

    agent: Agent
    knowledge: ModelKnowledge
    models: CarriedModels
    letters: LetterSender
    adviser: Adviser


def make_agent_parts(configuration: Configuration, parts: DomainParts) -> AgentParts:
    """Make the agent of a domain; nothing is said to neighbours yet.

    Raises:
        UserError: the key or the certificate is wrong.
    """
    section = configuration.agent
    models = CarriedModels(configuration.domain.state / "carried-models", configuration.models.folders, parts.predictor)
    knowledge = ModelKnowledge(parts.catalogue, models)
    life = HandoverTable(parts.store).next_life(parts.inbox.now())
    view = DomainView(parts.core, configuration.domain.hardware)
    agent = Agent(_agent_settings(configuration, parts), view, knowledge, life)
    adviser = Adviser(section, agent, parts.inbox, parts.store, knowledge)
    letters = LetterSender(CertificateFiles(section.certificate, section.key))
    return AgentParts(agent, knowledge, models, letters, adviser)


def _agent_settings(configuration: Configuration, parts: DomainParts) -> AgentSettings:
    section = configuration.agent
    return AgentSettings(
        configuration.domain.name,
        parts.store.instance,
        section.hops,
        section.fanout,
        AdvertisingSettings(section.period, section.push, section.scope, 6 * section.period),
        applications=section.applications or tuple(entry.name for entry in parts.catalogue.applications()),
        commands=section.commands,
        manager=configuration.connector.kind,
        lease=section.lease,
        sooner=section.sooner,
        longest_timeout=section.patience,
    )


class GuestGate:
    """Takes the neighbours' letters, and evaluates the tasks that they bring."""

    def __init__(self, inbox: Inbox, guests: GuestValidator, state: Callable[[], DomainState]) -> None:
        """Set up.

        Args:
            inbox: gets the letters.
            guests: makes tasks of documents.
            state: returns what a task is measured against.
        """
        self._inbox = inbox
        self._guests = guests
        self._state = state

    def deliver(self, letter: Letter) -> None:
        """Take a letter from an authenticated sender.

        Raises:
            UserError: the document of a task that comes cannot be kept: as we write it, it is too large.
        """
        task, fault = None, ""
        if isinstance(letter.body, Commit):
            write_task_document(letter.body.document)
        if isinstance(letter.body, Request | Commit):
            task, fault = self._evaluated(letter.body, letter.sender)
        self._inbox.post(LetterReceived(self._inbox.now(), letter, task, fault))

    def _evaluated(self, body: Request | Commit, peer: str) -> tuple[Task | None, str]:
        try:
            return self._guests.task(body.document, peer, self._state()), ""
        except CoschedError as error:
            return None, str(error)


class Neighbours:
    """The neighbouring domains as the services see them; a `NeighbourAccess`."""

    def __init__(self, core: CoreClient, agent: AgentParts, directory: PeerDirectory, *, admit_late: bool) -> None:
        """Set up.

        Args:
            core: core of the domain.
            agent: agent of the domain.
            directory: has the neighbours.
            admit_late: whether tasks are accepted that only a neighbour may end in time.
        """
        self._core = core
        self._agent = agent
        self._directory = directory
        self._admit_late = admit_late

    @property
    def accepts_late(self) -> bool:
        """Return whether to accept a task that is late here but perhaps not elsewhere."""
        return self._admit_late and any(not entry.paused for entry in self._directory.entries.values())

    def explain(self, core: Coscheduler, task: str, time: float) -> TaskExplanation | None:
        """Explain a live task, with the outcome of offers; on the core's thread."""
        return explain_forwarding(core, self._agent.agent, task, time)

    def forwarded_ends(self, core: Coscheduler) -> dict[str, float]:
        """Return when other domains expect to end tasks of this one (epoch seconds); on the core's thread."""
        return forwarded_ends(core, self._agent.agent)

    def peers(self) -> list[PeerView]:
        """Return all neighbours, by name."""
        entries, faults, agent = self._directory.entries, self._agent.letters.faults(), self._agent.agent
        return self._core.ask(lambda core, time: peer_views(entries, faults, agent, core, time))

    def network(self) -> NetworkView:
        """Return what the agent has done and how it is advised."""
        return self._core.ask(lambda _core, _time: network_view(self._agent.agent, self._agent.adviser))


class AgentNetwork:
    """Everything that talks to neighbours: started and stopped as one part of the daemon.

    Attributes:
        neighbours: access to the neighbours, for the services.
    """

    def __init__(self, agent: AgentParts, directory: PeerDirectory, server: PeerServer, neighbours: Neighbours) -> None:
        self.neighbours = neighbours
        self._server = server
        self._agent = agent
        self._directory = directory

    @property
    def agent(self) -> Agent:
        """The agent, for the broker that drives it."""
        return self._agent.agent

    def send(self, letter: Letter) -> None:
        """Bring a letter to its receiver, now or later."""
        self._agent.letters.send(letter)

    def start(self) -> None:
        """Begin to talk to neighbours; the engine runs."""
        self._directory.start()
        self._server.start()
        self._agent.adviser.start()

    def stop(self) -> None:
        """End; what is under way goes on when the daemon is back."""
        self._agent.adviser.stop()
        self._directory.stop()  # before the senders of letters, which it would start again
        self._server.stop()
        self._agent.letters.stop()
        self._agent.knowledge.close()

    def faults(self) -> list[str]:
        """Return what does not work, in sentences."""
        faults = [f"peer {name}: {fault}" for name, fault in self._agent.letters.faults().items()]
        return [*faults, self._directory.fault] if self._directory.fault else faults

    def refused_letters(self) -> Mapping[str, int]:
        """Return how many letters were refused since the start, by neighbour."""
        return self._server.refused

    def prune_models(self, longest: float) -> None:
        """Delete the models of others that were not used for `longest` seconds."""
        self._agent.models.prune(longest)


def make_agent_network(
    configuration: Configuration,
    parts: DomainParts,
    directory: PeerDirectory,
    outputs: TaskOutputs,
    state: Callable[[], DomainState],
    check_task: Callable[[str, LaunchMode], None],
) -> AgentNetwork:
    """Make the agent and join it to the network; nothing is said before `start`.

    Args:
        configuration: configuration of the daemon; [agent] listen is set.
        parts: parts of the domain.
        directory: has the neighbours.
        outputs: reads the output of tasks.
        state: returns the state by which guests are checked.
        check_task: raises UserError where the resource manager takes no tasks of an owner, or none launched so.

    Raises:
        UserError: the key or the certificate is wrong.
        SystemFault: the address cannot be had.
    """
    section, inbox = configuration.agent, parts.inbox
    agent = make_agent_parts(configuration, parts)
    terms = GuestTerms(section.applications, section.commands, check_task)
    guests = GuestValidator(parts.validator, parts.catalogue, agent.models, terms, configuration.domain.hardware)
    server = PeerServer(
        section.host_and_port,
        CertificateFiles(section.certificate, section.key),
        configuration.domain.name,
        GuestGate(inbox, guests, state).deliver,
        outputs.for_peer,
    )
    directory.subscribe(server.set_peers)
    directory.subscribe(agent.letters.set_peers)
    directory.subscribe(lambda entries: inbox.post(PeersChanged(inbox.now(), tuple(entry.peer for entry in entries))))
    neighbours = Neighbours(CoreClient(inbox), agent, directory, admit_late=section.admit_late)
    return AgentNetwork(agent, directory, server, neighbours)
