"""A daemon's own values, which its requests find in `request.app.state.portal`."""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from anyio import CapacityLimiter
from prometheus_client import CollectorRegistry

from cosched.app.credential_service import CredentialService
from cosched.portal.computations import UserPlaces
from cosched.portal.refusals import FormRefusals

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import Request

    from cosched.access.authentication import Authenticator
    from cosched.app.services import DomainServices
    from cosched.portal.computations import Computations

__all__ = ["MOST_WAITING_OFFERS", "PortalState", "ShownOnce", "portal_of"]

MOST_WAITING_OFFERS = 20
"""Requests of one lead or user that wait for another offer."""

_SECRET_SECONDS = 60.0
_READERS = 4  # threads; more of them would only take the interpreter from one another
_WATCHERS = 4
_SUBMITTERS = 32  # threads; each waits until its tasks are on disk, and the store writes those of all in one commit

_LONG_SUBMISSION = "an earlier submission of yours with many tasks is under way: wait for its answer"
_PATIENCE = 10.0  # seconds


def _places_for_offers() -> UserPlaces:
    refusal = f"{MOST_WAITING_OFFERS} requests of yours wait for offers: end one of them"
    return UserPlaces(MOST_WAITING_OFFERS, refusal, patience=0.0, pause=2.0)


def _places_for_long_submissions() -> UserPlaces:
    return UserPlaces(1, _LONG_SUBMISSION, patience=_PATIENCE, pause=_PATIENCE)


class ShownOnce:
    """Secrets on their way to the page that shows them, so that its reload makes no other one.

    One that nobody came for within a minute is forgotten. For any thread.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, str, float]] = {}
        self._lock = threading.Lock()

    def put(self, owner: str, secret: str) -> str:
        """Keep a secret and return the key under which its owner gets it."""
        key = secrets.token_urlsafe(16)
        with self._lock:
            self._forget()
            self._kept[key] = owner, secret, time.monotonic() + _SECRET_SECONDS
        return key

    def take(self, owner: str, key: str) -> str:
        """Return the owner's secret, the first time; else nothing."""
        with self._lock:
            self._forget()
            found = self._kept.get(key)
            if found is None or found[0] != owner:
                return ""
            del self._kept[key]
            return found[1]

    def _forget(self) -> None:
        now = time.monotonic()
        self._kept = {key: kept for key, kept in self._kept.items() if kept[2] > now}


@dataclass(frozen=True, slots=True)
class PortalState:
    """The values of one daemon, for routes that all daemons of a process share.

    Attributes:
        services: services of the domain.
        access: authenticates requests, and keeps the audit log.
        pages_address: returns the address of the pages; raises `UserError` where there is none.
        computations: threads for predictions that take long.
        offers: places of each lead or user for requests that wait for an offer.
        registry: registry of the metrics.
        new_tokens: those that their makers have not seen yet.
        refusals: refused forms that their pages show.
        readers: threads for reads of tasks, so that slow pages do not delay them.
        watchers: threads for the status, which is asked for while all others wait for core or database.
        submitters: threads for submissions.
        long_submissions: each user's one place for submissions of many tasks, each of which is predicted.
    """

    services: DomainServices
    access: Authenticator
    pages_address: Callable[[], str]
    computations: Computations
    offers: UserPlaces = field(default_factory=_places_for_offers)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    new_tokens: ShownOnce = field(default_factory=ShownOnce)
    refusals: FormRefusals = field(default_factory=FormRefusals)
    readers: CapacityLimiter = field(default_factory=partial(CapacityLimiter, _READERS))
    watchers: CapacityLimiter = field(default_factory=partial(CapacityLimiter, _WATCHERS))
    submitters: CapacityLimiter = field(default_factory=partial(CapacityLimiter, _SUBMITTERS))
    long_submissions: UserPlaces = field(default_factory=_places_for_long_submissions)

    @property
    def credentials(self) -> CredentialService:
        """Service for tokens and accounts."""
        return CredentialService(self.access)


def portal_of(request: Request) -> PortalState:
    """Return the values of the daemon that was asked."""
    state: PortalState = request.app.state.portal
    return state
