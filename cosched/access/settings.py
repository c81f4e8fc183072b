"""What an administrator sets about who may do what."""

from __future__ import annotations

from dataclasses import dataclass, field

from cosched.access.principal import Role
from cosched.access.proxies import Proxies

__all__ = ["AccessSettings"]


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """What an administrator sets; durations in seconds.

    Attributes:
        administrators: users of the unix socket and of the proxy with this role.
        operators: likewise.
        proxies: trusted to name users.
        proxy_header: in which they do, in lower case.
        session: how long a login lasts.
        longest_token: how long a token may be good for.
        requests: how many requests a second a user may make, and an address that nobody has logged in from.
        waiting: how many tasks of a user may wait or run.
    """

    administrators: frozenset[str] = frozenset()
    operators: frozenset[str] = frozenset()
    proxies: Proxies = field(default_factory=Proxies)
    proxy_header: str = "x-remote-user"
    session: float = 43200.0
    longest_token: float = 366 * 86400.0
    requests: float = 100.0
    waiting: int = 10_000

    def role(self, user: str) -> Role:
        """Return the role that the configuration gives a user."""
        if user in self.administrators:
            return Role.ADMINISTRATOR
        return Role.OPERATOR if user in self.operators else Role.USER
