"""Refuses chains whose deadlines cannot be guaranteed.

Start at `check_chains`; the decision is the core's (`coscheduler/stages/admission.py`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cosched.api.times import format_time
from cosched.counts import plural
from cosched.durations import format_duration
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task

__all__ = ["by_chain", "chain_notice", "check_chains"]

_MOST_NAMED = 3  # ways of a refusal
_MOST_STAGES = 6  # of a notice


def by_chain(tasks: Iterable[Task]) -> list[list[Task]]:
    """Return new tasks with those of one chain together; a task by itself is alone."""
    found: list[list[Task]] = []
    for task in tasks:
        if task.stage is not None and task.stage.index and found:
            found[-1].append(task)
        else:
            found.append([task])
    return found


def check_chains(core: Coscheduler, tasks: Sequence[Task], time: float) -> None:
    """Refuse new chains that cannot all be in time beside what is planned, unless they are welcome late.

    Raises:
        UserError: so it is; says which deadlines would be met.
    """
    chains = [chain for chain in by_chain(tasks) if chain[0].stage is not None and not chain[0].spec.best_effort]
    if len(chains) == 1:
        admission = core.foresee_chain(chains[0], time)
        if not admission.in_time:
            raise UserError(_refusal(core, chains[0], time))
    elif chains and (late := core.first_late_chain(chains, time)) is not None:
        others = f"{late} of its {len(chains)} tunable tasks would be in time together, and then: " if late else ""
        raise UserError(f"{others}{_refusal(core, chains[late], time)}")


def _refusal(core: Coscheduler, chain: Sequence[Task], time: float) -> str:
    """Say why no way of a chain is in time, and what would be."""
    stage, ways = chain[0].stage, core.ways(chain, time)
    assert stage is not None
    if not ways:
        return f"no hosts that are up now can run a way through {stage.title}: submit it when they are back"
    inside = [way for way in ways if not way.late_stages]
    if not inside:
        best = min(ways, key=lambda way: way.late)
        name, seconds = max(best.late_stages, key=lambda each: each[1])
        return (
            f"every way through {stage.title} would be late beside what is planned: the stage {name} would end "
            f"{format_duration(seconds)} after the deadline that its model gives it; submit it when hosts are free, or "
            "as best effort"
        )
    ends: dict[float, float] = {}
    for way in inside:
        ends[way.quality] = min(way.end, ends.get(way.quality, math.inf))
    named = [
        f"{format_time(math.ceil(end))} with a quality of {quality:g}"
        for quality, end in sorted(ends.items(), reverse=True)
        if end < min([other for better, other in ends.items() if better > quality], default=math.inf)
    ][-_MOST_NAMED:]
    wanted = "" if stage.deadline is None else f" {format_time(stage.deadline)}"
    return (
        f"the deadline{wanted} of {stage.title} cannot be guaranteed beside what is planned: the earliest that can be "
        f"{'is' if len(named) == 1 else 'are'} {', or '.join(named)} (or submit it as best effort)"
    )


def chain_notice(chain: Sequence[Task]) -> str:
    """Return what the owner of a new chain is told of the way that was chosen, and of its deadlines."""
    stage = chain[0].stage
    assert stage is not None
    way = f"stage 1 of {stage.count} of {stage.title}, with a quality of {stage.quality:g}: {_way_text(chain)}"
    if stage.guaranteed:
        least = min(way.quality for way in stage.ways)
        return f"{way}; its deadlines are guaranteed with a quality of at least {least:g}"
    late = any(math.isfinite(each.latest) for each in stage.ways)
    return f"{way}; its deadlines are not guaranteed" if late else way


def _way_text(chain: Sequence[Task]) -> str:
    """Return the control parameters and the stages of the chosen way, with the hosts of each."""
    stages = [task.stage for task in chain if task.stage is not None and not task.stage.unused]
    works = [stage.works[stage.chosen.work] for stage in stages]
    values = {name: f"{name}={float(work.parameters[name]):g}" for work in works for name in work.control}
    named = [f"{work.name} on {plural(work.hosts, 'host')}" for work in works[:_MOST_STAGES]]
    return ", ".join([*values.values(), *named, *(["…"] if len(works) > _MOST_STAGES else [])])
