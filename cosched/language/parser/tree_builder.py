"""Build our tree from lark's, without recursion, so that deep nesting is refused, not fatal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from lark import Token, Tree

from cosched.language import syntax
from cosched.language.syntax import Position
from cosched.language.vocabulary import quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.language.diagnostics import Source

__all__ = ["build_tree"]

Children = list[Any]
_SECTIONS: dict[type[Any], str] = {
    syntax.Include: "includes",
    syntax.Variables: "variables",
    syntax.Procedure: "procedures",
}


def build_tree(tree: Tree[Any], source: Source, lost: frozenset[str] = frozenset()) -> tuple[Any, ...]:
    """Return the objects or configurations of a parsed file.

    Args:
        tree: lark's tree of the text, from either grammar.
        source: recorded in each object.
        lost: words of what could not be read; recorded in each object.
    """
    results: list[Any] = []
    waiting: list[tuple[Any, bool]] = [(tree, False)]
    while waiting:
        item, ready = waiting.pop()
        if not isinstance(item, Tree):
            results.append(item)
        elif not ready:
            waiting.append((item, True))
            waiting.extend((child, False) for child in reversed(item.children))
        else:
            first = len(results) - len(item.children)
            children = results[first:]
            del results[first:]
            results.append(_node(item, children, source, lost))
    return cast("tuple[Any, ...]", results[0])


def _node(tree: Tree[Any], children: Children, source: Source, lost: frozenset[str]) -> Any:
    # Imported rules carry the name of their grammar.
    rule = tree.data.removeprefix("expressions__")
    at = Position(getattr(tree.meta, "line", 1), getattr(tree.meta, "column", 1))
    if rule == "object":
        return _object(at, children, source, lost)
    if rule == "config":
        return syntax.Config(at, str(children[0]), tuple(children[1:]), source, lost)
    if rule in _LISTS:
        return tuple(child for child in children if child is not None)
    return _RULES[rule](at, children)


def _object(at: Position, children: Children, source: Source, lost: frozenset[str]) -> syntax.Object:
    kind, name, *sections = children
    groups: dict[str, list[Any]] = {key: [] for key in ("includes", "variables", "links", "options", "procedures")}
    for section in sections:
        if isinstance(section, tuple):  # a link or option section
            for item in section:
                groups["links" if isinstance(item, syntax.Link) else "options"].append(item)
        else:
            groups[_SECTIONS[type(section)]].append(section)
    parts = {key: tuple(value) for key, value in groups.items()}
    return syntax.Object(at, str(kind), str(name), source=source, lost=lost, **parts)


def _binary(_: Position, children: Children) -> syntax.Binary:
    left, operator, right = children
    return syntax.Binary(_position(operator), str(operator), left, right)


def _position(token: Token) -> Position:
    return Position(token.line or 1, token.column or 1)


def _number(at: Position, children: Children) -> syntax.Number:
    return syntax.Number(at, float(children[0]))


def _procedure(kind: str) -> Callable[[Position, Children], syntax.Procedure]:
    return lambda at, c: syntax.Procedure(at, kind, str(c[0]), c[1], c[2])


def _declaration(at: Position, children: Children) -> syntax.Declaration:
    return syntax.Declaration(at, str(children[0]), children[1], children[2] or ())


def _group(at: Position, children: Children) -> syntax.Group:
    name, *parts = children
    settings = tuple(part for part in parts if isinstance(part, syntax.Assign))
    curves = tuple(part for part in parts if isinstance(part, syntax.Curve))
    return syntax.Group(at, str(name), settings, curves)


def _opcode_count(_: Position, children: Children) -> syntax.OpcodeCount:
    count, _star, opcode = children
    return syntax.OpcodeCount(_position(opcode), count, str(opcode))


def _value_range(at: Position, children: Children) -> syntax.ValueRange:
    first, _to, last, step = children
    geometric = isinstance(step, syntax.Number) and step.unit == "x"
    return syntax.ValueRange(at, first, last, step, geometric)


_LISTS = frozenset(
    {
        "start",
        "arguments",
        "limits",
        "links",
        "options",
        "parameters",
        "exec_body",
        "block",
        "cflow_body",
        "cflow_block",
        "arm_body",
        "tunable_body",
        "tunable_block",
        "control_names",
        "values",
        "when_body",
        "finals",
    }
)

_RULES: dict[str, Callable[[Position, Children], Any]] = {
    # expressions
    "number": _number,
    "quantity": lambda at, c: syntax.Number(at, *quantity(str(c[0]))),
    "text": lambda at, c: syntax.Text(at, str(c[0])[1:-1]),
    "name": lambda at, c: syntax.Name(at, str(c[0])),
    "unary": lambda at, c: syntax.Unary(at, str(c[0]), c[1]),
    "binary": _binary,
    "invoke": lambda at, c: syntax.Invoke(at, str(c[0]), c[1]),
    "element": lambda at, c: syntax.Element(at, str(c[0]), c[1]),
    "vector": lambda at, c: syntax.Vector(at, tuple(c)),
    # sections
    "include": lambda at, c: syntax.Include(at, str(c[0])),
    "variables": lambda at, c: syntax.Variables(at, c[0], tuple(c[1:])),
    "type": lambda _, c: "numeric" if c[0] == "compute" else str(c[0]),
    "declared_type": lambda _, c: "numeric" if c[0] == "compute" else str(c[0]),
    "declaration": _declaration,
    "link": lambda at, c: syntax.Link(at, str(c[0]), tuple(c[1:])),
    "assign": lambda at, c: syntax.Assign(at, str(c[0]), c[1]),
    "exec_procedure": _procedure("exec"),
    "cflow_procedure": _procedure("cflow"),
    "tunable_procedure": lambda at, c: syntax.Procedure(at, "tunable", str(c[0]), (), c[1]),
    "parameter": lambda at, c: syntax.FormalParameter(at, c[0] or "numeric", str(c[1])),
    # exec
    "call": lambda at, c: syntax.Call(at, str(c[0]), c[1]),
    "for": lambda at, c: syntax.For(at, *c),
    "while": lambda at, c: syntax.While(at, *c),
    "if": lambda at, c: syntax.If(at, c[0], c[1], c[2] or ()),
    "return": lambda at, c: syntax.Return(at, c[0]),
    "step": lambda at, c: syntax.Step(at, str(c[0]), c[1], tuple(c[2:])),
    "confdev": lambda at, c: syntax.Confdev(at, tuple(c)),
    # cflow
    "compute": lambda at, c: syntax.Compute(at, c[0]),
    "loop": lambda at, c: syntax.Loop(at, *c),
    "case": lambda at, c: syntax.Case(at, c[0], tuple(c[1:])),
    "arm": lambda at, c: syntax.Arm(at, c[0], c[1]),
    "measured": lambda at, c: syntax.Measured(at, c[0], tuple(c[1:])),
    "measurement": lambda at, c: syntax.Measurement(at, *c),
    "opcode_usage": lambda at, c: syntax.OpcodeUsage(at, tuple(c)),
    "measured_usage": lambda at, c: syntax.MeasuredUsage(at, c[0]),
    "memory_usage": lambda at, c: syntax.MemoryUsage(at, *c),
    "block_usage": lambda at, c: syntax.BlockUsage(at, str(c[0]), c[1]),
    "opcode_count": _opcode_count,
    # tunable
    "stage": lambda at, c: syntax.TaskStage(at, str(c[0]), c[1], c[2], tuple(c[3:])),
    "configuration": lambda at, c: syntax.TaskConfiguration(at, *c),
    "value_range": _value_range,
    "factor": lambda at, c: syntax.Number(at, float(c[0].rstrip("x \t")), "x"),
    "hosts_request": lambda at, c: syntax.HostsRequest(at, *c),
    "model_request": lambda at, c: syntax.ModelRequest(at, str(c[0])),
    "task_select": lambda at, c: syntax.TaskSelect(at, tuple(c)),
    "when": lambda at, c: syntax.TaskWhen(at, c[0], c[1], c[2] or ()),
    "task_loop": lambda at, c: syntax.TaskLoop(at, *c),
    # HMCL
    "group": _group,
    "block_cost": lambda at, c: syntax.Assign(at, f"{c[0]}.{c[1]}", c[2]),
    "curve": lambda at, c: syntax.Curve(at, str(c[0]), tuple(c[1:])),
    "point": lambda at, c: syntax.Point(at, *c),
    "percentage": lambda at, c: syntax.Binary(at, "/", c[0], syntax.Number(at, 100.0)),
}
