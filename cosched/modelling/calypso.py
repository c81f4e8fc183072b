"""The tunable constructs of Calypso in a source text become PSL.

Start at `import_calypso`. The constructs are those of Chang, Karamcheti and Kedem, "Exploiting Application Tunability
for Efficient, Predictable Parallel Resource Management" (MILAN), section 4.2; all other code is passed over. What
Fig. 4 there writes otherwise than the section is accepted with a warning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from cosched.errors import UserError
from cosched.language import format_source, parse_psl
from cosched.language.diagnostics import ModelError, Source, suggestion
from cosched.language.vocabulary import FUNCTION_ARITIES
from cosched.modelling.writing import check_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cosched.language.diagnostics import Diagnostic

__all__ = ["ImportedModel", "import_calypso"]

_TOKEN = re.compile(
    r"""(?P<skipped>//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|\s+)|(?P<literal>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])+')
    |(?P<number>0[xX][0-9A-Fa-f]+[uUlL]*|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?[fFlLuU]*)
    |(?P<name>[A-Za-z_]\w*)|(?P<mark>\|\||&&|[-+*/%=!<>]=|\+\+|--|.)""",
    re.VERBOSE,
)
_CONSTANT = re.compile(
    r"^[ \t]*(?:#[ \t]*define[ \t]+(?P<macro>[A-Za-z_]\w*)[ \t]+\(?(?P<is>[0-9.][\w.]*)\)?[ \t]*$"
    r"|(?:static[ \t]+)?(?:const|constexpr)(?:[ \t]+(?:unsigned|int|long|float|double))+[ \t]+"
    r"(?P<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?P<value>[0-9.][\w.]*)[ \t]*;)",
    re.MULTILINE,
)
_STARTS = ("task", "task_select", "task_loop")
_ENDS = ("taskend", "task_selectend", "task_loopend", "task_looped", "when", "finally")
_OPERATORS = ("+", "-", "*", "/", "%", "==", "!=", "<", ">", "<=", ">=", "&&", "||", "!", "(", ")")
_DEEPEST = 40  # constructs within constructs
_PAIRS = {"(": ")", "[": "]", "{": "}"}


class ImportedModel(NamedTuple):
    """PSL in canonical layout, and what was read otherwise than it is written, with places in the source."""

    text: str
    warnings: tuple[Diagnostic, ...]


def import_calypso(source: Source, name: str) -> ImportedModel:
    """Return an application in PSL with the tunable constructs of a source text; its times are in seconds.

    Args:
        source: text of any language that holds the constructs.
        name: name of the application.

    Raises:
        ModelError: a construct that cannot be read, with its place.
        UserError: there is none, or the name is none of PSL.
    """
    check_name(name, "application")
    reader = _CalypsoReader(source, _tokens(source.text))
    body = list(reader.statements(()))
    if not body:
        raise UserError(f"{source.file}: holds no task, task_select or task_loop of Calypso: nothing to import")
    lines = [f"application {name} {{"]
    if reader.constants:
        lines.append(f"var numeric: {', '.join(f'{one} = {value}' for one, value in reader.constants.items())};")
    if reader.control:
        initial = (f"{one} = {value}" if value else one for one, value in reader.control.items())
        lines.append(f"var control: {', '.join(initial)};")
    text = "\n".join([*lines, "proc tunable main {", *body, "}", "}"])
    return ImportedModel(format_source(Source(f"{name}.psl", text)), tuple(reader.warnings))


class _SourceToken(NamedTuple):
    kind: str
    text: str
    at: tuple[int, int]


def _tokens(text: str) -> list[_SourceToken]:
    found = []
    line, begin = 1, 0
    for match in _TOKEN.finditer(text):
        kind, word = str(match.lastgroup), match.group()
        if kind != "skipped":
            found.append(_SourceToken(kind, word, (line, match.start() - begin + 1)))
        if "\n" in word:
            line += word.count("\n")
            begin = match.start() + word.rfind("\n") + 1
    return [*found, _SourceToken("end", "", (line, len(text) - begin + 1))]


@dataclass
class _CalypsoReader:
    """Reads the constructs off the tokens of a source.

    Attributes:
        control: the control parameters with their initial values, empty for none.
        constants: other names that expressions use, with their values.
        warnings: what was read otherwise than it is written.
    """

    source: Source
    tokens: Sequence[_SourceToken]
    place: int = 0
    control: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    warnings: list[Diagnostic] = field(default_factory=list)
    _depth: int = 0

    def statements(self, ends: Sequence[str]) -> Iterator[str]:
        """Yield the PSL of each construct up to one of the words, which is left, or to the end of the text."""
        while (token := self.next()).text not in ends or token.kind != "name":
            if token.kind == "end":
                if ends:
                    raise self.fault(token, f"the text ends before {ends[-1]}: add it")
                return
            if token.text == "task_control_parameters":
                self.declarations()
            elif token.text == "task" and self.begins_task():
                yield self.task()
            elif token.text in ("task_select", "task_loop"):
                if self._depth >= _DEEPEST:
                    raise self.fault(token, f"more than {_DEEPEST} constructs within one another: make it flatter")
                self._depth += 1
                yield self.select() if token.text == "task_select" else self.loop()
                self._depth -= 1
            elif token.kind == "name" and token.text in _ENDS[:-2]:
                raise self.fault(token, f"{token.text} ends nothing here: take it out, or add what it ends")
            else:
                self.take()

    def next(self) -> _SourceToken:
        return self.tokens[self.place]

    def take(self, *wanted: str) -> _SourceToken:
        """Return the next token, which must be one of those wanted, if any are."""
        token = self.next()
        if wanted and token.text not in wanted:
            found = f"{token.text!r} stands here" if token.text else "the text ends here"
            raise self.fault(token, f"{found}: {' or '.join(map(repr, wanted))} is expected")
        self.place += token.kind != "end"
        return token

    def fault(self, token: _SourceToken, message: str) -> ModelError:
        return ModelError([self.source.fault(token.at, message)])

    def warn(self, token: _SourceToken, message: str) -> None:
        self.warnings.append(self.source.fault(token.at, message))

    def begins_task(self) -> bool:
        """Tell whether a task begins here, and not something else of that name."""
        following = self.tokens[self.place + 1 : self.place + 3]
        return len(following) == 2 and following[0].kind == "name" and following[1].text == "["

    def within(self, opening: str) -> list[_SourceToken]:
        """Return the tokens in a pair of brackets, which are taken, too."""
        first = self.take(opening)
        closing, depth = _PAIRS[opening], 1
        found: list[_SourceToken] = []
        while True:
            token = self.take()
            if token.kind == "end":
                raise self.fault(first, f"{opening!r} is not closed: add {closing!r}")
            depth += (token.text == opening) - (token.text == closing)
            if depth == 0:
                return found
            found.append(token)

    def declarations(self) -> None:
        """Read `task_control_parameters { int x = 1, y; };`."""
        self.take()
        for statement in _split(self.within("{"), ";"):
            for number, part in enumerate(_split(statement, ",")):
                equals = next((place for place, token in enumerate(part) if token.text == "="), len(part))
                named = part[:equals]
                if any(token.kind != "name" for token in named) or len(named) < (2 if number == 0 else 1):
                    raise self.fault(part[0], "a control parameter is declared as `int NAME;` or `int NAME = NUMBER;`")
                check_name(named[-1].text, "control parameter")
                self.control[named[-1].text] = self.expression(part[equals + 1 :], part[0]) if part[equals:] else ""

    def task(self) -> str:
        self.take()
        name = self.take()
        check_name(name.text, "task")
        deadline = self.within("[")
        parameters = self.within("[")
        for token in parameters[::2]:
            if token.text not in self.control:
                near = suggestion(token.text, self.control) or ": declare it in task_control_parameters"
                raise self.fault(token, f"{token.text} is no control parameter{near}")
        configurations = [self.configuration(part) for part in _split(self.configurations(), ",")]
        self.body(name)
        limit = self.time(deadline, name) if deadline else ""
        listed = ", ".join(token.text for token in parameters if token.text != ",")
        return f"task {name.text} [{limit}] [{listed}] [{', '.join(configurations)}];"

    def configurations(self) -> list[_SourceToken]:
        """Return the tokens of all configurations of a task."""
        token = self.next()
        if token.text == "[":
            return self.within("[")
        if token.text != "(":
            self.take("[")
        self.warn(token, "'[' is missing before the configurations: read as if it was there")
        start = self.place
        while self.next().text == "(":
            self.within("(")
            if self.next().text == ",":
                self.take()
        found = list(self.tokens[start : self.place])
        self.take("]")
        return found

    def configuration(self, part: list[_SourceToken]) -> str:
        inner = _CalypsoReader(self.source, [*part, self.tokens[-1]], 0, self.control, self.constants, self.warnings)
        pieces = _split(inner.within("("), ",")
        form = "a configuration is ({values}, {processors, time}, quality)"
        if len(pieces) != 3 or any(piece[0].text != "{" or piece[-1].text != "}" for piece in pieces[:2]):
            raise self.fault(part[0], f"this is none: {form}")
        values, request = (_split(piece[1:-1], ",") for piece in pieces[:2])
        if len(request) != 2:
            raise self.fault(pieces[1][0], f"{len(request)} resources: {form}")
        hosts, seconds = self.expression(request[0], part[0]), self.time(request[1], part[0])
        given = ", ".join(self.expression(value, part[0]) for value in values)
        return f"({{{given}}}, {{{hosts}, {seconds}}}, {self.expression(pieces[2], part[0])})"

    def body(self, name: _SourceToken) -> None:
        """Pass over the code of a task."""
        while (token := self.take()).text != "taskend":
            nested = token.text == "task" and self.begins_task_at(self.place - 1)
            if token.kind == "end" or nested or (token.kind == "name" and token.text in _ENDS[1:4]):
                raise self.fault(name, f"task {name.text} has no taskend: add it behind its code")
        if self.next().text == ";":
            semicolon = self.take()
            if self.next().text == "finally":
                self.warn(semicolon, "';' between taskend and finally: read as if it was not there")

    def begins_task_at(self, place: int) -> bool:
        here, self.place = self.place, place
        found = self.begins_task()
        self.place = here
        return found

    def select(self) -> str:
        first = self.take()
        arms = []
        while self.next().text == "when":
            self.take()
            condition = self.within("(") if self.next().text == "(" else self.up_to_construct()
            shown = self.expression(condition, first)
            inner = list(self.statements(("finally", "when", "task_selectend")))
            arms.append(f"when ({shown}) {{ {' '.join(inner)} }} {self.finals()}")
        if not arms:
            raise self.fault(first, "task_select has no `when`: add one")
        self.take("task_selectend", "when")
        self.semicolon()
        return f"task_select {{ {' '.join(arms)} }}"

    def up_to_construct(self) -> list[_SourceToken]:
        found = []
        while self.next().text not in _STARTS and self.next().kind != "end":
            found.append(self.take())
        return found

    def finals(self) -> str:
        """Return the `finally` of an arm: of its code only what sets control parameters."""
        if self.next().text != "finally":
            return ""
        self.take()
        kept = []
        for statement in _split(self.within("{"), ";"):
            if statement[0].text not in self.control:
                self.warn(statement[0], "code in finally that sets no control parameter: left out")
            elif len(statement) < 3 or statement[1].text != "=":
                raise self.fault(statement[0], f"finally sets control parameters as in `{statement[0].text} = 1;`")
            else:
                kept.append(f"{statement[0].text} = {self.expression(statement[2:], statement[0])};")
        self.semicolon()
        return f"finally {{ {' '.join(kept)} }}"

    def loop(self) -> str:
        first = self.take()
        turns = self.expression(self.within("("), first)
        inner = list(self.statements(("task_looped", "task_loopend")))
        end = self.take("task_loopend", "task_looped")
        if end.text == "task_looped":
            self.warn(end, "task_looped: read as task_loopend")
        self.semicolon()
        return f"task_loop ({turns}) {{ {' '.join(inner)} }}"

    def semicolon(self) -> None:
        if self.next().text == ";":
            self.take()

    def time(self, tokens: Sequence[_SourceToken], near: _SourceToken) -> str:
        """Return a time in seconds as PSL."""
        shown = self.expression(tokens, near)
        return f"{shown} s" if len(tokens) == 1 and tokens[0].kind == "number" else f"({shown}) * 1 s"

    def expression(self, tokens: Sequence[_SourceToken], near: _SourceToken) -> str:
        """Return an expression of constants and control parameters as PSL."""
        if not tokens:
            raise self.fault(near, "an expression is missing here")
        shown = " ".join(self.word(token) for token in tokens)
        try:
            parse_psl(Source("expression", f"application a {{ proc tunable m {{ task_loop ({shown}) {{ }} }} }}"))
        except ModelError:
            written = " ".join(token.text for token in tokens)
            raise self.fault(tokens[0], f"{written[:40]!r} is no expression") from None
        return shown

    def word(self, token: _SourceToken) -> str:
        if token.kind == "number":
            return _number(token.text)
        if token.text in _OPERATORS or token.text in FUNCTION_ARITIES or token.text in self.control:
            if token.text == "/":
                self.warn(token, "a quotient: PSL does not round it down, as C does with whole numbers")
            return token.text
        if token.kind == "name" and token.text not in self.constants:
            found = next((one for one in _CONSTANT.finditer(self.source.text) if token.text in one.group(1, 3)), None)
            if found is None:
                near = suggestion(token.text, self.control) or ": write its value"
                raise self.fault(token, f"{token.text} is neither a control parameter nor a known constant{near}")
            check_name(token.text, "constant")
            self.constants[token.text] = _number(found["is"] or found["value"])
        if token.kind != "name":
            raise self.fault(token, f"{token.text!r} has no place in an expression of constants and control parameters")
        return token.text


def _split(tokens: Sequence[_SourceToken], mark: str) -> list[list[_SourceToken]]:
    """Return the parts between marks that stand in no brackets; empty ones are left out."""
    parts: list[list[_SourceToken]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.text in _PAIRS) - (token.text in _PAIRS.values())
        if token.text == mark and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _number(text: str) -> str:
    """Return a number of C as one of PSL."""
    if text.lower().startswith("0x"):
        return str(int(text.rstrip("uUlL"), 16))
    return text.rstrip("fFlLuU")
