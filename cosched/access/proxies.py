"""Reverse proxies that are trusted to say who asks."""

from __future__ import annotations

import hmac
import ipaddress
import pwd
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.access.evidence import Evidence

__all__ = ["Proxies", "parse_proxies"]

_HEADER = "x-proxy-secret"
_OWN = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1"))


@dataclass(frozen=True, slots=True)
class Proxies:
    """Where trusted proxies connect from: users at a unix socket, networks at a port.

    Attributes:
        uids: of their users.
        networks: of their addresses. Other programs have these, too.
        secret: what they send in the header X-Proxy-Secret from there; empty: nothing.
    """

    uids: frozenset[int] = frozenset()
    networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = ()
    secret: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return bool(self.uids or self.networks)

    def sent(self, evidence: Evidence) -> bool:
        """Whether a request came from one of them."""
        if evidence.peer is not None:
            return evidence.peer in self.uids
        try:
            address = ipaddress.ip_address(evidence.address)
        except ValueError:
            return False
        given = evidence.headers.get(_HEADER, "")
        if self.secret and not hmac.compare_digest(given.encode(), self.secret.encode()):
            return False
        return any(address in network for network in self.networks)

    @property
    def posed(self) -> bool:
        """Whether any user of this machine could pose as one of them."""
        return not self.secret and any(
            network.overlaps(own) for network in self.networks for own in _OWN if network.version == own.version
        )


def parse_proxies(words: Iterable[str], secret: str = "") -> Proxies:
    """Read `unix:USER`, `192.0.2.7` or `192.0.2.0/24`.

    Args:
        words: one for each proxy.
        secret: what those at an address send in the header X-Proxy-Secret; empty: nothing.

    Raises:
        UserError: a word is none of these, or there is no such user.
    """
    uids, networks = set(), []
    for word in words:
        if word.startswith("unix:"):
            uids.add(_uid(word.removeprefix("unix:")))
            continue
        try:
            networks.append(ipaddress.ip_network(word))
        except ValueError as error:
            raise UserError(
                f"{word!r} is not the address of a proxy ({error}): write unix:USER, an IP address or a network"
            ) from error
    return Proxies(frozenset(uids), tuple(networks), secret)


def _uid(user: str) -> int:
    try:
        return pwd.getpwnam(user).pw_uid
    except (KeyError, ValueError) as error:
        raise UserError(f"there is no user {user!r} on this machine: write unix:USER with the proxy's user") from error
