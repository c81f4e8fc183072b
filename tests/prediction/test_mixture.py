from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cosched.prediction.gaussian_process import Covariance, Places, Work, fitted
from cosched.prediction.mixture import Mixture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.prediction.gaussian_process import Fit

COVARIANCE = Covariance(2.0, np.array([1.0, 0.5, 0.0]), np.array([0.16]), np.ones(2))
FIRST, COUNT = 26, 30


def _places(count: int, seed: int = 1) -> Places:
    draw = np.random.default_rng(seed)
    points = np.column_stack((draw.normal(0, 1, (count, 2)), np.zeros(count)))
    return Places(points, draw.integers(0, 2, (count, 1)), np.arange(count, dtype=float))


def _seconds(places: Places) -> NDArray[np.float64]:
    draw = np.random.default_rng(2)
    work = np.exp(places.points @ [1.5, -0.7, 0.0] + np.sin(2 * places.points[:, 0]))
    return np.asarray((0.3 + work) * np.exp(draw.normal(0, 0.05, len(work))))


def _some(count: int) -> NDArray[np.bool_]:
    return np.arange(COUNT) < count


def _learnt(places: Places, seconds: NDArray[np.float64]) -> tuple[Mixture, list[Fit]]:
    startup = 0.8 * float(seconds.min())
    shares = 1 - startup / seconds
    works = [Work.alone(np.log(seconds)), Work(np.log(seconds - startup), shares, startup, 8.0)]
    fits = fitted(COVARIANCE, places, works)
    mixture = Mixture.of(COVARIANCE, places, fits)
    return mixture, [fit for fit in fits if fit.part in mixture.parts]


def _directly(fit: Fit, places: Places, seconds: NDArray[np.float64], there: Places) -> tuple[float, float]:
    """Return mean and variance of the logarithm of work elsewhere, from the whole covariance."""
    shares = 1 - fit.work.startup / seconds
    logs = np.log(seconds - fit.work.startup)
    scaled = COVARIANCE.between(places, places, fit.kernel) * np.outer(shares, shares)
    scaled += fit.kernel.noise**2 * np.eye(len(seconds))
    cross = COVARIANCE.between(there, places, fit.kernel)[0] * shares
    own = COVARIANCE.between(there, there, fit.kernel)[0, 0]
    return float(cross @ np.linalg.solve(scaled, shares * logs)), float(own - cross @ np.linalg.solve(scaled, cross))


def test_every_process_says_what_its_covariance_tells() -> None:
    places = _places(COUNT)
    there, seconds = Places(np.array([[0.4, -0.2, 0.0]]), np.array([[1]]), np.array([COUNT])), _seconds(places)
    mixture, fits = _learnt(places, seconds)
    said = mixture.said(there)
    assert len({bool(fit.work.startup) for fit in fits}) == 2
    for mean, variance, fit in zip(said.means[:, 0], said.variances[:, 0], fits, strict=True):
        assert (mean, variance) == pytest.approx(_directly(fit, places, seconds, there), abs=1e-6)


def test_a_run_that_is_added_has_every_process_say_what_all_runs_tell() -> None:
    places = _places(COUNT)
    there, seconds = Places(np.array([[0.4, -0.2, 0.0]]), np.array([[1]]), np.array([COUNT])), _seconds(places)
    mixture, fits = _learnt(places.of(_some(FIRST)), seconds[:FIRST])
    for number in range(FIRST, COUNT):
        place = places.of(np.arange(COUNT) == number)
        mixture = mixture.then(place, mixture.said(place), 0.0, seconds[number])
    said = mixture.said(there)
    kept = [fit for fit in fits if _same(mixture, fit)]
    assert len(kept) == len(mixture.parts) > 1
    for mean, variance, fit in zip(said.means[:, 0], said.variances[:, 0], kept, strict=True):
        assert (mean, variance) == pytest.approx(_directly(fit, places, seconds, there), abs=1e-6)


def _same(mixture: Mixture, fit: Fit) -> bool:
    """Return whether a fit is one of the mixture's."""
    kernel = np.array([*fit.kernel.coefficients(mixture.lengths), fit.kernel.noise**2])
    kernels = np.column_stack((mixture.coefficients, mixture.noise))
    same = np.isclose(kernels, kernel).all(axis=1)
    return bool((same & np.isclose(np.exp(mixture.log_startups), fit.work.startup)).any())


def test_a_run_that_no_process_expected_leaves_one_all_the_same() -> None:
    places = _places(COUNT)
    mixture, _ = _learnt(places.of(_some(COUNT - 1)), _seconds(places)[:-1])
    last = places.of(~_some(COUNT - 1))
    assert mixture.then(last, mixture.said(last), 0.0, 1e200).parts.max() == 1.0


def test_what_was_read_before_a_run_was_added_stays() -> None:
    places = _places(COUNT)
    mixture, _ = _learnt(places.of(_some(COUNT - 1)), _seconds(places)[:-1])
    last = places.of(~_some(COUNT - 1))
    said = mixture.said(last)
    for seconds in (0.1, 10.0):
        mixture.then(last, said, 0.0, seconds)
    assert mixture.said(last).means.tolist() == said.means.tolist()
