"""Traces: what each process of a program wrote of its calls, read and put together.

Start at `read_trace` and `merged`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cosched.errors import UserError
from cosched.measurement.programs.loops import folded, loop_text
from cosched.measurement.programs.records import Block, Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["MergedTraces", "ProcessEnd", "Trace", "merged", "read_process_end", "read_trace"]

_MOST_LOOPS = 4000  # characters; a program without loops is told by its beginning
_LONG_LOOPS = 200  # characters, from which loops are looked for among places whatever they send
_MOST_FOLDED = 50_000  # calls in which loops are looked for
_KILOBYTE = 1024
_OTHER_KINDS = ("wait", "test", "probe", "iprobe")  # calls that send nothing, by their beginnings


@dataclass(frozen=True, slots=True)
class _Item:
    site: int
    peer: str
    bytes: int
    count: int
    inside: float


@dataclass(frozen=True, slots=True)
class Trace:
    """The calls of one process.

    Attributes:
        rank: its number, of `size`.
        wall: seconds from the beginning of MPI to its end.
        cpu: seconds of processor time in between.
        delay: seconds that it waited for a processor.
        rss: bytes of memory that it took at most.
        calls: how many it made.
        finalized: whether it ended MPI.
        cut: whether there were too many different ones to keep all.
        host: where it ran.
        program: the file.
        sites: kind and place of each call in the program.
        items: the different calls.
        blocks: work between two sites: visits, and samples of their seconds.
        order: items in their order.
    """

    rank: int
    size: int
    wall: float
    cpu: float
    delay: float
    rss: int
    calls: int
    finalized: bool
    cut: bool
    host: str
    program: str
    sites: tuple[tuple[str, str], ...]
    items: tuple[_Item, ...]
    blocks: Mapping[tuple[int, int], tuple[int, tuple[float, ...]]]
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """The whole run of a process that a task has started.

    Attributes:
        code: its exit code.
        wall: seconds from its begin to its end.
        cpu: seconds of processor time, with those of the processes that it started.
        delay: seconds that it waited for a processor.
        rss: bytes of memory that it took at most.
        host: where it ran.
        program: the file.
    """

    code: int
    wall: float
    cpu: float
    delay: float
    rss: int
    host: str
    program: str


@dataclass(frozen=True, slots=True)
class MergedTraces:
    """The calls of all processes.

    Attributes:
        blocks: work between calls.
        messages: what was sent.
        loops: the order of the first process's calls.
    """

    blocks: tuple[Block, ...]
    messages: tuple[Message, ...]
    loops: str


def read_trace(text: str, file: str) -> Trace:
    """Return what a process wrote.

    Raises:
        UserError: it is not whole, or something else.
    """
    lines = text.split("\n")
    try:
        if lines[-2:] != ["end", ""]:
            raise ValueError("its end is missing")
        word, rank, size, wall, cpu, delay, rss, calls, finalized, cut, host, program = lines[0].split(" ", 11)
        if word != "rank":
            raise ValueError("it begins otherwise")
        rows = [line.split(" ") for line in lines[1:-2]]
        return Trace(
            int(rank),
            int(size),
            float(wall),
            float(cpu),
            float(delay),
            int(rss) * _KILOBYTE,
            int(calls),
            finalized == "1",
            cut == "1",
            host,
            program,
            tuple((row[1], " ".join(row[2:])) for row in rows if row[0] == "site"),
            tuple(
                _Item(int(row[1]), row[2], int(row[3]), int(row[4]), float(row[5])) for row in rows if row[0] == "item"
            ),
            {
                (int(row[1]), int(row[2])): (int(row[3]), tuple(map(float, row[4:])))
                for row in rows
                if row[0] == "block"
            },
            tuple(int(call) for row in rows if row[0] == "calls" for call in row[1:]),
        )
    except (ValueError, IndexError) as error:
        raise UserError(f"{file} is no trace of a process ({error}): observe the program once more") from error


def read_process_end(text: str, file: str) -> ProcessEnd:
    """Return what a process wrote at its end.

    Raises:
        UserError: it is not whole, or something else.
    """
    line, *rest = text.split("\n")
    try:
        if rest != ["end", ""]:
            raise ValueError("its end is missing")
        word, code, wall, cpu, delay, rss, host, program = line.split(" ", 7)
        if word != "whole":
            raise ValueError("it begins otherwise")
        return ProcessEnd(int(code), float(wall), float(cpu), float(delay), int(rss) * _KILOBYTE, host, program)
    except ValueError as error:
        raise UserError(f"{file} does not tell how a process ended ({error}): remove its folder") from error


def merged(traces: Sequence[Trace]) -> MergedTraces:
    """Return the traces of all processes of one program, in the order of their ranks."""
    names = _site_names(traces)
    blocks, messages = [], []
    for trace in traces:
        own = [names[site] for site in trace.sites]
        for (before, site), (visits, samples) in trace.blocks.items():
            low, middle, high = np.quantile(np.maximum(samples, 0.0), (0.25, 0.5, 0.75)).tolist()
            begin = own[before] if before >= 0 else "begin"
            blocks.append(Block(f"{begin}>{own[site]}", trace.rank, visits, (low, middle, high)))
        sent: Counter[tuple[str, str, str]] = Counter()
        total: Counter[tuple[str, str, str]] = Counter()
        for item in trace.items:
            kind, _ = trace.sites[item.site]
            if item.peer == "none" or kind.startswith(_OTHER_KINDS):
                continue
            key = (own[item.site], kind, item.peer)
            sent[key] += item.count
            total[key] += item.count * item.bytes
        messages += [
            Message(site, kind, trace.rank, peer, total[site, kind, peer] / count, count)
            for (site, kind, peer), count in sent.items()
        ]
    return MergedTraces(tuple(blocks), tuple(messages), _loops(traces[0], names))


def _site_names(traces: Sequence[Trace]) -> dict[tuple[str, str], str]:
    """Return a name for each place: its kind, with a number where several have it."""
    found: dict[tuple[str, str], str] = {}
    kinds: Counter[str] = Counter()
    for trace in traces:
        for site in trace.sites:
            if site not in found:
                kinds[site[0]] += 1
                number = kinds[site[0]]
                found[site] = site[0] if number == 1 else f"{site[0]}#{number}"
    return found


def _loops(trace: Trace, names: Mapping[tuple[str, str], str]) -> str:
    order = trace.order[:_MOST_FOLDED]
    text = loop_text(folded(order), lambda item: names[trace.sites[trace.items[item].site]])
    if len(text) > _LONG_LOOPS:  # as where each turn sends less than the one before: the places alone have loops
        places = folded([trace.items[item].site for item in order])
        text = min(text, loop_text(places, lambda site: names[trace.sites[site]]), key=len)
    return text if len(text) <= _MOST_LOOPS else f"{text[:_MOST_LOOPS].rsplit(' ', 1)[0]} …"
