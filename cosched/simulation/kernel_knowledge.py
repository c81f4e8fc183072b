"""What the agents of a simulated grid know of tasks: kernels by name, on hardware that differs in speed alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.agent.knowledge import document_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cosched.agent.messages import TaskDocument
    from cosched.coscheduler.task import Task
    from cosched.prediction.profile import Profile

__all__ = ["KernelKnowledge"]


class KernelKnowledge:
    """Knows how long the kernels take on every class of hardware."""

    def __init__(self, slowness: Mapping[str, float], profiles: Callable[[str], Profile]) -> None:
        """Set up.

        Args:
            slowness: by class of hardware: run time ÷ that on hosts of slowness 1.
            profiles: run times of a kernel on hosts of slowness 1, by its name.
        """
        self._slowness = slowness
        self._profiles = profiles
        self._limited: dict[tuple[str, str, int], Profile | None] = {}
        self._known: dict[tuple[str, str], Profile] = {}

    def on(self, kernel: str, hardware: str) -> Profile:
        """Return the kernel's times on a class of hardware."""
        key = (kernel, hardware)
        if key not in self._known:
            self._known[key] = self._profiles(kernel).scaled(self._slowness[hardware])
        return self._known[key]

    def document(self, task: Task, hosts: int) -> TaskDocument:
        """Describe a task by its kernel's name; see `Knowledge`."""
        return document_of(task, hosts)

    def profile(self, document: TaskDocument, hardware: str, hosts: int) -> Profile | None:
        """Return a task's times elsewhere, None where none of so many hosts can run it; see `Knowledge`."""
        key = (document.application, hardware, hosts)
        if key not in self._limited:
            times = self.on(document.application, hardware)
            possible = any(map(math.isfinite, times.seconds[:hosts]))
            self._limited[key] = times.limited(hosts) if possible else None
        return self._limited[key]
