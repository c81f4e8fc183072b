"""The canonical layout of PSL and HMCL: indentation and spaces, while line breaks and comments stay where they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from cosched.language.parser import parse_hmcl, parse_psl

if TYPE_CHECKING:
    from cosched.language.source import Source

__all__ = ["format_source"]

_TOKEN = re.compile(
    r"""(?P<comment>\(\*[\s\S]*?\*\))|(?P<newline>\n)|(?P<space>[ \t\r\f]+)|(?P<string>"[^"\n]*")
    |(?P<quantity>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?
       (?:[ \t]*(?:(?:[kMG]?B|[KMG]iB|[kMG]?bit)(?:/s)?|ns|us|ms|s|min|h)\b)?)
    |(?P<name>[A-Za-z_]\w*)|(?P<mark>\|\||&&|[=!<>]=|.)""",
    re.VERBOSE,
)
_HEADERS = ("for", "while", "if", "else", "loop", "case", "measured")
_SIGNS = ("-", "+", "!")
_INDENT = "    "


class _Token(NamedTuple):
    kind: str
    text: str


def format_source(source: Source) -> str:
    """Return the text of a model or of a hardware file in canonical layout. What it says does not change.

    Raises:
        ModelError: the text has syntax errors.
    """
    (parse_hmcl if source.file.endswith(".hmcl") else parse_psl)(source)
    lines, depth, within = [""], 0, 0
    tables: list[bool] = []  # whether each open brace is that of a table, whose entries are no statements
    for line in _lines(source.text):
        if not line:
            lines += [""] * (lines[-1] != "")
            continue
        closing = next((place for place, token in enumerate(line) if token.text not in ("}", ")", "]")), len(line))
        level = depth - closing + (within if line[0].text != "}" else 0)
        lines.append(_INDENT * max(level, 0) + _joined(line))
        depth += sum((token.text in "{([") - (token.text in "})]") for token in line if token.kind == "mark")
        for token in line:
            if token.text == "{":
                tables.append(line[0].text == "measured")
            elif token.text == "}" and tables:
                tables.pop()
        within = 0 if tables and tables[-1] else _within(line, within)
    return "\n".join(lines).strip("\n") + "\n"


def _within(line: list[_Token], before: int) -> int:
    """Return how much further in the next line is because a statement goes on there."""
    code = [token for token in line if token.kind != "comment"]
    if not code:
        return before
    if code[-1].text in (";", "{", "}"):
        return 0
    if code[0].text in _HEADERS and code[-1].text in (")", "else"):
        return before + 1
    return max(before, 1) if not _open(code) else before


def _open(code: list[_Token]) -> bool:
    """Return whether a line opens a bracket that it does not close: what follows is further in anyway."""
    return sum((token.text in "([") - (token.text in ")]") for token in code if token.kind == "mark") > 0


def _lines(text: str) -> list[list[_Token]]:
    lines: list[list[_Token]] = [[]]
    for match in _TOKEN.finditer(text):
        kind, found = str(match.lastgroup), match.group()
        if kind == "newline":
            lines.append([])
        elif kind != "space":
            shown = re.sub(r"[ \t]+", " ", found) if kind == "quantity" else found
            lines[-1].append(_Token(kind, re.sub(r"[ \t\r]+(?=\n)", "", shown)))
    return lines


def _joined(line: list[_Token]) -> str:
    text, usage, depth = "", False, 0
    before, sign = _Token("", ""), False
    for place, token in enumerate(line):
        following = line[place + 1].text if place + 1 < len(line) else ""
        opens = token.text == "<" and following == "is"
        closes = usage and depth == 0 and token.text == ">"
        tight = usage and depth == 0 and "*" in (token.text, before.text)
        if place and not (sign or closes or tight or _close(before, token, usage and text.endswith("<"))):
            text += " "
        text += token.text
        usage = (usage or opens) and not closes
        if usage and token.kind == "mark":
            depth += (token.text == "(") - (token.text == ")")
        operand = before.kind in ("name", "quantity", "string") and before.text != "return"
        sign = token.kind == "mark" and token.text in _SIGNS and not (operand or before.text in (")", "]"))
        before = token
    return text


def _close(before: _Token, token: _Token, in_usage: bool) -> bool:
    """Return whether two tokens stand together without a space."""
    if in_usage or "comment" in (before.kind, token.kind):
        return in_usage
    if before.text in ("(", "[") or token.text in (")", "]", ",", ";", ":"):
        return True
    return token.text in ("(", "[") and before.kind == "name" and before.text not in (*_HEADERS, "in", "return")
