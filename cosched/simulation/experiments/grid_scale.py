"""Beyond the papers: letters a request and memory, up to a thousand domains.

The agents form a tree. All requests go to one domain in twenty, and some cannot be in time there. There is no search in
the domains: how good their plans are has nothing to do with how the agents' work grows.
"""

from __future__ import annotations

import random
import resource
import time
from typing import TYPE_CHECKING

from cosched.agents import AgentSettings, Peer, PeerRole
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow, line_chart
from cosched.simulation.grid import Grid, GridDomain, GridSettings, GridTask, KernelKnowledge
from cosched.simulation.kernels import KERNELS, kernel_profile
from cosched.simulation.network import NetworkFaults, SimulatedNetwork
from cosched.simulation.simulated_domain import Calendar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["EXPERIMENT"]

_SIZES = (10, 100, 1000)
_SLOWNESS = {f"class-{place + 1}": 4.0 ** (place / 5) for place in range(6)}
_CROWDED = 20  # one domain in so many gets all requests


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    """Return a row for each size, ascending.

    Memory is the most that the process has had so far.
    """
    return [_row(size, seed, options) for size in _SIZES if size <= options["largest"]]


def _row(domains: int, seed: int, options: Mapping[str, float]) -> ResultRow:
    began = time.process_time()
    network = SimulatedNetwork(Calendar(), NetworkFaults(), seed)
    settings = GridSettings(
        policy="genetic",
        agents=True,
        generations=None,
        agent=AgentSettings("", ""),
        noise=lambda _name: 1.0,
        documents=bool(options["documents"]),
        seed=seed,
    )
    tree = _tree(domains, int(options["hosts"]), int(options["branches"]))
    grid = Grid(tree, KernelKnowledge(_SLOWNESS), settings, network)
    tasks = _requests(domains, seed, options)
    found = grid.run(tasks)
    advertising = sum(figures.spreading for figures in grid.figures())
    moved = sum(found[task.name][0] != task.domain for task in tasks)
    return {
        "domains": domains,
        "hosts": domains * int(options["hosts"]),
        "requests": len(tasks),
        "on_time": sum(found[task.name][1].finished <= task.deadline for task in tasks) / len(tasks),
        "moved": moved / len(tasks),
        "messages": network.carried / len(tasks),
        "negotiating": (network.carried - advertising) / len(tasks),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "processor": time.process_time() - began,
    }


def _tree(domains: int, hosts: int, branches: int) -> list[GridDomain]:
    """Return the domains as a tree; kinds of hardware in turn."""
    names = [f"D{number}" for number in range(domains)]
    found = []
    for place, name in enumerate(names):
        upper = (Peer(names[(place - 1) // branches], PeerRole.UPPER),) if place else ()
        lower = tuple(Peer(other, PeerRole.LOWER) for other in names[branches * place + 1 : branches * (place + 1) + 1])
        found.append(GridDomain(name, hosts, f"class-{place % len(_SLOWNESS) + 1}", upper + lower))
    return found


def _requests(domains: int, seed: int, options: Mapping[str, float]) -> list[GridTask]:
    """Draw requests, each as far into the span as any other, to the crowded domains."""
    draw = random.Random(f"{seed}/{domains}")  # noqa: S311  a repeatable draw, not a secret
    crowded = draw.sample(range(domains), max(1, domains // _CROWDED))
    tasks = []
    for number in range(domains * int(options["requests"])):
        kernel, domain, at = draw.choice(KERNELS), f"D{draw.choice(crowded)}", draw.uniform(0, options["span"])
        times = kernel_profile(kernel)
        slack = draw.uniform(times.shortest, 4.0 * times.on(1)) + options["allowance"]
        tasks.append(GridTask(f"r{number + 1}", kernel, domain, at, at + slack))
    return tasks


def _charts(rows: Sequence[ResultRow], _seed: int, _options: Mapping[str, float]) -> dict[str, str]:
    labelled = [one | {"line": "letters"} for one in rows]
    return {
        "messages": line_chart(labelled, "domains", "messages", "line", "Letters a request", ("domains", "letters"))
    }


EXPERIMENT = Experiment(
    name="grid-scale",
    reproduces="Beyond the papers: letters a request and memory with 10, 100 and 1,000 domains of 256 hosts",
    keys=("domains", "hosts", "requests"),
    run=_rows,
    machine=("memory", "processor"),
    options={
        "largest": ExperimentOption(1000, "number of domains beyond which sizes are left out", 10, 1000),
        "hosts": ExperimentOption(256, "of each domain", 1, 4096),
        "requests": ExperimentOption(4, "for each domain, all sent to one domain in twenty", 1, 1000),
        "span": ExperimentOption(30.0, "seconds in which they come", 1, 1e4),
        "branches": ExperimentOption(8, "lower agents of each", 1, 64),
        "allowance": ExperimentOption(10.0, "seconds for staging and latency in every deadline", 0, 1e4),
        "documents": ExperimentOption(0, "1: letters pass through their XML documents, as between daemons", 0, 1),
    },
    charts=_charts,
    pictures=1,
    note="memory: bytes, the most that the process has had; negotiating: letters a request beside advertisements",
)
