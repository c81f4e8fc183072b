"""Chains of a tunable application in PSL: the ways through it, each stage with its hosts and time.

Start at `modelled_chains`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.evaluation.application import checked_parameters, load, parameter_values, parameters
from cosched.evaluation.hardware import load_hardware
from cosched.evaluation.stage_times import stage_profile
from cosched.language.diagnostics import ModelError, suggestion
from cosched.language.syntax import ModelRequest, Name, TaskStage, walk
from cosched.language.tunable_paths import PathLoop, tunable_paths, tunable_procedure
from cosched.scheduling.tunable.tasks import Chain, Stage
from cosched.tunable_bounds import MOST_CHAINS, MOST_STAGES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from cosched.evaluation.application import Application
    from cosched.evaluation.hardware import Hardware
    from cosched.language.diagnostics import Diagnostic
    from cosched.language.syntax import Procedure
    from cosched.language.tunable_paths import PathElement, PathStage, TunablePath

__all__ = ["ModelledChain", "ModelledTask", "library_chains", "modelled_chains", "request_faults", "tunable_faults"]

_MOST_OFFERED = 10  # values that are named


@dataclass(frozen=True, slots=True)
class ModelledChain:
    """One way through a tunable application.

    Attributes:
        path: its stages and loops; each stage has its hosts and time, those that a model predicts, too.
        chain: the same as the arbitrator takes it: loops are unrolled.
    """

    path: TunablePath
    chain: Chain


@dataclass(frozen=True, slots=True)
class ModelledTask:
    """A tunable application with the values that it has.

    Attributes:
        parameters: value of each parameter of the application that has one.
        control: control parameters that were given a value.
        chains: at least one.
    """

    parameters: Mapping[str, float]
    control: Mapping[str, float]
    chains: tuple[ModelledChain, ...]


def modelled_chains(
    application: Application, hardware: Hardware | None, given: Mapping[str, float], hosts: int
) -> ModelledTask:
    """Return the ways through a tunable application, in the order written.

    Args:
        application: from `load`.
        hardware: whose costs the models of its stages have; None where it has no such stages.
        given: values of parameters, or of control parameters: then only ways that give them these values are left.
        hosts: the most that a stage may have, where a model says how many it can use.

    Raises:
        ModelError: faults on the ways through it, with their places.
        UserError: it is not tunable; a name or value that makes no sense; a model that cannot be evaluated; too many
            ways.
    """
    item = application.root.object
    procedure = tunable_procedure(item)
    if procedure is None:
        raise UserError(_not_tunable(application))
    control = item.control()
    fixed = {name: number for name, number in given.items() if name in control}
    values = _parameters(application, procedure, {name: given[name] for name in given if name not in control})
    paths = tunable_paths(item, values, fixed)
    if not paths:
        raise UserError(_not_offered(application, fixed, tunable_paths(item, values, {})))
    stages = _StageTimes(application, hardware, values, hosts)
    found = [replace(path, elements=way) for path in paths for way in stages.ways(path.elements)]
    if len(found) > MOST_CHAINS:
        raise UserError(_too_many(application, len(found)))
    if sum(_length(path.elements) for path in found) > MOST_STAGES:
        raise UserError(
            f"the ways through {application.name} have together more than {MOST_STAGES} stages: "
            "offer fewer alternatives or turns"
        )
    chains = tuple(ModelledChain(path, Chain(tuple(_unrolled(path.elements)))) for path in found)
    return ModelledTask(values, fixed, chains)


def library_chains(
    model: str,
    folders: Sequence[Path],
    hardware: str,
    given: Mapping[str, float],
    hosts: int,
    stages: Collection[str] = (),
) -> tuple[Chain, ...]:
    """Return the ways through a tunable application of the library, in the order written; see `modelled_chains`.

    Args:
        model: its name, or its file.
        folders: of the library.
        hardware: name of the hardware whose costs the models of its stages have; not looked for where it has none.
        given: values of parameters and control parameters.
        hosts: the most that a stage may have, where a model says how many it can use.
        stages: names by which the catalogue knows its stages.
    """
    application = load(model, folders)
    if faults := tunable_faults(application, stages):
        raise UserError("; ".join(faults))
    procedure = tunable_procedure(application.root.object)
    asks = procedure is not None and any(isinstance(node, ModelRequest) for node, _ in walk(procedure))
    machine = load_hardware(hardware, folders) if asks else None
    return tuple([each.chain for each in modelled_chains(application, machine, given, hosts).chains])


def tunable_faults(application: Application, named: Collection[str]) -> list[str]:
    """Return a line for each name that is no stage of an application in any of its ways, or one: it is not tunable."""
    procedure = tunable_procedure(application.root.object)
    if procedure is None:
        return [_not_tunable(application)]
    known = [node.name for node, _ in walk(procedure) if isinstance(node, TaskStage)]
    return [
        f"the catalogue has [stages.{name}], and {application.name} has no task {name}"
        + (suggestion(name, known) or f": it has {', '.join(dict.fromkeys(known))}")
        for name in named
        if name not in known
    ]


def _not_tunable(application: Application) -> str:
    return f"{application.name} is not tunable: it has no `proc tunable`"


def request_faults(application: Application, hardware: Hardware, hosts: int) -> list[Diagnostic]:
    """Return what is wrong with the models that the stages of a sound application ask, with its parameters' defaults.

    An application that is not tunable, or needs a parameter that has no default, has no such faults.
    """
    item = application.root.object
    procedure = tunable_procedure(item)
    if procedure is None or not any(isinstance(node, ModelRequest) for node, _ in walk(procedure)):
        return []
    if any(parameter.default is None for parameter in parameters(application)):
        return []
    try:
        modelled_chains(application, hardware, {}, hosts)
    except ModelError as error:
        return list(error.diagnostics)
    except UserError as error:
        return [item.source.fault(procedure.at, str(error))]
    return []


def _parameters(application: Application, procedure: Procedure, given: Mapping[str, float]) -> dict[str, float]:
    """Return the value of each parameter, given or by default; refuse where one is missing that decides the ways."""
    known = {parameter.name: parameter for parameter in parameters(application)}
    control = application.root.object.control()
    for name in given:
        if name not in known:
            near = suggestion(name, {*known, *control})
            having = ", ".join([*known, *sorted(control)]) or "none"
            raise UserError(f"{application.name} has no parameter {name}{near or f': it has {having}'}")
    checked = checked_parameters(application, given)
    values = {name: value for name, value in parameter_values(application, checked).items() if value is not None}
    for node, _ in walk(procedure):
        if isinstance(node, Name) and node.id in known and node.id not in values:
            raise UserError(f"parameter {node.id} of {application.name} has no default: give it, {node.id}=NUMBER")
    return values


class _StageTimes:
    """Gives stages that name a model the host counts and times that it predicts."""

    def __init__(
        self, application: Application, hardware: Hardware | None, values: Mapping[str, float], hosts: int
    ) -> None:
        self._application = application
        self._hardware = hardware
        self._values = values
        self._hosts = hosts

    def ways(self, elements: Sequence[PathElement]) -> list[tuple[PathElement, ...]]:
        """Return elements with every combination of host counts; those of a loop are alike in all its turns."""
        offered: list[Sequence[PathElement]] = []
        for element in elements:
            if isinstance(element, PathLoop):
                offered.append([replace(element, elements=way) for way in self.ways(element.elements)])
            else:
                offered.append(self._configurations(element) if element.model else [element])
        if (count := math.prod(map(len, offered))) > MOST_CHAINS:
            raise UserError(_too_many(self._application, count))
        return list(product(*offered))

    def _configurations(self, stage: PathStage) -> list[PathStage]:
        """Return a stage on each number of hosts that is faster than all smaller ones."""
        if self._hardware is None:
            raise self._fault(stage, f"needs the prediction of {stage.model}: name the hardware in the option hrduse")
        counts = range(1, self._hosts + 1)
        given = {**self._values, **dict(stage.known)}
        try:
            seconds = stage_profile(self._application, self._hardware, stage.model, counts, given)
        except UserError as error:
            raise self._fault(stage, f"cannot run as {stage.model} says: {error}") from None
        faster = np.concatenate(([True], seconds[1:] < np.minimum.accumulate(seconds)[:-1])) & np.isfinite(seconds)
        if not (seconds[faster] > 0).all():
            raise self._fault(stage, f"cannot run as {stage.model} says: it takes no time")
        return [
            replace(stage, hosts=count, seconds=float(time))
            for count, time, use in zip(counts, seconds, faster, strict=True)
            if use
        ]

    def _fault(self, stage: PathStage, message: str) -> ModelError:
        source = self._application.root.object.source
        return ModelError([source.fault(stage.at, f"task {stage.name} {message}")])


def _not_offered(application: Application, fixed: Mapping[str, float], paths: Sequence[TunablePath]) -> str:
    """Return why no way is left, with the values that control parameters may have."""
    wanted = " and ".join(f"{name} = {number:g}" for name, number in fixed.items())
    offers = []
    for name in fixed:
        values = sorted({number for path in paths for known, number in path.values if known == name})
        shown = [f"{value:g}" for value in values[:_MOST_OFFERED]] + ["…"] * (len(values) > _MOST_OFFERED)
        offers.append(f"{name} = {' or '.join(shown)}" if shown else f"no {name}")
    return f"no way through {application.name} has {wanted}: its ways have {', '.join(offers)}"


def _too_many(application: Application, count: int) -> str:
    return (
        f"there are {count} ways through {application.name}, more than {MOST_CHAINS}: offer fewer alternatives, "
        "or let models have fewer hosts to choose from"
    )


def _length(elements: Sequence[PathElement]) -> int:
    """Return how many stages there are, each turn counted."""
    return sum(
        element.turns * _length(element.elements) if isinstance(element, PathLoop) else 1 for element in elements
    )


def _unrolled(elements: Sequence[PathElement]) -> list[Stage]:
    """Return the stages of all turns.

    The deadlines of a turn count from its beginning. All turns are alike, so the quality of a loop is that of one turn.
    """
    stages: list[Stage] = []

    def unroll(part: Sequence[PathElement], since: int | None, number: int, *, again: bool) -> None:
        for element in part:
            if isinstance(element, PathLoop):
                for turn in range(element.turns):
                    unroll(element.elements, len(stages), turn + 1, again=again or turn > 0)
            else:
                quality = 1.0 if again else element.quality
                work = element.hosts, element.seconds, element.deadline, quality, element.name
                stages.append(Stage(*work, since, number, element.known))

    unroll(elements, None, 0, again=False)
    return stages
