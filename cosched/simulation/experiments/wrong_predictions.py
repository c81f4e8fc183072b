"""Compare policies under wrong predictions: realised makespan and deadlines met.

Plans are made on predictions; what a task really takes is its prediction times a log-normal factor of its own, the same
under every policy. The domain sees only what the daemon would see: who is still running, and who has ended.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.policies import POLICIES, USER_COUNT_POLICIES
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow, line_chart
from cosched.simulation.kernel_batch import run_batch
from cosched.simulation.kernels import HOSTS, KernelTask, draw_kernel_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.prediction.profile import Profile
    from cosched.simulation.simulated_domain import SimulatedRun

__all__ = ["EXPERIMENT"]

_ERRORS = (0.0, 0.05, 0.12, 0.30)
_PLAIN = (*USER_COUNT_POLICIES, "easy", "conservative", "edf", "two-phase", "tunable")
_MAPPED = tuple(sorted(name for name, policy in POLICIES.items() if policy.one_host and policy.online))
_SEARCHES = ("titan-classic", "genetic")


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    orders = _orders(seed, options)
    rows = []
    for sigma in _ERRORS:
        for label, settings in _policies(sigma, options["quantile"]).items():
            runs = run_batch(orders, noise=sigma, seed=seed, generations=int(options["generations"]), **settings)
            rows.append(_row(sigma, label, orders, runs))
    return rows


def _orders(seed: int, options: Mapping[str, float]) -> list[KernelTask]:
    """Draw tasks with deadlines equally hard to meet for long and short queues."""
    count = int(options["tasks"])
    stretch = max(1.0, count / (2 * HOSTS))
    return [KernelTask(order.kernel, order.relative_deadline * stretch) for order in draw_kernel_tasks(count, seed)]


def _policies(sigma: float, quantile: float) -> dict[str, dict[str, Any]]:
    """Return how each labelled policy is run."""
    found: dict[str, dict[str, Any]] = {policy: {"policy": policy} for policy in (*_PLAIN, *_MAPPED, *_SEARCHES)}
    first = Weights(deadlines_first=True)
    found["genetic, deadlines first"] = {"policy": "genetic", "weights": first}
    careful = _at_quantile(sigma, quantile)
    found["genetic, robust"] = {"policy": "genetic", "predict": careful}
    found["genetic, deadlines first, robust"] = {"policy": "genetic", "weights": first, "predict": careful}
    return found


def _at_quantile(sigma: float, quantile: float) -> Callable[[Profile], Profile]:
    """Return a prediction that knows its error and plans for a share of the runs."""

    def predict(profile: Profile) -> Profile:
        spread = [sigma] * len(profile.seconds)
        return profile.with_spread(spread, spread).at_quantile(quantile)

    return predict


def _row(sigma: float, label: str, orders: Sequence[KernelTask], runs: Sequence[SimulatedRun]) -> ResultRow:
    late = [max(0.0, run.finished - orders[int(run.task) - 1].relative_deadline) for run in runs]
    return {
        "error": sigma,
        "policy": label,
        "makespan": max(run.finished for run in runs),
        "on_time": sum(value == 0 for value in late) / len(late),
        "lateness": statistics.fmean(late),
    }


def _charts(rows: Sequence[ResultRow], _seed: int, _options: Mapping[str, float]) -> dict[str, str]:
    title = "Plans made on wrong predictions"
    x = "standard deviation of ln(actual ÷ predicted)"
    return {
        "makespan": line_chart(rows, "error", "makespan", "policy", title, (x, "makespan (s)")),
        "on-time": line_chart(rows, "error", "on_time", "policy", title, (x, "share of deadlines met")),
    }


EXPERIMENT = Experiment(
    name="wrong-predictions",
    reproduces="Beyond the papers: what wrong predictions (log-normal 0, 5, 12, 30 %) do to each policy",
    keys=("error", "policy"),
    run=_rows,
    searches=True,
    options={
        "tasks": ExperimentOption(30, "how many tasks, of all seven kernels, on 16 hosts", 1, 5000),
        "generations": ExperimentOption(100, "of the search at each change", 0, 100000),
        "quantile": ExperimentOption(0.8, "of the run times that robust plans are made on", 0.01, 0.99),
    },
    charts=_charts,
    pictures=2,
)
