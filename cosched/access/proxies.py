"""Requests carry evidence of their sender; trusted reverse proxies may vouch for it.

Start at `RequestEvidence`; `parse_proxies` reads [access] proxy.
"""

from __future__ import annotations

import hmac
import ipaddress
import pwd
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["RequestEvidence", "TrustedProxies", "is_loopback", "parse_proxies"]


@dataclass(frozen=True, slots=True)
class RequestEvidence:
    """Evidence of a request's sender: its connection and its headers.

    Attributes:
        peer: user id at the other end of a unix socket; None on a port.
        address: IP address at the other end; empty on a unix socket.
        secure: whether the connection is encrypted.
        headers: headers of the request, names in lower case.
    """

    peer: int | None = None
    address: str = ""
    secure: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def eavesdroppable(self) -> bool:
        """Return whether others can read the connection: unencrypted, and not within this machine."""
        return self.peer is None and not self.secure and not is_loopback(self.address)

    @property
    def bearer(self) -> str:
        """The token in the header Authorization; empty without one."""
        scheme, _, value = self.headers.get("authorization", "").partition(" ")
        return value.strip() if scheme.lower() == "bearer" else ""

    def cookie(self, name: str) -> str:
        """Return the value of a cookie; empty without it."""
        for part in self.headers.get("cookie", "").split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
        return ""


@lru_cache(maxsize=256)
def is_loopback(address: str) -> bool:
    """Return whether an IP address is a loopback address of this machine."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


_HEADER = "x-proxy-secret"
_OWN = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1"))


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """Trusted reverse proxies, known by their user or by their network.

    The user is that at a unix socket's other end, the network that of a port's client.

    Attributes:
        uids: user ids of the proxies.
        networks: networks of their addresses, which other programs may have, too.
        secret: value of their header X-Proxy-Secret at a port; empty: none is needed.
    """

    uids: frozenset[int] = frozenset()
    networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = ()
    secret: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return bool(self.uids or self.networks)

    def forwarded(self, evidence: RequestEvidence) -> bool:
        """Return whether one of the proxies forwarded the request."""
        if evidence.peer is not None:
            return self.at(evidence.peer)
        given = evidence.headers.get(_HEADER, "")
        if self.secret and not hmac.compare_digest(given.encode(), self.secret.encode()):
            return False
        return self.at(evidence.address)

    def at(self, sender: str | int) -> bool:
        """Return whether one of the proxies has this IP address or user id."""
        if isinstance(sender, int):
            return sender in self.uids
        if not self.networks:
            return False
        try:
            address = ipaddress.ip_address(sender)
        except ValueError:
            return False
        return any(address in network for network in self.networks)

    @property
    def forgeable(self) -> bool:
        """Return whether any user of this machine could send requests as one of the proxies."""
        return not self.secret and any(
            network.overlaps(own) for network in self.networks for own in _OWN if network.version == own.version
        )


def parse_proxies(words: Iterable[str], secret: str = "") -> TrustedProxies:
    """Read `unix:USER`, `192.0.2.7` or `192.0.2.0/24`.

    Args:
        words: one for each proxy.
        secret: in the header X-Proxy-Secret of those at an address; empty: none is needed.

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
    return TrustedProxies(frozenset(uids), tuple(networks), secret)


def _uid(user: str) -> int:
    try:
        return pwd.getpwnam(user).pw_uid
    except (KeyError, ValueError) as error:
        raise UserError(f"there is no user {user!r} on this machine: write unix:USER with the proxy's user") from error
