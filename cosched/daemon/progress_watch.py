"""The progress watch tells of jobs that do not begin, and of overruns."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import structlog

from cosched.coscheduler.progress import Progress
from cosched.errors import SystemFault

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ProgressWatch"]

_log = structlog.get_logger("cosched.progress")


class ProgressWatch(threading.Thread):
    """Looks at the core's progress now and then until `stop`.

    So nobody who asks for faults waits for the core.

    Args:
        look: returns the progress now.
        pause: seconds between two looks.
    """

    def __init__(self, look: Callable[[], Progress], pause: float = 2.0) -> None:
        super().__init__(name="progress", daemon=True)
        self._look = look
        self._pause = pause
        self._stopped = threading.Event()
        self._known = Progress()
        self._told: set[str] = set()  # attempts whose overrun is in the log

    def stop(self) -> None:
        """End after the look under way."""
        self._stopped.set()
        if self.ident is not None:
            self.join()

    def run(self) -> None:
        """Look again and again."""
        while not self._stopped.wait(self._pause):
            try:
                self.look()
            except SystemFault as fault:  # the engine is busy, and says so itself
                _log.debug("no answer", fault=str(fault))

    def look(self) -> None:
        """Look once; what is new goes into the log, an overrun at the second look.

        A job that ended while no daemon was there seems to run on until the manager has told.
        """
        before, self._known = self._known, self._look()
        seen = {each.attempt for each in before.overruns}
        self._told &= seen
        for each in self._known.overruns:
            if each.attempt in seen - self._told:
                self._told.add(each.attempt)
                _log.warning(
                    "longer than predicted",
                    task=each.task,
                    attempt=each.attempt,
                    seconds=round(each.expected - each.predicted),
                    presses=",".join(each.presses),
                )
        for host in self._known.suspects.keys() - before.suspects.keys():
            _log.warning("several tasks did not begin on a host", host=host, tasks=self._known.suspects[host])

    def faults(self) -> list[str]:
        """Return what people must look after.

        Every user reads it: it names no task.
        """
        known, faults = self._known, []
        if count := len(known.unstarted):
            tasks = "1 task is" if count == 1 else f"{count} tasks are"
            faults.append(
                f"not started: {tasks} not started by the resource manager; `cosched task explain` tells owners and "
                "operators why"
            )
        faults += [
            f"not started: {tasks} tasks did not begin on host {host} although it was free; others are preferred for a "
            "while, then it is tried again. Look at it in the resource manager"
            for host, tasks in known.suspects.items()
        ]
        return faults
