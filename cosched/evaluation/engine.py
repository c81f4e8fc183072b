"""The time of an application on a hardware and a number of hosts."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.evaluation.application import checked_parameters
from cosched.evaluation.budget import DEFAULT_STEPS, Budget, CountError, LanesDifferError, TooManyStepsError
from cosched.evaluation.clocks.breakdown import evaluation_of
from cosched.evaluation.clocks.breakdown import trace as trace_of
from cosched.evaluation.clocks.clocks import Clocks, timed_segments
from cosched.evaluation.clocks.deadlock import deadlock
from cosched.evaluation.clocks.matching import UnmatchedError
from cosched.evaluation.clocks.pricing import Prices
from cosched.evaluation.clocks.steps import merge_classes
from cosched.evaluation.interpreter.programs import (
    MOST_TOGETHER,
    compiled_application,
    initial,
    on_hosts,
    one_by_one,
    program,
)
from cosched.evaluation.layout import TooFewHostsError, layout, most_hosts
from cosched.evaluation.sites import sites
from cosched.language.diagnostics import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.application import Application
    from cosched.evaluation.clocks.steps import Steps
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.layout import Layout
    from cosched.evaluation.results import Evaluation

__all__ = ["evaluate", "profile"]


def profile(
    application: Application,
    hardware: Hardware,
    hosts: Sequence[int],
    parameters: Mapping[str, float] | None = None,
    *,
    steps: int | None = None,
) -> NDArray[np.float64]:
    """Return the predicted run time in seconds for each number of hosts.

    Args:
        application: from `load`.
        hardware: from `load_hardware`; need not be the one that the application names.
        hosts: numbers of hosts, each at least 1, in any order.
        parameters: values of the application's parameters; defaults for the others.
        steps: most work the whole call may be, see `Budget`; by default `DEFAULT_STEPS` for every 16 numbers of hosts
            begun. A single number of hosts never gets more than `DEFAULT_STEPS`, which bounds memory.

    Returns:
        Shape (len(hosts),), seconds; infinite where the model does not cover that number of hosts.

    Raises:
        UserError: a parameter or a number of hosts that makes no sense.
        ModelError: the model cannot be evaluated; or it covers none of the numbers of hosts.
    """
    key = hosts if isinstance(hosts, range) else tuple(hosts)
    machine = application.on_its_processors(hardware)
    return _profile(application, machine, key, tuple((parameters or {}).items()), steps).copy()


@lru_cache(maxsize=256)
def _profile(
    application: Application,
    hardware: Hardware,
    hosts: Sequence[int],
    parameters: tuple[tuple[str, float], ...],
    steps: int | None,
) -> NDArray[np.float64]:
    """Do what `profile` does; that one remembers it."""
    given = checked_parameters(application, dict(parameters))
    left = DEFAULT_STEPS * math.ceil(len(hosts) / 16) if steps is None else steps
    seconds: NDArray[np.float64] = np.full(len(hosts), math.inf)
    unusable: UserError | None = None
    done = _side_by_side(application, hardware, hosts, given, left)
    for index, count in enumerate(hosts):
        if index in done:
            seconds[index] = done[index]
            continue
        budget = Budget(min(left, DEFAULT_STEPS))
        try:
            seconds[index] = _alone(application, hardware, count, given, budget).latest[0] / 1e6
        except (CountError, TooFewHostsError) as fault:
            unusable = unusable or fault
        left -= budget.total - budget.left
    if unusable is not None and not np.isfinite(seconds).any():
        raise unusable
    return seconds


def _side_by_side(
    application: Application, hardware: Hardware, hosts: Sequence[int], given: Mapping[str, float], steps: int
) -> dict[int, float]:
    """Return the seconds, by index, of those numbers of hosts that can be evaluated together."""
    done: dict[int, float] = {}
    waiting = [[index for index, count in enumerate(hosts) if 1 <= count <= most_hosts(hardware)]]
    while waiting:
        group = waiting.pop()
        if not group:
            continue
        try:
            ready, clocks = _together(application, hardware, [hosts[index] for index in group], given, Budget(steps))
        except TooManyStepsError:
            halves = group[: len(group) // 2], group[len(group) // 2 :]
            waiting += halves if len(group) > 1 else ()
        except (LanesDifferError, UnmatchedError):
            break
        else:
            times = zip(ready, (clocks.latest / 1e6).tolist(), strict=True)
            done.update((group[place], value) for place, value in times if math.isfinite(value))
    return done


def _together(
    application: Application,
    hardware: Hardware,
    hosts: Sequence[int],
    given: Mapping[str, float],
    budget: Budget,
    *,
    remember: bool = False,
) -> tuple[list[int], Clocks]:
    """Evaluate the application on many host counts at once, with loop turns side by side.

    Returns:
        Which of the numbers of hosts these are, by index, and the clocks of all of them.

    Raises:
        LanesDifferError: it is not for that, or covers none of the numbers for all that is known before `init`.
        UnmatchedError: steps wait for one another.
    """
    whole, before = layout(hardware, hosts), Budget(MOST_TOGETHER)
    starts = [
        [
            initial(application, compiled_application(application, kind), count, given, before)
            for count in whole.processors.tolist()
        ]
        for kind in whole.classes
    ]
    ready = [place for place in range(len(hosts)) if all(values[place] is not None for values in starts)]
    if not ready:
        raise LanesDifferError
    part = whole if len(ready) == len(hosts) else layout(hardware, [hosts[place] for place in ready])
    by_kind = dict(zip(whole.classes, starts, strict=True))
    programs = [
        program(
            application,
            kind,
            part.processors,
            [values for place in ready if (values := by_kind[kind][place]) is not None],
            budget.left,
        )
        for kind in part.classes
    ]
    return ready, _carried_out(application, part, merge_classes(programs, part.kind), budget, remember=remember)


def _alone(
    application: Application,
    hardware: Hardware,
    count: int,
    given: Mapping[str, float],
    budget: Budget,
    *,
    remember: bool = False,
) -> Clocks:
    """Carry the application out on one number of hosts, one statement after another."""
    whole = layout(hardware, [count])
    try:
        programs = [
            one_by_one(application, compiled_application(application, kind), int(whole.processors[0]), given, budget)
            for kind in whole.classes
        ]
        clocks = _carried_out(application, whole, merge_classes(programs, whole.kind), budget, remember=remember)
    except UnmatchedError as unmatched:
        raise on_hosts(deadlock(unmatched.steps, sites(application.root).all), count) from None
    except ModelError as fault:
        raise on_hosts(fault, count) from None
    if not math.isfinite(clocks.latest[0]):
        raise UserError(f"the predicted time with hosts = {count} is not finite: some time in the model is too large")
    return clocks


def _carried_out(
    application: Application, where: Layout, segments: Sequence[Steps], budget: Budget, *, remember: bool = False
) -> Clocks:
    places_ = sites(application.root).all
    clocks = Clocks(where.processors, budget, places_, remember=remember)
    with np.errstate(all="ignore"):  # what is not finite is looked for
        for plan in timed_segments(segments, Prices(where, places_), int(where.processors.sum())):
            clocks.go(plan)
    return clocks


def evaluate(
    application: Application,
    hardware: Hardware,
    hosts: int,
    parameters: Mapping[str, float] | None = None,
    *,
    trace: bool = False,
    steps: int = DEFAULT_STEPS,
) -> Evaluation:
    """Return the predicted run time on a number of hosts and where it goes.

    Args:
        application: from `load`.
        hardware: from `load_hardware`.
        hosts: at least 1.
        parameters: as for `profile`.
        trace: keep every step of every processor.
        steps: as for `profile`.

    Raises:
        UserError: a parameter or a number of hosts that makes no sense.
        ModelError: the model cannot be evaluated on that number of hosts.
    """
    given, budget, known = checked_parameters(application, parameters or {}), Budget(steps), sites(application.root).all
    hardware = application.on_its_processors(hardware)
    try:
        _, clocks = _together(application, hardware, [hosts], given, budget, remember=True)
        together = math.isfinite(clocks.latest[0])
    except (LanesDifferError, UnmatchedError):
        together = False
    if not together:
        clocks = _alone(application, hardware, hosts, given, budget, remember=True)
    events = trace_of(clocks, known, budget) if trace else ()
    return evaluation_of(clocks, Prices(layout(hardware, [hosts]), known), known, events)
