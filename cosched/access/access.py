"""Who asks: from a connection and the head of its request to a principal, and the credentials behind that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import structlog

from cosched.access.accounts import Accounts, LoginError
from cosched.access.names import is_name
from cosched.access.peers import user_name, user_role
from cosched.access.principal import ALL_SCOPES, How, Principal, Role
from cosched.access.rates import Rates
from cosched.access.secrets import new_secret, signature
from cosched.access.sessions import Sessions
from cosched.access.tokens import Tokens
from cosched.store.credentials import Deed

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.access.evidence import Evidence
    from cosched.access.settings import AccessSettings
    from cosched.store.credentials import Credentials

__all__ = ["COOKIE", "SECURE_COOKIE", "Access", "Identified"]

COOKIE = "cosched_session"
SECURE_COOKIE = "__Host-cosched_session"  # over TLS: browsers keep it from other hosts and from plain HTTP
_BURST = 10.0  # seconds' worth of requests that may come at once

_log = structlog.get_logger("cosched.access")


@dataclass(frozen=True, slots=True)
class Identified:
    """Who asks.

    Attributes:
        principal: None where that is not known.
        csrf: what a page that is shown to them carries and sends back with a change.
        reason: why it is not known, where something was tried.
        address: where the request began, for the audit log and to count: an IP address, or "unix".
        secure: whether the browser reached us, or the proxy, over TLS.
    """

    principal: Principal | None = None
    csrf: str = ""
    reason: str = ""
    address: str = ""
    secure: bool = False


class Access:
    """Says who asks; holds tokens, accounts and sessions. Methods may be called from any thread."""

    def __init__(self, credentials: Credentials, settings: AccessSettings, now: Callable[[], float]) -> None:
        """Set up.

        Args:
            credentials: what the database keeps.
            settings: what the administrator set.
            now: seconds since the epoch; never runs backwards.
        """
        self.settings = settings
        self.tokens = Tokens(credentials)
        self.accounts = Accounts(credentials)
        self.sessions = Sessions(credentials, settings.session)
        self.now = now
        self._credentials = credentials
        self._key = new_secret()
        self._rates = Rates(settings.requests, settings.requests * _BURST)

    def identify(self, evidence: Evidence) -> Identified:
        """Say who asks. What is said explicitly counts before what a browser or the kernel says."""
        proxied = self.settings.proxies.sent(evidence)
        if evidence.readable and not proxied:
            return Identified(
                reason="this connection can be read by others: use https, or the proxy", address=evidence.address
            )
        found = self._who(evidence, proxied=proxied)
        if not proxied:
            return replace(found, address=evidence.address or "unix", secure=evidence.secure)
        hops = evidence.headers.get("x-forwarded-for", "").split(",")
        secure = evidence.secure or evidence.headers.get("x-forwarded-proto", "") == "https"
        return replace(found, address=hops[-1].strip()[:64] or "proxy", secure=secure)

    def _who(self, evidence: Evidence, *, proxied: bool) -> Identified:
        if evidence.bearer:
            found = self.tokens.principal(evidence.bearer, self.now())
            return Identified(found, reason="" if found else "the token is unknown, expired or revoked")
        named = evidence.headers.get(self.settings.proxy_header) if proxied else None
        if named is not None:
            return self._named(named)
        cookie = evidence.cookie(SECURE_COOKIE) or evidence.cookie(COOKIE)
        if cookie:
            found = self._session(cookie)
            if found is not None:
                return Identified(found, signature(cookie, "csrf"))
        if evidence.peer is None or proxied:
            return Identified(reason="the session has ended" if cookie else "")
        name = user_name(evidence.peer)
        role = user_role(evidence.peer) or self.settings.role(name)
        return Identified(Principal(name, role), signature(self._key, name))

    def pause(self, identified: Identified) -> float:
        """Count a request; return 0, or for how many seconds its sender must wait before another.

        Operators are not counted: they could do worse than ask often.
        """
        principal = identified.principal
        if principal is not None and principal.oversees:
            return 0.0
        who = f"user {principal.name}" if principal is not None else f"address {identified.address}"
        return self._rates.take(who, self.now())

    def login(self, name: str, password: str, address: str) -> tuple[str, float]:
        """Log a browser in with an account; return its cookie's value and when that expires.

        Raises:
            LoginError: name and password are not right, or were not too often.
        """
        try:
            self.accounts.check(name, password, address, self.now())
        except LoginError as error:
            self.log(Principal(name[:64], Role.USER), address, "login refused", str(error))
            raise
        role = self.accounts.role(name) or Role.USER
        self.log(Principal(name, role, how=How.SESSION), address, "login", "with a password")
        return self.sessions.begin(name, role, self.now(), account=True)

    def redeem(self, ticket: str, address: str) -> tuple[str, float]:
        """Log a browser in with a link; return its cookie's value and when that expires.

        Raises:
            LoginError: the link was used before, or is too old.
        """
        found = self.sessions.redeem(ticket, self.now())
        if found is None:
            raise LoginError("this link has been used or is too old: make another with `cosched portal`")
        name, role, account = found
        self.log(Principal(name, role, how=How.SESSION), address, "login", "with a link")
        return self.sessions.begin(name, role, self.now(), account=account)

    def ticket(self, who: Principal, address: str) -> str:
        """Return the secret of a link that logs a browser of `who` in."""
        account = who.how is not How.SOCKET and self.accounts.role(who.name) is not None
        self.log(who, address, "login link", "made")
        return self.sessions.ticket(who.name, who.role, self.now(), account=account)

    def expel(self, user: str) -> None:
        """End all sessions of a user and revoke all tokens."""
        self.sessions.end(user=user)
        self.tokens.revoke(*(row.id for row in self.tokens.of(user)))

    def log(self, who: Principal, address: str, action: str, detail: str) -> None:
        """Write a line of the audit log."""
        deed = Deed(self.now(), who.name, str(who.how), address, action, detail)
        _log.info(action, user=deed.user, how=deed.how, address=address, detail=detail)
        self._credentials.log(deed)

    def deeds(self, limit: int, offset: int = 0) -> list[Deed]:
        """Return lines of the audit log, the newest first."""
        return self._credentials.deeds(limit, offset)

    def _named(self, name: str) -> Identified:
        if not is_name(name):
            return Identified(reason=f"what the proxy says in {self.settings.proxy_header} cannot name a user")
        principal = Principal(name, self.settings.role(name), ALL_SCOPES, How.PROXY)
        return Identified(principal, signature(self._key, f"proxy {name}"))

    def _session(self, cookie: str) -> Principal | None:
        row = self.sessions.get(cookie, self.now())
        if row is None:
            return None
        role = self.accounts.role(row.user) if row.account else Role.of(row.role)
        return None if role is None else Principal(row.user, role, ALL_SCOPES, How.SESSION, row.digest[:12])
