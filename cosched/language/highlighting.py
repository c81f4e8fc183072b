"""Colours for model sources on pages: Pygments lexers of PSL and HMCL.

The grammars for editors in etc/editors follow the same lists of words.
"""

from __future__ import annotations

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from cosched.language.checks.hardware import MESSAGE_SETTINGS
from cosched.language.vocabulary import (
    COLLECTIVES,
    CURVES,
    DEVICES,
    FUNCTION_ARITIES,
    HARDWARE_OBJECT,
    KEYWORDS,
    MEMORY_SETTINGS,
    NOISE_SETTINGS,
    OPCODES,
    PROCESSORS,
    SETTING_GROUPS,
    VARIABLE_TYPES,
)

__all__ = ["HmclLexer", "PslLexer", "highlight_lexer"]

_NUMBER = r"(?:[0-9]+(?:\.(?!\.)[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_UNIT = r"(?:(?:[kMG]?B|[KMG]iB|[kMG]?bit)(?:/s)?|ns|us|ms|s|min|h)\b"
_QUANTITY = bygroups(Number, Whitespace, Keyword.Pseudo)  # type: ignore[no-untyped-call]  # the stubs lack it
_COMMON = [
    (r"\s+", Whitespace),
    (r"\(\*[\s\S]*?\*\)", Comment.Multiline),
    (r"\(\*[\s\S]*", Comment.Multiline),
    (r'"[^"\n]*"?', String.Double),
    (rf"({_NUMBER})([ \t]*)({_UNIT})", _QUANTITY),
    (_NUMBER, Number),
    (r"\|\||&&|[=!<>]=|[-+*/%^!<>=]", Operator),
    (r"[{}()\[\];:,.]", Punctuation),
    (words(tuple(OPCODES), r"\b", r"\b"), Name.Constant),
    (words(tuple(FUNCTION_ARITIES), r"\b", r"(?=\s*\()"), Name.Builtin),
]
_SETTINGS = (*MESSAGE_SETTINGS, *MEMORY_SETTINGS, *NOISE_SETTINGS, *sorted({kind.name for kind in CURVES.values()}))
_BLOCK = bygroups(Keyword, Whitespace, Keyword)  # type: ignore[no-untyped-call]  # alone, "block" may name a variable
_TWO_WORDS = bygroups(Keyword, Whitespace, Keyword.Type)  # type: ignore[no-untyped-call]
# Words of tunable procedures may name other things, too: what stands behind them tells.
_TUNABLE = [
    (r"\b(proc)(\s+)(tunable)\b", _BLOCK),
    (r"\b(var)(\s+)(control)\b", _TWO_WORDS),
    (r"\btask(?=\s+[A-Za-z_]\w*\s*\[)", Keyword),
    (r"\btask_select(?=\s*\{)|\b(?:when|task_loop)(?=\s*\()|\bfinally(?=\s*\{)", Keyword),
    (r"\bby(?=\s+[\w.(])|\bmodel(?=\s+[A-Za-z_])", Keyword),
]
_ANY_NAME = (r"[A-Za-z_]\w*", Name)


class PslLexer(RegexLexer):
    """Application models."""

    name = "PSL"
    aliases = ["psl"]  # noqa: RUF012  Pygments declares its attributes so
    filenames = ["*.psl"]  # noqa: RUF012
    url = ""
    version_added = ""
    tokens = {  # noqa: RUF012
        "root": [
            (rf"({_NUMBER})([ \t]*)(x\b)", _QUANTITY),
            *_COMMON,
            (r"\b(is)(\s+)(block)\b", _BLOCK),
            *_TUNABLE,
            (words(VARIABLE_TYPES[:-1], r"\b", r"\b"), Keyword.Type),
            (words(KEYWORDS, r"\b", r"\b"), Keyword),
            (words((*DEVICES, *COLLECTIVES), r"\b", r"\b"), Name.Builtin),
            (words((PROCESSORS, HARDWARE_OBJECT), r"\b", r"\b"), Name.Builtin.Pseudo),
            _ANY_NAME,
        ]
    }


class HmclLexer(RegexLexer):
    """Hardware models."""

    name = "HMCL"
    aliases = ["hmcl"]  # noqa: RUF012
    filenames = ["*.hmcl"]  # noqa: RUF012
    url = ""
    version_added = ""
    tokens = {  # noqa: RUF012
        "root": [
            *_COMMON,
            (words(("config", *SETTING_GROUPS), r"\b", r"\b"), Keyword),
            (words(_SETTINGS, r"\b", r"\b"), Name.Attribute),
            _ANY_NAME,
        ]
    }


def highlight_lexer(file: str) -> RegexLexer:
    """Return the Pygments lexer of a model: HMCL or PSL.

    HMCL is for names that end in `hmcl`.

    Args:
        file: name of the file, or of the language alone (`psl`, `hmcl`).
    """
    return HmclLexer() if file.lower().endswith("hmcl") else PslLexer()
