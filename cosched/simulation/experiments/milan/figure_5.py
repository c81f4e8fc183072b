"""Figure 5 of the MILAN paper: four arrivals of one tunable job.

They come to eight processors under the greedy heuristic.

Chang, Karamcheti, Kedem: "Exploiting Application Tunability for Efficient, Predictable Parallel Resource Management".
Deadlines count from a job's arrival. Nothing is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cosched.scheduling.decoding.holes import Holes
from cosched.scheduling.tunable.tasks import Chain, Stage, TunableTask, admit
from cosched.simulation.chain_domain import serve_chains
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EXPERIMENT"]

_HOSTS = 8
_CHAINS = {
    "s1": Chain((Stage(5, 10.0, 30.0), Stage(2, 15.0, 60.0))),
    "s2": Chain((Stage(3, 15.0, 30.0), Stage(7, 5.0, 60.0))),
}
_ARRIVALS = {"J1": 0.0, "J2": 4.0, "J3": 10.0, "J4": 17.0}


def _rows(_seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    return _by_core() if options.get("core") else _by_arbitrator()


def _by_core() -> list[ResultRow]:
    """Return what the daemon's core makes of the jobs; of its plan no holes are kept."""
    served = serve_chains(list(_ARRIVALS.values()), list(_CHAINS.values()), _HOSTS)
    return [
        {
            "job": job,
            "arrival": arrival,
            "configuration": "refused" if found is None else list(_CHAINS)[found.chain],
            "finish": None if found is None else found.end,
            "holes": "",
        }
        for (job, arrival), found in zip(_ARRIVALS.items(), served, strict=True)
    ]


def _by_arbitrator() -> list[ResultRow]:
    holes = Holes([0.0] * _HOSTS)
    rows: list[ResultRow] = []
    for job, arrival in _ARRIVALS.items():
        holes.forget(arrival)
        placement = admit(holes, TunableTask(job, arrival, tuple(_CHAINS.values())))
        rows.append(
            {
                "job": job,
                "arrival": arrival,
                "configuration": "refused" if placement is None else list(_CHAINS)[placement.chain],
                "finish": None if placement is None else placement.end,
                "holes": " ".join(f"({begin:g},{end:g},{hosts})" for begin, end, hosts in holes.maximal),
            }
        )
    return rows


EXPERIMENT = Experiment(
    name="milan-figure-5",
    reproduces="MILAN paper, Fig. 5: which of two configurations four jobs get on 8 processors",
    keys=("job", "arrival", "configuration", "holes"),
    run=_rows,
    paper=(
        {"job": "J1", "arrival": 0.0, "configuration": "s2", "finish": 20.0},
        {"job": "J2", "arrival": 4.0, "configuration": "s1"},
        {"job": "J3", "arrival": 10.0, "configuration": "s2", "finish": 40.0},
        {"job": "J4", "arrival": 17.0, "configuration": "s2"},
    ),
    options={"core": ExperimentOption(0, "1: through the daemon's core, in virtual time", 0, 1)},
    note="holes: (t_b, t_e, processors) after the job is placed; what of them lies in the past is left out",
)
