"""Objects joined to those they include, and the faults that only show then."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cosched.language.checks.expressions import NameScope, misfit
from cosched.language.checks.objects import Findings, TooManyFaults, check_object, object_dimensions
from cosched.language.collectives import expand
from cosched.language.diagnostics import Diagnostic, ModelError, read, suggestion
from cosched.language.library import find, names
from cosched.language.parser.parse import salvage_psl
from cosched.language.syntax import Vector
from cosched.language.vocabulary import HARDWARE_OBJECT, PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.language.checks.expressions import Dimensions
    from cosched.language.syntax import Assign, Include, Node, Object
    from cosched.language.vocabulary import Dimension

    Report = Callable[[Node, str], None]

__all__ = ["Linked", "Linker"]

_MOST_FILES = 200
_MOST_OBJECTS = 500
_DEEPEST = 50


@dataclass(frozen=True, eq=False)
class Linked:
    """An object and the objects it includes, by name. Compared by identity."""

    object: Object
    includes: dict[str, Linked] = field(default_factory=dict, repr=False)


class Linker:
    """Reads files once, joins their objects and collects every fault.

    Attributes:
        faults: the faults found so far, in order.
    """

    def __init__(self, library: Sequence[Path]) -> None:
        self.faults: list[Diagnostic] = []
        self._library = library
        self._files: dict[Path, _File] = {}
        self._linked: dict[int, Linked] = {}
        self._open: dict[int, Object] = {}

    def file(self, path: Path) -> tuple[Linked, ...]:
        """Join every object of a file that can be read."""
        return tuple(self._link(item) for item in self._file(path).objects.values())

    def _file(self, path: Path) -> _File:
        found = self._files.get(path)
        if found is None:
            found = self._files[path] = self._read(path)
        return found

    def _read(self, path: Path) -> _File:
        if len(self._files) >= _MOST_FILES:
            self.faults.append(Diagnostic(str(path), 1, 1, f"the model has more than {_MOST_FILES} files"))
            return _File()
        try:
            source = read(path)
        except ModelError as error:
            self.faults.extend(error.diagnostics)
            return _File()
        objects, faults = salvage_psl(source)
        self.faults.extend(faults)
        if not objects and not faults:
            self.faults.append(source.fault((1, 1), "the file holds no application, subtask or partmp"))
        for item in objects[:_MOST_OBJECTS]:
            self.faults.extend(check_object(item))
        if len(objects) > _MOST_OBJECTS:
            self.faults.append(source.fault(objects[_MOST_OBJECTS].at, f"more than {_MOST_OBJECTS} objects: split it"))
        return _File({item.name: expand(item) for item in self._unique(objects[:_MOST_OBJECTS])}, bool(faults))

    def _unique(self, objects: tuple[Object, ...]) -> list[Object]:
        seen: dict[str, Object] = {}
        for item in objects:
            first = seen.setdefault(item.name, item)
            if first is not item:
                message = f"{item.name} is already the name of the {first.kind} in line {first.at.line}"
                self.faults.append(item.source.fault(item.at, message))
        return list(seen.values())

    def _link(self, item: Object) -> Linked:
        known = self._linked.get(id(item))
        if known:
            return known
        linked = self._linked[id(item)] = Linked(item)
        self._open[id(item)] = item
        findings = Findings(item.source)
        with suppress(TooManyFaults):
            for include in item.includes:
                found = None if include.name == HARDWARE_OBJECT else self._include(item, include, findings.report)
                if found is not None:
                    linked.includes[include.name] = found
            self._check_links(linked, findings.report)
        del self._open[id(item)]
        self.faults.extend(findings.faults)
        if item.kind == "subtask" and "init" not in {procedure.name for procedure in item.procedures}:
            self._check_templates(linked)
        return linked

    def _include(self, item: Object, include: Include, report: Report) -> Linked | None:
        found = self._resolve(item, include, report)
        if found is None:
            return None
        if id(found) in self._open:
            chain = [*self._open.values()]
            circle = " → ".join([other.name for other in chain[chain.index(found) :]] + [found.name])
            report(include, f"objects include one another in a circle: {circle}")
            return None
        if len(self._open) >= _DEEPEST:
            report(include, f"objects include one another {_DEEPEST} deep: make it flatter")
            return None
        if found.kind == "application" or (found.kind == "subtask" and item.kind == "partmp"):
            article = "an" if found.kind == "application" else "a"
            own = "an" if item.kind == "application" else "a"
            report(
                include,
                f"{found.name} ({_place(found)}) is {article} {found.kind}: {own} {item.kind} cannot include it",
            )
            return None
        return self._link(found)

    def _resolve(self, item: Object, include: Include, report: Report) -> Object | None:
        own = Path(item.source.file)
        here = self._file(own)
        if include.name in here.objects:
            return here.objects[include.name]
        path = find(include.name, ".psl", self._library, own.parent)
        if path is None:
            if include.name not in item.lost:
                near = suggestion(include.name, [*here.objects, *names(".psl", self._library, own.parent)])
                report(include, f"{include.name} is not found beside this file or in the library{near}")
            return None
        there = self._file(path)
        found = there.objects.get(include.name)
        if found is None and there.damaged:
            report(include, f"{include.name} has faults: see {path}")
        elif found is None:
            near = suggestion(include.name, there.objects)
            report(include, f"{path} holds no object {include.name}{near}")
        return found

    def _check_links(self, linked: Linked, report: Report) -> None:
        item = linked.object
        types = {PROCESSORS: "numeric", **item.declared()}
        procedures = {procedure.name: procedure for procedure in item.procedures}
        scope = NameScope(types, procedures, lambda _node, _message: None, item.lost)
        own = object_dimensions(item)
        for link in item.links:
            if link.target == HARDWARE_OBJECT:
                target = _Target(HARDWARE_OBJECT, {PROCESSORS: "numeric"}, {}, {}, frozenset())
            elif link.target in linked.includes:
                target = _target(linked.includes[link.target].object)
            else:
                continue
            for assign in link.assigns:
                message = _misfit(assign, target, scope, own)
                if message:
                    report(assign, message)

    def _check_templates(self, linked: Linked) -> None:
        if not any(other.object.kind == "partmp" for other in linked.includes.values()) and not self.faults:
            item = linked.object
            message = f"subtask {item.name} does nothing: include a partmp or write `proc exec init`"
            self.faults.append(item.source.fault(item.at, message))


class _File(NamedTuple):
    """The objects of a file by name; `damaged` if some could not be read."""

    objects: Mapping[str, Object] = {}
    damaged: bool = True


class _Target(NamedTuple):
    """The other end of a link: its name and its variables' types, places and dimensions."""

    name: str
    types: Mapping[str, str]
    places: Mapping[str, str]
    dimensions: Mapping[str, Dimension | None]
    lost: frozenset[str]


def _place(item: Object, node: Node | None = None) -> str:
    line, column = (node or item).at
    return f"{item.source.file}:{line}:{column}"


def _target(item: Object) -> _Target:
    places = {declared.name: _place(item, declared) for group in item.variables for declared in group.declarations}
    return _Target(
        f"{item.name} ({_place(item)})",
        {PROCESSORS: "numeric", **item.declared()},
        places,
        object_dimensions(item).known,
        item.lost,
    )


def _misfit(assign: Assign, target: _Target, scope: NameScope, own: Dimensions) -> str:
    """Return the fault of one variable of a link, naming both ends."""
    name, wanted = assign.name, target.types.get(assign.name)
    if wanted is None:
        return "" if name in target.lost else f"{target.name} has no variable {name}{suggestion(name, target.types)}"
    shown = f"{name} ({target.places[name]})" if name in target.places else name
    given = scope.type(assign.value)
    if (given == "string") != (wanted == "string") or (isinstance(assign.value, Vector) and wanted != "vector"):
        return f"{shown} is {wanted}: {given} does not fit"
    expected = target.dimensions.get(name)
    message = misfit(own.of(assign.value), expected) if expected is not None else ""
    return f"{message} for {shown}" if message else ""
