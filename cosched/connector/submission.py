"""Outcomes of attempts that are submitted together: each has one of its own."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from cosched.connector.interface import ConnectorError
from cosched.errors import CoschedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["SubmitOutcomes"]


class SubmitOutcomes(dict[str, "str | CoschedError"]):
    """Answers by attempt's UUID: the job's identifier, or the error in its place."""

    @contextmanager
    def settle(self, attempts: Iterable[str]) -> Iterator[None]:
        """Record an error raised meanwhile as the outcome of these attempts."""
        try:
            yield
        except CoschedError as error:
            self.update(dict.fromkeys(attempts, error))

    def refused(self, attempt: str) -> bool:
        """Return whether the manager refused the attempt for now, because it has too many jobs."""
        outcome = self.get(attempt)
        return isinstance(outcome, ConnectorError) and outcome.refused

    def refused_for_good(self, attempt: str) -> bool:
        """Return whether the manager will never take the attempt as it is."""
        outcome = self.get(attempt)
        return isinstance(outcome, ConnectorError) and not outcome.transient

    def doubt_refusals(self, attempts: Iterable[str]) -> None:
        """Make refusals of these attempts transient errors.

        An earlier submission of them may still arrive.
        """
        for attempt in attempts:
            if self.refused(attempt):
                self[attempt] = ConnectorError(str(self[attempt]), transient=True)

    def job(self, attempt: str) -> str:
        """Return an attempt's job.

        Raises:
            CoschedError: it got none.
        """
        outcome = self[attempt]
        if isinstance(outcome, CoschedError):
            raise outcome
        return outcome
