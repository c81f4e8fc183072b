"""A daemon's own values, which its requests find in `request.app.state.portal`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from anyio import CapacityLimiter
from prometheus_client import CollectorRegistry

from cosched.app.credential_service import CredentialService

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Request

    from cosched.access.authentication import Authenticator
    from cosched.app.services import DomainServices
    from cosched.portal.computations import Computations

__all__ = ["PortalState", "portal_of"]

_READERS = 4  # threads; more of them would only take the interpreter from one another
_WATCHERS = 4
_SUBMITTERS = 32  # threads; each waits until its tasks are on disk, and the store writes those of all in one commit


@dataclass(frozen=True, slots=True)
class PortalState:
    """The values of one daemon, for routes that all daemons of a process share.

    Attributes:
        services: services of the domain.
        access: authenticates requests, and keeps the audit log.
        pages_address: returns the address of the pages; raises `UserError` where there is none.
        computations: threads for predictions that are not submitted.
        registry: registry of the metrics.
        readers: threads for reads of tasks, so that slow pages do not delay them.
        watchers: threads for the status, which is asked for while all others wait for core or database.
        submitters: threads for submissions.
    """

    services: DomainServices
    access: Authenticator
    pages_address: Callable[[], str]
    computations: Computations
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    readers: CapacityLimiter = field(default_factory=partial(CapacityLimiter, _READERS))
    watchers: CapacityLimiter = field(default_factory=partial(CapacityLimiter, _WATCHERS))
    submitters: CapacityLimiter = field(default_factory=partial(CapacityLimiter, _SUBMITTERS))

    @property
    def credentials(self) -> CredentialService:
        """Service for tokens and accounts."""
        return CredentialService(self.access)


def portal_of(request: Request) -> PortalState:
    """Return the values of the daemon that was asked."""
    state: PortalState = request.app.state.portal
    return state
