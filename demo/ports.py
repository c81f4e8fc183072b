"""Ports of this machine for daemons that are told beforehand where to listen, and that may be away for a while."""

from __future__ import annotations

import random
import socket
from pathlib import Path

__all__ = ["free_ports", "handed_out_from"]

_LOWEST = 15000


def handed_out_from() -> int:
    """Return the lowest port that the system gives to whoever asks for any."""
    return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])


def free_ports(count: int) -> list[int]:
    """Return different ports of the loopback that nobody uses now.

    They are below those that the system hands out by itself: one of these could be somebody else's by the time that
    the daemon listens there, or while it is restarted.
    """
    found: list[int] = []
    candidates = random.SystemRandom().sample(range(_LOWEST, max(handed_out_from(), _LOWEST + 2000)), 2000)
    while len(found) < count:
        port = candidates.pop()
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
    return found
