"""After a syntax error: where to go on, so that one run reports the other errors of the file as well."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lark.parsers.lalr_analysis import Shift

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

__all__ = ["resume"]

_LANDMARK = re.compile(r"\(\*[\s\S]*?\*\)|\"[^\"\n]*\"|[;{}]")


def resume(error: UnexpectedInput, text: str) -> bool:
    """Skip past the statement at fault and unwind the parser to where a statement or an object may start.

    Returns:
        False where nothing is left to read or no such place was open.
    """
    parser = getattr(error, "interactive_parser", None)
    if parser is None:
        return False
    counter = parser.lexer_thread.state.line_ctr
    start = error.pos_in_stream or 0
    end = _landmark(text, start)
    if end > counter.char_pos:
        counter.feed(text[counter.char_pos : end])
    elif end < counter.char_pos:  # the token at fault was the landmark's brace: give it back
        _rewind(counter, text, end)
    parser.lexer_thread.state.last_token = None
    if end >= len(text) or not _unwind(parser.parser_state):
        return False
    if text[end] == "}" and not _closes(parser.parser_state):
        counter.feed("}")
    return True


def _landmark(text: str, start: int) -> int:
    """Return the index after the `;` or `}` that ends the statement at `start`, or before a `}` that ends its block."""
    depth = 0
    for match in _LANDMARK.finditer(text, start):
        mark = match.group()
        if mark == "{":
            depth += 1
        elif mark == "}":
            if depth == 0:
                return match.start()
            depth -= 1
            if depth == 0:
                return match.end()
        elif mark == ";" and depth == 0:
            return match.end()
    return len(text)


def _rewind(counter: Any, text: str, position: int) -> None:
    counter.char_pos = position
    counter.line = text.count("\n", 0, position) + 1
    counter.line_start_pos = text.rfind("\n", 0, position) + 1
    counter.column = position - counter.line_start_pos + 1


def _shifts(state: Any, terminal: str) -> bool:
    # Not a reduction: the tables of a LALR parser allow those in places where the brace is then refused.
    action, _ = state.parse_conf.states[state.state_stack[-1]].get(terminal, (None, None))
    return action is Shift


def _closes(state: Any) -> bool:
    return _shifts(state, "RBRACE")


def _unwind(state: Any) -> bool:
    """Pop to the nearest state that a closing brace or a new object may follow."""
    while state.state_stack:
        if _closes(state) or _shifts(state, "KIND") or _shifts(state, "CONFIG"):
            return True
        if not state.value_stack:
            return False
        state.state_stack.pop()
        state.value_stack.pop()
    return False
