"""Shapes of a task among which cosched may choose: a range of cores, or of processes, becomes requests for one each.

Start at `asked_shapes`.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from cosched.coscheduler.places.alternatives import Alternative, quickest_profile, tried_numbers, useful_alternatives
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.api.documents import ShapeFigure, TaskRequest
    from cosched.connector.hosts import Host
    from cosched.coscheduler.task import Task
    from cosched.prediction.profile import Profile

__all__ = ["AskedShapes", "asked_shapes", "chosen_by_turn", "of_shapes", "with_whole_cores"]

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_MOST_FIGURES = 256
_MOST_HOSTS = 65_536
_MOST_CORES = 1024  # of a host of which nobody tells: a model is evaluated for as many


class AskedShapes(NamedTuple):
    """The shapes that a request allows.

    Attributes:
        requests: one for each number of cores of a host, ascending; each with its `cores`, and with its own figures.
        cores_range: the range of cores in words; empty where processes are asked for.
        processes: the range of processes in words; empty where cores are asked for.
    """

    requests: tuple[TaskRequest, ...]
    cores_range: str
    processes: str


class _Span(NamedTuple):
    """A range of numbers, as it was asked for."""

    least: int
    most: int

    @property
    def text(self) -> str:
        return str(self.least) if self.least == self.most else f"{self.least}-{self.most}"


def with_whole_cores(request: TaskRequest) -> TaskRequest:
    """Return a request of one shape with the number of its cores, which may be text."""
    return replace(request, cores=int(request.cores or 0), processes=0)


def asked_shapes(request: TaskRequest, hosts: Sequence[Host]) -> AskedShapes | None:
    """Return the shapes among which a request lets cosched choose; None for a request of one.

    Args:
        request: launched as its application says.
        hosts: of the domain, as far as they are known.

    Raises:
        UserError: what it says of its shapes cannot be read, or says two things.
    """
    cores, processes = _span(request.cores, "cores"), _span(request.processes, "processes")
    figures = _checked_figures(request, len(hosts) or _MOST_HOSTS)
    if cores.least == cores.most and not processes.most and not figures:
        return None
    if request.native is not None:
        raise UserError("a file of the user's own says itself what its job needs: leave ranges and shapes out")
    if processes.most:
        shapes = _process_shapes(request, processes, figures, hosts)
    else:
        shapes = _core_shapes(request, cores, figures, _largest(hosts))
    if request.profile is None:
        return shapes
    if len(shapes.requests) > 1:
        each = "processes" if processes.most else "cores"
        raise UserError(
            f"it may have several numbers of {each} on a host, and its run time would depend on them: give it with "
            f"each as shapes (in commands --runtime 1x8:30m,1x16:17m, hosts x {each} of each), or leave it out"
        )
    return shapes._replace(requests=(replace(shapes.requests[0], profile=request.profile),))


def _span(asked: int | str, what: str) -> _Span:
    if isinstance(asked, int) and not isinstance(asked, bool):
        return _Span(asked, asked)
    match = _RANGE.fullmatch(str(asked).strip())
    span = _Span(int(match[1]), int(match[2] or match[1])) if match else _Span(1, 0)
    if isinstance(asked, bool) or span.least > span.most or (not span.least and span.most):
        raise UserError(f"{what} is {str(asked)[:80]!r}: give a number, or a range such as 8-32")
    return span


def _checked_figures(request: TaskRequest, most: int) -> tuple[ShapeFigure, ...]:
    """Return the user's own figures for numbers of hosts that there are."""
    figures = request.shapes
    if len(figures) > _MOST_FIGURES:
        raise UserError(f"shapes has {len(figures)} figures: give at most {_MOST_FIGURES}")
    if figures and (request.profile is not None or request.model):
        raise UserError("shapes say how long it takes: leave the profile or the model out")
    places = [(figure.hosts, figure.cores) for figure in figures]
    for figure in figures:
        if figure.hosts < 1 or figure.cores < 1 or not 0 < figure.seconds < math.inf:
            raise UserError(
                f"{figure.hosts} hosts with {figure.cores} cores in {figure.seconds} s is no shape: give numbers from 1"
            )
    if len(set(places)) < len(places):
        raise UserError("shapes say two run times for the same hosts and cores: give one")
    possible = tuple([figure for figure in figures if figure.hosts <= most])
    if figures and not possible:
        raise UserError(
            f"the figures are for {min(places)[0]} hosts or more, and there are {most}: give some for fewer"
        )
    return possible


def _largest(hosts: Sequence[Host]) -> int:
    """Return the cores of the largest host; as many as are worth a look where nobody tells."""
    known = [host.cores for host in hosts if host.cores is not None]
    return max(known) if known and len(known) == len(hosts) else _MOST_CORES


def _core_shapes(request: TaskRequest, cores: _Span, figures: Sequence[ShapeFigure], largest: int) -> AskedShapes:
    if request.cores_per_process:
        raise UserError("a range of cores and cores for each process both say what it needs: give one of them")
    if figures:
        told = sorted({figure.cores for figure in figures})
        numbers = [number for number in told if not cores.most or cores.least <= number <= cores.most]
        if not numbers:
            raise UserError(
                f"the figures are for {_Span(told[0], told[-1]).text} cores of a host, and it is to have {cores.text}: "
                f"give one for as many, or ask for {_Span(told[0], told[-1]).text}"
            )
    else:
        if cores.least > largest:
            raise UserError(f"no host has {cores.least} cores for a job: ask for less (the largest have {largest})")
        numbers = tried_numbers(cores.least, min(cores.most, largest))
    made = [replace(request, cores=number, shapes=(), profile=_figures_of(figures, number)) for number in numbers]
    if len(made) == 1:
        return AskedShapes(tuple(made), "", "")
    return AskedShapes(tuple(made), (cores if cores.most else _Span(numbers[0], numbers[-1])).text, "")


def _process_shapes(
    request: TaskRequest, processes: _Span, figures: Sequence[ShapeFigure], hosts: Sequence[Host]
) -> AskedShapes:
    if not request.launch.once:
        raise UserError(
            'the command runs once on each host: for a number of processes have it launched by MPI (launch "openmpi", '
            '"mpich" or "intel"; in commands --mpi) or once, on the first host (launch "once")'
        )
    if request.processes_per_host > 1 or request.cores:
        raise UserError(
            "a number of processes says how many run on all hosts together: leave the processes on each host and "
            "its cores out (cores for each process say what each needs)"
        )
    each = max(request.cores_per_process, 1)
    most = max(min(processes.most, _largest(hosts) // each), 1)
    if figures:
        numbers = {figure.cores for figure in figures}
    else:
        ends = [divisor for end in set(processes) for divisor in _divisors(end) if divisor <= most]
        numbers = {*tried_numbers(1, most), *ends}
    made = []
    for number in sorted(numbers):
        span = _Span(-(-processes.least // number), processes.most // number)
        counts = _common(request, span)
        if counts is not None and counts.least <= (len(hosts) or _MOST_HOSTS):
            shape = replace(request, hosts=counts.text, processes_per_host=number, processes=0, shapes=())
            profile = _figures_of(figures, number)
            made.append(replace(shape, cores=number * each, cores_per_process=0, profile=profile))
    if not made:
        raise UserError(
            f"{processes.text} processes cannot be divided among {request.hosts or len(hosts) or 'the'} hosts with up "
            f"to {most} on each: ask for another number"
        )
    return AskedShapes(tuple(made), "", processes.text)


def _divisors(number: int) -> list[int]:
    small = [each for each in range(1, math.isqrt(number) + 1) if number % each == 0]
    return [*small, *(number // each for each in small)]


def _common(request: TaskRequest, span: _Span) -> _Span | None:
    """Return the numbers of hosts that both a request and a shape allow; None for none."""
    asked = _span(request.hosts or 0, "hosts")
    found = _Span(max(span.least, asked.least, 1), min(span.most, asked.most) if asked.most else span.most)
    return found if found.least <= found.most else None


def _figures_of(figures: Sequence[ShapeFigure], number: int) -> tuple[float | None, ...] | None:
    """Return the run times on 1, 2, … hosts with so many cores of each; None without figures."""
    times = {figure.hosts: figure.seconds for figure in figures if figure.cores == number}
    return tuple([times.get(count) for count in range(1, max(times) + 1)]) if times else None


def of_shapes(tasks: Sequence[Task], hosts: Sequence[Host]) -> Task:
    """Return one task of a task for each shape, all with a prediction.

    Raises:
        UserError: no host has what any of them takes.
    """
    alternatives = []
    for task in tasks:
        assert task.profile is not None
        spec = task.spec
        alternatives.append(Alternative(spec.cores, task.profile, spec.memory, spec.gpus, spec.processes_per_host))
    useful, profile = _useful(tuple(alternatives), tuple(hosts))
    if profile is None:
        raise UserError("too few hosts have what it takes in any of its shapes: ask for less")
    first = next(task for task in tasks if task.spec.cores == useful[0].cores)
    least = next(count for count, seconds in enumerate(profile.seconds, 1) if seconds < math.inf)
    several = useful if len(useful) > 1 else ()
    return replace(first, spec=replace(first.spec, count=least), profile=profile, alternatives=several)


@lru_cache(maxsize=16)  # thousands of tasks of one array are alike
def _useful(
    alternatives: tuple[Alternative, ...], hosts: tuple[Host, ...]
) -> tuple[tuple[Alternative, ...], Profile | None]:
    """Return the alternatives that are worth a place in a plan, with the profile of the quickest of them."""
    useful = useful_alternatives(alternatives, hosts)
    return useful, quickest_profile(useful) if useful else None


def chosen_by_turn(tasks: Sequence[Task], turn: int) -> Task:
    """Return the task of one shape where nothing is known of its run time.

    Of a range of cores in turn the smallest, the largest and the middle one, so that runs soon tell how the time
    depends on them. Processes are put on as few hosts as will hold them: one that needs a core of each host waits for
    all of them. Of a range of processes it is first the most that fit there, then in turn the fewest and the middle.

    Args:
        tasks: one for each shape, ascending by what it takes of a host.
        turn: how many such tasks have been before it.
    """
    if not tasks[0].spec.processes:
        return tasks[(0, -1, len(tasks) // 2)[turn % 3]]
    fewest = min(task.spec.count for task in tasks)
    dense = [task for task in tasks if task.spec.count == fewest]
    return dense[(-1, 0, len(dense) // 2)[turn % 3]]
