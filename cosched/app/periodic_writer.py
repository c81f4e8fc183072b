"""A thread that writes down now and then what its class collects; see `PlanHistory`, and `LoadWatch` of the daemon."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

__all__ = ["PeriodicWriter"]

_PAUSE = 60.0  # seconds between two times that it writes: what a crash may lose


class PeriodicWriter(threading.Thread, ABC):
    """Calls `write` every minute from `start` to `stop`, and once more at the end."""

    def __init__(self, name: str, pause: float = _PAUSE) -> None:
        """Set up.

        Args:
            name: of the thread.
            pause: seconds between two times that it writes.
        """
        super().__init__(name=name, daemon=True)
        self._pause = pause
        self._stopped = threading.Event()

    @abstractmethod
    def write(self) -> None:
        """Write what has changed since the last time; after a failure, try again the next time.

        It is called on this thread, and by `stop` on the caller's.
        """

    def run(self) -> None:
        """Write now and then until `stop`."""
        while not self._stopped.wait(self._pause):
            self.write()

    def stop(self) -> None:
        """Write the rest down and end; one that was never started only writes."""
        self._stopped.set()
        if self.ident is not None:
            self.join()
        self.write()
