"""The interface of loans of hosts, whole or in parts, at one look at the plan; `ElasticTasks` asks it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.elastic.bad_hosts import OtherHosts
    from cosched.scheduling.elastic.idle_loans import IdleHosts

__all__ = ["HostLoans", "NeededBack"]


class NeededBack(NamedTuple):
    """A worker that leaves what it was lent, why, and for which waiting task; empty: for no one task."""

    worker: Attempt
    reason: str
    task: str = ""


class HostLoans(Protocol):
    """Lent and idle hosts at one look at the plan; `whole_host_loans.py` and `shared_host_loans.py` know them."""

    def needed_back(self, lent: Sequence[Attempt], ready: Callable[[str], bool]) -> Sequence[NeededBack]:
        """Return the workers that leave what they were lent now, and why.

        Args:
            lent: the workers on lent hosts, in order; none that is being ended.
            ready: whether a waiting task may leave.
        """
        ...

    @property
    def idle_hosts(self) -> Sequence[str]:
        """The hosts that could be lent, whole or in part."""
        ...

    def others(self, task: str, /) -> OtherHosts:
        """Return the hosts that workers of a task could go to."""
        ...

    def idle(self, allowed: Mapping[str, Sequence[str]]) -> IdleHosts:
        """Return the idle hosts, or idle parts of hosts, that can be lent.

        Args:
            allowed: the hosts that may be lent to each task, by its name, the preferred ones first.
        """
        ...
