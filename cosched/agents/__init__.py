"""Agents move tasks that would be late here to domains that can meet their deadlines.

Every task starts exactly once.

`Broker.handle(event) -> Outcome` is a co-scheduler and its agent as one state machine; like the core it has no
clock, no I/O and no randomness, so the daemon, a simulation and the fault tests drive the same code:

    core = Coscheduler(settings)                                  # CoreSettings(instance=a UUID of this domain's own)
    agent = Agent(AgentSettings(name, instance), DomainView(core, hardware), knowledge, life=1)
    broker = Broker(core, agent)
    broker.handle(PeersChanged(time, (Peer("b"), Peer("head", PeerRole.UPPER))))     # once, and at every change

After that every event goes to `broker.handle` and never to the core itself: the core's own events (`TaskSubmitted`,
`HostsObserved`, `JobReported`, `ScheduleImproved`, …), and a `Tick` every `AgentSettings.poll_interval` seconds or so:
what the agent does by itself, it does at ticks. The outcome says, in this order:

1. `changes` to write down in one transaction, before anything is done;
2. `decisions` to carry out: those of the core (`DispatchAttempt`, `CancelAttempt`, …), and `SendLetter(letter)`:
   bring `letter` to the domain `letter.receiver` and have it handle `LetterReceived(time, letter, task, fault)`. A
   letter may be lost, late, or come twice.

For a `Request` and a `Commit` the transport evaluates `letter.body.document` for the receiver: `task` is a `Task`
with its profile on the receiver's hardware and with `deadline = time + document.deadline`, without identifier; or
`fault` says why the receiver will not run it. `knowledge` (see `TaskKnowledge`) answers for the sender: how to
describe a task, and how long it takes on another domain's hardware. `Coscheduler.next_number` numbers the domain's own
tasks and those that are taken in; a task's identifier is its number.

A task's state tells where it is: FORWARDED, with `TaskStatus.peer` the neighbour that has it; in that domain it is a
task of its own, with `Task.origin` the neighbour that sent it. `Handover.why` says why it went there.

Start reading at `agent.py`, then `handover/outgoing.py` and `handover/incoming.py`.
"""

from cosched.agents.agent import Agent
from cosched.agents.agent_outcome import SendLetter
from cosched.agents.agent_settings import AgentSettings, Peer, PeerRole
from cosched.agents.broker import Broker
from cosched.agents.domain_view import DomainView
from cosched.agents.events import AdvertisingChanged, LetterReceived, PeersChanged
from cosched.agents.tickets import TaskKnowledge, UserFiguresKnowledge

__all__ = [
    "AdvertisingChanged",
    "Agent",
    "AgentSettings",
    "Broker",
    "DomainView",
    "LetterReceived",
    "Peer",
    "PeerRole",
    "PeersChanged",
    "SendLetter",
    "TaskKnowledge",
    "UserFiguresKnowledge",
]
