from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cosched.errors import UserError
from cosched.evaluation import Hardware, error, load, profile
from cosched.language import Source, check_files, format_source
from cosched.modelling.fitting import fit_runs
from cosched.modelling.points import TimedRun
from cosched.modelling.writing import check_name, check_text, model_name, model_text
from tests.exploring import examples
from tests.modelling.makers import stencil_runs

if TYPE_CHECKING:
    from cosched.modelling.fitting import Fitted

pytestmark = pytest.mark.xdist_group("fitted-models")  # each kind is fitted once

HOSTS = Hardware("any", {}, {})


def cached_runs() -> list[TimedRun]:
    return [
        TimedRun({"n": n}, 1, 1e-9 * n**2 * (1 + 2 * max(0.0, 1 - 65536 / (8 * n**2))), memory=4e6 + 8 * n**2)
        for n in (16, 32, 48, 64, 80, 100, 128, 180, 256, 400)
    ]


def curved_runs() -> list[TimedRun]:
    return [
        TimedRun({"n": n}, 1, 1e-4 * n * (1.6 + 0.6 * float(np.tanh(2 * np.log(n / 900)))))
        for n in np.geomspace(30, 30000, 40).round().tolist()
    ]


KINDS: dict[str, tuple[list[TimedRun], list[float]]] = {
    "sum": (stencil_runs(), []),
    "one count": (stencil_runs(counts=(2,)), []),
    "caches": (cached_runs(), [65536.0]),
    "curve": (curved_runs(), []),
    "wide": (stencil_runs(noise=0.6), []),
}


@cache
def fitted_to(kind: str) -> Fitted:
    """Fit the runs of a kind, once: each process that collects tests would do it at import."""
    runs, caches = KINDS[kind]
    return fit_runs("heat", runs, caches)


@pytest.fixture(params=KINDS)
def fitted(request: pytest.FixtureRequest) -> Fitted:
    return fitted_to(str(request.param))


def test_each_kind_of_law_is_there() -> None:
    assert fitted_to("caches").chosen.name == "1 term and caches"
    assert "curve" in fitted_to("curve").chosen.name
    assert fitted_to("wide").error > 0.5


def test_cosched_gives_the_fitted_numbers(fitted: Fitted, tmp_path: Path) -> None:
    file = tmp_path / "heat.psl"
    file.write_text(model_text(fitted, "2026-11-23"))
    assert check_files([file]) == []
    model, drawn = load(file), np.random.default_rng(1)
    for _ in range(20):
        given = {}
        for name in fitted.points.names:
            least, most = fitted.seen.limits(name)
            given[name] = min(most, max(least, float(np.exp(drawn.uniform(np.log(least), np.log(most))))))
        for count in {*fitted.seen.processors, *([3, 16] if fitted.points.processors_vary else [])}:
            expected = fitted.predict(given, count)
            assert profile(model, HOSTS, [count], given)[0] == pytest.approx(expected, rel=1e-6)
            stated = error(model, HOSTS, [count], given)
            assert stated is not None
            wanted = fitted.error_at(given, count)
            assert stated.above[0] == pytest.approx(wanted)
            assert stated.below[0] == pytest.approx(wanted / (1 + wanted))


def test_the_layout_is_canonical(fitted: Fitted) -> None:
    text = model_text(fitted, "2026-11-23")
    assert format_source(Source("heat.psl", text)) == text
    assert f'samples = "{fitted.digest}"' in text
    assert 'fitted = "2026-11-23"' in text


def test_other_numbers_of_hosts_are_not_covered_by_runs_on_one(tmp_path: Path) -> None:
    file = tmp_path / "heat.psl"
    file.write_text(model_text(fitted_to("one count"), "2026-11-23"))
    assert np.isfinite(profile(load(file), HOSTS, [1, 2, 3])).tolist() == [False, True, False]


def test_a_value_that_never_varied_is_kept_exactly(tmp_path: Path) -> None:
    runs = [TimedRun({"n": n, "x": 0.1 + 0.2, "y": 1e300}, 1, n) for n in (1, 2, 3, 4)]
    file = tmp_path / "p.psl"
    file.write_text(model_text(fit_runs("p", runs), "2026-11-23"))
    assert profile(load(file), HOSTS, [1], {"n": 3, "x": 0.1 + 0.2, "y": 1e300})[0] == pytest.approx(3)


def test_a_program_names_its_model() -> None:
    assert [model_name(name) for name in ("heat", "heat-2d.py", "a b.sh", "é")] == ["heat", "heat_2d", "a_b", "_"]


def test_names_and_texts_that_would_break_a_model_are_refused() -> None:
    for name in ("", "1a", "a-b", "loop", "max", "Nproc", "hardware", "run", "a" * 81, "é"):
        with pytest.raises(UserError, match="PSL"):
            check_name(name, "parameter")
    for text in ("a *) b", "(* a", 'a"b', "a\nb", "\x1b[2J", "a" * 201):
        with pytest.raises(UserError, match="cannot stand in a model"):
            check_text(text, "class")
    check_name("nx", "parameter")
    check_text("node_a, rack 3", "class")


NUMBERS = st.one_of(st.integers(1, 5000).map(float), st.floats(1e-6, 1e12))
TIMES = st.floats(1e-9, 3e8)


@settings(max_examples=examples(3), phases=[Phase.explicit, Phase.generate])  # an example takes a second
@given(st.data(), st.integers(1, 3), st.integers(3, 12))
def test_any_runs_make_a_sound_model_or_one_line(data: st.DataObject, count: int, several: int) -> None:
    values = data.draw(st.lists(st.tuples(*[NUMBERS] * count), min_size=several, max_size=several))
    times = data.draw(st.lists(TIMES, min_size=several, max_size=several))
    processors = data.draw(st.lists(st.sampled_from([1, 2, 7]), min_size=several, max_size=several))
    runs = [
        TimedRun(dict(zip("abc", place, strict=False)), ranks, seconds)
        for place, ranks, seconds in zip(values, processors, times, strict=True)
    ]
    try:
        fitted = fit_runs("p", runs)
    except UserError as refusal:
        said = str(refusal)
    else:
        said = ""
        with TemporaryDirectory() as folder:
            file = Path(folder, "p.psl")
            file.write_text(model_text(fitted, "2026-11-23"))
            assert check_files([file]) == []
            model = load(file)
            for run in runs:
                expected = fitted.predict(run.parameters, run.processors)
                assert profile(model, HOSTS, [run.processors], run.parameters)[0] == pytest.approx(expected, rel=1e-6)
                assert error(model, HOSTS, [run.processors], run.parameters) is not None
    assert "\n" not in said
