"""Tunable applications as text for people: their ways, and which one is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.api.times import format_optional_time
from cosched.counts import plural
from cosched.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.api.documents import ChainView, StageView, WayView

__all__ = ["chain_lines", "chain_text", "way_lines"]

_SHOWN = 10  # ways
_STAGES = 6  # of a way


def chain_text(chain: ChainView) -> str:
    """Say which stage of which application a task is."""
    text = f"{chain.index + 1} of {len(chain.tasks)} of {chain.name} (tasks {chain.tasks[0]} to {chain.tasks[-1]})"
    text += f", quality {chain.quality:g}"
    if not chain.guaranteed:
        return text
    return f"{text}; its deadlines are guaranteed with a quality of at least {chain.least_quality:g}"


def chain_lines(chain: ChainView) -> list[str]:
    """Return what is known of a task's chain, with all its ways."""
    return [f"stage:         {chain_text(chain)}", *way_lines(chain.ways)]


def way_lines(ways: Sequence[WayView]) -> list[str]:
    """Return a line for each of the first ways, with its quality, hosts, times and end; equal lines once.

    Of closed ways only the stage that was asked for is shown, in which several may be the same.
    """
    lines = list(dict.fromkeys(f"{'way taken:' if way.chosen else 'way:':14} {_way_text(way)}" for way in ways))
    more = [f"               and {len(lines) - _SHOWN} more ways"] if len(lines) > _SHOWN else []
    return lines[:_SHOWN] + more


def _way_text(way: WayView) -> str:
    values = " ".join(f"{name}={value:g}" for name, value in way.control.items())
    stages = [_stage_text(stage) for stage in way.stages[:_STAGES]]
    stages += ["…"] if len(way.stages) > _STAGES else []
    parts = [f"quality {way.quality:g}", values, f"{', '.join(stages)}"]
    return "; ".join([*filter(None, parts), _end_text(way)])


def _stage_text(stage: StageView) -> str:
    return f"{stage.name} {format_duration(stage.seconds)} on {plural(stage.hosts, 'host')}"


def _end_text(way: WayView) -> str:
    if way.end is None:
        return (
            "taken" if way.chosen else "cannot run now" if way.open else "closed: a stage has left in which it differs"
        )
    text = f"would end {format_optional_time(way.end)}"
    if way.late_stage:
        return f"{text}, its stage {way.late_stage} too late by {format_duration(way.late)}"
    return f"{text}, {format_duration(way.late)} late" if way.late else text
