"""Expected contention: how much longer tasks on shared hosts run beside others.

A plan does not know who will run beside whom at each moment. So a task that leaves room on its hosts is expected to run
as long as beside others that fill them; one that has its hosts for itself, or takes all their cores or memory, as long
as alone. Start at `ExpectedContention`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cosched.prediction.contention import exponent_of, left_beside, stated_slowdown, times_longer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.coscheduler.places.hosts import DomainHosts
    from cosched.coscheduler.task import Task

__all__ = ["ExpectedContention", "contention_key", "contention_on"]


def contention_key(task: Task, hardware: str) -> str:
    """Return the key of runs that contend alike: of an application, or of a user's program, on a class of hosts.

    Args:
        task: with a profile.
        hardware: of the profile on hosts of the class.
    """
    if not task.correction:
        return f"{task.owner} {task.spec.application}/{hardware}"
    return task.correction_on(hardware).replace("+runs/", "/")  # its runs contend whatever corrects their predictions


@dataclass(frozen=True, slots=True)
class ExpectedContention:
    """Slowdowns beside others that plans and predictions reckon with.

    Attributes:
        learnt: exponents that runs have taught, by `contention_key`.
        stated: slowdown on a full host as the administrator says, by class of hosts (`CoreSettings.contention`); of
            programs that have not run yet, as what runs took has in it what was beside them.
    """

    learnt: Mapping[str, float] = field(default_factory=dict)
    stated: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether anything is known."""
        return bool(self.learnt or self.stated)

    def exponent(self, task: Task, hardware: str, host_class: str) -> float:
        """Return the exponent of a task on a class of hosts; see `prediction.contention`. Of an elastic task it is 0.

        Args:
            task: with a profile.
            hardware: of the profile on hosts of the class.
            host_class: as the manager names it.
        """
        if task.spec.elastic is not None:
            return 0.0
        if (learnt := self.learnt_exponent(task, hardware)) is not None:
            return learnt
        if task.profile is not None and task.profile.runs:
            return 0.0
        return exponent_of(stated_slowdown(self.stated, host_class))

    def learnt_exponent(self, task: Task, hardware: str) -> float | None:
        """Return the exponent that runs have taught; None where they have not."""
        return self.learnt.get(contention_key(task, hardware)) if self.learnt else None

    def times_longer(self, task: Task, hardware: str, host_class: str, part: float) -> float:
        """Return the expected run time as a multiple of that alone, where others have a part of the host."""
        return times_longer(self.exponent(task, hardware, host_class), part) if part else 1.0


def contention_on(domain: DomainHosts, expected: ExpectedContention, task: Task, hosts: Sequence[str]) -> float:
    """Return a task's expected run time on these hosts as a multiple of that alone; the slowest host decides.

    Args:
        domain: the hosts.
        expected: what is known of contention.
        task: in the shape that it has or will have.
        hosts: those it has or will have.
    """
    share = domain.share_of(task.spec)
    if share is None or task.profile is None or not expected:
        return 1.0
    longest = 1.0
    for name in hosts:
        if name in domain.hosts and domain.parted(name):
            size, host_class = domain.size(name), domain.hosts[name].host_class
            there = task.profile.among((host_class,)).hardware
            part = left_beside(share.cores, share.memory, size.cores, size.memory)
            longest = max(longest, expected.times_longer(task, there, host_class, part))
    return longest
