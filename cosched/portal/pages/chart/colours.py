"""Colours of tasks on the schedule: by application, by owner, or by how much time is left to the deadline."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosched.portal.pages.chart.blocks import ChartBlock

__all__ = ["ApplicationColours", "OwnerColours", "SlackColours", "TaskColours"]

_COLOURS = 10
_NOBODY = f"c{_COLOURS}"  # grey


class TaskColours(Protocol):
    """Gives tasks the classes of the style sheet."""

    def of(self, block: ChartBlock) -> str:
        """Return the class of a task."""

    def legend(self, blocks: Sequence[ChartBlock]) -> Iterator[tuple[str, str, str]]:
        """Give name and class of each colour that is seen, and what the address calls its tasks."""


class ApplicationColours:
    """One colour for each application, the same in every chart.

    Args:
        order: the applications of the catalogue; others have a colour by their names.
    """

    def __init__(self, order: Sequence[str]) -> None:
        self._order = {name: number for number, name in enumerate(order)}

    def of(self, block: ChartBlock) -> str:
        """Return the colour of its application."""
        return self._colour(block.application) if block.application else _NOBODY

    def legend(self, blocks: Sequence[ChartBlock]) -> Iterator[tuple[str, str, str]]:
        """Give the applications by name."""
        for name in sorted({block.application for block in blocks if block.application}):
            yield name, self._colour(name), f"application:{name}"

    def _colour(self, application: str) -> str:
        return f"c{self._order.get(application, zlib.crc32(application.encode())) % _COLOURS}"


class OwnerColours:
    """One colour for each owner, as far as one may see whose tasks they are."""

    def of(self, block: ChartBlock) -> str:
        """Return the colour of its owner."""
        return self._colour(block.owner) if block.owner else _NOBODY

    def legend(self, blocks: Sequence[ChartBlock]) -> Iterator[tuple[str, str, str]]:
        """Give the owners by name."""
        for name in sorted({block.owner for block in blocks if block.owner}):
            yield name, self._colour(name), f"owner:{name}"

    @staticmethod
    def _colour(owner: str) -> str:
        return f"c{zlib.crc32(owner.encode()) % _COLOURS}"


class SlackColours:
    """Late, at risk, in time, or without a deadline."""

    _NAMES = (("late", "slack-late"), ("at risk", "slack-risk"), ("in time", "slack-time"), ("no deadline", _NOBODY))

    def of(self, block: ChartBlock) -> str:
        """Return the colour of what is to be expected of its deadline, or of what became of it."""
        if block.deadline is None:
            return _NOBODY
        return "slack-late" if block.late else "slack-risk" if block.at_risk else "slack-time"

    def legend(self, blocks: Sequence[ChartBlock]) -> Iterator[tuple[str, str, str]]:
        """Give those that are seen, the worst first."""
        seen = {self.of(block) for block in blocks}
        for name, colour in self._NAMES:
            if colour in seen:
                yield name, colour, "late" if colour in ("slack-late", "slack-risk") else ""
