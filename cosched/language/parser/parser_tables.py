"""Make the parsers of PSL and HMCL once and keep them as tables.

Making a parser takes 30 to 200 ms, reading its tables 10. The tables are JSON beside the byte code, or in the user's
cache where none is written: write access there gives the user's rights, and reading the files runs nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lexer import PatternRE, PatternStr, TerminalDef

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["parser"]

_FOLDER = Path(__file__).parent


@cache
def parser(language: str) -> Lark:
    """Return the LALR parser of `psl` or `hmcl`."""
    for folder in _folders():
        # Not there, or damaged.
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError, AssertionError):
            return _load(_tables(language, folder))
    made = _made(language)
    for folder in _folders():
        if not (sys.dont_write_bytecode and folder.parent == _FOLDER):
            with suppress(OSError):  # e.g. an installation that only its administrator may write
                _save(made, _tables(language, folder))
                break
    return made


def _folders() -> list[Path]:
    """Return where tables may be kept, the likeliest first."""
    folders = [_FOLDER / "__pycache__"]
    with suppress(RuntimeError):  # nobody's home is known
        folders.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cosched")
    return folders


def _made(language: str) -> Lark:
    grammar = str(_FOLDER / f"{language}.lark")
    made = Lark.open(grammar, parser="lalr", propagate_positions=True, edit_terminals=_whole_word)
    made.options.edit_terminals = None  # it has done its work, and tables hold no functions
    return made


def _whole_word(terminal: TerminalDef) -> None:
    """Let no keyword begin a longer word where no name is expected: `proc execinit`."""
    word = terminal.pattern.value
    if isinstance(terminal.pattern, PatternStr) and word.isidentifier():
        terminal.pattern, terminal.priority = PatternRE(rf"{word}\b"), 1


def _tables(language: str, folder: Path) -> Path:
    """Return where the tables are kept: another name for another grammar, lark or Python."""
    made_of = [(_FOLDER / name).read_bytes() for name in (f"{language}.lark", "expressions.lark")]
    made_by = Path(__file__).read_bytes()
    versions = f"{lark.__version__} {sys.version}".encode()
    return folder / f"{language}.{hashlib.sha256(b'|'.join([*made_of, made_by, versions])).hexdigest()[:16]}.json"


def _load(tables: Path) -> Lark:
    data, memo = json.loads(tables.read_text(encoding="utf-8"), object_hook=_with_numbers)
    return Lark.load({"data": data, "memo": memo})


def _with_numbers(found: Mapping[str, Any]) -> dict[str | int, Any]:
    # States and memoised rules are counted; JSON knows only texts as keys.
    return {int(key) if key.isdecimal() else key: value for key, value in found.items()}


def _save(made: Lark, tables: Path) -> None:
    """Write the tables whole or not at all, and remove those of earlier grammars."""
    tables.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=tables.parent, suffix=".tables")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(made.memo_serialize([TerminalDef, Rule]), stream)
        Path(name).chmod(0o644)
        Path(name).replace(tables)
    except OSError:
        Path(name).unlink()
        raise
    for old in set(tables.parent.glob(f"{tables.name.partition('.')[0]}.*.json")) - {tables}:
        old.unlink(missing_ok=True)
