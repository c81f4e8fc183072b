"""Limit the number of connections and how long each may keep the server waiting.

When all places are taken, one of the waiting connections is closed for a new one.

Start at `ConnectionPlaces.admit`; `protocol.py` and `listener.py` use it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["ConnectionLimits", "ConnectionPlaces", "Holder", "ServerLimits"]


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits for the connections of all sockets of one kind.

    Attributes:
        most: connections at once.
        most_each: connections of one address or one user among them.
        head: seconds in which a request's head must arrive, counted from the connection's opening or the last answer.
        body: seconds in which its body must arrive; each 64 KiB of it give one more.
        stalled: seconds for which a client may take nothing of an answer.
    """

    most: int = 400
    most_each: int = 50
    head: float = 15.0
    body: float = 60.0
    stalled: float = 60.0


# All connections of both kinds leave room for the daemon's own files where only 1,024 may be open.
_PORTS = ConnectionLimits()
_UNIX = ConnectionLimits(most=300, most_each=100)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Limits of a server, for ports and unix sockets apart.

    Attributes:
        ports: limits of all ports together.
        unix: limits of all unix sockets together.
        unbound: returns whether an address or user id may have all places: a proxy, whose users share its connections.
    """

    ports: ConnectionLimits = _PORTS
    unix: ConnectionLimits = _UNIX
    unbound: Callable[[str | int], bool] = lambda _: False


class Holder(Protocol):
    """A connection that holds a place, or is to have one."""

    @property
    def owner(self) -> str:
        """The address or user at its other end."""
        ...

    @property
    def unbound(self) -> bool:
        """True for a proxy's: many users share its connections, so only the total binds it."""
        ...

    @property
    def waiting(self) -> float | None:
        """Time since when its client must send or take something.

        It is None while an answer is being made.
        """
        ...

    def end(self) -> None:
        """End the connection at once."""
        ...


class ConnectionPlaces:
    """The places of all connections of one kind of socket, for one thread."""

    def __init__(self, limits: ConnectionLimits, unbound: Callable[[str | int], bool] = lambda _: False) -> None:
        """Set up.

        Args:
            limits: limits of the connections.
            unbound: returns whether an address or user id may have all places.
        """
        self.limits = limits
        self.unbound = unbound
        self._holders: defaultdict[str, set[Holder]] = defaultdict(set)
        self._count = 0

    def admit(self, holder: Holder) -> str:
        """Give a new connection a place; return why it gets none, or an empty text.

        Where all are taken, the connection that has kept us waiting for longest is ended: half-open connections
        never keep a client out that sends its request. Where all are being answered, there is no place.
        """
        own = self._holders.get(holder.owner, set())
        if len(own) >= self.limits.most_each and not holder.unbound:
            if not self._end_longest_waiting(own):
                return f"{len(own)} connections of {holder.owner} are open: close some, or try again in a while"
        elif self._count >= self.limits.most and not self._end_longest_waiting(self._all()):
            return f"{self._count} connections are open, as many as may be: try again in a while"
        self._holders[holder.owner].add(holder)
        self._count += 1
        return ""

    def release(self, holder: Holder) -> None:
        """Free the place of a connection that ends; more than once is no harm."""
        own = self._holders.get(holder.owner, set())
        if holder in own:
            own.remove(holder)
            self._count -= 1
            if not own:
                del self._holders[holder.owner]

    def _all(self) -> Iterable[Holder]:
        return (holder for own in self._holders.values() for holder in own)

    def _end_longest_waiting(self, holders: Iterable[Holder]) -> bool:
        waiting = [(holder.waiting, holder) for holder in holders if holder.waiting is not None]
        if not waiting:
            return False
        _, longest = min(waiting, key=lambda each: each[0])
        self.release(longest)
        longest.end()
        return True
