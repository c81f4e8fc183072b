"""GCC's own form of a program is read for the operations of each source line, as opcodes of clc.

Start at `operations_of`. GCC writes each function as statements of one operation (`-fdump-tree-ssa-lineno`), with the
types of all variables and the line that each is from: for C, C++ and Fortran alike, and before anything is optimised.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

__all__ = ["DUMP_FLAG", "Operations", "looping", "operations_of"]

DUMP_FLAG = "-fdump-tree-ssa-lineno"
"""Has GCC write files `*.ssa`."""

Operations = Counter[str]
"""How often each opcode is done."""

_Statement = tuple[tuple[str, int], str]

_PLACE = re.compile(r"\[(?P<file>[^\[\]\n]*?):(?P<line>\d+):\d+\] ")
_DECLARATION = re.compile(r"  (?P<type>[^;]*?[ *&])(?P<name>[\w.]+)(?:\[[^;]*)?;")
_HEADER = re.compile(r"^[^;\s{}#<\[].*\((?P<parameters>.*)\)$")
_TEST = re.compile(r"if \((?P<left>\S+) (?:[<>]=?|[!=]=) \S+\)")
_ASSIGNMENT = re.compile(r"(?P<to>\S.*?) = (?P<value>.+);")
_CALL = re.compile(r"(?:(?P<to>\S+) = )?(?P<name>[A-Za-z_][\w.]*) \((?P<words>.*)\);")
_BINARY = re.compile(r"(?P<left>\S+) (?P<operator>[-+*/%<>&|^=!r]+)(?:\[\w+\])? (?P<right>\S+)")
_UNARY = re.compile(r"(?P<what>ABS|MIN|MAX)_EXPR <(?P<one>[^,>]+)")
_CAST = re.compile(r"\([a-z][^()]*(?:\(kind=\d+\))?[^()]*\) \S+")
_NAME = re.compile(r"(?P<base>[A-Za-z_][\w.]*?)?(?:_\d+(?:\(D\))?)?")
_TEMPORARY = re.compile(r"(?<![\w.])(?:[A-Za-z_]\w*\.\d+)?_\d+\b")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_ELEMENT = re.compile(r"\*_\d+")  # what an address was computed for
_MEMORY = re.compile(r"\*|->|\[|\.[A-Za-z]|\bMEM\b")
_NO_CALLS = frozenset({"if", "while", "switch", "return", "goto", "PHI"})
_FUNCTIONS = {
    "sqrt": "SQRT",
    "exp": "EXPF",
    "log": "LOGF",
    "log10": "LG10",
    "pow": "POWF",
    "fabs": "FABS",
    "ceil": "CEIL",
    "floor": "FLOR",
    "fmod": "FMOD",
    "sin": "SINF",
    "cos": "COSF",
    "tan": "TANF",
    "asin": "ASIN",
    "acos": "ACOS",
    "atan": "ATAN",
}
_WIDTHS = {"C": "IC", "S": "IS", "I": "II", "L": "IL", "F": "FF", "D": "FD"}
_LETTERS = (  # the first that is found in a type's name
    (r"float|real\(kind=4\)", "F"),
    (r"double|real|complex", "D"),
    (r"\bchar\b|_Bool|bool|int8|logical\(kind=1\)|kind=1\)", "C"),
    (r"short|int16|kind=2\)", "S"),
    (r"long|size|64|kind=8\)|ptrdiff", "L"),
)
_MOST_DIMENSIONS = 9


def operations_of(dump: str) -> dict[tuple[str, int], Operations]:
    """Return the operations of each line: by its file's name, as the compiler was given it, and its number.

    What only computes an address belongs to the reference; conversions and copies in registers cost nothing.

    Args:
        dump: text of a file that GCC wrote.
    """
    found: dict[tuple[str, int], Operations] = defaultdict(Counter)
    for types, statements in _functions(dump):
        addresses = _addresses(types, [text for _place, text in statements])
        for place, text in statements:
            found[place].update(_done(text, types, addresses))
    return {place: done for place, done in found.items() if done}


def _functions(dump: str) -> Iterator[tuple[dict[str, str], list[_Statement]]]:
    """Yield the types of each function's variables, and its statements, each with its place."""
    types: dict[str, str] = {}
    statements: list[_Statement] = []
    inside = False
    for line in dump.splitlines():
        if header := _HEADER.match(line):
            yield types, statements
            types, statements, inside = dict(_parameters(header["parameters"])), [], False
        elif line.startswith("  <bb "):
            inside = True
        elif not inside:
            if declared := _DECLARATION.fullmatch(line):
                types[declared["name"]] = declared["type"].strip()
        elif (place := _PLACE.search(line)) and not line.lstrip().startswith("#"):
            statements.append(((place["file"], int(place["line"])), _PLACE.sub("", line).strip()))
    yield types, statements


def _addresses(types: Mapping[str, str], statements: Sequence[str]) -> set[str]:
    """Return the temporaries from which nothing but addresses is computed; compilers keep these from turn to turn."""
    found: set[str] = set()
    for text in reversed(statements):  # what is used stands behind what computes it
        for index in _BRACKETS.findall(text):
            found.update(_TEMPORARY.findall(index))
        assigned = _ASSIGNMENT.fullmatch(text)
        if assigned and (assigned["to"] in found or _bare(types.get(assigned["to"], "")).endswith(("*", "&"))):
            found.update(_TEMPORARY.findall(assigned["value"]))
    return found


def looping(operations: Mapping[str, int], text: str) -> Operations:
    """Return the operations of a line that may be a loop's head: its branch is the loop's turn then."""
    found = Counter(operations)
    head = re.search(r"\b(for|while|do)\b", text, re.IGNORECASE)
    if head and found["IFBR"]:
        found["IFBR"] -= 1
        found["LWHI" if head[1].lower() == "while" else "LFOR"] += 1
    return +found


def _parameters(text: str) -> Iterable[tuple[str, str]]:
    for each in text.split(", "):
        kind, _space, name = each.rpartition(" ")
        yield name, kind


def _done(statement: str, types: Mapping[str, str], addresses: AbstractSet[str]) -> list[str]:
    """Return the opcodes of a statement."""
    if test := _TEST.match(statement):
        kind = _type(test["left"], types)
        return ["IFBR"] if "ool" in kind or "logical" in kind else [f"CM{_letter(kind) or 'L'}L", "IFBR"]
    if statement.startswith("switch "):
        return ["SWCH"]
    if (call := _CALL.fullmatch(statement)) and call["name"] not in _NO_CALLS:
        return _called(call["name"], call["words"], types)
    assigned = _ASSIGNMENT.fullmatch(statement)
    if assigned is None or assigned["to"] in addresses:
        return []
    return _assigned(assigned["to"], assigned["value"], types)


def _called(name: str, words: str, types: Mapping[str, str]) -> list[str]:
    plain = name.removeprefix("__builtin_")
    known = _FUNCTIONS.get(plain) or _FUNCTIONS.get(plain.removesuffix("f"))
    if known:
        return [known]
    arguments = [_letter(_type(each, types)) or "P" for each in words.split(", ") if each]
    return ["FCAL", *(f"FAR{letter}" for letter in arguments)]


def _assigned(to: str, value: str, types: Mapping[str, str]) -> list[str]:
    kind = _type(to, types) or _type(value, types)
    letter, stores = _letter(kind), _memory(to)
    done = [*_reference(to, letter), f"S{_WIDTHS[letter or 'L']}L"] if stores else []
    if not stores and not _declared(to, types) and letter:
        done = [f"S{_WIDTHS[letter]}G"]
    if _CAST.fullmatch(value):
        return done
    if binary := _BINARY.fullmatch(value):
        left = _type(binary["left"], types) or _type(binary["right"], types)
        return done + _computed(binary["operator"], kind, left)
    if unary := _UNARY.match(value):
        letter = _letter(kind)
        return [*done, "FABS" if unary["what"] == "ABS" and letter in ("D", "F") else f"CM{letter or 'L'}L"]
    if value[0] in "-~" and not value[1:2].isdigit():
        return [*done, f"A{_WIDTHS[letter or 'L']}L"]
    if _memory(value):
        return done + _reference(value, letter)
    if value[0].isalpha() and not _declared(value, types) and letter:
        return [*done, f"T{_WIDTHS[letter]}G"]
    return done


def _computed(operator: str, kind: str, operand: str) -> list[str]:
    """Return the opcode of an operator; none for a pointer's."""
    letter = _letter(kind)
    if operator in ("<", ">", "<=", ">=", "==", "!="):
        return [f"CM{_letter(operand) or 'L'}L"]
    code = "M" if operator == "*" else "D" if operator[0] in "/%" else "A"
    return [f"{code}{_WIDTHS[letter]}L"] if letter else []


def _reference(text: str, letter: str | None) -> list[str]:
    dimensions = min(text.count("["), _MOST_DIMENSIONS)
    if not dimensions and ("->" in text or not _ELEMENT.fullmatch(text)):
        return [f"PO{letter or 'L'}1"]
    return [f"AR{letter or 'L'}{max(dimensions, 1)}"]


def _memory(text: str) -> bool:
    return _MEMORY.search(text) is not None and " " not in text.split("[", 1)[0].strip()


def _declared(text: str, types: Mapping[str, str]) -> bool:
    return bool(_type(text, types)) or text.startswith("_")


def _type(text: str, types: Mapping[str, str]) -> str:
    """Return the type of a variable, or of what a pointer points to; empty where it is not known."""
    name = text.strip("(&)").removesuffix("(D").strip()
    if name in types:
        return types[name]
    if text.startswith("*") and (pointer := _bare(_type(text[1:], types))).endswith(("*", "&")):
        return pointer[:-1].strip()
    if re.fullmatch(r"-?\d+\.\d*(?:e[-+]?\d+)?", text):
        return "double"
    match = _NAME.fullmatch(name)
    return types.get(match["base"] or "", "") if match else ""


def _letter(kind: str) -> str | None:
    """Return the letter of a type in opcodes; None for a pointer and what is not known."""
    plain = _bare(kind)
    if not plain or plain.endswith(("*", "&")):
        return None
    return next((letter for pattern, letter in _LETTERS if re.search(pattern, plain)), "I")


def _bare(kind: str) -> str:
    return re.sub(r"\b(?:const|restrict|volatile)\b", "", kind).strip()
