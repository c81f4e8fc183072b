"""The search process as the daemon sees it: snapshots go out, better plans come in."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from cosched.coscheduler.events import ScheduleImproved, SearchAwaited
from cosched.daemon.processes.planner import PlanningSnapshot, SearchAllowance

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.daemon.clock import Clock
    from cosched.scheduling.objective.weights import Weights
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["SearchProcess"]

_log = structlog.get_logger("cosched.search")
_START_AGAIN = 2.0  # seconds before a search process that died is started again


class SearchProcess:
    """Keeps a planner (`cosched.daemon.processes.planner`) at work on the newest snapshot.

    The daemon never waits for it for long: it is told when a planner starts, and without one tasks leave in the end in
    the order and on the hosts of a simple rule.

    Attributes:
        ended: how often a planner has ended by itself.
    """

    def __init__(
        self,
        post: Callable[[ScheduleImproved | SearchAwaited], None],
        clock: Clock,
        weights: Weights,
        seed: int,
        courtesy: SearchAllowance,
    ) -> None:
        self._post = post
        self._clock = clock
        self._weights = weights
        self._seed = seed
        self._courtesy = courtesy
        self._changed = threading.Condition()
        self._snapshot: PlanningSnapshot | None = None  # the newest
        self._given = True  # whether the planner that runs has got it
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self.ended = 0
        self._thread = threading.Thread(target=self._run, name="search", daemon=True)

    def start(self) -> None:
        """Start the planner; the core hears of it before this returns."""
        self._post(SearchAwaited(self._clock.now()))
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """The planner's process; None while none runs."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def plan(self, time: float, problem: Problem, plan: Plan) -> None:
        """Give the planner a new snapshot, in place of one not yet begun."""
        with self._changed:
            self._snapshot = PlanningSnapshot(time, problem, plan, self._weights, self._seed)
            self._given = False
            self._changed.notify()

    def stop(self) -> None:
        """End the planner."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
            if self._process is not None:
                self._process.kill()  # it has nothing to save, and may not be reading
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped:
            try:
                self._serve()
            except OSError as error:  # it died while it was written to, or the machine has no room for it
                _log.warning("search", fault=str(error))
            with self._changed:
                if not self._stopped:
                    self.ended += 1
                    self._post(SearchAwaited(self._clock.now()))
                    _log.error("the search process ended; starting it again", seconds=_START_AGAIN)
                    self._changed.wait_for(lambda: self._stopped, _START_AGAIN)

    def _serve(self) -> None:
        """Run one planner until it dies or `stop`.

        Raises:
            OSError: it cannot be started, or died while it was written to.
        """
        allowed = self._courtesy
        courtesy = [str(each) for each in (allowed.nice, allowed.share, allowed.converged, allowed.exact)]
        command = [sys.executable, "-m", "cosched.daemon.processes.planner", *courtesy]
        # Modules in the folder where the daemon was started are none of its own, nor of processes that it starts.
        safe = {**os.environ, "PYTHONSAFEPATH": "1"}
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=safe) as process:
            with self._changed:
                self._process = process
                self._given = self._snapshot is None
            reader = threading.Thread(target=self._read, args=(process,), name="search-plans", daemon=True)
            reader.start()
            try:
                self._write(process, reader)
            finally:
                process.kill()
                reader.join()

    def _write(self, process: subprocess.Popen[bytes], reader: threading.Thread) -> None:
        assert process.stdin is not None
        while reader.is_alive():
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or not self._given, 1.0)
                if self._stopped:
                    return
                snapshot = None if self._given else self._snapshot
                self._given = True
            if snapshot is not None:
                pickle.dump(snapshot, process.stdin)
                process.stdin.flush()

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        try:
            while True:
                improved: ScheduleImproved = pickle.load(process.stdout)  # noqa: S301  from our own child
                self._post(replace(improved, time=self._clock.now()))
        except (EOFError, pickle.UnpicklingError, OSError):
            return
