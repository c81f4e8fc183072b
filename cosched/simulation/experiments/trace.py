"""The replay of a recorded workload as an experiment: a row for each policy; start at `trace_experiment`.

`trace_replay` has the policies that run a domain, by the daemon's core; `elastic_replay` those for elastic jobs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.drawing.axes import AxisKind
from cosched.drawing.plot import Line, line_plot
from cosched.errors import UserError
from cosched.scheduling.elastic.policy import ElasticPolicyName
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.policies import POLICIES, PolicyName
from cosched.simulation.elastic_replay import ElasticChoice, elastic_trace_replay
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow
from cosched.simulation.trace_predictions import PassedPrediction, Predictions
from cosched.simulation.trace_replay import (
    MOST_PROCESSORS,
    Moldability,
    ReplayConditions,
    TraceReplay,
    replay_trace,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.formats.swf import WorkloadTrace

__all__ = ["REPLAY_POLICIES", "trace_experiment", "wait_charts"]

_NOBODY_ELASTIC = ElasticChoice()
_ELASTIC = tuple(name for name, policy in POLICIES.items() if policy.reshapes)
REPLAY_POLICIES = tuple(name for name, policy in POLICIES.items() if policy.online or policy.reshapes)
"""Policies that can replay a trace."""

_PREDICTED = {
    Predictions.RECORDED: "predicted as recorded",
    Predictions.REQUESTED: "predicted as users asked for",
    Predictions.LAST_TWO: "predicted by users' last two jobs",
    Predictions.RUNS: "predicted by users' earlier jobs",
}
_OPTIONS = {
    "jobs": ExperimentOption(0, "only so many from the start; 0: all", 0, 5e6),
    "processors": ExperimentOption(0, "of the machine; 0: the trace's own", 0, MOST_PROCESSORS),
    "noise": ExperimentOption(0.0, "standard deviation of ln(actual ÷ predicted)", 0, 2),
    "least_slack": ExperimentOption(2.0, "deadline = submission + slack · request, slack from here", 0, 1e6),
    "most_slack": ExperimentOption(20.0, "to here", 0, 1e6),
    "passed": ExperimentOption(
        0, "a job outlives its prediction: 1 as asked for, 2 increments, 3 doubled; 0: as the daemon", 0, 3
    ),
    "as_asked": ExperimentOption(0, "1: processors and longest run time are those asked for", 0, 1),
    "generations": ExperimentOption(10, "of the search at each change", 0, 100000),
    "payback": ExperimentOption(2.0, "times its cost that a change must save (policy marginal)", 0, 1e4),
    "quantile": ExperimentOption(0.5, "plan with times that so many of the runs stay below", 0.01, 0.99),
}


def wait_charts(replays: Mapping[str, TraceReplay], title: str) -> dict[str, str]:
    """Return charts of waits as SVG by name.

    They show the share of the jobs that wait at most some time, by policy.
    """
    lines = []
    for name, found in replays.items():
        ordered = sorted(found.waits)
        steps = sorted({round(index * (len(ordered) - 1) / 200) for index in range(201)})
        lines.append(
            Line(name, [max(ordered[step], 1.0) for step in steps], [(step + 1) / len(ordered) for step in steps])
        )
    return {
        "waits": line_plot(
            lines, f"{title}: waits", "wait at most (s)", "share of the jobs", across=AxisKind.LOGARITHMIC
        )
    }


def trace_experiment(
    trace: WorkloadTrace,
    title: str,
    policies: Sequence[PolicyName],
    moldability: Moldability,
    predictions: Predictions,
    objective: ObjectiveName = ObjectiveName.BALANCED,
    choice: ElasticChoice = _NOBODY_ELASTIC,
) -> Experiment:
    """Return an experiment that replays a trace.

    Args:
        trace: at least one record.
        title: for people, the trace's name.
        policies: each is a row.
        moldability: model of run times on other numbers of processors.
        predictions: their origin.
        objective: what a search minimises.
        choice: who is elastic.

    Raises:
        UserError: a policy does not replay such jobs, or not by such predictions.
    """
    for policy in policies:
        _refuse_misfit(policy, predictions, choice)
    done: dict[tuple[float, ...], dict[str, TraceReplay]] = {}  # charts are drawn of the replays that gave the rows

    def replays(seed: int, options: Mapping[str, float]) -> dict[str, TraceReplay]:
        key = (seed, *options.values())
        if key not in done:
            _refuse_generations(policies, int(options["generations"]))
            assumed = ReplayConditions(moldability, predictions, objective=objective, seed=seed)
            conditions = _with_options(assumed, options)
            jobs, processors = int(options["jobs"]), int(options["processors"])
            done[key] = {
                str(each): elastic_trace_replay(
                    trace, ElasticPolicyName(each), conditions, choice, options["payback"], jobs, processors
                )
                if each in _ELASTIC
                else replay_trace(trace, each, conditions, jobs, processors)
                for each in policies
            }
        return done[key]

    def run(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
        return [found.row for found in replays(seed, options).values()]

    def draw(_rows: Sequence[ResultRow], seed: int, options: Mapping[str, float]) -> dict[str, str]:
        return wait_charts(replays(seed, options), title)

    predicted = _PREDICTED[predictions]
    jobs = f"{len(trace.records)} jobs recorded on {trace.processors} processors"
    return Experiment(
        name="trace",
        reproduces=f"{title}: {jobs}, {moldability}, {_said(choice)}{predicted}",
        keys=("policy", "jobs"),
        run=run,
        searches=_search(policies),
        options=_OPTIONS,
        charts=draw,
        pictures=1,
        note=f"{trace.left_out} jobs that never ran are left out" if trace.left_out else "",
    )


def _refuse_misfit(policy: PolicyName, predictions: Predictions, choice: ElasticChoice) -> None:
    able = ", ".join(_ELASTIC)
    if choice.any and policy not in _ELASTIC:
        raise UserError(f"{policy} replays jobs that keep their processors, and here some are elastic: choose {able}")
    if policy in _ELASTIC and predictions is not Predictions.RECORDED:
        raise UserError(f"{policy} knows how long jobs take: leave --predictions and --requested out")


def _search(policies: Sequence[PolicyName]) -> bool:
    return any(POLICIES[policy].searched for policy in policies)


def _refuse_generations(policies: Sequence[PolicyName], generations: int) -> None:
    """Refuse a number of generations that elastic policies would ignore, and no policy beside them takes."""
    elastic = any(policy in _ELASTIC for policy in policies)
    if elastic and not _search(policies) and generations != _OPTIONS["generations"].default:
        names = " and ".join(policies)
        verb = "searches" if len(policies) == 1 else "search"
        raise UserError(f"{names} {verb} nothing: leave --set generations={generations} out")


def _said(choice: ElasticChoice) -> str:
    if choice.listed is not None:
        return f"{len(choice.listed)} of them elastic, "
    return f"{choice.share:.0%} of them elastic, " if choice.share else ""


def _with_options(conditions: ReplayConditions, options: Mapping[str, float]) -> ReplayConditions:
    """Return the assumptions of a replay with those that are options of the experiment."""
    return replace(
        conditions,
        noise=options["noise"],
        least_slack=options["least_slack"],
        most_slack=options["most_slack"],
        as_asked=bool(options["as_asked"]),
        passed=PassedPrediction(int(options["passed"])),
        generations=int(options["generations"]),
        quantile=options["quantile"],
    )
