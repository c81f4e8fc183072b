"""The search's side of the partner: a process of its own, which is given problems and gives bounds and plans back.

A solver that hangs, crashes or needs much memory cannot take the search with it; it has a processor of its own and
takes no time of the search's.
"""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from cosched.scheduling.exact.messages import ExactAnswer, ExactRequest

if TYPE_CHECKING:
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["ExactPartner", "solver_installed"]

_MOST_DEATHS = 3  # of its process; then it is left alone


def solver_installed() -> bool:
    """Return whether OR-Tools is installed, without loading it."""
    return importlib.util.find_spec("ortools") is not None


class ExactPartner:
    """Keeps a worker process, which it starts with the first problem.

    Attributes:
        working: whether answers about the newest problem may still come.
    """

    def __init__(self, nice: int = 0) -> None:
        """Set up.

        Args:
            nice: added to the process's nice value.
        """
        self._nice = nice
        self._changed = threading.Condition()
        self._number = 0
        self._request: ExactRequest | None = None  # not yet given to the process
        self._answers: list[ExactAnswer] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self._closed = False
        self.working = False

    def begin(self, problem: Problem, plan: Plan, bound: float, seconds: float) -> None:
        """Give it a problem in place of the one before (see `ExactRequest`)."""
        self._ask(problem, plan, bound, seconds)

    def rest(self) -> None:
        """Stop its work; no answers come any more."""
        if self.working:
            self._ask()

    def close(self) -> None:
        """End its process."""
        with self._changed:
            self._closed = True
            self.working = False
            self._changed.notify_all()
            if self._process is not None:
                self._process.kill()

    def answers(self, seconds: float = 0.0) -> list[ExactAnswer]:
        """Return the answers about the newest problem that have come since the last call.

        Args:
            seconds: how long to wait for an answer at most.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._answers or not self.working, seconds)
            found, self._answers = self._answers, []
            return found

    def _ask(
        self, problem: Problem | None = None, plan: Plan | None = None, bound: float = 0.0, seconds: float = 0.0
    ) -> None:
        with self._changed:
            if self._closed or self._deaths >= _MOST_DEATHS:
                return
            self._number += 1
            self._request = ExactRequest(self._number, problem, plan, bound, seconds)
            self._answers, self.working = [], problem is not None
            if self._process is None and self.working:
                command = [sys.executable, "-m", "cosched.scheduling.exact.worker", str(self._nice)]
                self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                for serve in (self._write, self._read):
                    threading.Thread(target=serve, args=(self._process,), daemon=True, name="exact partner").start()
            self._changed.notify_all()

    def _write(self, process: subprocess.Popen[bytes]) -> None:
        """Hand requests on; a process that reads slowly keeps nobody waiting."""
        assert process.stdin is not None
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._over(process) or self._request is not None)
                if self._over(process):
                    return
                request, self._request = self._request, None
            try:
                pickle.dump(request, process.stdin)
                process.stdin.flush()
            except (OSError, ValueError):  # it has died; `_read` sees to that
                return

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            while True:
                answer: ExactAnswer = pickle.load(process.stdout)  # noqa: S301  from our own child
                with self._changed:
                    if answer.number == self._number:
                        self.working = answer.bound is not None
                        self._answers += [answer] if self.working else []
                        self._changed.notify_all()
        except Exception:  # it has died, or a new version was installed under this one: it is of no use any more
            process.kill()
            process.wait()
            with self._changed:
                self._process = None
                self._deaths += not self._closed
                self.working = False
                self._changed.notify_all()
            process.stdout.close()
            with suppress(OSError):  # what was not yet written
                process.stdin.close()

    def _over(self, process: subprocess.Popen[bytes]) -> bool:
        return self._closed or self._process is not process
