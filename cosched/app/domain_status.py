"""The domain's status for people, and the state that tasks are measured against.

Start at `DomainStatus`. Its `status` waits for neither core nor database: it says what is wrong where one is stuck.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswerError
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from cosched import __version__
from cosched.api.documents import Status
from cosched.app.figures.deadline_outlook import OutlookCounts
from cosched.app.submission.admission import DomainState
from cosched.app.views.host_views import host_views
from cosched.app.views.plan_views import forwarded_placements, plan_view
from cosched.coscheduler.events import HostsObserved, JobReported
from cosched.errors import SystemFault
from cosched.store.selection import TaskSelection

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import HostView, PlanView
    from cosched.app.core_access import CoreClient
    from cosched.app.neighbours.neighbour_access import NeighbourAccess
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.events import Event
    from cosched.prediction.catalogue import CatalogueEntry
    from cosched.store.store import Store

__all__ = ["CurrentDomain", "DomainDescription", "DomainHealth", "DomainIdentity", "DomainStatus", "TaskCounts"]


@dataclass(frozen=True, slots=True)
class DomainIdentity:
    """A domain's name and parts, by the configuration."""

    domain: str
    connector: str
    policy: str


class DomainHealth(Protocol):
    """Figures of the daemon about itself."""

    def faults(self) -> Sequence[str]:
        """Return what does not work, in sentences."""
        ...

    def calls(self) -> Mapping[str, int]:
        """Return how often the resource manager was asked, by verb."""
        ...

    def silence(self) -> float:
        """Return for how many seconds the core has taken up nothing."""
        ...

    def mistakes(self) -> int:
        """Return how many mistakes cosched has made and gone on from."""
        ...

    def refused_letters(self) -> Mapping[str, int]:
        """Return how many letters were refused since the start, by neighbour."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainDescription:
    """A domain's description for information services: counts, and nothing of any one task.

    Attributes:
        domain: its name.
        version: version of cosched.
        connector: the connector to its resource manager.
        time: now, seconds since the epoch.
        hosts: all of them.
        tasks: count of tasks of all users, by state.
        applications: name and description of each in the catalogue.
        faults: sentences on everything that does not work.
    """

    domain: str
    version: str
    connector: str
    time: float
    hosts: tuple[HostView, ...]
    tasks: Mapping[str, int]
    applications: tuple[tuple[str, str], ...]
    faults: tuple[str, ...]


_SILENT = 2.0  # seconds without a sign of the core after which what is known of it is called old
_KNOWN_OWNERS = 1000


@dataclass(frozen=True, slots=True)
class CountedTasks:
    """Numbers of tasks by state.

    Attributes:
        counts: by state; empty where they are not known.
        time: when they were counted.
        fault: why that is not now; empty where it is.
    """

    counts: Mapping[str, int]
    time: float
    fault: str = ""


class TaskCounts:
    """Counts tasks, and remembers the last counts for when the database does not answer.

    Any thread may call it.
    """

    def __init__(self, store: Store, now: Callable[[], float], patience: float = 1.0) -> None:
        """Set up.

        Args:
            store: asked on threads of its own: a read that hangs must not stop who reports it.
            now: returns seconds since the epoch.
            patience: seconds to wait for the database.
        """
        self._store = store
        self._now = now
        self._patience = patience
        self._threads = ThreadPoolExecutor(2, "counts")
        self._guard = threading.Lock()
        self._known: dict[str | None, CountedTasks] = {}

    def counted(self, owner: str | None) -> CountedTasks:
        """Return the counts of an owner's tasks (None: of all), or the last known ones."""
        now = self._now()
        selection = None if owner is None else TaskSelection(owner=owner)
        answer = self._threads.submit(self._store.counts, selection)
        try:
            counts = {str(state): count for state, count in answer.result(self._patience).items()}
        except (SystemFault, NoAnswerError) as error:
            answer.cancel()
            why = str(error) or "the database does not answer"
            with self._guard:
                known = self._known.get(owner, CountedTasks({}, now))
            return replace(known, fault=why)
        found = CountedTasks(counts, now)
        with self._guard:
            if len(self._known) >= _KNOWN_OWNERS:
                self._known.clear()
            self._known[owner] = found
        return found


class DomainStatus:
    """Answers for hosts, plan and daemon. Methods may block; any thread may call them.

    Subscribe `on_change` to the core: it tells how many hosts there are.
    """

    def __init__(
        self,
        core: CoreClient,
        counts: TaskCounts,
        neighbours: NeighbourAccess,
        identity: DomainIdentity,
        health: DomainHealth,
    ) -> None:
        self._core = core
        self._counts = counts
        self._neighbours = neighbours
        self._identity = identity
        self._health = health
        self._outlook = OutlookCounts(core, neighbours)
        self._hosts = (0, 0)  # up and down

    def on_change(self, _tasks: Collection[object], events: Sequence[Event]) -> None:
        """Note how many hosts there are; a listener to the core."""
        for event in events:
            if isinstance(event, HostsObserved):
                up = sum(host.up for host in event.hosts)
                self._hosts = (up, len(event.hosts) - up)

    def mistakes(self) -> int:
        """Return how many mistakes cosched has made and gone on from."""
        return self._health.mistakes()

    def refused_letters(self) -> Mapping[str, int]:
        """Return how many letters were refused since the start, by neighbour."""
        return self._health.refused_letters()

    def hosts(self, principal: Principal) -> list[HostView]:
        """Return all hosts of the domain."""
        return self._core.ask(partial(host_views, principal))

    def plan(self, principal: Principal) -> PlanView:
        """Return the schedule in force, with what neighbours have of the domain's tasks."""

        def question(core: Coscheduler, time: float) -> PlanView:
            forwarded = forwarded_placements(principal, core, self._neighbours.forwarded_ends(core))
            return replace(plan_view(principal, core, time), forwarded=forwarded)

        return self._core.ask(question)

    def status(self, principal: Principal) -> Status:
        """Return the daemon's state in short.

        It answers within about a second even if core or database are stuck.
        """
        time, silence, (up, down) = self._core.now(), self._health.silence(), self._hosts
        owner = None if principal.is_operator else principal.name
        counted = self._counts.counted(owner)
        outlook = self._outlook.counted(owner)
        faults = list(self._health.faults())
        if counted.fault:
            faults.append(f"database: tasks cannot be counted ({counted.fault})")
        as_of = time - silence if silence > _SILENT else time
        return Status(
            domain=self._identity.domain,
            version=__version__,
            time=time,
            connector=self._identity.connector,
            policy=self._identity.policy,
            hosts_up=up,
            hosts_down=down,
            tasks=dict(counted.counts),
            faults=tuple(faults),
            calls=dict(self._health.calls()),
            as_of=min(as_of, counted.time) if counted.fault else as_of,
            late=None if outlook is None else outlook.late,
            at_risk=None if outlook is None else outlook.at_risk,
            on_time=None if outlook is None else outlook.on_time,
        )

    def description(self, principal: Principal, applications: Iterable[CatalogueEntry]) -> DomainDescription:
        """Return what information services are told of the domain, and of the applications of its catalogue."""
        return DomainDescription(
            domain=self._identity.domain,
            version=__version__,
            connector=self._identity.connector,
            time=self._core.now(),
            hosts=tuple(self.hosts(principal)),
            tasks=dict(self._counts.counted(None).counts),
            applications=tuple((each.name, each.description) for each in applications),
            faults=tuple(self._health.faults()),
        )


class CurrentDomain:
    """Keeps the state that tasks are measured against; subscribe `on_change` to the core."""

    def __init__(self, core: CoreClient) -> None:
        self._core = core
        self._known: tuple[int, DomainState] | None = None  # with how many changes there had been
        self._changes = 0

    def state(self) -> DomainState:
        """Return the state as of now; asks the core only where it may have changed."""
        known, changes = self._known, self._changes
        if known is None or known[0] != changes:  # it may be from before a change
            known = self._known = changes, self._core.ask(_domain_state)
        return replace(known[1], time=self._core.now())

    def on_change(self, _tasks: Collection[object], events: Sequence[Event]) -> None:
        """Note that hosts changed, or that a run has taught something."""
        if any(isinstance(event, (HostsObserved, JobReported)) for event in events):
            self._changes += 1


def _domain_state(core: Coscheduler, time: float) -> DomainState:
    classes = {host.host_class for host in core.domain.hosts.values()}
    known = tuple(sorted(classes)) if "" not in classes else ()
    sizes = tuple(core.domain.hosts.values())
    return DomainState(
        time,
        len(core.domain.hosts),
        known,
        core.corrections(),
        sizes=sizes,
        shares_hosts=core.domain.shared,
        elastic=core.settings.elastic,
        licences=core.licences.total,
    )
