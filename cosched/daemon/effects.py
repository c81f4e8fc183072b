"""Effects carry out what core and agent have decided, once it is on disk.

Start at `Effects.carry_out`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import structlog

from cosched.agents.agent_outcome import SendLetter
from cosched.coscheduler.changes import CancelAttempt, DiagnoseAttempt, DispatchAttempt, LocateAttempt, Replan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.agents.protocol.letters import Letter
    from cosched.coscheduler.changes import Decision
    from cosched.coscheduler.core import Coscheduler
    from cosched.daemon.manager.resource_manager import ResourceManager
    from cosched.daemon.processes.search import SearchProcess

__all__ = ["SNAPSHOT_INTERVAL", "Effects"]

_log = structlog.get_logger("cosched.engine")

SNAPSHOT_INTERVAL = 0.05
"""Seconds between two snapshots for the search at least."""

_SNAPSHOT_SHARE = 0.1  # of the engine's time: snapshots of long queues are made less often


class Effects:
    """Carries decisions out; used by the engine's thread alone."""

    def __init__(
        self,
        manager: ResourceManager,
        search: SearchProcess | None = None,
        send: Callable[[Letter], None] | None = None,
    ) -> None:
        """Set up.

        Args:
            manager: submits, cancels and locates attempts.
            search: gets snapshots; None under a policy that does not search.
            send: brings letters to neighbours; None where there is no agent.
        """
        self._manager = manager
        self._search = search
        self._send = send
        self._replan = False
        self._next_snapshot = 0.0

    @property
    def snapshot_due(self) -> bool:
        """Return whether the search waits for a snapshot."""
        return self._replan

    def carry_out(self, decisions: Sequence[Decision]) -> None:
        """Carry out decisions in their order; dispatches first and together."""
        dispatches = [(one.attempt, one.task) for one in decisions if isinstance(one, DispatchAttempt)]
        for attempt, task in dispatches:
            _log.info("dispatch", task=task.id, attempt=attempt.uuid, hosts=",".join(attempt.hosts))
        if dispatches:
            self._manager.submit(dispatches)
        for decision in decisions:
            match decision:
                case CancelAttempt(attempt=uuid, unless_begun=True):
                    self._manager.call_back(uuid)
                case CancelAttempt(attempt=uuid, adopted=adopted):
                    self._manager.cancel(uuid, adopted)
                case LocateAttempt(attempt=uuid, fence=fence):
                    self._manager.locate(uuid, fence=fence)
                case DiagnoseAttempt(attempt=uuid):
                    self._manager.diagnose(uuid)
                case Replan():
                    self._replan = self._search is not None
                case SendLetter(letter) if self._send is not None:
                    self._send(letter)

    def give_snapshot(self, core: Coscheduler, now: float) -> None:
        """Give the search a snapshot of the core, if one is due."""
        began = time.monotonic()
        if self._search is None or not self._replan or began < self._next_snapshot:
            return
        self._replan = False
        snapshot = core.planning_view.snapshot(now)
        if snapshot is not None:
            self._search.plan(now, *snapshot)
        took = time.monotonic() - began
        self._next_snapshot = began + max(SNAPSHOT_INTERVAL, took / _SNAPSHOT_SHARE)
