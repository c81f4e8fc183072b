"""Read what a domain has of licences and what tasks ask for, in the files of `problem_file`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cosched.errors import UserError
from cosched.licence_requests import MOST_LICENCES, checked_amounts, checked_licence
from cosched.scheduling.formats.input_file import quoted
from cosched.scheduling.licences import Licences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.problem import Problem

__all__ = ["with_licences_of"]


def with_licences_of(problem: Problem, value: object, items: Sequence[Any]) -> Problem:
    """Return the problem with the licences of its file; as it is where no task asks for any.

    Args:
        problem: its tasks are those of the elements, in their order.
        value: the element `licences` of the file, {"matlab": 4, …}.
        items: the elements of the tasks.

    Raises:
        UserError: with the path of the bad element.
    """
    total = _amounts(value, "licences", least=0)
    demand = np.zeros((len(items), len(total)), dtype=np.int64)
    column = {name: number for number, name in enumerate(total)}
    for task, item in enumerate(items):
        where = f"tasks[{task}].licences"
        asked = _amounts(item.get("licences", {}), where, least=1)
        for name, amount in asked.items():
            if name not in column:
                had = f"the file has {', '.join(total)}" if total else 'give {"licences": {"NAME": NUMBER}} in the file'
                raise UserError(f"{where}.{name}: there is no such licence: {had}")
            if amount > total[name]:
                raise UserError(f"{where}.{name}: {amount} are more than the {total[name]} that there are")
            demand[task, column[name]] = amount
    if not demand.any():
        return problem
    amounts = np.array(list(total.values()), dtype=np.int64)
    return replace(problem, licences=Licences(tuple(total), amounts, demand))


def _amounts(value: object, where: str, least: int) -> dict[str, int]:
    if not isinstance(value, dict):
        raise UserError(f'{where}: {quoted(value)} are no licences: give {{"NAME": NUMBER, …}}')
    for name, amount in value.items():
        try:
            checked_licence(name)
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
        if isinstance(amount, bool) or not isinstance(amount, int) or not least <= amount <= MOST_LICENCES:
            raise UserError(f"{where}.{name}: {quoted(amount)} is no number of them: give {least} to {MOST_LICENCES}")
    try:
        return dict(value) if least == 0 else checked_amounts(value)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
