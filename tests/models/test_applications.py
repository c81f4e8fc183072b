from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.errors import UserError
from cosched.evaluation import error, evaluate, load, parameters, profile
from cosched.language import check_files, default_library, parse_psl, read
from cosched.scheduling.tunable.modelled import modelled_chains
from tests.models.library import library_application, library_hardware

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cosched.evaluation import Application

LIBRARY = default_library()
FILES = sorted(path for root in LIBRARY for path in root.rglob("*.*"))
HARDWARE = [path.stem for path in FILES if path.suffix == ".hmcl"]
COUNTS = range(1, 17)
MODELLING = Path(__file__).parents[2] / "docs" / "modelling.md"

# As published for the seven Warwick kernels: seconds on 1 to 16 processors, and the range deadlines were drawn from.
TABLE = {
    "sweep3d": ((4, 200), [50, 40, 30, 25, 23, 20, 17, 15, 13, 11, 9, 7, 6, 5, 4, 4]),
    "fft": ((10, 100), [25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10]),
    "improc": ((20, 192), [48, 41, 35, 30, 26, 23, 21, 20, 20, 21, 23, 26, 30, 35, 41, 48]),
    "closure": ((2, 36), [9, 9, 8, 8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2]),
    "jacobi": ((6, 160), [40, 35, 30, 25, 23, 20, 17, 15, 13, 11, 10, 9, 8, 7, 6, 6]),
    "memsort": ((10, 68), [17, 16, 15, 14, 13, 12, 11, 10, 10, 11, 12, 13, 14, 15, 16, 17]),
    "cpi": ((2, 128), [32, 26, 21, 17, 14, 11, 9, 7, 5, 4, 3, 2, 4, 7, 12, 20]),
}


def test_the_library_has_no_faults() -> None:
    assert FILES
    assert check_files(FILES, LIBRARY) == []


@pytest.mark.parametrize("kernel", TABLE)
def test_measured_models_are_the_published_table(kernel: str) -> None:
    deadlines, seconds = TABLE[kernel]
    application = library_application(f"{kernel}_measured")
    hardware = library_hardware(application.hardware)
    found = profile(application, hardware, COUNTS)
    assert hardware.name == "sgi_origin2000"
    assert list(found) == seconds
    assert (found.min(), 4 * found[0]) == deadlines
    assert list(profile(application, hardware, [4, 17], {"Scale": 0.5})) == [seconds[3] / 2, np.inf]


@pytest.mark.parametrize("hardware", HARDWARE)
@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.parent.name == "applications" and path.stem != "junctions"],
    ids=lambda path: path.stem,
)
def test_every_application_runs_on_every_hardware(path: Path, hardware: str) -> None:
    seconds = profile(library_application(path.stem), library_hardware(hardware), COUNTS)
    assert np.isfinite(seconds).all()
    assert (seconds > 0).all()


def test_the_tunable_application_has_the_two_ways_of_the_paper() -> None:
    """Fig. 4 of the MILAN paper, the language's test: (hosts, seconds) and deadlines of the stages of each image."""
    application = library_application("junctions")
    fine, coarse = modelled_chains(application, None, {"images": 1}, 16).chains
    assert [(stage.hosts, stage.seconds) for stage in fine.chain.stages] == [(4, 8.0), (2, 1.0), (4, 76.0)]
    assert [(stage.hosts, stage.seconds) for stage in coarse.chain.stages] == [(4, 2.0), (2, 1.0), (6, 81.0)]
    for way, c in ((fine, 0.0), (coarse, 1.0)):
        assert dict(way.path.values)["c"] == c
        assert [stage.deadline for stage in way.chain.stages] == [10.0, 60.0, 100.0]
    assert len(modelled_chains(application, None, {}, 16).chains[0].chain.stages) == 3000
    with pytest.raises(
        UserError, match=r"`proc exec init`.* to run it, add `.stages.NAME.` with a command, or `worker`"
    ):
        profile(application, library_hardware("sgi_origin2000"), COUNTS)


def ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Return the rank of each value; equal ones share the mean of theirs."""
    shown = np.round(np.asarray(values, np.float64), 9)
    return np.array([(shown < value).sum() + ((shown == value).sum() - 1) / 2 for value in shown])


@pytest.mark.parametrize("kernel", TABLE)
def test_structural_models_rank_numbers_of_hosts_as_the_published_table(kernel: str) -> None:
    """Same size on one processor, same best number within one, rank correlation (Spearman) of at least 0.9.

    The figures stand in docs/modelling.md.
    """
    published = TABLE[kernel][1]
    seconds = profile(library_application(kernel), library_hardware("sgi_origin2000"), COUNTS)
    best = int(np.argmin(seconds)) + 1
    bests = [count for count, value in zip(COUNTS, published, strict=True) if value == min(published)]
    correlation = float(np.corrcoef(ranks(list(seconds)), ranks(published))[0, 1])
    assert seconds[0] == pytest.approx(published[0], rel=0.15)
    assert min(abs(best - count) for count in bests) <= 1
    assert correlation >= 0.9
    row = [kernel, f"{seconds[0]:.1f}", published[0], best, " or ".join(map(str, bests)), f"{correlation:.2f}"]
    assert f"| {' | '.join(map(str, row))} |" in MODELLING.read_text(encoding="utf-8")


@pytest.mark.parametrize("kernel", TABLE)
def test_structural_models_state_what_the_published_times_leave_as_their_error(kernel: str) -> None:
    application, hardware = library_application(kernel), library_hardware("sgi_origin2000")
    ratio = np.array(TABLE[kernel][1]) / profile(application, hardware, COUNTS)
    stated = error(application, hardware, COUNTS)
    assert stated is not None

    def inside(share: float) -> int:
        return int(((ratio >= 1 - share * stated.below) & (ratio <= 1 + share * stated.above)).sum())

    assert inside(1.0) >= 15
    assert inside(0.85) < 15, "no wider than needed"


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8])
def test_messages_of_the_templates(count: int) -> None:
    hardware = library_hardware("sgi_origin2000")
    # A transposition: every processor to every other one, blocks of rows x rows complex numbers, two a transform.
    result = evaluate(library_application("fft"), hardware, count, {"points": 64, "transforms": 1})
    rows = math.ceil(64 / count)
    assert (result.messages, result.unreceived) == (2 * count * (count - 1), 0)
    assert result.bytes_sent == 2 * count * (count - 1) * 16 * rows * rows
    # A broadcast reaches every other processor once in each step.
    result = evaluate(library_application("closure"), hardware, count, {"nodes": 20})
    assert (result.messages, result.bytes_sent) == (20 * (count - 1), 20 * (count - 1) * 80)
    # A master hands out and takes back.
    result = evaluate(library_application("cpi"), hardware, count, {"passes": 3, "strips": 10})
    assert (result.messages, result.bytes_sent) == (3 * 2 * (count - 1), 3 * (count - 1) * (8 + 80))


def test_a_box_exchanges_all_its_faces(tmp_path: Path) -> None:
    path = tmp_path / "box.psl"
    path.write_text("""application box { include halo_3d; var numeric: a, b, c;
        option { decompose = "a, b, c"; }
        link { halo_3d: npe_i = a, npe_j = b, npe_k = c, Tx_cells = 1 s, size_i = 1, size_j = 100, size_k = 10000; }
        proc exec init { call halo_3d; } }""")
    application, hardware = load(path), library_hardware("x86_64_gigabit")
    found = evaluate(application, hardware, 12, {"a": 3, "b": 2, "c": 2})
    # Faces between neighbours, both ways: 2 x 2 x 2 in i, 3 x 1 x 2 in j and 3 x 2 x 1 in k.
    assert (found.messages, found.bytes_sent) == (2 * (8 + 6 + 6), 2 * (8 * 1 + 6 * 100 + 6 * 10000))
    assert found.seconds == pytest.approx(1, rel=1e-2)
    assert profile(application, hardware, [1, 8, 27]) == pytest.approx(1, rel=1e-2)


def test_merging_grows_with_the_result() -> None:
    """Processor 1 merges runs of a share of the keys: 2 shares, then 3, then 4."""
    application, hardware = library_application("memsort"), library_hardware("sgi_origin2000")

    def times(keys: int) -> list[float]:
        return [time.compute for time in evaluate(application, hardware, 4, {"keys": keys, "sorts": 1}).processors]

    # A key merged costs 2 + 1 + 1 + 2 + 1 + 2 cycles and 3 for the loop.
    master, worker = times(4096)[:2]
    assert master - worker == pytest.approx((2 + 3 + 4) * 1024 * 12 / 195e6)


def test_a_reduction_goes_up_a_tree(tmp_path: Path) -> None:
    path = tmp_path / "sum.psl"
    path.write_text("""application sum {
        include reduce; link { reduce: Tx_work = 1 ms, size = 0, Tx_combine = 7; } proc exec init { call reduce; }
    }""")
    result = evaluate(load(path), library_hardware("sgi_origin2000"), 6)
    # 1 takes in 2: TSEND 5, COMM 5, TRECV 5 and 7 us. Then 3, which took in 4: the same again. Then 5, which took in 6
    # and whose message has long been there: TRECV 5 and 7 us.
    assert result.messages == 5
    assert result.seconds == pytest.approx(1e-3 + (22 + 22 + 12) * 1e-6)


def test_sweep3d_by_hand_on_two_processors() -> None:
    """On 2 x 1 processors the pipeline fills once for each change of direction."""
    application, hardware = library_application("sweep3d"), library_hardware("sgi_origin2000")
    result = evaluate(application, hardware, 2, {"iterations": 1})
    # 8 sweeps of ceil(50 / 10) · ceil(6 / 3) = 10 blocks on each of two processors, 1 message a block, and the
    # combination of the flux: one message up, one down.
    assert result.messages == 8 * 10 + 2
    # A block's face is 50 · 10 · 3 cells and angles of 8 bytes.
    assert result.bytes_sent == 80 * 8 * 50 * 10 * 3 + 2 * 8
    blocks = result.processors[0].compute
    # Sweeps go +i, -i, +i, …: one block of 80 to fill the pipeline, and each turn of direction drains and refills it.
    assert result.seconds > blocks * 81 / 80
    assert result.seconds < blocks * (80 + 2 * 8) / 80


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13, 16])
def test_jacobi_exchanges_every_edge(count: int) -> None:
    application, hardware = library_application("jacobi"), library_hardware("sgi_origin2000")
    settings = {"npe_i": count, "npe_j": 1, "iterations": 10, "check": 11, "cells": 240}
    result = evaluate(application, hardware, count, settings)
    assert result.messages == 10 * 2 * (count - 1)
    assert result.bytes_sent == 10 * 2 * (count - 1) * 8 * 240
    tested = evaluate(application, hardware, count, {**settings, "check": 5})
    # A tree to processor 1 and back has count - 1 edges each way.
    assert tested.messages - result.messages == 2 * 2 * (count - 1)
    assert result.unreceived == tested.unreceived == 0


def test_parameters_of_the_library_are_settable() -> None:
    application = library_application("sweep3d")
    assert {"it_g", "jt_g", "kt", "npe_i", "npe_j"} <= {parameter.name for parameter in parameters(application)}
    assert "it" not in {parameter.name for parameter in parameters(application)}


def one_template(folder: Path, template: str, links: str) -> Application:
    path = folder / "one.psl"
    init = f"proc exec init {{ call {template}; }}"
    path.write_text(f"application one {{ include {template}; link {{ {template}: {links}; }} {init} }}")
    return load(path)


def test_a_pipeline_fills_once(tmp_path: Path) -> None:
    application = one_template(tmp_path, "pipeline", "blocks = 10, Tx_block = 1 ms, size = 0")
    result = evaluate(application, library_hardware("sgi_origin2000"), 3)
    # 10 blocks from each of 2 processors to the next. Processor 1 has sent the first after 1000 + 5 us, and 5 us later
    # it is at processor 2, which sets the pace: 5 us to receive, 1000 to compute, 5 to send, ten times. 5 us later the
    # last block is at processor 3, which receives (5) and computes (1000).
    assert (result.messages, result.unreceived) == (20, 0)
    assert result.seconds == pytest.approx((1010 + 10 * 1010 + 5 + 1005) * 1e-6)
    assert profile(application, library_hardware("sgi_origin2000"), [1])[0] == pytest.approx(10e-3)


@pytest.mark.parametrize(
    ("count", "periodic", "messages"), [(1, 0, 0), (1, 1, 0), (2, 0, 2), (2, 1, 4), (5, 0, 8), (5, 1, 10)]
)
def test_neighbours_on_a_line(tmp_path: Path, count: int, periodic: int, messages: int) -> None:
    application = one_template(tmp_path, "halo_1d", f"Tx_cells = 1 ms, size = 100, periodic = {periodic}")
    result = evaluate(application, library_hardware("sgi_origin2000"), count)
    assert (result.messages, result.unreceived, result.bytes_sent) == (messages, 0, messages * 100)
    # A processor in the middle sends two messages of 5.2 us, takes two in at 5.2 us and computes; the network adds
    # 6 us.
    assert 1e-3 <= result.seconds <= 1e-3 + (2 * 5.2 + 6 + 2 * 5.2 + 1e-6) * 1e-6


@pytest.mark.parametrize(
    ("template", "links", "messages"),
    [
        ("shift", "size = 100", {1: 0, 2: 2, 5: 5}),
        ("shift", "size = 100, periodic = 0", {1: 0, 2: 1, 5: 4}),
        ("gather", "size = 100", {1: 0, 2: 1, 5: 4}),
        ("scatter", "size = 100", {1: 0, 2: 1, 5: 4}),
    ],
)
def test_messages_one_way(tmp_path: Path, template: str, links: str, messages: dict[int, int]) -> None:
    application = one_template(tmp_path, template, f"{links}, Tx_work = 1 ms")
    for count, wanted in messages.items():
        result = evaluate(application, library_hardware("sgi_origin2000"), count)
        assert (result.messages, result.unreceived, result.bytes_sent) == (wanted, 0, wanted * 100)
        assert 1e-3 <= result.seconds <= 1.1e-3


def test_machines_are_as_quick_as_their_time() -> None:
    """One processor: an Ultra 10 is near the Origin 2000, the others follow in the order of their years."""
    names = ["x86_64_infiniband", "sun_ultra_10", "sun_ultra_5", "sun_ultra_1", "sparcstation_2"]
    machines = [library_hardware(name) for name in names]
    for kernel in TABLE:
        application = library_application(kernel)
        seconds = [float(profile(application, machine, [1])[0]) for machine in machines]
        assert seconds == sorted(seconds)
        assert seconds[1] == pytest.approx(TABLE[kernel][1][0], rel=0.3)


def test_networks_of_today_differ_where_messages_bind() -> None:
    networks = [library_hardware(name) for name in ("x86_64_gigabit", "x86_64_25_gigabit", "x86_64_infiniband")]
    for kernel in ("fft", "memsort", "cpi"):
        application = library_application(kernel)
        seconds = [float(profile(application, network, [4])[0]) for network in networks]
        assert seconds == sorted(seconds, reverse=True)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_header_says_what_the_file_is(path: Path) -> None:
    """Every file of the library begins with a comment; one with parameters names each of them."""
    text = path.read_text(encoding="utf-8")
    header = re.match(r"\(\*[\s\S]*?\*\)", text)
    assert header
    if path.suffix == ".hmcl":
        assert "ours" in header[0]
    elif path.parent.name == "applications":
        assert re.search(r"ours|published|publish", header[0])
        settable = [item.name for item in parameters(load(path)) if item.name not in ("npe_i", "npe_j")]
        assert [name for name in settable if not re.search(rf"\b{name}\b", header[0])] == []
    else:
        (template,) = parse_psl(read(path))
        assert [name for name in template.declared() if not re.search(rf"\b{name}\b", header[0])] == []
