"""Several launches handed over at once: what came of each, whatever came of the others."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cosched.connector.interface import ConnectorError
from cosched.errors import CoschedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cosched.connector.interface import Connector, Launch

__all__ = ["Outcomes", "TakesMany", "submit_many"]


@runtime_checkable
class TakesMany(Protocol):
    """A connector whose manager takes many jobs at once: a list to queue from, an array of jobs."""

    def submit_many(self, launches: Sequence[Launch]) -> Mapping[str, str | CoschedError]:
        """Hand attempts to the manager together; return for each UUID its native job's identifier, or what is wrong.

        Each of them is afterwards an attempt like any other, found, cancelled and reported on by its own UUID: all that
        `Connector.submit` promises holds for it.
        """
        ...


class Outcomes(dict[str, "str | CoschedError"]):
    """UUID of an attempt → its native job's identifier, or the error that kept it from getting one."""

    @contextmanager
    def settle(self, attempts: Iterable[str]) -> Iterator[None]:
        """Keep an error that is raised meanwhile as what came of these attempts."""
        try:
            yield
        except CoschedError as error:
            self.update(dict.fromkeys(attempts, error))

    def refused(self, attempt: str) -> bool:
        """Whether the manager took it not for now, because it has too many."""
        outcome = self.get(attempt)
        return isinstance(outcome, ConnectorError) and outcome.refused

    def job(self, attempt: str) -> str:
        """Return an attempt's job.

        Raises:
            CoschedError: it got none.
        """
        outcome = self[attempt]
        if isinstance(outcome, CoschedError):
            raise outcome
        return outcome


def submit_many(connector: Connector, launches: Sequence[Launch]) -> Mapping[str, str | CoschedError]:
    """Hand launches over, together where the connector can; see `TakesMany.submit_many`."""
    if isinstance(connector, TakesMany):
        return connector.submit_many(launches)
    outcomes = Outcomes()
    for launch in launches:
        with outcomes.settle([launch.attempt]):
            outcomes[launch.attempt] = connector.submit(launch)
    return outcomes
