"""How quickly programs grow and shrink on a real pool, and what that saves: `python -m benchmarks.malleable`.

    python -m benchmarks.malleable [--connector local|condor|slurm] [--only moves scenarios] [--scenarios 0 1a 2 3 4 5]
                                   [--scale 1] [--json FILE]

A Dask computation on sixteen hosts (HTCondor: as many startds), in two sections:

- moves: seconds until the first worker on a lent host runs, until one host has become twelve, until eleven of these
  have been left for a task with a deadline, and for how long the last of them was idle, beside what the manager takes
  to start any job;
- scenarios: those of Wrzesinska, Maassen and Bal, "Self-adaptive applications on the Grid", section 5, in seconds:
  twelve hosts in three clusters of four, and a cluster of four more that would be idle; with adaptation, which lends
  hosts and has slow workers and clusters with slow links left, and without. 0: nothing is wrong; 1a: it begins on four
  hosts; 2: one cluster computes three times slower from a third of the work on; 3: the link of one cluster is slow, the
  data of an iteration takes as long to each host there as sixteen blocks do; 4: so it is, and another cluster computes
  five times slower; 5: two clusters crash at a third of the work. In 2 to 4 the daemon is told nothing but what Dask
  measures of its workers. The paper's changes of the run time are printed beside.

Blocks that were begun more than once are counted: none may be, where no host was lost. Exit code 1 where one was.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console

from cosched.api.documents import ElasticRequest, TaskRequest
from cosched.api.documents.tasks import FINAL_STATES
from cosched.client.dask_commands import dask_command, dask_worker_command
from cosched.errors import SystemFault
from demo.elastic import tell
from demo.elastic_picture import DEADLINE, LENT, OTHER, PROMISED
from demo.programs import interpreter
from demo.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cosched.api.documents import TaskDetail
    from cosched.client import Client
    from demo.elastic_picture import Piece

__all__ = ["SCENARIOS", "Moves", "Scenario", "ScenarioRun", "clusters", "main", "moves_of", "table", "trouble"]

_HOSTS, _CLUSTERS, _IN_CLUSTER = 16, 3, 4
_GROWN, _GIVEN = 12, 15  # of the moves
_BLOCKS_OF_MOVES = 300
_ITERATIONS, _BLOCKS, _SECONDS = 6, 96, 0.5
_FILLS = 3600.0  # seconds for which the task says that it takes hosts; it is cancelled before
_PATIENCE = 900.0
_EVERY = 0.2
_PROGRAM = Path(__file__).resolve().parent / "malleable_program.py"
_SETTINGS = {"settle": "1s", "payback": 0.0, "grace": "1m"}  # waits between changes are for programs that run for hours


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario of the paper.

    Attributes:
        begins: hosts that it is promised, and begins on.
        paper: change of the run time by adaptation as published; of nothing wrong that by monitoring.
        most: hosts that it may have.
        slow: how many times longer the hosts of the last cluster compute; with a slow link those of the one before.
        link: how many blocks' time the data of an iteration takes to each host of the last cluster, and from it.
        crashes: whether all clusters but the first crash.
        at: part of the work that is done when the trouble begins.
    """

    begins: int
    paper: float
    most: int = _HOSTS
    slow: float = 1.0
    link: float = 0.0
    crashes: bool = False
    at: float = 0.0


SCENARIOS = {
    "0": Scenario(_CLUSTERS * _IN_CLUSTER, 0.15, most=_CLUSTERS * _IN_CLUSTER),
    "1a": Scenario(_IN_CLUSTER, -0.50),
    "2": Scenario(_CLUSTERS * _IN_CLUSTER, -0.14, slow=3.0, at=1 / 3),
    "3": Scenario(_CLUSTERS * _IN_CLUSTER, -0.60, link=16.0),
    "4": Scenario(_CLUSTERS * _IN_CLUSTER, -0.30, slow=5.0, link=16.0),
    "5": Scenario(_CLUSTERS * _IN_CLUSTER, -0.13, crashes=True, at=1 / 3),
}


class Moves(NamedTuple):
    """How quickly hosts came and went, in seconds.

    Attributes:
        first_worker: from the end of the task that had the other hosts until the start of the first worker.
        grown: from the end of the task that had the other hosts until the computation had them all.
        drained: from the submission of the task with the deadline until the last of its hosts had been left.
        idle: from then until it started.
        hand_over: from the decision to start it until it started; what is above that of `idle` is cosched's own.
        repeated: blocks that were begun more than once.
    """

    first_worker: float
    grown: float
    drained: float
    idle: float
    hand_over: float
    repeated: int


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """What became of a program in a scenario.

    Attributes:
        scenario: its name.
        lending: whether hosts were lent to it, and left where they were slow.
        seconds: that it ran.
        gathered: of these, until it ran on all hosts on which it begins.
        most: the most hosts that it had at once.
        slow: workers that left their hosts because they were slow.
        far: workers that left their hosts because the link of their cluster was.
        repeated: blocks that were begun more than once.
    """

    scenario: str
    lending: bool
    seconds: float
    gathered: float
    most: int
    slow: int
    far: int
    repeated: int


def clusters(lead: str, others: Sequence[str], names: Mapping[str, str]) -> list[list[str]]:
    """Return the hosts that a program begins on by cluster; the lead's is the first.

    Args:
        lead: host of the lead.
        others: hosts of the workers.
        names: cluster of each host.
    """
    found: dict[str, list[str]] = {}
    for host in (lead, *sorted(others)):
        found.setdefault(names[host], []).append(host)
    return list(found.values())


def trouble(scenario: Scenario, groups: Sequence[Sequence[str]], seconds: float) -> dict[str, tuple[float, float]]:
    """Return how many times longer hosts compute, and how many seconds data takes over the link to them.

    Args:
        scenario: with what is wrong.
        groups: the program's hosts by cluster.
        seconds: of a block.
    """
    found = dict.fromkeys(groups[-1], (1.0, scenario.link * seconds)) if scenario.link else {}
    if scenario.slow > 1.0:
        found |= dict.fromkeys(groups[-2 if scenario.link else -1], (scenario.slow, 0.0))
    return found


def moves_of(pieces: Sequence[Piece], urgent: TaskDetail, hosts: int, repeated: int) -> Moves:
    """Return how quickly hosts came and went.

    Args:
        pieces: who had which host when.
        urgent: the task with the deadline.
        hosts: that the computation had at most.
        repeated: blocks that were begun more than once.
    """
    assert urgent.started is not None
    assert urgent.dispatched is not None
    own = [piece for piece in pieces if piece.kind in (PROMISED, LENT)]
    left = [piece.end for piece in own if piece.kind == LENT and piece.end is not None and piece.end <= urgent.started]
    before = sorted(piece.start for piece in own if piece.start < urgent.submitted)
    freed = max(piece.end or 0.0 for piece in pieces if piece.kind == OTHER)
    return Moves(
        first_worker=min(piece.start for piece in own if piece.kind == LENT) - freed,
        grown=before[hosts - 1] - freed,
        drained=max(left) - urgent.submitted,
        idle=urgent.started - max(left),
        hand_over=urgent.started - urgent.dispatched,
        repeated=repeated,
    )


def measure_moves(connector: str, scale: float) -> Moves:
    """Let a computation grow over idle hosts and give most of them to a task with a deadline."""
    with Site(connector, scale=1.0, hosts=_HOSTS, settings={"elastic": _SETTINGS}) as site:
        site.settle()
        story, pieces = tell(site, scale, _GROWN, _GIVEN, _BLOCKS_OF_MOVES, Console(file=io.StringIO()))
        urgent = next(piece for piece in pieces if piece.kind == DEADLINE)
        with site.client() as client:
            task = client.task(urgent.name.removeprefix("task "))
    if faults := story.faults(_BLOCKS_OF_MOVES, _GROWN, _HOSTS - _GIVEN):
        print(f"not as it should be: {'; '.join(faults)}", file=sys.stderr)
    return moves_of(pieces, task, _GROWN, story.starts - _BLOCKS_OF_MOVES)


def measure_scenarios(
    connector: str, names: Sequence[str], scale: float, lending: bool, tell_run: Callable[[ScenarioRun], None]
) -> None:
    """Run scenarios one after another on one pool."""
    settings: dict[str, dict[str, Any]] = {
        "elastic": {**_SETTINGS, "lending": lending},
        "load": {"trigger": "act" if lending else "off"},
    }
    with Site(connector, scale=1.0, hosts=_HOSTS, settings=settings, in_cluster=_IN_CLUSTER) as site:
        site.settle()
        for name in names:
            tell_run(_ScenarioOnSite(site, name, scale, lending).run())


class _ScenarioOnSite:
    """A scenario on a pool that is idle before and after."""

    def __init__(self, site: Site, name: str, scale: float, lending: bool) -> None:
        self._site = site
        self._name, self._scenario, self._lending = name, SCENARIOS[name], lending
        self._seconds = _SECONDS * scale
        self._journal = site.folder / f"blocks-{name}"
        self._world = site.folder / f"world-{name}"

    def run(self) -> ScenarioRun:
        """Run the program; return what became of it."""
        scenario, taken = self._scenario, list[str]()
        for file, text in ((self._journal, ""), (self._world, "{}")):
            file.write_text(text)
            file.chmod(0o666)  # the pool's user writes the journal
        with self._site.client() as client:
            filler = client.submit(_fills(_HOSTS - scenario.begins)).id
            _until("others take the other hosts", lambda: client.task(filler).state == "running")
            task = client.submit(self._program()).id
            _until("the program begins", lambda: _begun_on(client, task, scenario.begins))
            client.cancel(filler)
            starts = [each.since for each in client.workers(task).workers]
            groups = _hosts_of(client, task)
            _until("the trouble begins", lambda: self._begun() >= scenario.at * _ITERATIONS * _BLOCKS)
            self._put_world(trouble(scenario, groups, self._seconds))
            if scenario.crashes:
                taken = [host for group in groups[1:] for host in group]
                for host in taken:
                    self._site.take_host(host)
            most = scenario.begins
            until = time.monotonic() + _PATIENCE
            while (found := client.task(task)).state not in FINAL_STATES:
                if time.monotonic() > until:
                    raise SystemFault(f"scenario {self._name} does not end within {_PATIENCE:.0f} s")
                most = max(most, _width(client, task))
                time.sleep(_EVERY)
            reasons = [each.reason for each in client.workers(task).workers]
            slow, far = (sum(word in reason for reason in reasons) for word in ("computes", "other clusters"))
            for host in taken:
                self._site.give_host(host)
            _until("all hosts are there again", lambda: client.status().hosts_up == _HOSTS)
        if found.state != "completed" or found.started is None or found.finished is None:
            raise SystemFault(f"scenario {self._name} {found.state}: {found.reason}")
        repeated = self._begun() - _ITERATIONS * _BLOCKS
        gathered = max([each for each in starts if each is not None], default=found.started) - found.started
        seconds = found.finished - found.started
        return ScenarioRun(self._name, self._lending, seconds, gathered, most, slow, far, repeated)

    def _program(self) -> TaskRequest:
        program = self._site.folder / _PROGRAM.name
        shutil.copy(_PROGRAM, program)
        arguments = [
            *("--iterations", str(_ITERATIONS)),
            *("--blocks", str(_BLOCKS)),
            *("--seconds", str(self._seconds)),
        ]
        arguments += ["--world", str(self._world), "--journal", str(self._journal)]
        python, variables = interpreter(self._site.connector)
        whole = _ITERATIONS * _BLOCKS * self._seconds
        return TaskRequest(
            command=dask_command(program, arguments, python),
            elastic=ElasticRequest(worker=dask_worker_command(python)),
            environment=variables,
            profile=(None, *(whole / count for count in range(2, self._scenario.most + 1))),
            name=f"scenario {self._name}",
        )

    def _begun(self) -> int:
        return len(self._journal.read_text().splitlines())

    def _put_world(self, hosts: Mapping[str, tuple[float, float]]) -> None:
        aside = self._world.with_suffix(".new")
        aside.write_text(json.dumps(hosts))
        aside.chmod(0o666)
        aside.rename(self._world)


def _fills(hosts: int) -> TaskRequest:
    """Return a task that takes so many hosts until it is cancelled."""
    return TaskRequest(command=("/bin/sleep", str(_FILLS)), profile=(*(None for _ in range(hosts - 1)), _FILLS))


def _begun_on(client: Client, task: str, hosts: int) -> bool:
    """Return whether a task runs on so many hosts.

    Raises:
        SystemFault: it has ended.
    """
    found = client.task(task)
    if found.state in FINAL_STATES:
        raise SystemFault(f"task {task} {found.state}: {found.reason}")
    return _width(client, task) >= hosts


def _width(client: Client, task: str) -> int:
    """Return how many hosts a program has that run now."""
    found = client.workers(task)
    return bool(found.host) + sum(each.state in ("running", "leaving") for each in found.workers)


def _hosts_of(client: Client, task: str) -> list[list[str]]:
    found, names = client.workers(task), {host.name: host.cluster for host in client.hosts()}
    return clusters(found.host, [each.host for each in found.workers if each.state == "running"], names)


def _until(what: str, holds: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > until:
            raise SystemFault(f"it does not come about within {_PATIENCE:.0f} s: {what}")
        time.sleep(_EVERY)


def table(runs: Sequence[ScenarioRun]) -> list[str]:
    """Return the lines of a table of scenarios: seconds without adaptation and with it, the change, and the paper's."""
    columns = f"{'hosts':>8}{'slow':>6}{'far':>5}{'change':>9}{'paper':>8}{'repeated':>10}"
    lines = [f"{'scenario':10}{'without':>10}{'with':>10}{columns}"]
    for name, scenario in SCENARIOS.items():
        found = {run.lending: run for run in runs if run.scenario == name}
        if len(found) < len((True, False)):
            continue
        without, lent = found[False], found[True]
        paper = f"{100 * scenario.paper:+.0f} %"
        change = f"{100 * (lent.seconds / without.seconds - 1):+.0f} %"
        seconds = f"{without.seconds:8.1f} s{lent.seconds:8.1f} s"
        repeated = f"{without.repeated}, {lent.repeated}"
        left = f"{without.most:>4}→{lent.most:<3}{lent.slow:>6}{lent.far:>5}"
        lines.append(f"{name:10}{seconds}{left}{change:>9}{paper:>8}{repeated:>10}")
    return lines


def main() -> None:
    """Print both sections; exits with 1 where work was repeated though no host was lost."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.malleable",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--connector", choices=("local", "condor", "slurm"), default="local")
    parser.add_argument("--only", nargs="+", choices=("moves", "scenarios"), default=["moves", "scenarios"])
    parser.add_argument("--scenarios", nargs="+", choices=tuple(SCENARIOS), default=list(SCENARIOS))
    parser.add_argument("--scale", type=float, default=1.0, help="of the seconds that blocks take")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    moves, runs, begun = None, list[ScenarioRun](), os.getloadavg()[0]
    if "moves" in options.only:
        moves = measure_moves(options.connector, options.scale)
        print("\n".join(f"{name.replace('_', ' '):14}{value:8.2f}" for name, value in moves._asdict().items()))
        print(f"a returned host was idle for {moves.idle - moves.hand_over:+.2f} s beside the manager's hand-over")

    def told(run: ScenarioRun) -> None:
        runs.append(run)
        how = "with" if run.lending else "without"
        hosts = f"{run.most} hosts, {run.slow} left for slowness, {run.far} for a link"
        seconds = f"{run.seconds:.1f} s ({run.gathered:.1f} s until it had its hosts)"
        print(f"{run.scenario} {how} adaptation: {seconds}, {hosts}, {run.repeated} repeated", flush=True)

    if "scenarios" in options.only:
        for lending in (False, True):
            measure_scenarios(options.connector, options.scenarios, options.scale, lending, told)
        print("\n".join(table(runs)))
    load = (begun, os.getloadavg()[0])
    print(f"{options.connector}: load of the machine {load[0]:.1f} at first, {load[1]:.1f} at the end")
    if options.json:
        figures = {"connector": options.connector, "scale": options.scale, "load": load}
        found = {"moves": moves and moves._asdict(), "scenarios": [asdict(run) for run in runs]}
        options.json.write_text(json.dumps(figures | found, indent=1))
    again = [run for run in runs if run.repeated and not SCENARIOS[run.scenario].crashes]
    sys.exit(bool(again or (moves is not None and moves.repeated)))


if __name__ == "__main__":
    main()
