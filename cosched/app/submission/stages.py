"""Tasks of a tunable application: one for each stage, with every way through it.

Start at `stage_tasks`; which way is taken is decided in the core.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from cosched.coscheduler.stages.stage import NO_WORK, StageInChain, StageInWay, StageWork
from cosched.coscheduler.stages.ways import in_way
from cosched.errors import SystemFault, UserError
from cosched.prediction.profile import PredictionSource, Profile, slowest_profile

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from cosched.api.documents import TaskRequest
    from cosched.coscheduler.task import Task
    from cosched.prediction.catalogue import CatalogueEntry, ParameterValue
    from cosched.scheduling.tunable.tasks import Chain, Stage

__all__ = ["ChainPredictor", "check_tunable_request", "predicted_ways", "split_parameters", "stage_tasks"]

_MOST_STAGES = 100  # tasks of one chain
_MOST_PLACES = 5000  # stages of all ways together: each task keeps what it is in every way


class ChainPredictor(Protocol):
    """Answers which ways lead through a tunable application of the library."""

    def chains(
        self, model: str, values: Mapping[str, float], hardware: str, hosts: int, stages: Collection[str] = ()
    ) -> tuple[Chain, ...]:
        """Return them in the order written.

        Args:
            model: its name, or its file.
            values: of parameters and control parameters.
            hardware: whose costs models of stages have.
            hosts: the most that a stage may have.
            stages: names by which the catalogue knows its stages.

        Raises:
            UserError: the model is at fault, or its values make no sense.
        """
        ...


def check_tunable_request(request: TaskRequest, entry: CatalogueEntry) -> None:
    """Refuse what the model of a tunable application decides itself."""
    given = {
        "hosts": request.hosts is not None,
        "run times of your own": request.profile is not None or bool(request.shapes),
        "a model of your own": bool(request.model),
        "numbers of cores or processes": bool(request.processes) or "-" in str(request.cores),
        "a file of the resource manager": request.native is not None,
        "places in an array (--array, --count, --from)": request.array_index is not None,
        "workers": request.elastic is not None,
    }
    for what, is_given in given.items():
        if is_given:
            raise UserError(
                f"{entry.name} is tunable, and its model says on how many hosts each stage runs and for how long: "
                f"leave {what} out"
            )
    if not 0 <= request.least_quality < math.inf:
        raise UserError(f"the least quality is {request.least_quality:g}: give a number from 0 on")


def split_parameters(
    entry: CatalogueEntry, given: Mapping[str, ParameterValue]
) -> tuple[dict[str, ParameterValue], dict[str, float]]:
    """Return the values of an entry's parameters, and the numbers that are given by other names.

    These can only be control parameters, which the model knows.

    Raises:
        UserError: an unknown, missing or wrong value.
    """
    values = entry.values({name: value for name, value in given.items() if name in entry.parameters})
    control = dict[str, float]()
    for name in given.keys() - entry.parameters.keys():
        try:
            control[name] = float(given[name])
        except ValueError as error:
            raise UserError(f"{name[:80]} is {str(given[name])[:80]!r}: give a number") from error
    return values, control


def predicted_ways(
    predictor: ChainPredictor, entry: CatalogueEntry, given: Mapping[str, float], classes: Sequence[str], hosts: int
) -> list[tuple[Chain, ...]]:
    """Return the ways through an application, each as it runs on every class of hosts.

    A way is left out that some class has not, as its model is slower there on more hosts, or that needs more hosts than
    there are.

    Raises:
        UserError: there is none, or there are too many.
    """
    if not hosts:
        raise SystemFault("the resource manager has not said yet which hosts there are: try again in a moment")
    found: list[dict[tuple[object, ...], Chain]] = []
    for name in classes:
        chains = predictor.chains(entry.model, given, name, min(hosts, entry.hosts.max), entry.stages)
        found.append({_shape(chain): chain for chain in chains})
    common = [shape for shape in found[0] if all(shape in each for each in found)]
    widest = {shape: max(stage.hosts for stage in found[0][shape].stages) for shape in common}
    most = min(hosts, entry.hosts.max)
    ways = [tuple([each[shape] for each in found]) for shape in common if widest[shape] <= most]
    if not ways:
        least = min(widest.values(), default=0)
        raise UserError(
            f"every way through {entry.name} needs at least {least} hosts, and it may have {most}: "
            "give other values to its parameters"
        )
    stages = max(len(way[0].stages) for way in ways)
    if stages > _MOST_STAGES:
        raise UserError(
            f"{entry.name} has {stages} stages with these values, each turn of a loop counted, and {_MOST_STAGES} may "
            "be: let it have fewer turns, or run several in one stage"
        )
    if sum(len(way[0].stages) for way in ways) > _MOST_PLACES:
        raise UserError(
            f"the {len(ways)} ways through {entry.name} have more than {_MOST_PLACES} stages together: fix some of "
            "its control parameters, or let it have fewer turns"
        )
    return ways


def _shape(chain: Chain) -> tuple[object, ...]:
    return tuple([(stage.name, stage.hosts, stage.turn, stage.known, stage.quality) for stage in chain.stages])


def stage_tasks(
    task: Task, entry: CatalogueEntry, ways: Sequence[tuple[Chain, ...]], classes: Sequence[str], least_quality: float
) -> tuple[Task, ...]:
    """Return the tasks of an application, in order; the first way is chosen until the core decides.

    Args:
        task: the request, with the values of the application's parameters.
        entry: of the catalogue.
        ways: from `predicted_ways`.
        classes: of the hosts, in the order of each way's chains.
        least_quality: ways of less are left out.

    Raises:
        UserError: no way is as good as asked, or the catalogue does not say what a stage runs.
    """
    good = [way for way in ways if way[0].quality >= least_quality * (1 - 1e-9)]
    if not good:
        best = max(way[0].quality for way in ways)
        raise UserError(
            f"no way through {entry.name} has a quality of {least_quality:g}: the best has {best:g}, ask for that or "
            "less"
        )
    count = max(len(way[0].stages) for way in good)
    released = max(task.submitted, task.spec.begin or 0.0)
    known = (None,) if task.spec.after else (None, 0)  # outside of loops, and in a turn that begins with the release
    dues = [
        [released + stage.deadline if stage.since in known else math.inf for stage in way[0].stages] for way in good
    ]
    latest = [_latest_ends(way[0], due, task.spec.deadline) for way, due in zip(good, dues, strict=True)]
    tasks = []
    for index in range(count):
        works = list[StageWork]()
        places = list[StageInWay]()
        for way, due, ends in zip(good, dues, latest, strict=True):
            quality = way[0].quality
            if index >= len(way[0].stages):
                places.append(StageInWay(NO_WORK, quality=quality))
                continue
            work = _work(task, entry, [chain.stages[index] for chain in way], classes)
            if work not in works:
                works.append(work)
            stage = way[0].stages[index]
            within = math.inf if stage.since is None else stage.deadline
            places.append(StageInWay(works.index(work), due[index], ends[index], quality, stage.since, within))
        stage_of_task = StageInChain(
            "",
            task.spec.name,
            index,
            count,
            tuple(works),
            tuple(places),
            task.spec.deadline,
            0,
            tuple(range(len(good))),
        )
        tasks.append(in_way(replace(_stage_request(task, index, count), stage=stage_of_task), 0))
    return tuple(tasks)


def _stage_request(task: Task, index: int, count: int) -> Task:
    """Return the request of one stage: the first waits, and its last one's end is told."""
    spec = task.spec
    if index > 0:
        spec = replace(spec, after=(), begin=None)
    if index < count - 1:
        spec = replace(spec, notify=())
    return replace(task, spec=replace(spec, deadline=None))


def _latest_ends(chain: Chain, dues: Sequence[float], deadline: float | None) -> list[float]:
    """Return when each stage should end for it and all that follow to be in time, epoch seconds."""
    ends = list[float]()
    latest = math.inf if deadline is None else deadline
    for stage, due in zip(reversed(chain.stages), reversed(dues), strict=True):
        latest = min(latest, due)
        ends.append(latest)
        latest -= stage.seconds
    return ends[::-1]


def _work(task: Task, entry: CatalogueEntry, stages: Sequence[Stage], classes: Sequence[str]) -> StageWork:
    """Return what a stage runs, given as it is on each class of hosts."""
    first = stages[0]
    values = {**task.spec.parameters, **dict(first.known)}
    profiles = [
        Profile((*[math.inf] * (stage.hosts - 1), stage.seconds), PredictionSource.MODEL, name)
        for stage, name in zip(stages, classes, strict=True)
    ]
    hardware = "+".join(classes)
    name = f"{first.name}.{first.turn}" if first.turn else first.name
    return StageWork(
        name=name,
        title=f"{task.spec.name}.{name}",
        hosts=first.hosts,
        profile=slowest_profile(profiles, hardware),
        correction=f"{entry.name}.{first.name}/{hardware}",
        command=entry.stage_arguments(first.name, values),
        parameters=values,
        environment={"COSCHED_STAGE": first.name, "COSCHED_TURN": str(first.turn)},
        control=tuple([name for name, _ in first.known]),
    )
