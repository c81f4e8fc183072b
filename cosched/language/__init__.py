"""PSL and HMCL: from text to checked trees. Faults are `ModelError`s that carry every diagnostic found."""

from cosched.language.check import check_files
from cosched.language.diagnostics import Diagnostic, ModelError
from cosched.language.formatter import format_source
from cosched.language.library import default_library
from cosched.language.linker import Linked, Linker
from cosched.language.opcodes import OPCODES
from cosched.language.parser import parse_hmcl, parse_psl
from cosched.language.source import Source, decode, read

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
