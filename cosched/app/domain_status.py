"""The domain's status for people, and the state that tasks are measured against.

Start at `DomainStatus`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from cosched import __version__
from cosched.api.documents import Status
from cosched.app.validation import DomainState
from cosched.app.views import host_views, plan_view
from cosched.coscheduler.events import HostsObserved, JobReported
from cosched.store.store import TaskSelection

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cosched.access.principals import Principal
    from cosched.api.documents import HostView, PlanView
    from cosched.app.core_access import CoreClient
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.events import Event
    from cosched.prediction.catalogue import Catalogue
    from cosched.store.store import Store

__all__ = ["CurrentDomain", "DomainDescription", "DomainHealth", "DomainIdentity", "DomainStatus"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainDescription:
    """A domain's description for information services: counts, and nothing of any one task.

    Attributes:
        domain: its name.
        version: of cosched.
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


class DomainStatus:
    """Answers for hosts, plan and daemon. Methods may block; any thread may call them."""

    def __init__(
        self, core: CoreClient, store: Store, catalogue: Catalogue, identity: DomainIdentity, health: DomainHealth
    ) -> None:
        self._core = core
        self._store = store
        self._catalogue = catalogue
        self._identity = identity
        self._health = health

    def hosts(self, principal: Principal) -> list[HostView]:
        """Return all hosts of the domain."""
        return self._core.ask(partial(host_views, principal))

    def plan(self, principal: Principal) -> PlanView:
        """Return the schedule in force."""
        return self._core.ask(partial(plan_view, principal))

    def status(self, principal: Principal) -> Status:
        """Return the daemon's state in short."""
        time, hosts = self._core.ask(lambda core, time: (time, list(core.domain.hosts.values())))
        up = sum(host.up for host in hosts)
        counts = self._store.counts(None if principal.is_operator else TaskSelection(owner=principal.name))
        return Status(
            domain=self._identity.domain,
            version=__version__,
            time=time,
            connector=self._identity.connector,
            policy=self._identity.policy,
            hosts_up=up,
            hosts_down=len(hosts) - up,
            tasks={str(state): count for state, count in counts.items()},
            faults=tuple(self._health.faults()),
            calls=dict(self._health.calls()),
        )

    def description(self, principal: Principal) -> DomainDescription:
        """Return what information services are told of the domain."""
        return DomainDescription(
            domain=self._identity.domain,
            version=__version__,
            connector=self._identity.connector,
            time=self._core.now(),
            hosts=tuple(self.hosts(principal)),
            tasks={str(state): count for state, count in self._store.counts(None).items()},
            applications=tuple((each.name, each.description) for each in self._catalogue.applications()),
            faults=tuple(self._health.faults()),
        )


class CurrentDomain:
    """Keeps the state that tasks are measured against; subscribe `on_change` to the core."""

    def __init__(self, core: CoreClient) -> None:
        self._core = core
        self._known: DomainState | None = None
        self._changes = 0

    def state(self) -> DomainState:
        """Return the state as of now; asks the core only where it may have changed."""
        known = self._known
        if known is None:
            changes = self._changes
            known = self._core.ask(_domain_state)
            if changes == self._changes:  # else it may be from before the change
                self._known = known
        return replace(known, time=self._core.now())

    def on_change(self, _tasks: Collection[object], events: Sequence[Event]) -> None:
        """Drop the cached state where hosts changed, or a run has taught something."""
        if any(isinstance(event, (HostsObserved, JobReported)) for event in events):
            self._changes += 1
            self._known = None


def _domain_state(core: Coscheduler, time: float) -> DomainState:
    classes = {host.host_class for host in core.domain.hosts.values()}
    known = tuple(sorted(classes)) if "" not in classes else ()
    return DomainState(time, len(core.domain.hosts), known, core.corrections())
