"""Which jobs on slots are cosched's: numbers of clusters mean something only beside the name of their scheduler."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Ownership"]


class Ownership:
    """The clusters that cosched has submitted, as far as this process or its news know.

    Attributes:
        scheduler: the name of the one that they are with ("submit.example.org"); empty while it is not known.
    """

    def __init__(self) -> None:
        self.scheduler = ""
        self._clusters: set[str] = set()
        self._submitting = False

    def add(self, jobs: Iterable[str]) -> None:
        """Take in jobs of cosched's ("12.0")."""
        self._clusters.update(job.partition(".")[0] for job in jobs)

    @contextmanager
    def submitting(self) -> Iterator[None]:
        """Take every newer cluster for ours meanwhile: its number is known here later than on its slot."""
        self._submitting = True
        try:
            yield
        finally:
            self._submitting = False

    def has(self, slot: Mapping[str, Any]) -> bool:
        """Whether a slot's job is cosched's."""
        scheduler = str(slot.get("GlobalJobId", "")).partition("#")[0]
        if scheduler and self.scheduler and scheduler != self.scheduler:
            return False
        cluster = str(slot.get("JobId", "")).partition(".")[0]
        if cluster in self._clusters:
            return True
        return self._submitting and cluster.isdecimal() and int(cluster) > max(map(int, self._clusters), default=0)
