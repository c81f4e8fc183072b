"""Documents of use: hosts, cores, memory and GPUs of tasks in the past, now and as planned."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GroupUseView", "ResourceUseView", "UtilisationView"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupUseView:
    """Use of a resource by one group; `past`, `now` and `planned` are parts of all there is, 0 to 1.

    Attributes:
        name: class or user; "others" are the smaller groups together, and users who have no name here.
        past: on average over the past.
        now: by what runs.
        planned: on average from now until the end of what is planned, or that of the time.
        amounts: of each part of the time on average, in the resource's unit.
    """

    name: str
    past: float
    now: float
    planned: float
    amounts: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceUseView:
    """Use of one resource by tasks; a task that has a host for itself has all of it.

    Attributes:
        resource: "hosts", or where tasks share these "cores", "memory" and "gpus".
        total: how much there is: a number, MiB of memory.
        past: part that was in use on average, 0 to 1; `now` and `planned` likewise.
        groups: what each group has, the last one being "others" where there are some.
    """

    resource: str
    total: float
    past: float
    now: float
    planned: float
    groups: tuple[GroupUseView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilisationView:
    """Use of the hosts by cosched's tasks: past, present and planned.

    Attributes:
        since: where the time begins.
        time: now.
        until: where the time ends, that of the plan or half as much as was asked of the past.
        planned_until: where what is planned ends, or the time.
        part: seconds of each part of the time; the first `past_parts` of them are past.
        past_parts: how many parts are past.
        complete: whether all runs of the past are counted; where there are too many, the oldest are left out.
        resources: each that there is.
    """

    since: float
    time: float
    until: float
    planned_until: float
    part: float
    past_parts: int
    complete: bool
    resources: tuple[ResourceUseView, ...]
