"""Faults in the statements of a `proc tunable`, named by the part that is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lark import Token

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedToken

__all__ = ["missing_part"]

_TASK = "`task NAME [DEADLINE] [x, y] [WAY, WAY, …];`"
_WAY = "`({values}, {hosts, time}, quality)`"


def missing_part(error: UnexpectedToken) -> str:
    """Return what a `task` or `task_select` lacks where its statement cannot go on, or an empty text."""
    parser = error.interactive_parser
    read = [value.type if isinstance(value, Token) else "" for value in parser.parser_state.value_stack]
    if read[-2:] == ["TASK_SELECT", "LBRACE"]:
        return "a task_select needs at least one `when (CONDITION) …`"
    if "TASK" not in read:
        return ""
    return _missing_of_task(read[len(read) - read[::-1].index("TASK") :], error.token.type)


def _missing_of_task(read: list[str], found: str) -> str:
    """Return what a task lacks.

    Args:
        read: terminals of what stands before the fault, from the task's name on; empty for a whole rule.
        found: terminal at the fault.
    """
    lists, last = read.count("LSQB"), read[-1] if read else ""
    match read.count("_OPEN"), read.count("RBRACE"):
        case (0, _) if lists < 3 and last in ("LSQB", "LPAR") and found in ("LPAR", "LBRACE"):
            return f"[] is missing before the ways, for no deadline or no control parameters: {_TASK}"
        case (0, _) if lists < 3 and last in ("ID", "RSQB"):
            return f"a list in [] is missing: {_TASK}"
        case (0, _) if lists == 3 and last == "LSQB":
            return f"a task needs at least one way: {_WAY}"
        case (2, 2) if found == "RPAR":
            return f"the quality is missing: {_WAY}"
        case (2, 1) if found == "RBRACE":
            return f"the hosts or the time are missing: {_WAY}"
        case (1, 1):
            return f"the hosts and the time are missing: {_WAY}"
    return ""
