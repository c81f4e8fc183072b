"""The hosts of a domain as the core sees them: which are up, which are taken and until when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.coscheduler.task import AttemptState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.connector.interface import Host
    from cosched.coscheduler.task import Attempt

__all__ = ["Domain", "expected_end"]

# A job that has outrun its prediction is expected to go on for a part of it, and longer the later it is already:
# the estimate must grow, or a job that never ends would hold back everything planned behind it.
_OVERRUN_SHARE = 0.05
_OVERRUN_GROWTH = 0.5
_CLAIM_LEAST = 10.0  # seconds for which a host that others have is planned to stay theirs at least


def expected_end(attempt: Attempt, now: float, handover: float = 0.0) -> float:
    """Return when a live attempt is expected to free its hosts, in epoch seconds; never before `now`.

    Args:
        attempt: live.
        now: epoch seconds.
        handover: seconds from a decision to the start of its job.
    """
    predicted = attempt.predicted or 0.0
    start = max(attempt.created + handover, now) if attempt.started is None else attempt.started
    start = max(start, attempt.created)  # the host's clock may be behind ours
    end = start + predicted
    if end > now:
        return end
    return now + max(_OVERRUN_SHARE * predicted, _OVERRUN_GROWTH * (now - end))


class Domain:
    """Hosts and what occupies them. Holds no task; the core tells it of attempts."""

    def __init__(self) -> None:
        self.hosts: dict[str, Host] = {}
        self._up: list[str] = []  # asked for at every event, and changed by few
        self._classes: dict[str, str] = {}
        self._claimed: dict[str, float] = {}  # host that others have → since when, epoch seconds

    def observe(self, hosts: Iterable[Host], time: float) -> bool:
        """Take the connector's list; return True where a host came, went or changed."""
        seen = {host.name: host for host in hosts}
        changed = seen != self.hosts
        if changed:
            self.hosts = seen
            self._up = sorted(name for name, host in seen.items() if host.up)
            self._classes = {name: host.host_class for name, host in seen.items()}
        self._claimed = {name: self._claimed.get(name, time) for name, host in seen.items() if host.claimed}
        return changed

    def claims(self, now: float) -> dict[str, float]:
        """Return when each host that others have is expected to be free, epoch seconds, always after `now`.

        Where the manager does not say, what has lasted so long is expected to last as long again.
        """
        return {
            name: max(self.hosts[name].free_at or now + (now - since), now + _CLAIM_LEAST)
            for name, since in self._claimed.items()
        }

    def mine(self) -> list[str]:
        """Return the names of the usable hosts that nobody else has, sorted."""
        return [name for name in self.up() if name not in self._claimed]

    def up(self) -> list[str]:
        """Return the names of the usable hosts, sorted."""
        return list(self._up)

    def classes(self) -> dict[str, str]:
        """Return the class of each host, empty where the manager does not say."""
        return dict(self._classes)

    @staticmethod
    def occupied(attempts: Iterable[Attempt], now: float, handover: float = 0.0) -> dict[str, float]:
        """Return when each taken host is expected to be free.

        A held attempt takes no host: its manager gives them to others meanwhile.
        """
        free: dict[str, float] = {}
        for attempt in attempts:
            if attempt.state.live and attempt.state is not AttemptState.HELD:
                end = expected_end(attempt, now, handover)
                for host in attempt.hosts:
                    free[host] = max(free.get(host, 0.0), end)
        return free
