from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cosched.evaluation import load
from cosched.language import check_files, format_source, read
from cosched.scheduling.decoding.holes import Holes
from cosched.scheduling.tunable.modelled import modelled_chains
from cosched.scheduling.tunable.tasks import TunableTask, admit

FOLDER = Path(__file__).parents[2] / "examples" / "junctions"


@pytest.fixture(scope="module")
def steps() -> Any:
    specification = importlib.util.spec_from_file_location("junction_steps", FOLDER / "junctions.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["junction_steps"] = module
    specification.loader.exec_module(module)
    return module


def detected(steps: Any, picture: Any, granularity: int, distance: int, parts: int = 1) -> np.ndarray:
    rows = picture.pixels.shape[0]
    bounds = [rows * part // parts for part in range(parts + 1)]
    strips = list(pairwise(bounds))
    points = np.concatenate([steps.sample(picture.pixels, *strip, granularity) for strip in strips])
    regions = [steps.mark(picture.pixels.shape, points, *strip, distance) for strip in strips]
    found = [steps.examine(picture.pixels, region, first) for region, (first, _) in zip(regions, strips, strict=True)]
    return np.concatenate(found)


def test_a_fine_sample_finds_the_junctions_that_were_drawn(steps: Any) -> None:
    picture = steps.draw(160, 9, 3)
    assert picture.junctions.shape == (36, 2)
    assert steps.quality(steps.strongest(detected(steps, picture, 1, 2)), picture.junctions) > 0.9


def test_a_coarse_sample_is_made_up_for_by_larger_regions(steps: Any) -> None:
    picture = steps.draw(160, 9, 3)
    found = {
        (granularity, distance): steps.quality(
            steps.strongest(detected(steps, picture, granularity, distance)), picture.junctions
        )
        for granularity, distance in ((16, 5), (256, 3), (256, 16))
    }
    assert found[16, 5] > 0.9
    assert found[256, 3] < found[256, 16]


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_strips_give_what_the_whole_image_gives(steps: Any, parts: int) -> None:
    picture = steps.draw(96, 4, 1)
    whole, strips = detected(steps, picture, 16, 5), detected(steps, picture, 16, 5, parts)
    assert np.array_equal(whole[np.lexsort(whole.T[::-1])], strips[np.lexsort(strips.T[::-1])])


def test_quality_counts_what_is_missed_and_what_is_false(steps: Any) -> None:
    true = np.array([[10.0, 10.0], [50.0, 50.0]])
    assert steps.quality(true, true) == 1.0
    assert steps.quality(true[:1] + 1, true) == pytest.approx(2 / 3)
    assert steps.quality(np.array([[90.0, 90.0]]), true) == 0.0
    assert steps.quality(np.empty((0, 2)), true) == 0.0


@pytest.mark.daemon
def test_what_was_measured_fills_a_model_that_can_be_planned(tmp_path: Path) -> None:
    out = tmp_path / "measured.psl"
    size = ["--size", "96", "--shapes", "4", "--images", "1", "--repeats", "1", "--processes", "2"]
    done = subprocess.run(
        [sys.executable, str(FOLDER / "measure.py"), "--out", str(out), *size],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"granularity \d+, distance \d+: quality [01]\.\d{3}", done.stdout)) == 4
    assert check_files([out]) == []
    assert format_source(read(out)) == read(out).text
    ways = modelled_chains(load(out), None, {"images": 2}, 2).chains
    assert {dict(way.path.values)["granularity"] for way in ways} == {1, 16, 64, 256}
    assert [len(way.chain.stages) for way in ways] == [6] * len(ways)
    finest = next(way for way in ways if dict(way.path.values)["granularity"] == 1)
    assert finest.chain.quality > 0.5
    assert admit(Holes([0.0, 0.0]), TunableTask("t", 0.0, tuple(way.chain for way in ways))) is not None


@pytest.mark.daemon
def test_bad_arguments_are_refused(tmp_path: Path) -> None:
    for wrong in (["--images", "0"], ["--out", str(tmp_path / "two words.psl")]):
        command = [sys.executable, str(FOLDER / "measure.py"), *wrong]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
