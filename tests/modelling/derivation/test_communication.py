"""Traces of made-up programs become templates; real programs are derived in `test_processes.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.measurement.programs.traces import read_trace
from cosched.modelling.derivation.communication import Communication, WatchedRun, communication_of
from cosched.modelling.derivation.patterns import grid_sides

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.measurement.programs.traces import Trace

Call = tuple[str, int, int, int]
"""Kind, place, rank of the other one (negative: all, or none), bytes."""

ALL, NONE = -1, -2
SIZES = [
    {"Nproc": processes, "n": n, "steps": steps}
    for processes, n, steps in zip(
        (1, 2, 3, 4, 6, 2, 3, 4, 6, 4, 6, 3, 4, 6, 2, 4),
        (31, 17, 23, 45, 29, 37, 43, 19, 50, 26, 33, 47, 41, 22, 28, 39),
        (2, 5, 3, 7, 4, 6, 2, 3, 5, 8, 2, 4, 6, 7, 3, 5),
        strict=True,
    )
]


def trace(rank: int, processes: int, calls: Sequence[Call]) -> Trace:
    """Return what a process writes that makes these calls."""
    sites = list(dict.fromkeys((kind, place) for kind, place, _other, _bytes in calls))
    items: dict[Call, int] = {}
    order = [items.setdefault(call, len(items)) for call in calls]
    lines = [f"rank {rank} {processes} 0.1 0.1 0 100 {len(calls)} 1 0 host /no/program"]
    lines += [f"site {kind} {place:x} /no/program" for kind, place in sites]
    for (kind, place, other, size), number in items.items():
        peer = {ALL: "all", NONE: "none"}.get(other, f"{other - rank:+d}")
        lines.append(f"item {sites.index((kind, place))} {peer} {size} {order.count(number)} 0.0")
    lines += [" ".join(["calls", *map(str, order)]), "end", ""]
    return read_trace("\n".join(lines), "trace")


def found(
    program: Callable[[int, int, dict[str, int]], list[Call]],
    sizes: Sequence[dict[str, int]] = SIZES,
    bounds: Sequence[str] = (),
) -> Communication:
    runs = [
        WatchedRun(
            size, [trace(rank, size["Nproc"], program(rank, size["Nproc"], size)) for rank in range(size["Nproc"])]
        )
        for size in sizes
    ]
    return communication_of(runs, bounds)


def halo(rank: int, processes: int, size: dict[str, int]) -> list[Call]:
    before, after = (rank - 1 if rank else NONE), (rank + 1 if rank < processes - 1 else NONE)
    calls = []
    for _ in range(size["steps"]):
        calls += [("irecv", 1, before, 8 * size["n"]), ("irecv", 2, after, 8 * size["n"])]
        calls += [("isend", 3, before, 8 * size["n"]), ("isend", 4, after, 8 * size["n"]), ("waitall", 5, NONE, 0)]
    return [*calls, ("allreduce", 6, ALL, 8)]


def test_neighbours_on_a_line_exchange_their_edges() -> None:
    reduced, exchanged = found(halo).exchanges
    assert (exchanged.template, exchanged.turns) == ("halo_1d", "steps")
    assert exchanged.settings == {"size": "8 * n", "periodic": "0", "Tx_cells": "0"}
    assert (reduced.template, reduced.settings, reduced.turns) == ("allreduce", {"size": "8"}, "1")
    assert exchanged.exact
    assert exchanged.calls == ["MPI_Isend", "MPI_Isend"]


def test_strips_travel_around_a_ring() -> None:
    def program(rank: int, processes: int, size: dict[str, int]) -> list[Call]:
        strip = 8 * size["n"] * (size["n"] // processes)
        return [("sendrecv_replace", 1, (rank + 1) % processes, strip)] * (processes * size["steps"])

    (only,) = found(program).exchanges
    assert (only.template, only.turns) == ("shift", "Nproc * steps")
    assert only.settings == {"size": "8 * n * floor(n / Nproc)", "periodic": "1"}


def grid_neighbours(rank: int, processes: int) -> list[int]:
    """Return the ranks before and after along either side of a grid, whose rows have neighbouring ranks."""
    width = grid_sides(processes)["npe_j"]
    row, column = divmod(rank, width)
    return [
        rank - width if row else NONE,
        rank + width if rank + width < processes else NONE,
        rank - 1 if column else NONE,
        rank + 1 if column < width - 1 else NONE,
    ]


def test_neighbours_on_a_grid_exchange_their_edges() -> None:
    def program(rank: int, processes: int, size: dict[str, int]) -> list[Call]:
        edge = -(-size["n"] // grid_sides(processes)["npe_i"])
        others = grid_neighbours(rank, processes)
        turn = [("irecv", 1, other, 8 * edge) for other in others] + [("isend", 2, other, 8 * edge) for other in others]
        return [*turn, ("waitall", 3, NONE, 0)] * size["steps"]

    (only,) = found(program).exchanges
    assert (only.template, only.turns) == ("halo", "steps")
    assert (only.settings["size_i"], only.settings["size_j"]) == ("8 * ceil(n / npe_i)",) * 2


def sweeps(rank: int, processes: int, size: dict[str, int]) -> list[Call]:
    """Pass blocks through a grid from each of its corners, as examples/kernels/real/sweep.c does."""
    west, east, north, south = grid_neighbours(rank, processes)
    calls: list[Call] = []
    for corner in 4 * size["steps"] * [0, 1, 2, 3]:
        come, go = [west, north], [east, south]
        if corner & 1:
            come[0], go[0] = go[0], come[0]
        if corner & 2:
            come[1], go[1] = go[1], come[1]
        for _ in range(-(-size["n"] // 5)):
            calls += [("recv", 1, other, 40) for other in come] + [("send", 2, other, 40) for other in go]
    return calls


def test_work_passes_through_a_grid_that_waits() -> None:
    (only,) = found(sweeps, bounds=["ceil(n / 5)"]).exchanges
    assert only.template == "wavefront"
    assert (only.turns, only.settings["sweeps"], only.settings["blocks"]) == ("steps", "16", "ceil(n / 5)")
    assert only.blocks == "16 * steps * ceil(n / 5)"
    assert (only.settings["npe_i"], only.settings["size_i"], only.settings["size_j"]) == ("npe_i", "40", "40")


def test_work_passes_through_a_line_one_way() -> None:
    def program(rank: int, processes: int, size: dict[str, int]) -> list[Call]:
        turn = [("recv", 1, rank - 1, 8 * size["n"])] if rank else []
        turn += [("send", 2, rank + 1, 8 * size["n"])] if rank < processes - 1 else []
        return turn * size["steps"]

    (only,) = found(program).exchanges
    assert (only.template, only.turns, only.blocks) == ("wavefront", "steps", "steps")
    assert (only.settings["npe_i"], only.settings["npe_j"], only.settings["blocks"]) == ("Nproc", "1", "1")


def test_a_line_in_which_every_second_one_waits_is_no_wavefront() -> None:
    def program(rank: int, processes: int, size: dict[str, int]) -> list[Call]:
        others = [other for other in (rank - 1, rank + 1) if 0 <= other < processes]
        get, put = [("recv", 1, other, 8) for other in others], [("send", 2, other, 8) for other in others]
        return (get + put if rank % 2 else put + get) * size["steps"]

    (only,) = found(program).exchanges
    assert (only.template, only.turns) == ("halo_1d", "steps")


@pytest.mark.parametrize(
    ("kind", "template"),
    [("alltoallv", "transpose"), ("gatherv", "gather"), ("exscan", "reduce"), ("bcast", "broadcast")],
)
def test_collective_operations_have_templates(kind: str, template: str) -> None:
    (only,) = found(lambda _rank, _count, size: [(kind, 1, ALL, 8 * size["n"])]).exchanges
    assert (only.template, only.settings, only.turns) == (template, {"size": "8 * n"}, "1")


def test_sizes_that_depend_on_data_fall_with_the_processes() -> None:
    def program(rank: int, processes: int, size: dict[str, int]) -> list[Call]:
        return [("alltoallv", 1, ALL, 8000 * size["n"] // processes**2 + 7 * rank + size["steps"] % 3)]

    (only,) = found(program).exchanges
    assert not only.exact
    assert only.settings["size"].startswith("7992.1 * n / Nproc^2 + ")


def test_all_send_to_the_first() -> None:
    def program(rank: int, processes: int, size: dict[str, int]) -> list[Call]:
        if rank:
            return [("send", 1, 0, 4 * size["n"])]
        return [("recv", 2, other, 4 * size["n"]) for other in range(1, processes)]

    (only,) = found(program).exchanges
    assert (only.template, only.settings, only.turns) == ("gather", {"size": "4 * n"}, "1")


def test_what_forms_no_pattern_is_named() -> None:
    def program(rank: int, processes: int, size: dict[str, int]) -> list[Call]:
        return [("send", 1, (2 * rank + size["n"]) % processes, 8), ("reduce_scatter", 2, ALL, 8)]

    told = found(program)
    assert not told.exchanges
    assert "MPI_Send, whose receivers form no pattern" in " ".join(told.others)
    assert "MPI_Reduce_scatter, for which there is no template" in " ".join(told.others)


def test_too_few_runs_of_several_processes_say_so() -> None:
    assert "4 sizes ran on several processes" in found(halo, SIZES[:5]).remark
    assert "could not be watched" in communication_of([WatchedRun(size, []) for size in SIZES], []).remark
