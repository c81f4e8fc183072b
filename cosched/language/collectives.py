"""Replace each use of a collective device by a call of a procedure in PSL.

Trees are binomial, as MPI libraries use them for short messages (Thakur, Rabenseifner, Gropp: Optimization of
Collective Communication Operations in MPICH, 2005).
"""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, cast

from cosched.language.diagnostics import Source
from cosched.language.parser.parse import parse_psl
from cosched.language.syntax import Call, Confdev, For, If, Node, Step, While, walk
from cosched.language.vocabulary import COLLECTIVES

if TYPE_CHECKING:
    from cosched.language.syntax import Exec, Object, Position, Procedure

__all__ = ["expand"]

_DOWN = """
    for (d = pow(2, ceil(log2(Nproc)) - 1); d >= 1; d = d / 2)
        for (r = 0; r + d < Nproc; r = r + 2 * d) {
            step mpisend { confdev (root - 1 + r) % Nproc + 1, (root - 1 + r + d) % Nproc + 1, size; }
            step mpirecv { confdev (root - 1 + r) % Nproc + 1, (root - 1 + r + d) % Nproc + 1, size; }
        }
"""
_UP = """
    for (d = 1; d < Nproc; d = 2 * d)
        for (r = 0; r + d < Nproc; r = r + 2 * d) {
            step mpisend { confdev (root - 1 + r + d) % Nproc + 1, (root - 1 + r) % Nproc + 1, size; }
            step mpirecv { confdev (root - 1 + r + d) % Nproc + 1, (root - 1 + r) % Nproc + 1, size; }
            step cpu on (root - 1 + r) % Nproc + 1 { confdev time; }
        }
"""
# A root that does not exist is a fault of a step on it.
_ROOT = "if (root < 1 || root > Nproc || root != floor(root)) step cpu on root { confdev 0; }"

_TEXT = f"""
partmp collectives {{
    proc exec mpibcast(root, size) {{ var numeric: d, r; {_ROOT} {_DOWN} }}
    proc exec mpireduce(root, size, time) {{ var numeric: d, r; {_ROOT} {_UP} }}
    proc exec mpiallreduce(size, time) {{ var numeric: d, r, root = 1; {_UP} {_DOWN} }}
    proc exec mpibarrier {{ var numeric: d, r, root = 1, size = 0, time = 0; {_UP} {_DOWN} }}
    proc exec mpialltoall(size) {{
        var numeric: p, k;
        for (p = 1; p <= Nproc; p = p + 1)
            for (k = 1; k < Nproc; k = k + 1) step mpisend {{ confdev p, (p + k - 1) % Nproc + 1, size; }}
        for (p = 1; p <= Nproc; p = p + 1)
            for (k = 1; k < Nproc; k = k + 1) step mpirecv {{ confdev (p - k - 1) % Nproc + 1, p, size; }}
    }}
}}
"""


def expand(item: Object) -> Object:
    """Return a checked object with its collective steps expanded to messages.

    Without such steps it is the same object.
    """
    added: list[Procedure] = []
    if not any(
        isinstance(node, Step) and node.device in COLLECTIVES
        for procedure in item.procedures
        for node, _ in walk(*procedure.body)
    ):
        return item
    procedures = tuple(
        replace(procedure, body=_block(cast("tuple[Exec, ...]", procedure.body), added))
        if procedure.kind == "exec"
        else procedure
        for procedure in item.procedures
    )
    return replace(item, procedures=(*procedures, *added))


def _block(statements: tuple[Exec, ...], added: list[Procedure]) -> tuple[Exec, ...]:
    return tuple(new for statement in statements for new in _statement(statement, added))


def _statement(statement: Exec, added: list[Procedure]) -> tuple[Exec, ...]:
    match statement:
        case For() | While():
            return (replace(statement, body=_block(statement.body, added)),)
        case If():
            then, otherwise = _block(statement.then, added), _block(statement.otherwise, added)
            return (replace(statement, then=then, otherwise=otherwise),)
        case Step() if statement.device in COLLECTIVES:
            uses = statement.confdevs or ((Confdev(statement.at, ()),) if not COLLECTIVES[statement.device] else ())
            return tuple(_call(statement.device, use, added) for use in uses)
    return (statement,)


def _call(device: str, use: Confdev, added: list[Procedure]) -> Call:
    # A space is in no name that a model can write. Faults inside are shown at the step.
    name = f"{device} {use.at.line}:{use.at.column}"
    if all(procedure.name != name for procedure in added):
        procedure = next(procedure for procedure in _procedures() if procedure.name == device)
        added.append(replace(cast("Procedure", _moved(procedure, use.at)), name=name))
    return Call(use.at, name, use.values)


@cache
def _procedures() -> tuple[Procedure, ...]:
    return parse_psl(Source("collectives", _TEXT))[0].procedures


def _moved(node: Node, at: Position) -> Node:
    """Return a tree with every node at one position."""
    changes: dict[str, object] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, Node):
            changes[field.name] = _moved(value, at)
        elif isinstance(value, tuple) and field.name != "at":
            changes[field.name] = tuple(_moved(item, at) if isinstance(item, Node) else item for item in value)
    changes["at"] = at
    return replace(node, **changes)  # type: ignore[arg-type]  # the fields that it has
