"""The words of a model's text with the comments that stand beside them, and the spaces between: for the layout."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Token", "spaced", "tokens"]

_TOKEN = re.compile(
    r"""(?P<comment>\(\*[\s\S]*?\*\))|(?P<newline>\n)|(?P<space>[ \t\r\f]+)|(?P<string>"[^"\n]*")
    |(?P<quantity>(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
       (?:[ \t]*(?P<unit>(?:[kMG]?B|[KMG]iB|[kMG]?bit)(?:/s)?|ns|us|ms|s|min|h)\b)?)
    |(?P<name>[A-Za-z_]\w*)|(?P<mark>\|\||&&|[=!<>]=|.)""",
    re.VERBOSE,
)
_USAGES = (["is", "clc"], ["is", "measured"], ["is", "memory"])
_SIGNS = ("-", "+", "!")
_BEFORE_EXPRESSIONS = ("for", "while", "if", "else", "loop", "case", "measured", "in", "on", "return", "confdev")


@dataclass(frozen=True)
class Token:
    """A word, number, text or mark.

    Attributes:
        kind: `name`, `quantity`, `string`, `mark`, or `end` for the end of the file.
        text: a number and its unit have one space between them.
        before: comments on lines of their own above it.
        after: comments behind it on its line.
    """

    kind: str
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def tokens(text: str) -> list[Token]:
    """Return the tokens of a text that the parser accepts; the last one is its end."""
    found: list[tuple[str, str]] = []
    above: list[list[str]] = [[]]
    beside: list[list[str]] = []
    alone = True  # whether a comment would be the first on its line, or follows such a one
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind == "newline":
            alone = True
        elif kind == "comment":
            (above[-1] if alone else beside[-1]).append(match.group())
        elif kind != "space":
            found.append((kind, _shown(match)))
            beside.append([])
            above.append([])
            alone = False
    words = [
        Token(kind, shown, tuple(before), tuple(after))
        for (kind, shown), before, after in zip(found, above, beside, strict=False)
    ]
    return [*words, Token("end", "", tuple(above[-1]))]


def _shown(match: re.Match[str]) -> str:
    return f"{match['number']} {match['unit']}" if match["unit"] else match.group()


def spaced(line: Sequence[Token]) -> list[bool]:
    """Return for each token of a statement whether a space goes before it."""
    spaces, usage, counts, depth = [], False, False, 0
    before, sign = Token("", ""), False
    for place, token in enumerate(line):
        following = [following.text for following in line[place + 1 : place + 3]]
        opens = token.text == "<" and following in _USAGES
        closes = usage and depth == 0 and token.text == ">"
        counts = usage and (counts or (before.text == "is" and token.text == "clc"))  # rather than measured or memory
        tight = counts and depth == 0 and "*" in (token.text, before.text)
        first_of_usage = usage and before.text == "<" and token.text == "is"
        spaces.append(not (place == 0 or sign or closes or tight or first_of_usage or _adjoin(before, token)))
        usage = (usage or opens) and not closes
        if usage and token.kind == "mark":
            depth += (token.text == "(") - (token.text == ")")
        operand = before.kind in ("name", "quantity", "string") and before.text not in _BEFORE_EXPRESSIONS
        sign = token.kind == "mark" and token.text in _SIGNS and not (operand or before.text in (")", "]"))
        before = token
    return spaces


def _adjoin(before: Token, token: Token) -> bool:
    """Return whether two tokens stand together without a space."""
    if before.text in ("(", "[") or token.text in (")", "]", ",", ";", ":"):
        return True
    return token.text in ("(", "[") and before.kind == "name" and before.text not in _BEFORE_EXPRESSIONS
