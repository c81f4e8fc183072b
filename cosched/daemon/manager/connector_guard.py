"""The connector guard turns any mistake of a connector into an error the daemon expects."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import structlog

from cosched.connector.interface import ConnectorError
from cosched.errors import CoschedError, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cosched.connector.hosts import Host
    from cosched.connector.interface import AdoptsJobs, Connector, StartDiagnosis
    from cosched.connector.jobs import JobReport, Launch, LaunchMode, Output

__all__ = ["GuardedConnector"]

_log = structlog.get_logger("cosched.connector")


class GuardedConnector:
    """The verbs of a connector; each raises a `CoschedError` and nothing else.

    A connector's own mistakes, answers of a wrong form among them, count as a manager that does not answer: the caller
    asks again. Nothing would notice a daemon's thread that died of one.
    """

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._mistake = ""

    def hosts(self) -> tuple[Host, ...]:
        """Return all hosts, sorted by name."""
        with self._guarded():
            hosts = [replace(host, reason=_storable(host.reason)) for host in self._connector.hosts()]
            return tuple(sorted(hosts, key=lambda host: host.name))

    def remarks(self) -> tuple[str, ...]:
        """Return what the administrator should look at, as far as the connector says."""
        with self._guarded():
            return tuple(_storable(" ".join(remark.split())) for remark in self._connector.remarks())

    def submit_many(self, launches: Sequence[Launch]) -> dict[str, str | CoschedError]:
        """Submit attempts, together where the connector can; return each one's job or fault."""
        try:
            with self._guarded():
                outcomes = self._connector.submit_many(launches)
                return {launch.attempt: _outcome(outcomes[launch.attempt]) for launch in launches}
        except CoschedError as error:
            return dict.fromkeys((launch.attempt for launch in launches), error)

    def status(self, attempts: Sequence[str]) -> list[JobReport]:
        """Return a report for each attempt."""
        with self._guarded():
            return [_report(report) for report in self._connector.status(attempts).values()]

    def cancel(self, attempt: str) -> None:
        """See to it that an attempt does not run."""
        with self._guarded():
            self._connector.cancel(attempt)

    def call_back(self, attempt: str) -> bool:
        """Cancel an attempt unless it has begun, as far as the connector can tell; return whether it is cancelled."""
        with self._guarded():
            return self._connector.call_back(attempt)

    def find(self, attempt: str) -> JobReport | None:
        """Look an attempt up; None where the manager does not know it."""
        with self._guarded():
            report = self._connector.find(attempt)
            return None if report is None else _report(report)

    def diagnose(self, attempt: str) -> StartDiagnosis:
        """Return why an attempt has not begun, as far as the connector says."""
        with self._guarded():
            found = self._connector.diagnose(attempt)
            return replace(found, reason=_storable(" ".join(found.reason.split())))

    def adopts(self) -> AdoptsJobs:
        """Return the gate behind which users' own jobs wait for cosched.

        Raises:
            UserError: they cannot.
        """
        if (adoption := self._connector.adoption) is None:
            raise UserError("[adopt] enabled is true, and this connector adopts no jobs of users' own: set it to false")
        return adoption

    @property
    def home(self) -> str:
        """Return the connector's name, and where its jobs are as far as it says."""
        where = f" ({self._connector.home})" if self._connector.home else ""
        return _storable(" ".join(f"{self._connector.name}{where}".split()))

    def check_task(self, owner: str, launch: LaunchMode) -> None:
        """Refuse tasks of an owner, launched so, that the connector would refuse whenever they start."""
        with self._guarded():
            self._connector.check_task(owner, launch)

    @property
    def carries_mail(self) -> bool:
        """Return whether attempts can have mailboxes."""
        return self._connector.mail is not None

    def put_mail(self, attempt: str, name: str, text: str) -> None:
        """Put a file into an attempt's mailbox; nothing where there are none."""
        if (mail := self._connector.mail) is not None:
            with self._guarded():
                mail.put(attempt, name, text)

    def answers(self, attempt: str) -> dict[str, str]:
        """Return what the process of an attempt has put into its mailbox, by name."""
        if (mail := self._connector.mail) is None:
            return {}
        with self._guarded():
            return dict(mail.answers(attempt))

    def drop_answers(self, attempt: str, names: Sequence[str]) -> None:
        """Delete answers."""
        if (mail := self._connector.mail) is not None:
            with self._guarded():
                mail.drop_answers(attempt, names)

    def retract(self, attempt: str, key: str) -> bool:
        """Close the gate of a user's own job; return whether no attempt has it."""
        with self._guarded():
            return self.adopts().retract(attempt, key)

    def events(self, timeout: float) -> list[JobReport]:
        """Return what happened to jobs since the last call."""
        with self._guarded():
            return [_report(report) for report in self._connector.events(timeout)]

    def output(self, attempt: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        """Return part of what a process wrote; None where nothing of it is kept."""
        with self._guarded():
            return self._connector.output(attempt, stream, rank, offset, limit)

    def calls(self) -> Mapping[str, int]:
        """Return the connector's counts of its calls; empty where it does not count."""
        return {str(name): int(number) for name, number in dict(self._connector.calls).items()}

    def close(self) -> None:
        """Let go of the manager."""
        with self._guarded():
            self._connector.close()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except CoschedError as error:
            error.args = (_storable(str(error)),)
            raise
        except Exception as error:
            mistake = _storable(f"{type(error).__name__}: {error}")
            if mistake != self._mistake:  # one that is made at every look would fill the log
                _log.exception("the connector failed in a way it should not")
            self._mistake = mistake
            raise ConnectorError(f"the connector failed ({mistake}): see the log", transient=True) from error


def _report(report: JobReport) -> JobReport:
    return replace(report, job=_storable(report.job), reason=_storable(report.reason))


def _outcome(outcome: str | CoschedError) -> str | CoschedError:
    if isinstance(outcome, CoschedError):
        outcome.args = (_storable(str(outcome)),)
        return outcome
    return _storable(outcome)


def _storable(words: str) -> str:
    """Return a text without half surrogate pairs and zeros, which database and JSON refuse."""
    return words.encode(errors="replace").decode().replace("\0", "?")
