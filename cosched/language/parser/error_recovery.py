"""The parser goes on after a syntax error, to report all faults of a file."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lark import Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedToken
from lark.parsers.lalr_analysis import Shift

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

__all__ = ["ErrorRecovery"]

# A brace that a comma follows is that of a configuration, in the midst of a statement.
_LANDMARK = re.compile(r"\(\*[\s\S]*?\*\)|\"[^\"\n]*\"|(?P<within>\}(?=\s*,))|[;{}]")
_WORD = re.compile(r"[A-Za-z_]\w*")
_BRACE = Token("RBRACE", "}")
_NOWHERE = sys.maxsize


@dataclass
class ErrorRecovery:
    """Skip unreadable statements and keep those before and after them.

    Attributes:
        text: the text that is parsed.
        lost: start and end of each piece of the text that is not in the tree.
    """

    text: str
    lost: list[tuple[int, int]] = field(default_factory=list)

    def words(self) -> frozenset[str]:
        """Return the words of the lost pieces, which may declare names used elsewhere."""
        return frozenset(word for start, end in self.lost for word in _WORD.findall(self.text, start, end))

    def resume(self, error: UnexpectedInput) -> bool:
        """Skip the statement at fault, and unwind the parser to where another may start.

        Where the text ends, everything still open is closed.

        Returns:
            False where no such place was open.
        """
        parser: Any = error.interactive_parser if isinstance(error, UnexpectedToken | UnexpectedCharacters) else None
        if parser is None:
            return False
        start, end = self._skipped(error)
        counter = parser.lexer_thread.state.line_ctr
        if end > counter.char_pos:
            counter.feed(self.text[counter.char_pos : end])
        elif end < counter.char_pos:  # the token at fault was the landmark's brace: give it back
            _rewind(counter, self.text, end)
        parser.lexer_thread.state.last_token = None
        if end >= len(self.text):
            return self._close(parser, start)
        before = _open_braces(parser.parser_state)
        begun = _unwind(parser.parser_state)
        if begun is None:
            return False
        for _ in range(before - _open_braces(parser.parser_state)):  # a block that cannot end yet goes as a whole
            end = _closed(self.text, end)
            counter.feed(self.text[counter.char_pos : end])
        self.lost.append((min(start, begun), end))
        if end >= len(self.text):
            return self._close(parser, start)
        if self.text[end] == "}" and not _closes(parser.parser_state):
            counter.feed("}")
        return True

    def _skipped(self, error: UnexpectedInput) -> tuple[int, int]:
        """Return where the fault stands, and where the statement that holds it ends."""
        start = error.pos_in_stream or 0
        if isinstance(error, UnexpectedToken) and error.token.type == "$END":
            return len(self.text), len(self.text)
        for opening in (start, max(start - 1, 0)):
            if self.text.startswith("(*", opening):  # had the comment an end, it would have been skipped
                return opening, len(self.text)
        return start, _landmark(self.text, start)

    def _close(self, parser: Any, start: int) -> bool:
        """Close every open block at the end of the text."""
        state = parser.parser_state
        while "$END" not in state.parse_conf.states[state.state_stack[-1]]:
            try:
                parser.feed_token(_BRACE)
            except UnexpectedToken:
                begun = _unwind(state, ("RBRACE",))
                if begun is None:
                    return False
                start = min(start, begun)
                parser.feed_token(_BRACE)
        self.lost.append((start, len(self.text)))
        return True


def _landmark(text: str, start: int) -> int:
    """Return the index after a statement's `;` or `}`, or before its block's `}`."""
    depth = 0
    for match in _LANDMARK.finditer(text, start):
        mark = match.group()
        if match["within"]:
            depth = max(depth - 1, 0)
        elif mark == "{":
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


def _closed(text: str, start: int) -> int:
    """Return the index after the brace that closes the block in which a place is."""
    while start < len(text) and text[start] != "}":
        start = _landmark(text, start)
    return start + 1 if start < len(text) else len(text)


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


def _unwind(state: Any, terminals: tuple[str, ...] = ("RBRACE", "KIND", "CONFIG")) -> int | None:
    """Pop to the nearest state that a closing brace or a new object may follow.

    Returns:
        Where what was popped began in the text, `_NOWHERE` for nothing; None where there is no such state.
    """
    begun = _NOWHERE
    configurations = sum(_opens_configuration(value) for value in state.value_stack)
    while configurations or not any(_shifts(state, terminal) for terminal in terminals):
        if not state.value_stack:
            return None
        state.state_stack.pop()
        popped = state.value_stack.pop()
        configurations -= _opens_configuration(popped)
        begun = min(begun, _start(popped))
    return begun


def _open_braces(state: Any) -> int:
    """Return how many blocks are open, without configurations of tasks."""
    opened: list[str] = []
    for value in state.value_stack:
        if isinstance(value, Token) and value.type in ("LBRACE", "_OPEN"):
            opened.append(value.type)
        elif isinstance(value, Token) and value.type == "RBRACE":
            opened.pop()
    return opened.count("LBRACE")


def _opens_configuration(value: Any) -> bool:
    """Return whether its closing brace is that of a configuration of a task, and none of a block."""
    return isinstance(value, Token) and value.type == "_OPEN"


def _start(value: Any) -> int:
    """Return where a popped value begins in the text."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Token):
            return item.start_pos if item.start_pos is not None else _NOWHERE
        if isinstance(item, Tree):
            waiting.extend(reversed(item.children))
        elif isinstance(item, list):
            waiting.extend(reversed(item))
    return _NOWHERE
