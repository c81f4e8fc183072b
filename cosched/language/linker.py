"""Objects joined to those they include, and the faults that only show then."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.language.checker import check_object
from cosched.language.collectives import expand
from cosched.language.diagnostics import Diagnostic, ModelError, suggestion
from cosched.language.library import find
from cosched.language.names import HARDWARE, PROCESSORS
from cosched.language.parser import parse_psl
from cosched.language.scope import Scope
from cosched.language.source import read
from cosched.language.syntax import Vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.language.syntax import Assign, Include, Object

__all__ = ["Linked", "Linker"]

_MOST_FILES = 200


@dataclass(frozen=True, eq=False)
class Linked:
    """An object and the objects it includes, by name. Compared by identity."""

    object: Object
    includes: dict[str, Linked] = field(default_factory=dict, repr=False)


class Linker:
    """Reads files once, joins their objects and collects every fault.

    Attributes:
        faults: what was found so far, in the order found.
    """

    def __init__(self, library: Sequence[Path]) -> None:
        self.faults: list[Diagnostic] = []
        self._library = library
        self._files: dict[Path, tuple[Object, ...] | None] = {}
        self._linked: dict[int, Linked] = {}
        self._open: list[Object] = []

    def file(self, path: Path) -> tuple[Linked, ...] | None:
        """Join every object of a file; None where its text has faults."""
        objects = self._objects(path)
        return None if objects is None else tuple(self._link(item) for item in objects)

    def _objects(self, path: Path) -> tuple[Object, ...] | None:
        if path not in self._files:
            self._files[path] = None
            try:
                if len(self._files) > _MOST_FILES:
                    raise ModelError([Diagnostic(str(path), 1, 1, f"the model has more than {_MOST_FILES} files")])
                source = read(path)
                objects = parse_psl(source)
                self._files[path] = tuple(map(expand, objects))
                if not objects:
                    self.faults.append(source.fault((1, 1), "the file holds no application, subtask or partmp"))
                self._unique(objects)
                for item in objects:
                    self.faults.extend(check_object(item))
            except ModelError as error:
                self.faults.extend(error.diagnostics)
        return self._files[path]

    def _unique(self, objects: tuple[Object, ...]) -> None:
        seen: dict[str, Object] = {}
        for item in objects:
            first = seen.setdefault(item.name, item)
            if first is not item:
                message = f"{item.name} is already the name of the {first.kind} in line {first.at.line}"
                self.faults.append(item.source.fault(item.at, message))

    def _link(self, item: Object) -> Linked:
        known = self._linked.get(id(item))
        if known:
            return known
        linked = self._linked[id(item)] = Linked(item)
        self._open.append(item)
        for include in item.includes:
            if include.name == HARDWARE:
                continue
            found = self._include(item, include)
            if found is not None:
                linked.includes[include.name] = found
        self._open.pop()
        self._check_links(linked)
        if item.kind == "subtask" and "init" not in {procedure.name for procedure in item.procedures}:
            self._check_templates(linked)
        return linked

    def _include(self, item: Object, include: Include) -> Linked | None:
        found = self._resolve(item, include)
        if found is None:
            return None
        if any(found is other for other in self._open):
            start = next(index for index, other in enumerate(self._open) if other is found)
            chain = " → ".join([other.name for other in self._open[start:]] + [found.name])
            self._fault(item, include, f"objects include one another in a circle: {chain}")
            return None
        if found.kind == "application" or (found.kind == "subtask" and item.kind == "partmp"):
            article = "an" if found.kind == "application" else "a"
            self._fault(item, include, f"{found.name} is {article} {found.kind}: a {item.kind} cannot include it")
            return None
        return self._link(found)

    def _resolve(self, item: Object, include: Include) -> Object | None:
        own = Path(item.source.file)
        here = self._files.get(own) or ()
        found = next((other for other in here if other.name == include.name), None)
        if found is not None:
            return found
        path = find(include.name, ".psl", self._library, own.parent)
        if path is None:
            near = suggestion(include.name, [other.name for other in here])
            self._fault(item, include, f"{include.name} is not found beside this file or in the library{near}")
            return None
        objects = self._objects(path)
        if objects is None:
            self._fault(item, include, f"{include.name} has faults: see {path}")
            return None
        found = next((other for other in objects if other.name == include.name), None)
        if found is None:
            self._fault(item, include, f"{path} holds no object {include.name}")
        return found

    def _check_links(self, linked: Linked) -> None:
        item = linked.object
        for link in item.links:
            target = linked.includes.get(link.target)
            if link.target == HARDWARE:
                declared, where = {PROCESSORS: "numeric"}, HARDWARE
            elif target is not None:
                declared = {PROCESSORS: "numeric", **target.object.declared()}
                where = f"{target.object.source.file}:{target.object.at.line}"
            else:
                continue
            for assign in link.assigns:
                if assign.name not in declared:
                    near = suggestion(assign.name, declared)
                    self._fault(item, assign, f"{link.target} ({where}) has no variable {assign.name}{near}")
                else:
                    self._check_type(item, assign, declared[assign.name])

    def _check_type(self, item: Object, assign: Assign, wanted: str) -> None:
        types = {PROCESSORS: "numeric", **item.declared()}
        procedures = {procedure.name: procedure for procedure in item.procedures}
        given = Scope(types, procedures, lambda _node, _message: None).type(assign.value)
        if (given == "string") != (wanted == "string") or (isinstance(assign.value, Vector) and wanted != "vector"):
            self._fault(item, assign, f"{assign.name} is {wanted}: {given} does not fit")

    def _check_templates(self, linked: Linked) -> None:
        if not any(other.object.kind == "partmp" for other in linked.includes.values()) and not self.faults:
            message = f"subtask {linked.object.name} does nothing: include a partmp or write `proc exec init`"
            self._fault(linked.object, linked.object, message)

    def _fault(self, item: Object, node: Object | Include | Assign, message: str) -> None:
        self.faults.append(item.source.fault(node.at, message))
