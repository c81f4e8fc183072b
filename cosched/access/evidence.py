"""What a connection and the head of its request say about who asks."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Evidence", "is_loopback"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a connection and the head of its request say about who asks.

    Attributes:
        peer: user id at the other end of a unix socket; None on a port.
        address: IP address at the other end; empty on a unix socket.
        secure: whether the connection is encrypted.
        headers: of the request, names in lower case.
    """

    peer: int | None = None
    address: str = ""
    secure: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def readable(self) -> bool:
        """Whether others on the network can read what is sent: neither encrypted nor within this machine."""
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


def is_loopback(address: str) -> bool:
    """Whether an IP address is this machine's own."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
