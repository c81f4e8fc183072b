"""Tables 2 and 3 and Figs 5 to 7 of the Titan paper: sixteen domains.

Spooner et al., "Predictive co-scheduling with Titan", section 5: 16 domains of 16 hosts, six kinds of hardware, 200,
500 and 1,000 requests at 1, 2 and 5 a second to random agents.

What the paper leaves open is settled thus. The kinds of hardware are one to four times as slow as the machine of the
published run times, in equal ratios: the published ranges of deadlines end at four times the time on one host there.
A1 and A8 are of the fastest kind, A6, A7, A12 and A16 of the slowest, as the paper names them for their spare capacity
and for being over-stretched; the others take the kinds between in turn. A deadline is uniform between the shortest time
of a kernel on the fastest kind and its time on one host of the slowest, plus an allowance for staging and latency. OFF:
every domain works off what is submitted to it, first come, first served, each user asking for an arbitrary number of
hosts, as in Table 1. ON: each domain under the genetic search, its agent handing over what would miss its deadline, and
what would end elsewhere in half of the time to its end here (`sooner`). Between both, to tell what does it:
CALCULATED, OFF with the host counts of fewest host-seconds, and LOCAL, ON without agents.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cosched.agents import AgentSettings, Peer, PeerRole
from cosched.agents.agent_settings import AdvertisingSettings
from cosched.drawing.gantt import GanttBar, gantt
from cosched.errors import UserError
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow, line_chart
from cosched.simulation.grid import Grid, GridDomain, GridSettings, GridTask, HostOutage, KernelKnowledge, host_names
from cosched.simulation.kernels import HOSTS, KERNELS, kernel_profile
from cosched.simulation.network import NetworkFaults, SimulatedNetwork
from cosched.simulation.placement_rules import PlacementRule
from cosched.simulation.simulated_domain import Calendar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.simulation.simulated_domain import SimulatedRun

__all__ = ["DOMAIN_NAMES", "EXPERIMENT", "GridConditions", "measured_row"]

_DOMAINS, _CLASSES, _SLOWEST = 16, 6, 4.0
_SLOWNESS = {f"class-{place + 1}": _SLOWEST ** (place / (_CLASSES - 1)) for place in range(_CLASSES)}
_KINDS = (1, 2, 3, 4, 5, 6, 6, 1, 2, 3, 4, 6, 5, 2, 3, 6)  # of A1 to A16
_LOADS = (200, 500, 1000)
_RATES = (1, 2, 5)
_SHOWN = ("OFF", "CALCULATED", "LOCAL", "ON")
_POLICIES = {"OFF": "fcfs-arbitrary", "CALCULATED": "fcfs-calculated"}  # of all others: the search
_WORKLOADS = ((200, 1), (500, 2), (1000, 5))  # low, medium and high
DOMAIN_NAMES = tuple(f"A{number + 1}" for number in range(_DOMAINS))


@dataclass(frozen=True, slots=True)
class GridConditions:
    """Faults of a run beyond the experiment's options, and its advertising; none by default.

    Attributes:
        faults: faults of the network; delay and loss are those of the options.
        outages: outages of domains' hosts.
        advertising: advertising of the agents, but for its scope.
    """

    faults: NetworkFaults = field(default_factory=NetworkFaults)
    outages: tuple[HostOutage, ...] = ()
    advertising: AdvertisingSettings = field(default_factory=AdvertisingSettings)


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    loads = [load for load in _LOADS if options["requests"] in (0, load)]
    rates = [rate for rate in _RATES if options["rate"] in (0, rate)]
    if not loads or not rates:
        raise UserError(
            "the paper has 200, 500 and 1000 requests at 1, 2 and 5 a second: "
            "give one of these as requests and rate, or 0 for all"
        )
    shown = [label for label in _SHOWN if label in ("OFF", "ON") or options["local"]]
    rows = []
    for load in loads:
        for rate in rates:
            found = [measured_row(load, rate, label, seed, options) for label in shown]
            rows += _with_reduction(found)
    return rows


def _with_reduction(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Add the reduction of each makespan against the first row, OFF."""
    off = float(rows[0]["makespan"] or 0)
    return [
        one | {"reduction": 1 - float(one["makespan"] or 0) / off if place else None} for place, one in enumerate(rows)
    ]


def measured_row(
    load: int, rate: int, label: str, seed: int, options: Mapping[str, float], conditions: GridConditions | None = None
) -> ResultRow:
    """Return the row of one cell.

    Args:
        load: number of requests.
        rate: requests a second.
        label: OFF, CALCULATED, LOCAL or ON; agents (the same as ON); or a `PlacementRule`, under the genetic search.
        seed: seed of everything drawn.
        options: options of this experiment.
        conditions: faults and advertising beyond the options.
    """
    tasks, found, grid = _run_requests(load, rate, label, seed, options, conditions or GridConditions())
    measured: ResultRow = {
        "requests": load,
        "rate": rate,
        "middleware": label,
        **_measures(tasks, found),
        "messages": grid.network.carried / len(tasks),
        "repeated": grid.repeated,
    }
    return measured | ({"bytes": grid.network.bytes / len(tasks)} if options["documents"] else {})


def _run_requests(
    load: int, rate: int, label: str, seed: int, options: Mapping[str, float], conditions: GridConditions
) -> tuple[list[GridTask], dict[str, tuple[str, SimulatedRun]], Grid]:
    """Return the requests, the domain and the run of each, and the grid."""
    tasks = _requests(load, rate, seed, options["allowance"])[: int(options["first"]) or None]
    faults = replace(conditions.faults, delay=options["delay"], loss=options["loss"])
    network = SimulatedNetwork(Calendar(), faults, seed)
    scope = _DOMAINS if options["tree"] else 0  # where all know each other, nobody advertises a third
    advertising = replace(conditions.advertising, scope=scope)
    agent = AgentSettings("", "", advertising=advertising, sooner=options["sooner"])
    settings = GridSettings(
        policy=_POLICIES.get(label, "genetic"),
        agents=label in ("ON", "agents"),
        generations=int(options["generations"]),
        agent=agent,
        noise=lambda name: random.Random(f"{seed}/{name}").lognormvariate(0.0, options["noise"]),  # noqa: S311  repeatable
        placement=PlacementRule(label) if label in set(PlacementRule) else PlacementRule.HOME,
        documents=bool(options["documents"]),
        outages=conditions.outages,
        seed=seed,
    )
    grid = Grid(_domains(tree=bool(options["tree"])), KernelKnowledge(_SLOWNESS), settings, network)
    return tasks, grid.run(tasks), grid


def _requests(load: int, rate: int, seed: int, allowance: float) -> list[GridTask]:
    """Draw the requests: the same for every middleware."""
    draw = random.Random(f"{seed}/{load}/{rate}")  # noqa: S311  a repeatable draw, not a secret
    tasks = []
    for number in range(load):
        kernel, domain = draw.choice(KERNELS), f"A{draw.randrange(_DOMAINS) + 1}"
        times = kernel_profile(kernel)
        slack = draw.uniform(times.shortest, _SLOWEST * times.on(1)) + allowance
        tasks.append(GridTask(f"r{number + 1}", kernel, domain, number / rate, number / rate + slack))
    return tasks


def _domains(*, tree: bool) -> list[GridDomain]:
    """Return the domains A1 to A16, in a tree or all acquainted.

    In the tree each has four lower agents.
    """
    domains = []
    for place, name in enumerate(DOMAIN_NAMES):
        if tree:
            upper = (Peer(DOMAIN_NAMES[(place - 1) // 4], PeerRole.UPPER),) if place else ()
            peers = upper + tuple(Peer(lower, PeerRole.LOWER) for lower in DOMAIN_NAMES[4 * place + 1 : 4 * place + 5])
        else:
            peers = tuple(Peer(other) for other in DOMAIN_NAMES if other != name)
        domains.append(GridDomain(name, HOSTS, f"class-{_KINDS[place]}", peers))
    return domains


def _measures(tasks: Sequence[GridTask], found: Mapping[str, tuple[str, SimulatedRun]]) -> ResultRow:
    runs = [run for _, run in found.values()]
    makespan = max(run.finished for run in runs) - min(run.started for run in runs)
    busy = sum(len(run.hosts) * (run.finished - run.started) for run in runs)
    early = [task.deadline - found[task.name][1].finished for task in tasks]
    return {
        "makespan": makespan,
        "average_delay": statistics.fmean(early),
        "utilisation": busy / (makespan * _DOMAINS * HOSTS),
        "on_time": sum(value >= 0 for value in early) / len(tasks),
        "moved": sum(found[task.name][0] != task.domain for task in tasks) / len(tasks),
    }


def _charts(rows: Sequence[ResultRow], seed: int, options: Mapping[str, float]) -> dict[str, str]:
    """Draw Tables 2 and 3, Figs 6 and 7, and runs as in Fig. 5.

    The runs are those of one load.
    """
    both = [one | {"line": str(one["middleware"])} for one in rows]
    both += [one | {"line": f"{one['middleware']}, paper"} for one in _published() if _is_shown(one, rows)]
    typical = [one for one in both if (one["requests"], one["rate"]) in _WORKLOADS] or both
    charts = (
        ("average_delay", typical, "Fig. 6: time before the deadline", "mean of deadline - end (s)"),
        ("utilisation", typical, "Fig. 7: utilisation", "share of the hosts' time"),
        ("on_time", typical, "Table 3: deadlines met", "share of the requests"),
        *(
            (
                f"makespan-{rate}",
                [one for one in both if one["rate"] == rate],
                f"Table 2: makespan, {rate} requests a second",
                "makespan (s)",
            )
            for rate in dict.fromkeys(one["rate"] for one in rows)
        ),
    )
    found = {
        name: line_chart(some, "requests", name.partition("-")[0], "line", title, ("requests", label), "paper")
        for name, some, title, label in charts
    }
    if options["requests"] and options["rate"]:
        for one in rows:
            label = str(one["middleware"])
            found[f"runs-{label}"] = _gantt_of_runs(
                int(options["requests"]), int(options["rate"]), label, seed, options
            )
    return found


def _is_shown(published: ResultRow, rows: Sequence[ResultRow]) -> bool:
    return any(all(one[key] == published[key] for key in ("requests", "rate", "middleware")) for one in rows)


def _gantt_of_runs(load: int, rate: int, label: str, seed: int, options: Mapping[str, float]) -> str:
    tasks, found, _ = _run_requests(load, rate, label, seed, options, GridConditions())
    due = {task.name: task.deadline for task in tasks}
    bars = [
        GanttBar(name, run.application, run.hosts, run.started, run.finished, due[name])
        for name, (_, run) in found.items()
    ]
    hosts = [name for domain in reversed(_domains(tree=False)) for name in host_names(domain)]
    return gantt(bars, hosts, f"{load} requests at {rate} a second, middleware {label}, seed {seed}", origin=0.0)


def _published() -> list[ResultRow]:
    """Return Table 2, and Table 3 where it has a figure."""
    table = {
        (200, 1): ((839, -1, 24), (302, 78, 51)),
        (200, 2): ((812, -36, 25), (245, 72, 50)),
        (200, 5): ((814, -64, 24), (218, 62, 49)),
        (500, 1): ((1784, -112, 28), (633, 78, 57)),
        (500, 2): ((1752, -205, 29), (461, 66, 57)),
        (500, 5): ((1877, -276, 27), (305, 32, 68)),
        (1000, 1): ((2752, -314, 36), (1160, 79, 61)),
        (1000, 2): ((2606, -493, 39), (669, 65, 74)),
        (1000, 5): ((2756, -681, 36), (467, -6, 77)),
    }
    met = {(200, 1): (0.57, 0.89), (500, 2): (0.27, 0.83), (1000, 5): (0.09, 0.50)}
    return [
        {
            "requests": load,
            "rate": rate,
            "middleware": label,
            "makespan": float(makespan),
            "average_delay": float(delay),
            "utilisation": utilisation / 100,
            "on_time": met[load, rate][place] if (load, rate) in met else None,
            "reduction": 1 - makespan / pair[0][0] if place else None,
        }
        for (load, rate), pair in table.items()
        for place, (label, (makespan, delay, utilisation)) in enumerate(zip(("OFF", "ON"), pair, strict=True))
    ]


EXPERIMENT = Experiment(
    name="titan-table-2",
    reproduces="Titan paper, Tables 2 and 3: 16 domains with the predictive middleware OFF and ON",
    keys=("requests", "rate", "middleware"),
    run=_rows,
    searches=True,
    options={
        "requests": ExperimentOption(0, "only this load: 200, 500 or 1000; 0: all", 0, 1000),
        "rate": ExperimentOption(0, "only this rate a second: 1, 2 or 5; 0: all", 0, 5),
        "first": ExperimentOption(0, "run only the first N requests of each load; 0: all", 0, 1000),
        "local": ExperimentOption(
            0, "1: also LOCAL, the search without agents, and CALCULATED, OFF with the cheapest host counts", 0, 1
        ),
        "sooner": ExperimentOption(
            0.5, "of the time to its end, by which a task in time must end sooner to be moved", 0, 1
        ),
        "tree": ExperimentOption(0, "1: agents in a tree of four lower ones each; 0: each knows all others", 0, 1),
        "allowance": ExperimentOption(10.0, "seconds for staging and latency in every deadline", 0, 1e4),
        "noise": ExperimentOption(0.0, "standard deviation of ln(actual ÷ predicted)", 0, 2),
        "delay": ExperimentOption(0.05, "mean seconds of a letter", 0, 60),
        "loss": ExperimentOption(0.0, "share of the letters that are lost", 0, 0.5),
        "documents": ExperimentOption(0, "1: letters pass through their XML documents, as between daemons", 0, 1),
        "generations": ExperimentOption(20, "of each domain's search at each change", 0, 100000),
    },
    paper=_published(),
    charts=_charts,
    pictures=4,
    note="average_delay is positive when early; hardware classes and OFF are ours, see docs/experiments.md",
)
