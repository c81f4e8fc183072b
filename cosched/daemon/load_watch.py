"""The load watch sees what owners and foreign jobs take of hosts, keeps it by hours and says what to expect."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import structlog

from cosched.app.periodic_writer import PeriodicWriter
from cosched.connector.hosts import HostShare
from cosched.errors import SystemFault
from cosched.prediction.loads.load_change import NOTICE
from cosched.prediction.loads.load_history import LoadCause, LoadHistory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    from cosched.connector.hosts import Host
    from cosched.prediction.loads.host_load import HostLoad
    from cosched.prediction.loads.load_history import HourlyLoad
    from cosched.store.host_loads import HostLoadTable

    _A = TypeVar("_A")

__all__ = ["LoadWatch"]

_log = structlog.get_logger("cosched.loads")


class LoadWatch(PeriodicWriter):
    """Takes in each look at the hosts, on the thread that looks; readers may be on any other."""

    def __init__(
        self,
        table: HostLoadTable,
        now: Callable[[], float],
        *,
        planned: bool,
        follows: bool = True,
        notice: float = NOTICE,
        shared: bool = False,
    ) -> None:
        """Set up; reads what a former process kept.

        Args:
            table: keeps the hours.
            now: returns seconds since the epoch.
            planned: whether plans are to reckon with the loads.
            follows: whether they follow what is seen of hosts that do not do as their past foretells.
            notice: host-seconds that an owner must take more, or less, than his past foretells before they do.
            shared: whether tasks share hosts, so that foreign jobs that have a part of one leave the rest.
        """
        super().__init__("loads")
        self._table = table
        self._now = now
        self._planned = planned
        self._shared = shared
        self._guard = threading.Lock()
        self._owners = LoadHistory(LoadCause.OWNER, follows=follows, notice=notice)
        self._jobs = LoadHistory(LoadCause.JOBS)
        kept = table.all()
        for history in (self._owners, self._jobs):
            history.load(row for row in kept if row.cause is history.cause)
        self._unwritten: list[HourlyLoad] = []

    def write(self) -> None:
        """Write the changes, and forget what is old; after a failure, try again the next time."""
        with self._guard:
            rows = self._unwritten + self._owners.unwritten() + self._jobs.unwritten()
            first = min(history.forget(self._now()) for history in (self._owners, self._jobs))
        try:
            if rows:
                self._table.put(rows)
                self._table.forget_before(first)
            rows = []
        except SystemFault as fault:
            _log.warning("the loads of hosts were not written; it is tried again", fault=str(fault))
        with self._guard:
            self._unwritten = rows

    def look(self, hosts: Sequence[Host], time: float) -> Mapping[str, HostLoad]:
        """Take in a look at the hosts; return the loads of owners that plans are to reckon with."""
        with self._guard:
            self._owners.observe({host.name: host.owner_takes for host in hosts}, time)
            self._jobs.observe({host.name: _part_of_jobs(host, shared=self._shared) for host in hosts if host.up}, time)
            loads = self._owners.loads(time)
        return loads if self._planned else {}

    def read(self, question: Callable[[LoadHistory, LoadHistory], _A]) -> _A:
        """Return the answer of a question to the histories of owners and of foreign jobs."""
        with self._guard:
            return question(self._owners, self._jobs)


def _part_of_jobs(host: Host, *, shared: bool) -> float:
    """Return which part of a host foreign jobs have now, 0…1; of a shared one that of what they hold most of."""
    if host.claimed and not host.owner_takes and not (shared and host.others != HostShare()):
        return 1.0
    others = host.others
    pairs = ((others.cores, host.cores), (others.memory, host.memory), (others.gpus, host.gpus))
    return min(max((taken / had for taken, had in pairs if had), default=0.0), 1.0)
