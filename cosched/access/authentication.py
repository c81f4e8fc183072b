"""Authentication finds the principal behind a connection and the head of its request.

Start at `Authenticator.identify`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import structlog

from cosched.access.accounts import Accounts, LoginError
from cosched.access.lead_tokens import LeadTokens
from cosched.access.principals import (
    ALL_SCOPES,
    Principal,
    ProofOfIdentity,
    Role,
    RoleSource,
    SystemUsers,
    user_role,
)
from cosched.access.proxies import TrustedProxies
from cosched.access.rate_limits import RateLimits, RefusalLimits
from cosched.access.sessions import Login, Sessions, identifier_of
from cosched.access.tokens import Tokens, new_secret, signature
from cosched.addresses import address_group
from cosched.store.credentials import AuditEntry
from cosched.user_names import is_user_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.access.proxies import RequestEvidence
    from cosched.store.credentials import Credentials

__all__ = ["COOKIE", "SECURE_COOKIE", "AccessSettings", "Authenticator", "Identity"]


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """Settings of access control; durations in seconds.

    Attributes:
        administrators: users of the unix socket and of the proxy with this role.
        operators: likewise.
        proxies: the proxies that are trusted to name users.
        proxy_header: the header in which they do, in lower case.
        session: the time from a login to its end.
        longest_token: the longest time for which a token may be valid.
        requests: requests a second that one user may make, or one address before a login.
        waiting: number of tasks of one user that may wait or run.
        lead_key: key of the tokens of elastic tasks' leads; empty: there are none.
    """

    administrators: frozenset[str] = frozenset()
    operators: frozenset[str] = frozenset()
    proxies: TrustedProxies = field(default_factory=TrustedProxies)
    proxy_header: str = "x-remote-user"
    session: float = 43200.0
    longest_token: float = 366 * 86400.0
    requests: float = 100.0
    waiting: int = 10_000
    lead_key: str = ""

    def role(self, user: str) -> Role:
        """Return the role that the configuration gives a user."""
        if user in self.administrators:
            return Role.ADMINISTRATOR
        return Role.OPERATOR if user in self.operators else Role.USER


COOKIE = "cosched_session"
SECURE_COOKIE = "__Host-cosched_session"  # over TLS: browsers keep it from other hosts and from plain HTTP
_MOST_LINKS = 16  # one made with the session of another: each request looks at all of them
_BURST = 10.0  # seconds' worth of requests that may come at once

_log = structlog.get_logger("cosched.access")


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity behind a request.

    Attributes:
        principal: the user; None where it is not known.
        csrf: token that a page carries and sends back with a change.
        reason: why the user is not known, where a proof was given.
        address: where the request began, for the audit log and rate limits: an IP address, or "unix".
        secure: whether the browser reached us, or the proxy, over TLS.
    """

    principal: Principal | None = None
    csrf: str = ""
    reason: str = ""
    address: str = ""
    secure: bool = False


class Authenticator:
    """Finds the user behind a request; holds tokens, accounts and sessions. Thread-safe."""

    def __init__(self, credentials: Credentials, settings: AccessSettings, now: Callable[[], float]) -> None:
        """Set up.

        Args:
            credentials: tokens, accounts and sessions in the database.
            settings: settings of the administrator.
            now: seconds since the epoch; never runs backwards.
        """
        self.settings = settings
        self.tokens = Tokens(credentials)
        self.accounts = Accounts(credentials)
        self.sessions = Sessions(credentials, settings.session)
        self.now = now
        self._leads = LeadTokens(settings.lead_key or new_secret())
        self._users = SystemUsers(now)
        self._credentials = credentials
        self._key = new_secret()
        self._rates = RateLimits(settings.requests, settings.requests * _BURST)
        self._refusals = RefusalLimits()

    def identify(self, evidence: RequestEvidence) -> Identity:
        """Identify the user of a request.

        A token or a header counts before the cookie, and the cookie before the user of the process.
        """
        proxied = self.settings.proxies.forwarded(evidence)
        if evidence.eavesdroppable and not proxied:
            return Identity(
                reason="this connection can be read by others: use https, or the proxy", address=evidence.address
            )
        found = self._find(evidence, proxied=proxied)
        if not proxied:
            return replace(found, address=evidence.address or "unix", secure=evidence.secure)
        hops = evidence.headers.get("x-forwarded-for", "").split(",")
        secure = evidence.secure or evidence.headers.get("x-forwarded-proto", "") == "https"
        return replace(found, address=hops[-1].strip()[:64] or "proxy", secure=secure)

    def _find(self, evidence: RequestEvidence, *, proxied: bool) -> Identity:
        if evidence.bearer and (attempt := self._leads.attempt(evidence.bearer)):
            return Identity(
                Principal(f"lead:{attempt}", Role.USER, frozenset(), ProofOfIdentity.LEAD, attempt, RoleSource.GRANTED)
            )
        if evidence.bearer:
            found = self._with_role_now(self.tokens.principal(evidence.bearer, self.now()))
            return Identity(found, reason="" if found else "the token is unknown, expired or revoked")
        named = evidence.headers.get(self.settings.proxy_header) if proxied else None
        if named is not None:
            return self._named(named)
        cookie = evidence.cookie(SECURE_COOKIE) or evidence.cookie(COOKIE)
        if cookie:
            found = self._session(cookie)
            if found is not None:
                return Identity(found, signature(cookie, "csrf"))
        if evidence.peer is None or proxied:
            return Identity(reason="the session has ended" if cookie else "")
        name = self._users.name(evidence.peer)
        return Identity(Principal(name, self._system_role(name, evidence.peer)), signature(self._key, name))

    def rate_limit(self, identified: Identity) -> float:
        """Count a request; return the seconds until its sender may send another, else 0.

        Requests of operators are not counted: operators could do worse harm.
        """
        principal = identified.principal
        if principal is not None and principal.is_operator:
            return 0.0
        who = f"user {principal.name}" if principal is not None else f"address {address_group(identified.address)}"
        return self._rates.take(who, self.now())

    def login(self, name: str, password: str, address: str) -> tuple[str, float]:
        """Log a browser in with an account; return its cookie's value and when that expires.

        Raises:
            LoginError: name or password are wrong, or wrong ones came too often.
        """
        client = address_group(address)  # who has one address of IPv6 has many
        try:
            self.accounts.check(name, password, client, self.now())
        except LoginError as error:
            left_out = self._refusals.left_out(client, self.now())
            if left_out is not None:
                who = Principal(name[:64], Role.USER, how=ProofOfIdentity.PASSWORD)
                more = f" ({left_out} more refusals were not written down)" if left_out else ""
                self.log(who, address, "login refused", f"{error}{more}")
            raise
        role = self.accounts.role(name) or Role.USER
        self.log(Principal(name, role, how=ProofOfIdentity.PASSWORD), address, "login", "with a password")
        return self.sessions.begin(Login(name, role, RoleSource.ACCOUNT), self.now())

    def link_user(self, ticket: str) -> str:
        """Return the user of a login link, which stays usable.

        Raises:
            LoginError: the link was used before, or is too old.
        """
        return self._usable(self.sessions.login_of(ticket, self.now())).user

    def redeem(self, ticket: str, address: str) -> tuple[str, float]:
        """Log a browser in with a link; return its cookie's value and when that expires.

        Raises:
            LoginError: the link was used before, or is too old.
        """
        login = self._usable(self.sessions.redeem(ticket, self.now()))
        self.log(Principal(login.user, login.role, how=ProofOfIdentity.LINK), address, "login", "with a link")
        return self.sessions.begin(login, self.now())

    def ticket(self, who: Principal, address: str) -> str:
        """Return the secret of a link that logs a browser of `who` in.

        It has no more rights than `who`, and for no longer.
        """
        self.log(who, address, "login link", "made")
        return self.sessions.ticket(Login(who.name, who.role, who.source, who.credential), self.now())

    def revoke_all(self, user: str) -> None:
        """End all sessions of a user and revoke all tokens."""
        self.sessions.end(user=user)
        self.tokens.revoke(*(row.id for row in self.tokens.of(user)))

    def log(self, who: Principal, address: str, action: str, detail: str) -> None:
        """Write a line of the audit log."""
        entry = AuditEntry(self.now(), who.name, str(who.how), address, action, detail)
        _log.info(action, user=entry.user, how=entry.how, address=address, detail=detail)
        self._credentials.log(entry)

    def audit_log(self, limit: int, offset: int = 0) -> list[AuditEntry]:
        """Return lines of the audit log, the newest first."""
        return self._credentials.audit_log(limit, offset)

    def _usable(self, login: Login | None) -> Login:
        if login is None or not self._goes_on(login.credential):
            raise LoginError("this link has been used or is too old: make another with `cosched portal`")
        return login

    def _named(self, name: str) -> Identity:
        if not is_user_name(name):
            return Identity(reason=f"what the proxy says in {self.settings.proxy_header} cannot name a user")
        role = self.settings.role(name)
        principal = Principal(name, role, ALL_SCOPES, ProofOfIdentity.PROXY, source=RoleSource.PROXY)
        return Identity(principal, signature(self._key, f"proxy {name}"))

    def _session(self, cookie: str) -> Principal | None:
        row = self.sessions.get(cookie, self.now())
        if row is None or not self._goes_on(row.credential):
            return None
        source, role = RoleSource(row.source), Role.of(row.role)
        return self._with_role_now(
            Principal(row.user, role, ALL_SCOPES, ProofOfIdentity.SESSION, identifier_of(row), source)
        )

    def _goes_on(self, credential: str) -> bool:
        """Return whether the token or session that began a session is still good, and what began that, and so on."""
        for _ in range(_MOST_LINKS):
            if not credential or self.tokens.has(credential, self.now()):
                return True
            session = self.sessions.find(credential, self.now())
            if session is None:
                return False
            credential = session.credential
        return False

    def _with_role_now(self, principal: Principal | None) -> Principal | None:
        """Return a credential's principal with its user's present role, if that is lower.

        It is None for a user without any role.

        A credential keeps no role that was taken away from its user.
        """
        if principal is None or principal.source is RoleSource.GRANTED:
            return principal
        role = self._role_now(principal.name, principal.source)
        if role is None:
            return None
        return principal if role >= principal.role else replace(principal, role=role)

    def _role_now(self, name: str, source: RoleSource) -> Role | None:
        if source is RoleSource.ACCOUNT:
            return self.accounts.role(name)
        if source is RoleSource.SYSTEM:
            number = self._users.number(name)
            return None if number is None else self._system_role(name, number)
        return self.settings.role(name)

    def _system_role(self, name: str, number: int) -> Role:
        """Return the role of a user of this machine."""
        return user_role(number) or self.settings.role(name)
