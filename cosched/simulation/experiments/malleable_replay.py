"""A recorded workload some of whose jobs are elastic, under every elastic policy, beside all of them rigid.

After Zojer, Posner and Özden: "Evaluating Malleable Job Scheduling in HPC Clusters using Real-World Workloads" (2026),
who replay traces of Cori, Eagle and Theta. Start at `malleable_replay`; jobs are run by `simulation.elastic_replay`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.errors import UserError
from cosched.scheduling.elastic.policy import ElasticPolicyName
from cosched.scheduling.elastic.tasks import ElasticParameters
from cosched.simulation.elastic_replay import ElasticChoice, replay_elastic, turnaround_row
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow, line_chart
from cosched.simulation.trace_replay import MOST_PROCESSORS, refuse_wide_jobs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.scheduling.formats.swf import WorkloadTrace

__all__ = ["EXPERIMENT", "malleable_replay"]

_SHARES = (0.0, 0.2, 0.5, 1.0)


def malleable_replay(trace: WorkloadTrace, title: str) -> Experiment:
    """Return the experiment on a trace.

    Args:
        trace: at least one record.
        title: for people, the trace's name.
    """

    def run(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
        return _rows(trace, seed, options)

    return Experiment(
        name=_NAME,
        reproduces=f"{title}, a part of its jobs elastic",
        keys=("policy", "share"),
        run=run,
        options=_OPTIONS,
        charts=_charts,
        pictures=1,
        note=_NOTE,
    )


def _rows(trace: WorkloadTrace, seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    records = trace.records[: int(options["jobs"]) or None]
    processors = int(options["processors"]) or trace.processors
    refuse_wide_jobs(records, processors)
    parameters = ElasticParameters(payback=options["payback"], backfill=True, seed=seed)
    rows: list[ResultRow] = []
    for policy in ElasticPolicyName:
        rigid: ResultRow = {}
        for share in _SHARES:
            choice = ElasticChoice(share, cost=options["cost"])
            runs = replay_elastic(records, processors, policy, choice, parameters)
            row = turnaround_row(records, runs, processors)
            rigid = rigid or row
            against = float(row["turnaround"] or 0.0) / float(rigid["turnaround"] or 1.0) - 1
            rows.append({"policy": str(policy), "share": share, **row, "against_rigid": against})
    return rows


def _charts(rows: Sequence[ResultRow], _seed: int, _options: Mapping[str, float]) -> dict[str, str]:
    labels = ("share of elastic jobs", "turnaround (s)")
    return {"turnaround": line_chart(rows, "share", "turnaround", "policy", "Elastic jobs in a trace", labels)}


def _without_trace(_seed: int, _options: Mapping[str, float]) -> list[ResultRow]:
    raise UserError(f"{_NAME} replays a trace: give one with --trace FILE")


_NAME = "malleable-replay"
_NOTE = (
    "Zojer et al. on three other traces, best strategy: turnaround -37 to -67 %, wait -73 to -99 %, most of it at 20 %"
)
_OPTIONS = {
    "jobs": ExperimentOption(0, "from the start of the trace; 0: all", 0, 10_000_000),
    "processors": ExperimentOption(0, "of the machine; 0: the trace's", 0, MOST_PROCESSORS),
    "cost": ExperimentOption(0.0, "seconds without progress at each change of a job's processors", 0, 1e6),
    "payback": ExperimentOption(2.0, "times its cost that a change must save (policy marginal)", 0, 1e4),
}

EXPERIMENT = Experiment(
    name=_NAME,
    reproduces="a recorded workload (--trace FILE), 0 to 100 % of its jobs elastic, under every elastic policy",
    keys=("policy", "share"),
    run=_without_trace,
    options=_OPTIONS,
    note=_NOTE,
    for_trace=malleable_replay,
)
