"""The time of an application on a hardware and a number of hosts."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.evaluation.account import account
from cosched.evaluation.account import trace as trace_of
from cosched.evaluation.application import checked
from cosched.evaluation.budget import DEFAULT_STEPS, Budget
from cosched.evaluation.course import Course, planned
from cosched.evaluation.deadlock import deadlock
from cosched.evaluation.faults import CountError, fail
from cosched.evaluation.lanes import TooManyStepsError, UnbatchableError
from cosched.evaluation.maxplus import UnmatchedError
from cosched.evaluation.places import places
from cosched.evaluation.pricing import Prices
from cosched.evaluation.programs import compiled, frame, initial, on_hosts, one_by_one
from cosched.evaluation.sidebyside import program
from cosched.language.diagnostics import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.evaluation.application import Application
    from cosched.evaluation.hardware import Hardware
    from cosched.evaluation.results import Evaluation
    from cosched.evaluation.steps import Steps

__all__ = ["error", "evaluate", "profile"]


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
    return _profile(application, hardware, key, tuple((parameters or {}).items()), steps).copy()


@lru_cache(maxsize=256)
def _profile(application: Application, hardware: Hardware, hosts: Sequence[int],
             parameters: tuple[tuple[str, float], ...], steps: int | None) -> NDArray[np.float64]:  # fmt: skip
    """Do what `profile` does; that one remembers it."""
    given = checked(application, dict(parameters))
    left = DEFAULT_STEPS * math.ceil(len(hosts) / 16) if steps is None else steps
    seconds: NDArray[np.float64] = np.full(len(hosts), math.inf)
    unusable: CountError | None = None
    done = _side_by_side(application, hardware, hosts, given, left)
    for index, count in enumerate(hosts):
        if index in done:
            seconds[index] = done[index]
            continue
        budget = Budget(min(left, DEFAULT_STEPS))
        try:
            seconds[index] = _alone(application, hardware, count, given, budget).latest[0] / 1e6
        except CountError as fault:
            unusable = unusable or fault
        left -= budget.total - budget.left
    if unusable is not None and not np.isfinite(seconds).any():
        raise unusable
    return seconds


def _side_by_side(application: Application, hardware: Hardware, hosts: Sequence[int],
                  given: Mapping[str, float], steps: int) -> dict[int, float]:  # fmt: skip
    """Return the seconds, by index, of those numbers of hosts that can be evaluated together."""
    done: dict[int, float] = {}
    item = compiled(application, hardware)
    waiting = [list(range(len(hosts)))]
    while waiting:
        group = waiting.pop()
        ready = {index: values for index in group
                 if (values := initial(application, item, hosts[index], given)) is not None}  # fmt: skip
        if not ready:
            continue
        counts = np.array([hosts[index] for index in ready])
        try:
            segments = program(application.root, hardware, counts, list(ready.values()), steps)
            found = _carried_out(application, hardware, counts, segments, Budget(steps)).latest
        except TooManyStepsError:
            halves = group[: len(group) // 2], group[len(group) // 2 :]
            waiting += halves if len(group) > 1 else ()
        except (UnbatchableError, UnmatchedError):
            break
        else:
            done.update((index, value) for index, value in zip(ready, (found / 1e6).tolist(), strict=True)
                        if math.isfinite(value))  # fmt: skip
    return done


def _alone(application: Application, hardware: Hardware, count: int, given: Mapping[str, float], budget: Budget, *,
           remember: bool = False) -> Course:  # fmt: skip
    """Carry the application out on one number of hosts, one statement after another."""
    segments = one_by_one(application, compiled(application, hardware), count, given, budget)
    try:
        return _finite(
            _carried_out(application, hardware, np.array([count]), segments, budget, remember=remember), count
        )
    except UnmatchedError as unmatched:
        raise on_hosts(deadlock(unmatched.steps, places(application.root).all), count) from None
    except ModelError as fault:
        raise on_hosts(fault, count) from None


def _carried_out(application: Application, hardware: Hardware, hosts: NDArray[np.int64], segments: Sequence[Steps],
                 budget: Budget, *, remember: bool = False) -> Course:  # fmt: skip
    where = places(application.root).all
    course = Course(hosts, budget, where, remember=remember)
    with np.errstate(all="ignore"):  # what is not finite is looked for
        for plan in planned(segments, Prices(hardware, where), int(hosts.sum())):
            course.go(plan)
    return course


def _finite(course: Course, count: int) -> Course:
    if not math.isfinite(course.latest[0]):
        raise UserError(f"the predicted time with hosts = {count} is not finite: some time in the model is too large")
    return course


def error(application: Application, hardware: Hardware, hosts: Sequence[int],
          parameters: Mapping[str, float] | None = None) -> NDArray[np.float64] | None:  # fmt: skip
    """Return how far off the application says that it may be: nine runs in ten are within this part of the run time.

    Args:
        application: its option `error` may depend on its parameters and the number of hosts.
        hardware: as for `profile`.
        hosts: as for `profile`.
        parameters: as for `profile`.

    Returns:
        Shape (len(hosts),), each from 0 to less than 1; None where the application says nothing. 0 where a number of
        hosts is not covered.

    Raises:
        UserError: as for `profile`.
        ModelError: the option has no value in that range.
    """
    given, item = checked(application, parameters or {}), compiled(application, hardware)
    found = item.option("error")
    if found is None:
        return None
    value, at = found
    stated: NDArray[np.float64] = np.zeros(len(hosts))
    for index, count in enumerate(hosts):
        try:
            stated[index] = value(frame(application, item, count, given, Budget()))
        except CountError:
            continue
        except ModelError as fault:
            raise on_hosts(fault, count) from None
        if not 0 <= stated[index] < 1:
            fail(item.source, at, f"an error of {stated[index]:g} on {count} hosts: give 0 to less than 1")
    return stated


def evaluate(application: Application, hardware: Hardware, hosts: int, parameters: Mapping[str, float] | None = None,
             *, trace: bool = False, steps: int = DEFAULT_STEPS) -> Evaluation:  # fmt: skip
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
    given, budget, where = checked(application, parameters or {}), Budget(steps), places(application.root).all
    course = _together(application, hardware, hosts, given, budget)
    if course is None:
        course = _alone(application, hardware, hosts, given, budget, remember=True)
    events = trace_of(course, where, budget) if trace else ()
    return account(course, Prices(hardware, where), where, events)


def _together(application: Application, hardware: Hardware, count: int, given: Mapping[str, float],
              budget: Budget) -> Course | None:  # fmt: skip
    """Carry the application out on one number of hosts, the turns of its loops side by side; None where that fails."""
    values = initial(application, compiled(application, hardware), count, given)
    if values is None:
        return None
    try:
        segments = program(application.root, hardware, np.array([count]), [values], budget.left)
        course = _carried_out(application, hardware, np.array([count]), segments, budget, remember=True)
    except (UnbatchableError, UnmatchedError):
        return None
    return course if math.isfinite(course.latest[0]) else None
