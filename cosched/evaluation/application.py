"""The application model: loaded, checked, joined to its subtasks and templates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.evaluation.sites import linked_objects
from cosched.language.arithmetic import UndefinedError, constant, value
from cosched.language.diagnostics import ModelError, suggestion
from cosched.language.library import default_library, locate
from cosched.language.linker import Linker
from cosched.language.syntax import Assign, Number, Step, Text, walk
from cosched.language.vocabulary import COUPLINGS, HARDWARE_OBJECT, PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from cosched.evaluation.hardware import Hardware
    from cosched.language.linker import Linked
    from cosched.language.syntax import Expression

__all__ = ["Application", "ModelParameter", "load", "parameter_values", "parameters", "refuse_tunable"]


@dataclass(frozen=True, eq=False)
class Application:
    """A checked application model. Compared by identity.

    Attributes:
        name: name of the application object.
        file: the file that it was read from.
        root: the object and what it includes.
    """

    name: str
    file: str
    root: Linked

    @property
    def hardware(self) -> str:
        """Name of the hardware that the option `hrduse` chooses, empty where it is not given."""
        return self._option("hrduse")

    @cached_property
    def coupling(self) -> str:
        """Whether its parts on several hosts wait for one another, "coupled", or not, "independent".

        Where it does not say so, its parallel templates do: parts that exchange no messages are independent. A model
        without a template gives the times of the whole program, as one that was fitted to runs does, whatever its parts
        exchange.
        """
        if stated := self._option("coupling"):
            return stated
        coupled, independent = COUPLINGS
        objects = [linked.object for linked in linked_objects(self.root)]
        devices = {node.device for node, _ in walk(*objects) if isinstance(node, Step)}
        templated = any(item.kind == "partmp" for item in objects) and not self._option("fitted")
        return independent if templated and devices <= {"cpu"} else coupled

    @cached_property
    def decompose(self) -> tuple[str, ...]:
        """Variables that the number of hosts is factored into; empty without the option."""
        return tuple(part.strip() for part in self._option("decompose").split(",")) if self._option("decompose") else ()

    @cached_property
    def serial(self) -> bool:
        """Whether it states that it is for one processor: `hardware: Nproc = 1`."""
        item = self.root.object
        return any(
            assign.name == PROCESSORS and isinstance(assign.value, Number) and assign.value.value == 1
            for link in item.links
            if link.target == HARDWARE_OBJECT
            for assign in link.assigns
        )

    def on_its_processors(self, hardware: Hardware) -> Hardware:
        """Return hosts with those processors that it uses: of a serial program's host all but one are idle."""
        return hardware.with_processors(1) if self.serial else hardware

    def _option(self, name: str) -> str:
        option = self.root.object.option(name)
        return option.value.value if option is not None and isinstance(option.value, Text) else ""


@dataclass(frozen=True, slots=True)
class ModelParameter:
    """A variable of an application that its user may set.

    Attributes:
        name: as declared.
        default: None where it has none, or one that depends on the number of hosts or on the hardware.
        least: smallest value that the model allows, -inf where it does not say.
        most: greatest value that the model allows, inf where it does not say.
        unit: that its default is written in; empty for a plain number.
    """

    name: str
    default: float | None
    least: float = -math.inf
    most: float = math.inf
    unit: str = ""


def load(name_or_path: str | Path, library: Sequence[Path] | None = None) -> Application:
    """Read an application model with everything that it includes.

    Args:
        name_or_path: a name in the library or a path to a .psl file. Of several applications in a file the one named
            after the file is meant.
        library: folders to search; the one that travels with cosched where None.

    Raises:
        UserError: no such name.
        ModelError: faults in any of the files; it carries all of them.
    """
    searched = default_library() if library is None else library
    path = locate(str(name_or_path), ".psl", "application", searched)
    linker = Linker(searched)
    linked = linker.file(path) or ()
    if linker.faults:
        raise ModelError(sorted(set(linker.faults)))
    found = [item for item in linked if item.object.kind == "application"]
    chosen = next((item for item in found if item.object.name == path.stem), found[0] if len(found) == 1 else None)
    if chosen is None:
        raise UserError(f"{path}: holds {len(found)} applications and none is named {path.stem}: one is needed")
    return Application(chosen.object.name, str(path), chosen)


@lru_cache(maxsize=64)
def parameters(application: Application) -> tuple[ModelParameter, ...]:
    """Return the variables that a user may set, in order of declaration.

    They are the numeric variables of the application that have a default or that no procedure assigns.
    """
    item = application.root.object
    assigned = {node.name for node, _ in walk(*item.procedures) if isinstance(node, Assign)}
    found: list[ModelParameter] = []
    constants: dict[str, float] = {}
    for group in item.variables:
        for declared in group.declarations:
            name, given = declared.name, declared.value
            if group.type != "numeric" or name == PROCESSORS or (given is None and name in assigned):
                continue
            default = None if given is None else _constant(given, constants)
            if default is not None:
                constants[name] = default
            least, most = (constant(limit) for limit in declared.limits) if declared.limits else (None, None)
            limits = -math.inf if least is None else least, math.inf if most is None else most
            found.append(ModelParameter(name, default, *limits, given.unit if isinstance(given, Number) else ""))
    return tuple(found)


def parameter_values(
    application: Application, given: Mapping[str, float], unknown: Collection[str] = ()
) -> dict[str, float | None]:
    """Return the values that the parameters of an application have in an evaluation.

    Args:
        application: from `load`.
        given: values that its user sets; a default may depend on them.
        unknown: parameters that have other values from one evaluation to the next; left out.

    Returns:
        A value for each parameter; None where it has none before an evaluation.
    """
    defaults = {
        declared.name: declared.value for group in application.root.object.variables for declared in group.declarations
    }
    known, found = dict(given), dict[str, float | None]()
    for parameter in parameters(application):
        name, default = parameter.name, defaults[parameter.name]
        if name in unknown:
            continue
        if name not in given and default is not None and (value := _constant(default, known)) is not None:
            known[name] = value
        found[name] = known.get(name)
    return found


def checked_parameters(application: Application, given: Mapping[str, float]) -> dict[str, float]:
    """Return the parameters a user gave as floats.

    Raises:
        UserError: a name that is no parameter, or a value that is no finite number or outside the model's limits.
    """
    known = {parameter.name: parameter for parameter in parameters(application)}
    for name, number in given.items():
        if name not in known:
            near = suggestion(name, known) or f": it has {', '.join(known) or 'none'}"
            raise UserError(f"{application.name} has no parameter {name}{near}")
        if not math.isfinite(number):
            raise UserError(f"parameter {name} of {application.name} is {number}: give a finite number")
        least, most = known[name].least, known[name].most
        if not least <= number <= most:
            limits = f"give {least:g} to {most:g}" if least < most else f"the model knows {least:g} alone"
            raise UserError(f"parameter {name} of {application.name} is {number:g}: {limits}")
    return {name: float(number) for name, number in given.items()}


def refuse_tunable(application: Application) -> None:
    """Refuse to predict one run time of an application that has only a tunable procedure.

    Raises:
        UserError: says what does look into it.
    """
    kinds = {procedure.name: procedure.kind for procedure in application.root.object.procedures}
    if "tunable" in kinds.values() and "init" not in kinds:
        raise UserError(
            f"{application.name} is tunable and has no `proc exec init`: `cosched model tunable` prints the ways "
            "through it; to run it, add `[stages.NAME]` with a command, or `worker`, to its entry in the catalogue"
        )


def _constant(expression: Expression, known: Mapping[str, float]) -> float | None:
    """Return the value of a default that depends on earlier defaults alone."""
    try:
        return value(expression, known)
    except UndefinedError:
        return None
