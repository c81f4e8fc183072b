"""The tree that a model's text becomes. Every node is frozen and knows its position."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.language.diagnostics import Source

__all__ = [
    "Arm",
    "Assign",
    "Binary",
    "BlockUsage",
    "Call",
    "Case",
    "Cflow",
    "Compute",
    "Confdev",
    "Config",
    "Curve",
    "Declaration",
    "Element",
    "Exec",
    "Expression",
    "For",
    "FormalParameter",
    "Group",
    "HostsRequest",
    "If",
    "Include",
    "Invoke",
    "Link",
    "Loop",
    "Measured",
    "MeasuredUsage",
    "Measurement",
    "MemoryUsage",
    "ModelRequest",
    "Name",
    "Node",
    "Number",
    "Object",
    "OpcodeCount",
    "OpcodeUsage",
    "Point",
    "Position",
    "Procedure",
    "Return",
    "Step",
    "TaskConfiguration",
    "TaskLoop",
    "TaskSelect",
    "TaskStage",
    "TaskWhen",
    "Text",
    "Tunable",
    "Unary",
    "Usage",
    "ValueRange",
    "Variables",
    "Vector",
    "While",
    "walk",
]


class Position(NamedTuple):
    """Start of a node; line and column count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Node:
    """Base of the tree."""

    at: Position


# --- expressions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A literal in base units: microseconds, bytes, bytes a microsecond.

    `unit` is as written.
    """

    value: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Text(Node):
    """A string literal without its quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A variable read."""

    id: str


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`-x`, `+x` or `!x`."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Two operands; the position is the operator's."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Invoke(Node):
    """Call of a function, an exec procedure with a result, or a cflow (its time)."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Element(Node):
    """`name[index]`, counted from 1."""

    name: str
    index: Expression


@dataclass(frozen=True, slots=True)
class Vector(Node):
    """`[a, b, …]`."""

    items: tuple[Expression, ...]


Expression = Number | Text | Name | Unary | Binary | Invoke | Element | Vector

# --- cflow: what a piece of sequential work costs --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpcodeCount(Node):
    """`count * OPCODE` in a usage; no count means one."""

    count: Expression | None
    opcode: str


@dataclass(frozen=True, slots=True)
class OpcodeUsage(Node):
    """`<is clc, …>`: operations whose costs the hardware knows."""

    entries: tuple[OpcodeCount, ...]


@dataclass(frozen=True, slots=True)
class MeasuredUsage(Node):
    """`<is measured, time>`: a block whose time in microseconds was measured."""

    time: Expression


@dataclass(frozen=True, slots=True)
class MemoryUsage(Node):
    """`<is memory, volume, working_set>`: bytes moved between processor and memory.

    `working_set` is how many bytes the work goes over.
    """

    volume: Expression
    working_set: Expression


@dataclass(frozen=True, slots=True)
class BlockUsage(Node):
    """`<is block, name, count>`: repetitions of a block whose cost the hardware knows for each application."""

    name: str
    count: Expression


Usage = OpcodeUsage | MeasuredUsage | MemoryUsage | BlockUsage


@dataclass(frozen=True, slots=True)
class Compute(Node):
    """Straight-line work."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """`count` repetitions of head and body."""

    usage: Usage
    count: Expression
    body: tuple[Cflow, ...]


@dataclass(frozen=True, slots=True)
class Arm(Node):
    """One branch of a case, taken with a probability."""

    probability: Expression
    body: tuple[Cflow, ...]


@dataclass(frozen=True, slots=True)
class Case(Node):
    """A branch: the head, and the arms weighted by their probabilities."""

    usage: Usage
    arms: tuple[Arm, ...]


@dataclass(frozen=True, slots=True)
class Measurement(Node):
    """`key: time` in a table of measured times."""

    key: Expression
    time: Expression


@dataclass(frozen=True, slots=True)
class Measured(Node):
    """A table of measured times, looked up by the value of `key`."""

    key: Expression
    entries: tuple[Measurement, ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A procedure or an included object called as a statement; `arguments` is None without parentheses."""

    name: str
    arguments: tuple[Expression, ...] | None


Cflow = Compute | Loop | Case | Measured | Call

# --- exec: how an object runs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Declaration(Node):
    """Declaration of a variable, with its initial value and the bounds for users, if stated."""

    name: str
    value: Expression | None
    limits: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Variables(Node):
    """A `var` section or statement."""

    type: str
    declarations: tuple[Declaration, ...]


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """`name = value`: a statement, an option, a setting or one variable of a link."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class For(Node):
    """A counted loop."""

    start: Assign
    condition: Expression
    advance: Assign
    body: tuple[Exec, ...]


@dataclass(frozen=True, slots=True)
class While(Node):
    """A loop while a condition is not zero."""

    condition: Expression
    body: tuple[Exec, ...]


@dataclass(frozen=True, slots=True)
class If(Node):
    """A branch on a condition."""

    condition: Expression
    then: tuple[Exec, ...]
    otherwise: tuple[Exec, ...]


@dataclass(frozen=True, slots=True)
class Return(Node):
    """Ends an exec procedure, with its result where it is called in an expression."""

    value: Expression | None


@dataclass(frozen=True, slots=True)
class Confdev(Node):
    """One use of a step's device."""

    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Step(Node):
    """Use of a device; without `on`, `cpu` is every processor's."""

    device: str
    on: Expression | None
    confdevs: tuple[Confdev, ...]


Exec = Variables | Assign | Call | For | While | If | Return | Step

# --- tunable: stages of which each offers alternatives (Calypso in MILAN) ---------------------------------------------


@dataclass(frozen=True, slots=True)
class ValueRange(Node):
    """`first .. last by step` in place of one value; with `2x` each is `step` times the one before.

    Without a step it is 1.
    """

    first: Expression
    last: Expression
    step: Expression | None
    geometric: bool


@dataclass(frozen=True, slots=True)
class HostsRequest(Node):
    """`{hosts, time}`: what a configuration of a stage needs."""

    hosts: Expression
    time: Expression


@dataclass(frozen=True, slots=True)
class ModelRequest(Node):
    """`{model name}`: the host counts and times are those that an included object predicts."""

    name: str


@dataclass(frozen=True, slots=True)
class TaskConfiguration(Node):
    """One way to run a stage: the values that it sets, what it needs and how good its output is."""

    values: tuple[Expression | ValueRange, ...]
    request: HostsRequest | ModelRequest
    quality: Expression


@dataclass(frozen=True, slots=True)
class TaskStage(Node):
    """`task name [deadline] [control parameters] [configurations]`; no deadline is None."""

    name: str
    deadline: Expression | None
    parameters: tuple[Name, ...]
    configurations: tuple[TaskConfiguration, ...]


@dataclass(frozen=True, slots=True)
class TaskWhen(Node):
    """An arm of a `task_select`: its condition, its stages, and what is set behind them."""

    condition: Expression
    body: tuple[Tunable, ...]
    finals: tuple[Assign, ...]


@dataclass(frozen=True, slots=True)
class TaskSelect(Node):
    """One of the arms whose conditions hold is run."""

    arms: tuple[TaskWhen, ...]


@dataclass(frozen=True, slots=True)
class TaskLoop(Node):
    """`count` turns of stages that make the same choices in each."""

    count: Expression
    body: tuple[Tunable, ...]


Tunable = TaskStage | TaskSelect | TaskLoop

# --- objects ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Include(Node):
    """Another object made available by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Link(Node):
    """Variables set downwards in an included object."""

    target: str
    assigns: tuple[Assign, ...]


@dataclass(frozen=True, slots=True)
class FormalParameter(Node):
    """A parameter of a procedure."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Procedure(Node):
    """A `proc exec` (body of `Exec`), a `proc cflow` (of `Cflow`) or a `proc tunable` (of `Tunable`)."""

    kind: str
    name: str
    parameters: tuple[FormalParameter, ...]
    body: tuple[Exec, ...] | tuple[Cflow, ...] | tuple[Tunable, ...]


@dataclass(frozen=True, slots=True)
class Object(Node):
    """An application, a subtask or a partmp (parallel template).

    `lost` are the words of what could not be read of its file: they may be names that are declared there.
    """

    kind: str
    name: str
    includes: tuple[Include, ...]
    variables: tuple[Variables, ...]
    links: tuple[Link, ...]
    options: tuple[Assign, ...]
    procedures: tuple[Procedure, ...]
    source: Source
    lost: frozenset[str] = frozenset()

    def option(self, name: str) -> Assign | None:
        """Return the option of that name, if set."""
        return next((option for option in self.options if option.name == name), None)

    def declared(self) -> dict[str, str]:
        """Return the type of each variable of the object, in order of declaration; control parameters are numeric."""
        return {
            item.name: "numeric" if group.type == "control" else group.type
            for group in self.variables
            for item in group.declarations
        }

    def control(self) -> frozenset[str]:
        """Return the names of the control parameters."""
        return frozenset(
            item.name for group in self.variables if group.type == "control" for item in group.declarations
        )


@dataclass(frozen=True, slots=True)
class Point(Node):
    """`size: cost`, one point of a curve."""

    size: Expression
    cost: Expression


@dataclass(frozen=True, slots=True)
class Curve(Node):
    """`name = [size: cost, …]` in a group of a hardware configuration."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Group(Node):
    """A group of settings of a hardware configuration, such as `mpi`."""

    name: str
    settings: tuple[Assign, ...]
    curves: tuple[Curve, ...] = ()


@dataclass(frozen=True, slots=True)
class Config(Node):
    """A hardware configuration.

    `lost` are the words of unreadable parts of its file.
    """

    name: str
    groups: tuple[Group, ...]
    source: Source
    lost: frozenset[str] = frozenset()


_OF_NO_NODE = ("Position", "Source", "bool", "float", "frozenset[str]", "str")  # annotations of fields that hold none

_children: dict[type[Node], tuple[str, ...]] = {}


def _children_of(kind: type[Node]) -> tuple[str, ...]:
    """Return the fields that may hold nodes, the last one first."""
    if kind not in _children:
        _children[kind] = tuple(field.name for field in reversed(fields(kind)) if field.type not in _OF_NO_NODE)
    return _children[kind]


def walk(*roots: Node) -> Iterator[tuple[Node, int]]:
    """Yield every node under the roots with its depth, without recursion."""
    waiting: list[tuple[Node, int]] = [(root, 1) for root in reversed(roots)]
    while waiting:
        found = waiting.pop()
        yield found
        node, depth = found
        depth += 1
        for name in _children_of(type(node)):
            value = getattr(node, name)
            if isinstance(value, Node):
                waiting.append((value, depth))
            elif value:
                waiting.extend([(item, depth) for item in reversed(value) if isinstance(item, Node)])
