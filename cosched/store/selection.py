"""Which tasks are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import or_

from cosched.store import schema

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

    from cosched.coscheduler.task import TaskState

__all__ = ["Selection"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which tasks are asked for; what is left out does not matter.

    Attributes:
        states: in one of these.
        owner: of this user.
        text: with these words in name, application or identifier, in any case of letters.
    """

    states: tuple[TaskState, ...] = ()
    owner: str | None = None
    text: str = ""

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on rows of the table `tasks`; all must hold."""
        columns = schema.tasks.c
        found: list[ColumnElement[bool]] = []
        if self.states:
            found.append(columns.state.in_([str(state) for state in self.states]))
        if self.owner is not None:
            found.append(columns.owner == self.owner)
        if self.text:
            found.append(
                or_(
                    columns.name.icontains(self.text, autoescape=True),
                    columns.application.icontains(self.text, autoescape=True),
                    columns.id == self.text,
                )
            )
        return found
