"""Run times as people say them become figures by host count: "30m", "00:30:00", "4:30m,8:16m".

With several numbers of cores of each host they name both: "1x8:30m,2x16:9m".
"""

from __future__ import annotations

import re

from cosched.api.documents import ShapeFigure
from cosched.durations import parse_duration
from cosched.errors import UserError

__all__ = ["parse_runtime", "parse_shape_runtimes"]

_MOST_HOSTS = 65_536
_SHAPE = re.compile(r"(\d{1,5})[x×](\d{1,9})", re.ASCII)
_CLOCK_DURATION = re.compile(r"(\d{1,4}):([0-5]\d):([0-5]\d)", re.ASCII)


def parse_runtime(text: str | float, hosts: str = "", option: str = "--") -> tuple[float | None, ...]:
    """Return seconds on 1, 2, … hosts, None for a count that cannot be used.

    Args:
        text: a duration on `hosts` hosts, or hosts and durations.
        hosts: a number; empty for 1.
        option: what stands before names of options where the user writes them, for errors.

    Raises:
        UserError: it is something else.
    """
    text, name = str(text), f"{option}runtime"
    if text.count(":") == 2 and "," not in text:
        times = {_rigid_count(text, hosts, option): _clock_duration(text, name)}
    elif ":" not in text and "," not in text:
        times = {_rigid_count(text, hosts, option): parse_duration(text, name)}
    else:
        told = [_counted_time(part, text, name) for part in text.split(",")]
        times = dict(told)
        if len(times) < len(told):
            raise UserError(f"{name} {text[:80]!r} has two times for the same number of hosts: give one")
    if any(seconds <= 0 for seconds in times.values()):
        raise UserError(f"{name} {text[:80]!r} has a time of 0: write how long it runs")
    return tuple(times.get(count) for count in range(1, max(times) + 1))


def parse_shape_runtimes(text: str | float, option: str = "--") -> tuple[ShapeFigure, ...]:
    """Return the figures of "1x8:30m,2x16:9m", hosts times cores of each; none for run times by hosts alone.

    Args:
        text: as it was typed.
        option: what stands before names of options where the user writes them, for errors.

    Raises:
        UserError: it is something else.
    """
    parts = [part.strip().partition(":") for part in str(text).split(",")]
    if not any(_SHAPE.match(place.strip()) for place, _, _ in parts):
        return ()
    figures = []
    for place, _, time in parts:
        match = _SHAPE.fullmatch(place.strip())
        if match is None or not time or ":" in time:
            raise UserError(
                f"{option}runtime {str(text)[:80]!r} is not understood: write hosts x cores and times, such as "
                "1x8:30m,2x16:9m"
            )
        if (seconds := parse_duration(time, f"{option}runtime")) <= 0:
            raise UserError(f"{option}runtime {str(text)[:80]!r} has a time of 0: write how long it runs")
        figures.append(ShapeFigure(hosts=int(match[1]), cores=int(match[2]), seconds=seconds))
    return tuple(figures)


def _rigid_count(text: str, hosts: str, option: str) -> int:
    if hosts in ("", "1"):
        return 1
    if hosts.isdecimal() and not int(hosts):
        raise UserError(f"{option}hosts is {hosts[:80]!r}: give a number from 1, or a range such as 2-8")
    least, dash, most = hosts.partition("-")
    if dash and least.isdecimal() and most.isdecimal() and int(least) > int(most):
        raise UserError(f"{option}hosts is {hosts[:80]!r}: write the smaller number first")
    return _host_count(
        hosts,
        f"{option}runtime {text[:80]} is a time on how many hosts? Give {option}hosts 4, or "
        f"{option}runtime 4:30m,8:16m",
    )


def _counted_time(part: str, text: str, name: str) -> tuple[int, float]:
    hosts, _, time = part.strip().partition(":")
    wrong = f"{name} {text[:80]!r} is not understood: write 30m, 00:30:00, or hosts and times such as 4:30m,8:16m"
    if not time or ":" in time:
        raise UserError(wrong)
    return _host_count(hosts, wrong), parse_duration(time, name)


def _host_count(text: str, wrong: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 0 < int(text) <= _MOST_HOSTS:
        raise UserError(wrong)
    return int(text)


def _clock_duration(text: str, name: str) -> float:
    match = _CLOCK_DURATION.fullmatch(text)
    if match is None:
        raise UserError(f"{name} {text[:80]!r} is not a time: write hours:minutes:seconds, or 30m")
    hours, minutes, seconds = map(int, match.groups())
    return float((hours * 60 + minutes) * 60 + seconds)
