"""Staging: a new task waits for a while, so that the search has looked at it before it leaves.

A search that starts is waited for longer: whatever left meanwhile would leave by the plan of a simple rule. Start at
`Staging.over`.
"""

from __future__ import annotations

from cosched.coscheduler.recording.snapshot import StagingSnapshot

__all__ = ["Staging"]


class Staging:
    """Says until when tasks wait for the search at most.

    A search that nobody has announced as starting is taken for one that is at work.
    """

    def __init__(self, longest: float, search_start: float) -> None:
        """Set up.

        Args:
            longest: seconds that a task waits at most for a search that is at work; 0: no task ever waits.
            search_start: seconds that tasks wait at most for a search that starts and has not answered yet. They count
                once hosts are up, without which there is nothing to search.
        """
        self._longest = longest
        self._search_start = search_start
        self._awaited: float | None = None  # since when the search's answer is awaited
        self._answered = 0.0  # when the last one came that was awaited
        self._hosts_known: float | None = None

    def load(self, snapshot: StagingSnapshot) -> None:
        """Go on from a snapshot."""
        self._awaited, self._answered, self._hosts_known = snapshot.awaited, snapshot.answered, snapshot.hosts_known

    def snapshot(self) -> StagingSnapshot:
        """Return all that is remembered."""
        return StagingSnapshot(self._awaited, self._answered, self._hosts_known)

    def await_search(self, time: float) -> None:
        """Note that the search starts; where it starts again before it has answered, the first time counts."""
        if self._awaited is None:
            self._awaited = time

    def search_answered(self, time: float) -> None:
        """Note that the search has answered: what it has not looked at waits for it from now on."""
        if self._awaited is not None:
            self._awaited, self._answered = None, time

    def hosts_came(self, time: float) -> None:
        """Note that hosts are up; the first time counts."""
        if self._hosts_known is None:
            self._hosts_known = time

    def over(self, submitted: float, time: float) -> bool:
        """Return whether a task that the search has not looked at has waited long enough.

        Args:
            submitted: when it came, epoch seconds.
            time: now, epoch seconds.
        """
        if not self._longest:
            return True
        if self._awaited is None:
            return time >= max(submitted, self._answered) + self._longest
        if self._hosts_known is None:
            return False  # nor could it leave
        given_up = max(self._awaited, self._hosts_known) + self._search_start
        return time >= max(submitted + self._longest, given_up)
