from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.evaluation import Application, load, load_hardware, profile
from cosched.language import check_files, default_library, format_source, read
from cosched.language.library import locate
from cosched.modelling.block_costs import cost_names, fit_costs, in_units
from cosched.modelling.points import TimedRun
from tests.exploring import examples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

HARDWARE = load_hardware(locate("x86_64_gigabit", ".hmcl", "hardware", default_library()))

SKELETON = """(* stencil: the blocks of stencil.c, counted by `cosched model derive`
   in 16 runs: nx = 17 to 46, steps = 5 to 29.
   What an execution of a block costs is a guess: `cosched model fit --derived` learns it from runs. *)

application stencil {
    include hardware;

    var numeric: nx = 32 in (1, 1e9);
    var numeric: steps = 17 in (1, 1e9);
    var numeric: update_14 = 1 ns;
    var numeric: init_9 = 1 ns;
    var numeric: startup = 0 us;

    option { error_below = 0.75, error_above = 4; }

    link { hardware: Nproc = 1; }

    proc exec init {
        step cpu { confdev startup + work(); }
    }

    proc cflow work {
        compute <is measured, update_14 * nx ^ 2 * steps>;
        compute <is measured, init_9 * (nx + 2) ^ 2>;
    }
}
"""

RING = """(* ring: by `cosched model derive`. *)
application ring {
    include halo_1d;

    var numeric: cells = 1000 in (1, 1e9);
    var numeric: cell = 1 ns;

    option { error_below = 0.75, error_above = 4; }

    link { halo_1d: Tx_cells = cell * cells / Nproc, size = 8 B; }

    proc exec init {
        call halo_1d;
    }
}
"""

SIZES = [{"nx": float(nx), "steps": float(steps)} for nx, steps in [(100, 9), (250, 4), (400, 30), (700, 3), (900, 40)]]


def model(folder: Path, text: str = SKELETON) -> Application:
    path = folder / "derived.psl"
    path.write_text(text)
    assert check_files([path], default_library()) == []
    return load(path)


def timed(
    application: Application, costs: Mapping[str, float], sizes: Sequence[Mapping[str, float]] = SIZES
) -> list[TimedRun]:
    """Return runs as the model has them with these costs."""
    return [TimedRun(size, 1, float(profile(application, HARDWARE, [1], {**size, **costs})[0])) for size in sizes]


def test_costs_are_variables_whose_default_is_a_time(tmp_path: Path) -> None:
    assert cost_names(model(tmp_path)) == {"update_14": 1e-3, "init_9": 1e-3, "startup": 0.0}


@settings(deadline=None, max_examples=examples(8))
@given(st.floats(1e-4, 1e-2), st.floats(1e-4, 1e-2), st.floats(1.0, 1e5))
def test_costs_that_made_the_runs_are_found(
    tmp_path_factory: pytest.TempPathFactory, update: float, init: float, start: float
) -> None:
    application = model(tmp_path_factory.mktemp("costs"))
    costs = {"update_14": update, "init_9": init, "startup": start}
    runs = timed(application, costs)
    found = fit_costs(application, runs, HARDWARE)
    predicted = [run.seconds for run in timed(application, found.costs)]
    assert predicted == pytest.approx([run.seconds for run in runs], rel=max(3 * found.error, 1e-6))
    if found.law == "each cost":
        assert found.costs["update_14"] == pytest.approx(update, rel=1e-3)


def test_one_run_teaches_one_factor(tmp_path: Path) -> None:
    application = model(tmp_path)
    found = fit_costs(application, timed(application, {"update_14": 5e-4, "init_9": 5e-4}, SIZES[:1]), HARDWARE)
    assert found.law == "one factor"
    assert found.costs["update_14"] == pytest.approx(5e-4, rel=1e-9)
    assert found.costs["init_9"] == pytest.approx(5e-4, rel=1e-9)
    assert found.error == 0.5
    assert not len(found.off)


def test_more_costs_must_foretell_better(tmp_path: Path) -> None:
    application, generator = model(tmp_path), np.random.default_rng(3)
    exact = timed(application, {"update_14": 5e-4, "init_9": 5e-4})
    runs = [TimedRun(run.parameters, 1, run.seconds * generator.lognormal(0, 0.05)) for run in exact for _ in range(3)]
    found = fit_costs(application, runs, HARDWARE)
    assert found.law != "each cost"
    assert found.noise
    assert 0.02 < found.error < 0.3


def test_the_model_with_costs_predicts_what_was_fitted(tmp_path: Path) -> None:
    application = model(tmp_path)
    costs = {"update_14": 5e-4, "init_9": 6e-3, "startup": 800.0}
    found = fit_costs(application, timed(application, costs), HARDWARE)
    text = found.psl(SKELETON, "node_a", "2026-11-23", "sha256:0")
    path = tmp_path / "fitted.psl"
    path.write_text(text)
    fitted = load(path)
    assert format_source(read(path)) == text
    assert fitted.hardware == "node_a"
    assert "is a guess" not in text
    assert "Costs are from 5 runs (each cost)." in text
    assert "nx < 100 || nx > 900 || steps < 3 || steps > 40" in text
    for size in SIZES:
        expected = profile(application, HARDWARE, [1], {**size, **costs})[0]
        assert profile(fitted, HARDWARE, [1], size)[0] == pytest.approx(expected, rel=1e-4)


def test_costs_beside_messages_are_found(tmp_path: Path) -> None:
    application = model(tmp_path, RING)
    runs = [
        TimedRun(
            {"cells": cells}, hosts, float(profile(application, HARDWARE, [hosts], {"cells": cells, "cell": 7e-4})[0])
        )
        for cells in (1e5, 5e5, 2e6)
        for hosts in (1, 2, 4)
    ]
    found = fit_costs(application, runs, HARDWARE)
    assert found.costs["cell"] == pytest.approx(7e-4, rel=1e-3)


def test_runs_that_do_not_fit_the_model_are_refused(tmp_path: Path) -> None:
    application = model(tmp_path)
    with pytest.raises(UserError, match="ny"):
        fit_costs(application, [TimedRun({"ny": 3.0}, 1, 1.0)], HARDWARE)
    plain = model(tmp_path, "application plain { var numeric: n = 3; proc exec init { step cpu { confdev n; } } }")
    with pytest.raises(UserError, match="has no costs: variables whose default is a time"):
        fit_costs(plain, [TimedRun({"n": 3.0}, 1, 1.0)], HARDWARE)
    with pytest.raises(UserError, match="2 hosts"):
        fit_costs(application, [TimedRun(SIZES[0], 2, 1.0)], HARDWARE)


@pytest.mark.parametrize(("cost", "text"), [(5e-4, "0.5 ns"), (0.25, "250 ns"), (12.0, "12 us"), (2500.0, "2.5 ms")])
def test_costs_are_written_in_a_unit_that_is_easily_read(cost: float, text: str) -> None:
    assert in_units(cost) == text


def test_runs_on_some_of_a_hosts_processors_are_taken_as_they_were(tmp_path: Path) -> None:
    host = HARDWARE.with_processors(4)
    serial = model(tmp_path)
    costs = {"update_14": 5e-4, "init_9": 5e-4, "startup": 0.0}
    found = fit_costs(serial, timed(serial, costs), host)
    assert found.costs["update_14"] == pytest.approx(5e-4, rel=1e-6)
    ring = model(tmp_path, RING)
    runs = [
        TimedRun({"cells": cells}, ranks, float(profile(ring, host.with_processors(ranks), [1], {"cells": cells})[0]))
        for cells in (1e5, 1e6, 1e7)
        for ranks in (1, 2, 4)
    ]
    assert fit_costs(ring, runs, host).costs["cell"] == pytest.approx(1e-3, rel=1e-6)
