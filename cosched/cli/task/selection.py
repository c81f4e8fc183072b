"""Tasks are chosen by identifiers, or by user, name, state and lateness."""

# No `from __future__ import annotations`: typer reads the annotations of commands when they run.

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import typer

from cosched.api.documents.tasks import FINAL_STATES, LIVE_STATES
from cosched.cli.connection import connect
from cosched.client import Client
from cosched.errors import CoschedError, UserError

__all__ = [
    "ArrayOption",
    "IdArgument",
    "IdsArgument",
    "LateOption",
    "NameOption",
    "NamedOption",
    "Selection",
    "StateOption",
    "UserOption",
]

_PAGE = 1000
_OFFERED = 200  # newest tasks of which a shell completes identifiers


def _complete_id(incomplete: str) -> list[tuple[str, str]]:
    """Offer a shell the newest tasks whose identifiers begin so."""
    with suppress(CoschedError), connect(os.environ.get("COSCHED_SERVER", "")) as client:
        tasks = client.tasks(limit=_OFFERED).tasks
        return [(task.id, f"{task.name} ({task.state})") for task in tasks if task.id.startswith(incomplete)]
    return []


def _nothing_chosen(owner: str, states: Sequence[str], *, as_typed: bool) -> UserError:
    """Return the refusal of a choice of nothing, in states that were typed or that the command looks at by itself."""
    *others, last = states
    named = " or ".join([", ".join(others), last] if others else [last])
    everything = {*states} == {*LIVE_STATES, *FINAL_STATES}
    shown = "which are" if as_typed or everything else "those in other states, which --state chooses"
    return UserError(
        f"no {'' if everything else f'{named} '}task of {owner} is chosen: "
        f"`cosched task list` with the same options shows {shown}"
    )


def _complete_state(incomplete: str) -> list[str]:
    return [state for state in (*LIVE_STATES, *FINAL_STATES) if state.startswith(incomplete)]


IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Identifier of the task.", autocompletion=_complete_id)]
IdsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID…]", help="Identifiers of tasks.", show_default=False, autocompletion=_complete_id),
]
UserOption = Annotated[str, typer.Option("--user", "--owner", metavar="USER", help="Only this user's.")]
_NAME_HELP = "Only with such a name, such as 'heat*'."
NameOption = Annotated[str, typer.Option("--name", metavar="PATTERN", help=_NAME_HELP)]
# Where --name is the name that tasks are given.
NamedOption = Annotated[str, typer.Option("--named", metavar="PATTERN", help=_NAME_HELP)]
StateOption = Annotated[
    list[str] | None,
    typer.Option(help="Only in this state; several times for more.", autocompletion=_complete_state),
]
ArrayOption = Annotated[str, typer.Option("--array", metavar="ID", help="Only of the array with this identifier.")]
LateOption = Annotated[bool, typer.Option("--late", help="Only those that miss their deadline, or will.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Conditions on tasks as they were typed; all that are given must hold.

    Attributes:
        user: owner; empty for any.
        name: pattern in which `*` and `?` stand for anything; empty for any.
        states: by name; none for any.
        late: only those that miss their deadline, or are expected to.
        array: identifier of their array; empty for any.
    """

    user: str = ""
    name: str = ""
    states: Sequence[str] = ()
    late: bool = False
    array: str = ""

    def tasks(self, client: Client, task_ids: Sequence[str] | None, states: Sequence[str] = LIVE_STATES) -> list[str]:
        """Return the identifiers of the named or chosen tasks, the oldest first.

        Without a user only your own are chosen, so that an administrator does not end everybody's by mistake.

        Args:
            client: the daemon.
            task_ids: as typed; None or empty for none.
            states: those from which tasks are chosen where none is given.

        Raises:
            UserError: neither identifiers nor conditions were given, both were, or no task is chosen.
        """
        wanted = self.states or states
        given = bool(self.user or self.name or self.states or self.late or self.array)
        if task_ids and given:
            raise UserError("tasks are named by their identifiers and chosen by options: do one of both")
        if task_ids:
            return list(task_ids)
        if not given:
            raise UserError(
                "no task is named: give identifiers, or choose by --user, --name, --state, --array or --late"
            )
        owner = self.user or client.me().name
        found: list[str] = []
        while True:
            page = client.tasks(
                wanted,
                _PAGE,
                len(found),
                owner=owner,
                name=self.name,
                late=self.late,
                array=self.array,
            )
            found += [task.id for task in page.tasks]
            if not page.tasks or len(found) >= page.total:
                break
        if not found:
            raise _nothing_chosen(owner, wanted, as_typed=bool(self.states))
        return found[::-1]
