"""Documents of past runs: times, what they taught, deadlines met and hosts used."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Accuracy", "DeadlineOutcome", "LearntApplication", "LearntRunView", "RunView", "UsageView"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Accuracy of an application's predictions on a class of hosts.

    Attributes:
        ratios: measured / predicted as it was at dispatch, the newest run last.
        factor: present multiplier of the model's own figures.
        runs: how many runs that was learned from.
        contention: how much longer it runs on a host that others fill than alone, 0.08 for 8 %; null where runs have
            not taught it.
        contention_runs: how many runs on shared hosts teach that, of the newest ones.
    """

    application: str
    hardware: str
    ratios: tuple[float, ...]
    factor: float
    runs: int
    contention: float | None = None
    contention_runs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One attempt that has ended, on its hosts.

    Another user's task has no name, owner and deadline. `cores` is what it took of each of its hosts where tasks share
    them, 0 for the whole.
    """

    task: str
    name: str
    application: str
    hosts: tuple[str, ...]
    start: float
    end: float
    deadline: float | None
    state: str
    cores: int = 0
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntRunView:
    """A run from which later ones are foretold.

    Attributes:
        task: the task that it was of, which may be kept no longer.
        numbers: those among the words of its command, by which it is compared with others.
        hosts: how many it had.
        hardware: class of its hosts, empty where the manager names none.
        predicted: seconds that were predicted for it; null without a prediction.
        seconds: how long it took.
        finished: when it ended.
        program_digest: the digest of its program; empty where nobody looked.
        stated: seconds that its model or its user foretold alone; null where neither did.
        low: seconds that one run in twenty was expected to stay below; null where no range was known.
        high: those that one in twenty was expected to exceed, likewise.
    """

    task: str
    owner: str
    numbers: tuple[float, ...]
    hosts: int
    hardware: str
    predicted: float | None
    seconds: float
    finished: float
    program_digest: str = ""
    stated: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntApplication:
    """An application with recorded runs.

    Attributes:
        name: the application.
        runs: how many there are.
        finished: when the last of them ended.
    """

    name: str
    runs: int
    finished: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineOutcome:
    """A task with a deadline that has completed, by its deadline or after it, or has failed."""

    task: str
    name: str
    owner: str
    application: str
    state: str
    submitted: float
    finished: float
    deadline: float

    @property
    def slack(self) -> float:
        """Return the seconds that were left until its deadline; below 0 where it was late."""
        return self.deadline - self.finished

    @property
    def met(self) -> bool:
        """Return whether it completed by its deadline; a task that failed has met none."""
        return self.state == "completed" and self.slack >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageView:
    """Use of the hosts by one user, group or application since a time.

    Attributes:
        name: the user, group or application; empty for tasks that are of none.
        tasks: those that had hosts in this time.
        runs: their attempts that had.
        host_seconds: each host of these counts for as long as it was theirs, the running ones until now.
        on_time: tasks that completed in this time by their deadline.
        late: tasks that completed in this time after it.
    """

    name: str
    tasks: int
    runs: int
    host_seconds: float
    on_time: int
    late: int
