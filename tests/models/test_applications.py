from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.evaluation import evaluate, load, load_hardware, parameters, profile
from cosched.language import check_files, default_library

if TYPE_CHECKING:
    from pathlib import Path

LIBRARY = default_library()
FILES = sorted(path for root in LIBRARY for path in root.rglob("*.*"))
HARDWARE = [path.stem for path in FILES if path.suffix == ".hmcl"]
COUNTS = range(1, 17)

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
    application = load(f"{kernel}_measured")
    hardware = load_hardware(application.hardware)
    found = profile(application, hardware, COUNTS)
    assert hardware.name == "sgi_origin2000"
    assert list(found) == seconds
    assert (found.min(), 4 * found[0]) == deadlines
    assert list(profile(application, hardware, [4, 17], {"Scale": 0.5})) == [seconds[3] / 2, np.inf]


@pytest.mark.parametrize("hardware", HARDWARE)
@pytest.mark.parametrize(
    "path", [path for path in FILES if path.parent.name == "applications"], ids=lambda path: path.stem
)
def test_every_application_runs_on_every_hardware(path: Path, hardware: str) -> None:
    seconds = profile(load(path.stem), load_hardware(hardware), COUNTS)
    assert np.isfinite(seconds).all()
    assert (seconds > 0).all()


@pytest.mark.parametrize(("kernel", "serial"), [("sweep3d", 50), ("jacobi", 40)])
def test_structural_models_are_of_the_published_size_and_gain_from_hosts(kernel: str, serial: float) -> None:
    seconds = profile(load(kernel), load_hardware("sgi_origin2000"), [1, 4, 16])
    assert seconds[0] == pytest.approx(serial, rel=0.15)
    assert seconds[0] > seconds[1] > seconds[2]


def test_sweep3d_by_hand_on_two_processors() -> None:
    """On 2 x 1 processors the pipeline fills once for each change of direction."""
    application, hardware = load("sweep3d"), load_hardware("sgi_origin2000")
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
    application, hardware = load("jacobi"), load_hardware("sgi_origin2000")
    settings = {"npe_i": count, "npe_j": 1, "iterations": 10, "check": 11, "cells": 240}
    result = evaluate(application, hardware, count, settings)
    assert result.messages == 10 * 2 * (count - 1)
    assert result.bytes_sent == 10 * 2 * (count - 1) * 8 * 240
    tested = evaluate(application, hardware, count, {**settings, "check": 5})
    # A tree to processor 1 and back has count - 1 edges each way.
    assert tested.messages - result.messages == 2 * 2 * (count - 1)
    assert result.unreceived == tested.unreceived == 0


def test_parameters_of_the_library_are_settable() -> None:
    application = load("sweep3d")
    assert {"it_g", "jt_g", "kt", "npe_i", "npe_j"} <= {parameter.name for parameter in parameters(application)}
    assert "it" not in {parameter.name for parameter in parameters(application)}
