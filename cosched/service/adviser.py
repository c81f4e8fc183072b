"""Watches over the agent: now and then other settings are simulated in the background, and advised or adopted."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import structlog

from cosched.agent import AdvertisingChanged
from cosched.agent.settings import Bounds
from cosched.errors import SystemFault
from cosched.service.advising import Question
from cosched.service.situations import FEWEST, known, situation

if TYPE_CHECKING:
    from cosched.agent import Knowledge
    from cosched.agent.agent import Agent
    from cosched.service.clock import Clock
    from cosched.service.engine import Engine
    from cosched.service.sections import AgentSection
    from cosched.simulation.adviser import Advice
    from cosched.store.store import Store

__all__ = ["Adviser", "Counsel"]

_log = structlog.get_logger("cosched.agent")
_TASKS = 200  # newest tasks that are looked at
_SECONDS = 60.0  # of processor time for one advice
_PATIENCE = 20.0  # seconds for an answer of the engine


@dataclass(frozen=True, slots=True)
class Counsel:
    """What was advised last.

    Attributes:
        time: when, epoch seconds.
        advice: the answer.
        adopted: whether the agent has taken it up.
    """

    time: float
    advice: Advice
    adopted: bool


class Adviser(threading.Thread):
    """Asks a process of its own every so often; the agent and what is under way never wait for it.

    Attributes:
        latest: what was advised last; None before that.
        fault: why there is no newer advice; empty where there is none the matter.
    """

    def __init__(
        self, section: AgentSection, agent: Agent, engine: Engine, store: Store, knowledge: Knowledge, clock: Clock
    ) -> None:
        """Set up.

        Args:
            section: says how often, within which bounds, and whether to adopt.
            agent: ours; it is read in the engine's thread.
            engine: answers questions, and takes up what is adopted.
            store: has the tasks.
            knowledge: how long tasks take on other hardware.
            clock: of the daemon.
        """
        super().__init__(name="adviser", daemon=True)
        self._section = section
        self._bounds = Bounds(
            section.advise_shortest, section.advise_longest, section.advise_scope, section.advise_lifetime
        )
        self._agent = agent
        self._engine = engine
        self._store = store
        self._knowledge = knowledge
        self._clock = clock
        self._stopped = threading.Event()
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self.latest: Counsel | None = None
        self.fault = ""

    @property
    def mode(self) -> str:
        """What it may do: off, advise or adopt."""
        return self._section.adviser

    def start(self) -> None:
        """Begin, unless no advice is wanted."""
        if self._section.adviser != "off":
            super().start()

    def stop(self) -> None:
        """End, with the process that is under way."""
        self._stopped.set()
        with self._guard:
            if self._process is not None:
                self._process.kill()
        if self.ident is not None:
            self.join()

    def run(self) -> None:
        """Ask for advice every so often until `stop`."""
        while not self._stopped.wait(self._section.advise_every):
            try:
                self.once()
            except (SystemFault, TimeoutError, OSError) as error:
                self.fault = f"no advice: {error}"
                _log.warning("adviser", fault=self.fault)

    def once(self) -> None:
        """Ask for advice now, and adopt it where that is wished for.

        Raises:
            SystemFault: the simulation came to nothing, or the database cannot be read.
            TimeoutError: the engine is busy.
            OSError: the process cannot be started.
        """
        found = self._engine.ask(partial(known, self._agent)).result(_PATIENCE)
        now = self._clock.now()
        wanted = situation(self._agent, found, self._store.tasks(limit=_TASKS), self._knowledge, now)
        if wanted is None:
            self.fault = f"no advice yet: it takes {FEWEST} tasks with deadlines, and a neighbour that was heard of"
            return
        advice = self._asked(Question(wanted, self._bounds, _SECONDS))
        if advice is None:
            return
        adopts = advice.changes and self._section.adviser == "adopt" and not self._stopped.is_set()
        if adopts:
            self._engine.post(AdvertisingChanged(self._clock.now(), advice.best))
        self.fault = ""
        self.latest = Counsel(self._clock.now(), advice, adopts)
        _log.info(
            "advice",
            present=str(advice.present),
            best=str(advice.best),
            adopted=adopts,
            tried=advice.tried,
            late=f"{advice.present_outlook.late:.3f} -> {advice.best_outlook.late:.3f}",
        )

    def _asked(self, question: Question) -> Advice | None:
        """Return the answer; None where `stop` was called meanwhile."""
        command = [sys.executable, "-m", "cosched.service.advising"]
        with self._guard:
            if self._stopped.is_set():
                return None
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        said, _ = self._process.communicate(pickle.dumps(question))
        if self._stopped.is_set():
            return None
        if self._process.returncode:
            raise SystemFault(f"the simulation ended with {self._process.returncode}: the log above says why")
        found: Advice = pickle.loads(said)  # noqa: S301  from our own child
        return found
