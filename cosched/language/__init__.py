"""PSL and HMCL: from text to checked, linked trees; faults carry file, line and column.

Start at `parser/parse.py` (text to tree), `checks/files.py` (what is refused) and `linker.py` (objects joined).

A new PSL statement is a rule of `parser/psl.lark`, a node of `syntax.py` made in `parser/tree_builder.py`, a check in
`checks/`, a keyword of `vocabulary.py` (and of `tokens.py`, where an expression follows it), a line of `formatter.py`
and a case of the interpreter (`evaluation/interpreter/`); editors know its keyword from etc/editors.
"""

from cosched.language.checks.files import check_files
from cosched.language.diagnostics import Diagnostic, ModelError, Source, decode, read
from cosched.language.formatter import format_source
from cosched.language.library import default_library
from cosched.language.linker import Linked, Linker
from cosched.language.parser.parse import parse_hmcl, parse_psl
from cosched.language.vocabulary import OPCODES

__all__ = [
    "OPCODES",
    "Diagnostic",
    "Linked",
    "Linker",
    "ModelError",
    "Source",
    "check_files",
    "decode",
    "default_library",
    "format_source",
    "parse_hmcl",
    "parse_psl",
    "read",
]
