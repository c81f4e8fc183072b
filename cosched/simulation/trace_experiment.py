"""The replay of a trace as an experiment: a row for each policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.scheduling.policies import SEARCHED
from cosched.simulation.experiment import Experiment, Option, Row
from cosched.simulation.replay import MOST_PROCESSORS, Conditions, pictures, replay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.policies import Policy
    from cosched.simulation.moldability import Moldability
    from cosched.simulation.replay import Replay
    from cosched.simulation.swf import Trace

__all__ = ["trace_experiment"]


def trace_experiment(
    trace: Trace, title: str, policies: Sequence[Policy], moldability: Moldability, *, requested: bool
) -> Experiment:
    """Return an experiment that replays a trace.

    Args:
        trace: at least one record.
        title: for people, the trace's name.
        policies: each is a row.
        moldability: model of run times on other numbers of processors.
        requested: predictions are the times that users asked for.
    """
    done: dict[tuple[float, ...], dict[str, Replay]] = {}  # a picture is drawn of what has been replayed for its row

    def replays(seed: int, options: Mapping[str, float]) -> dict[str, Replay]:
        key = (seed, *options.values())
        if key not in done:
            done[key] = replays_anew(seed, options)
        return done[key]

    def replays_anew(seed: int, options: Mapping[str, float]) -> dict[str, Replay]:
        conditions = Conditions(
            moldability,
            requested,
            options["noise"],
            options["least_slack"],
            options["most_slack"],
            int(options["generations"]),
            seed,
        )
        jobs, processors = int(options["jobs"]), int(options["processors"])
        return {str(policy): replay(trace, policy, conditions, jobs, processors) for policy in policies}

    def run(seed: int, options: Mapping[str, float]) -> list[Row]:
        return [found.row for found in replays(seed, options).values()]

    def draw(_rows: Sequence[Row], seed: int, options: Mapping[str, float]) -> dict[str, str]:
        return pictures(replays(seed, options), title)

    predicted = "predicted as users asked for" if requested else "predicted as recorded"
    jobs = f"{len(trace.records)} jobs recorded on {trace.processors} processors"
    return Experiment(
        name="trace",
        reproduces=f"{title}: {jobs}, {moldability}, {predicted}",
        keys=("policy", "jobs"),
        run=run,
        searches=any(policy in SEARCHED for policy in policies),
        options={
            "jobs": Option(0, "only so many from the start; 0: all", 0, 5e6),
            "processors": Option(0, "of the machine; 0: the trace's own", 0, MOST_PROCESSORS),
            "noise": Option(0.0, "standard deviation of ln(actual ÷ predicted)", 0, 2),
            "least_slack": Option(2.0, "deadline = submission + slack · run time, slack from here", 0, 1e6),
            "most_slack": Option(20.0, "to here", 0, 1e6),
            "generations": Option(10, "of the search at each change", 0, 100000),
        },
        pictures=draw,
        note=f"{trace.left_out} jobs that never ran are left out" if trace.left_out else "",
    )
