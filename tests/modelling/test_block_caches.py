from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.evaluation import load, profile
from cosched.language import check_files, default_library
from cosched.modelling.block_caches import cached_blocks
from cosched.modelling.block_costs import fit_costs, named_blocks, overlay
from cosched.modelling.points import TimedRun
from tests.modelling.test_block_costs import HARDWARE, SKELETON, model

if TYPE_CHECKING:
    from pathlib import Path

MIB = float(1 << 20)
LEVELS = (MIB / 32, 2 * MIB, 64 * MIB)
COSTS = {"update_14": 5e-4, "init_9": 2e-3, "startup": 300.0}
BEYOND = 1e-3  # microseconds of a cell beyond the second cache
SIZES = [(nx, steps) for nx in (80, 160, 260, 340, 420, 600, 900, 1400) for steps in (10, 30)]


def memory_of(nx: float) -> float:
    return 9 * MIB + 16 * nx * nx


def seconds_of(nx: float, steps: float) -> float:
    part = max(0.0, 1 - 2 * MIB / (16 * nx * nx))
    return 1e-6 * (300 + nx**2 * steps * (5e-4 + BEYOND * part) + 2e-3 * (nx + 2) ** 2)


def runs_of(noise: float = 0.0, sizes: list[tuple[int, int]] = SIZES, *, known: bool = True) -> list[TimedRun]:
    drawn = np.random.default_rng(5)
    return [
        TimedRun(
            {"nx": float(nx), "steps": float(steps)},
            1,
            seconds_of(nx, steps) * float(drawn.lognormal(0, noise)),
            memory=memory_of(nx) if known else 0.0,
        )
        for nx, steps in sizes
        for _ in range(2)
    ]


def test_costs_beyond_a_cache_are_learnt_and_written(tmp_path: Path) -> None:
    found = fit_costs(model(tmp_path), runs_of(), HARDWARE, LEVELS, cached_blocks(SKELETON))
    assert found.law == "each cost and caches"
    assert found.costs["update_14"] == pytest.approx(5e-4, rel=1e-3)
    assert found.costs["update_14_beyond_L2"] == pytest.approx(BEYOND, rel=1e-2)
    assert [each.name for each in found.caches] == ["update_14_beyond_L2"]
    path = tmp_path / "fitted.psl"
    path.write_text(found.psl(SKELETON, "x86_64_gigabit", "2026-11-26", "sha256:0"))
    assert check_files([path], default_library()) == []
    fitted = load(path)
    for nx, steps in [(100, 20), (500, 15), (2000, 8)]:  # none of them was run
        predicted = float(profile(fitted, HARDWARE, [1], {"nx": float(nx), "steps": float(steps)})[0])
        assert predicted == pytest.approx(seconds_of(nx, steps), rel=5e-3)
    assert "beyond L2, 2097152 B, of a working set of 16 B * nx ^ 2" in path.read_text()


def test_a_cache_term_foretells_better_under_noise(tmp_path: Path) -> None:
    runs = runs_of(0.02)
    plain = fit_costs(model(tmp_path), runs, HARDWARE)
    cached = fit_costs(model(tmp_path), runs, HARDWARE, LEVELS, cached_blocks(SKELETON))
    assert float(np.mean(plain.off)) > 0.1
    assert float(np.mean(cached.off)) < 0.04
    assert cached.error < 0.3 * plain.error


@pytest.mark.parametrize(
    ("levels", "sizes", "known"),
    [
        ((), SIZES, True),  # the hosts' caches are not known
        (LEVELS, SIZES, False),  # nor is what a process takes
        ((1e12,), SIZES, True),  # nothing leaves the cache
        ((16.0,), SIZES, True),  # nothing is in it
        (LEVELS, SIZES[:3], True),  # fewer sizes than costs
    ],
)
def test_nothing_is_said_of_caches_that_runs_do_not_show(
    levels: tuple[float, ...], sizes: list[tuple[int, int]], known: bool, tmp_path: Path
) -> None:
    runs = runs_of(sizes=sizes, known=known)
    found = fit_costs(model(tmp_path), runs, HARDWARE, levels, cached_blocks(SKELETON))
    assert found.caches == ()
    assert set(found.costs) == set(COSTS)
    assert "beyond_L" not in found.psl(SKELETON, "", "2026-11-26", "sha256:0")


def test_runs_that_caches_do_not_explain_keep_the_plain_costs(tmp_path: Path) -> None:
    runs = [
        TimedRun(
            run.parameters,
            1,
            1e-6 * (300 + run.parameters["nx"] ** 2 * run.parameters["steps"] * 5e-4),
            memory=run.memory,
        )
        for run in runs_of()
    ]
    found = fit_costs(model(tmp_path), runs, HARDWARE, LEVELS, cached_blocks(SKELETON))
    assert "caches" not in found.law
    assert found.caches == ()


def test_a_model_that_has_cache_costs_learns_them_anew(tmp_path: Path) -> None:
    first = fit_costs(model(tmp_path), runs_of(), HARDWARE, LEVELS, cached_blocks(SKELETON))
    text = first.psl(SKELETON, "", "2026-11-26", "sha256:0")
    assert cached_blocks(text) == set()
    slower = [TimedRun(run.parameters, 1, 2 * run.seconds, memory=run.memory) for run in runs_of()]
    again = fit_costs(model(tmp_path, text), slower, HARDWARE, LEVELS, cached_blocks(text))
    assert again.costs["update_14_beyond_L2"] == pytest.approx(2 * BEYOND, rel=2e-2)
    assert again.psl(text, "", "2026-11-26", "sha256:0").count("update_14_beyond_L2 =") == 1


def test_blocks_of_a_class_have_their_costs_beyond_caches(tmp_path: Path) -> None:
    found = fit_costs(model(tmp_path), runs_of(), HARDWARE, LEVELS, cached_blocks(SKELETON))
    path = tmp_path / "stencil.psl"
    text = found.psl(SKELETON, "node_a", "2026-11-26", "sha256:0")
    path.write_text(named_blocks(text, found.costs))
    (tmp_path / "node_a.hmcl").write_text('config node_a { hardware { Desc = "made up"; } }')
    (tmp_path / "node_a.d").mkdir()
    (tmp_path / "node_a.d" / "stencil.hmcl").write_text(overlay("stencil", "node_a", found.costs, "made up"))
    assert check_files([path, tmp_path / "node_a.d" / "stencil.hmcl"], default_library()) == []
    assert "<is block, update_14_beyond_L2, nx ^ 2 * steps * max(0, 1 - " in path.read_text()
