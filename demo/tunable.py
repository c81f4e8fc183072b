"""`make demo DEMO_OPTIONS=--tunable`: an application with two ways, and how many tasks are in time with both of them.

Images come one by one, and their junctions are to be found soon. A fine sample takes all hosts and leaves little to
examine; a coarse one takes half of them, and what it leaves takes all: shapes of Figs 7 to 10 of the MILAN paper
(Chang, Karamcheti and Kedem). The same arrivals are submitted three times: with either way alone, and with both. The
stages are real processes of `examples/junctions/stage.py`, which find the junctions and then occupy their hosts for the
time that the model says.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table

from cosched.api.documents import TaskRequest
from cosched.errors import UserError
from demo.programs import environment_line, interpreter
from demo.site import Site
from tests.testbed.debian import PackageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from cosched.client import Client

__all__ = ["TASKS", "Served", "arrivals", "main"]

TASKS = 14
_HOSTS = 6
_WIDE = 2.0  # seconds of a stage on all hosts, times the scale
_BETWEEN, _DUE = 1.5, 5.0  # wide stages between two arrivals in the mean, and from an arrival to its deadline
_FINE, _COARSE = 4, 64  # one pixel of so many is sampled
_FINAL = ("completed", "failed", "cancelled")
_PATIENCE = 120.0
_OUTPUT = Path("demo-output")
_STAGES = Path(__file__).resolve().parent.parent / "examples" / "junctions"

_MODEL = """(* detect: junctions of an image; a fine sample takes all hosts, a coarse one leaves more to examine. *)
application detect {{
    var control: granularity, distance, lasts;
    proc tunable main {{
        task sample [] [granularity, lasts] [({{{fine}, {wide}}}, {{{hosts}, {wide} s}}, 1.0),
                                             ({{{coarse}, {narrow}}}, {{{half}, {narrow} s}}, 1.0)];
        task_select {{
            when (granularity == {fine})
                task examine [] [distance, lasts] [({{3, {narrow}}}, {{{half}, {narrow} s}}, 1.0)];
            when (granularity == {coarse})
                task examine [] [distance, lasts] [({{9, {wide}}}, {{{hosts}, {wide} s}}, 1.0)];
        }}
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class Served:
    """What became of the arrivals.

    Attributes:
        ways: which ways there were.
        guaranteed: how many were taken in, with a guarantee.
        in_time: how many of them ended by their deadlines.
        late: how many ended later.
        failed: identifiers of those that did not complete.
    """

    ways: str
    guaranteed: int
    in_time: int
    late: int
    failed: tuple[str, ...]


def arrivals(tasks: int, seed: int) -> list[float]:
    """Return when the images come, in wide stages from the beginning (Poisson)."""
    gaps = np.random.default_rng(seed).exponential(_BETWEEN, tasks)
    return [float(each) for each in np.cumsum(gaps)]


def main(connector: str, tasks: int, scale: float, seed: int, console: Console) -> None:
    """Run the demonstration; exits with 1 where a task did not complete, or both ways serve fewer than one.

    Args:
        connector: local, condor or slurm.
        tasks: how many images.
        scale: of all times.
        seed: of the arrivals.
        console: where progress is shown.
    """
    if connector == "simulated":
        raise SystemExit("nothing runs on a simulated pool: choose local, condor or slurm for --tunable")
    try:
        interpreter(connector)
    except PackageError as obstacle:
        raise SystemExit(f"--tunable needs Python in its jobs: {obstacle}") from obstacle
    wide = _WIDE * scale
    console.print(
        f"{tasks} images on {_HOSTS} hosts, {connector} connector: one each {_BETWEEN * wide:g} s in the mean, due "
        f"{_DUE * wide:g} s later. A fine sample takes {_HOSTS} hosts for {wide:g} s and its examination "
        f"{_HOSTS // 2} for {2 * wide:g} s; a coarse one the other way round."
    )
    begun, served = time.monotonic(), list[Served]()
    with Site(connector, scale=1.0, hosts=_HOSTS, prepare=lambda site: _catalogue(site, wide)) as site:
        site.settle()
        with site.client() as client:
            _warm_up(client, site)
            for ways, fixed in _SYSTEMS.items():
                served.append(_serve(client, site, ways, fixed, [wide * each for each in arrivals(tasks, seed)], wide))
                console.print(f"{ways}: {served[-1].in_time} of {tasks} in time", markup=False)
    console.print(_table(served, tasks))
    _OUTPUT.mkdir(exist_ok=True)
    figures = _OUTPUT / f"figures-tunable-{connector}.json"
    figures.write_text(json.dumps([asdict(each) for each in served], indent=2))
    *alone, both = served
    more = both.in_time - max(each.in_time for each in alone)
    console.print(
        f"with both ways {both.in_time} of {tasks} are in time, {more:+d} beside the better one alone; "
        f"figures: {figures}"
    )
    console.print(f"all in all {time.monotonic() - begun:.0f} s; load of the machine now {os.getloadavg()[0]:.1f}")
    failed = [name for each in served for name in each.failed]
    if failed:
        raise SystemExit(f"tasks that did not complete: {', '.join(failed)}")
    if more < 0:
        raise SystemExit("with both ways fewer images were in time than with one: were the hosts busy with others?")


_SYSTEMS: dict[str, dict[str, float | str]] = {
    "fine alone": {"granularity": _FINE},
    "coarse alone": {"granularity": _COARSE},
    "both ways": {},
}


def _catalogue(site: Site, wide: float) -> None:
    """Write the application, its programs and its model into a site's folder."""
    programs = site.folder / "programs"
    programs.mkdir()
    for name in ("junctions.py", "stage.py"):
        shutil.copy(_STAGES / name, programs / name)
    model = site.folder / "detect.psl"
    half, narrow = _HOSTS // 2, 2 * wide
    model.write_text(
        _MODEL.format(fine=_FINE, coarse=_COARSE, hosts=_HOSTS, half=half, wide=f"{wide:.3f}", narrow=f"{narrow:.3f}")
    )
    python, variables = interpreter(site.connector)
    lines = [f'name = "detect"\nmodel = {json.dumps(str(model))}', environment_line(variables)]
    for stage in ("sample", "examine"):
        words = [python, str(programs / "stage.py"), "--granularity", "{granularity}", "--occupy", "{lasts}"]
        words += ["--distance", "{distance}"] if stage == "examine" else []
        lines.append(f"[stages.{stage}]\ncommand = {json.dumps(words)}")
    (site.folder / "applications.d" / "detect.toml").write_text("\n".join(lines) + "\n")
    (site.folder / "images").mkdir(mode=0o777)
    (site.folder / "images").chmod(0o777)  # the pool's own user writes there


def _request(site: Site, fixed: dict[str, float | str], deadline: float | None) -> TaskRequest:
    return TaskRequest(application="detect", parameters=fixed, deadline=deadline, directory=str(site.folder / "images"))


def _warm_up(client: Client, site: Site) -> None:
    """Run each way once, so that the daemon knows how soon jobs begin here."""
    for fixed in ({"granularity": _FINE}, {"granularity": _COARSE}):
        _wait(client, [task.id for task in client.submit_all([_request(site, dict(fixed), None)])])


def _serve(
    client: Client, site: Site, ways: str, fixed: dict[str, float | str], moments: Sequence[float], wide: float
) -> Served:
    """Submit the images as they come, each to be in time or to be refused, and wait for those that were taken in."""
    began, chains = time.time(), list[list[str]]()
    for moment in moments:
        time.sleep(max(began + moment - time.time(), 0.0))
        try:
            made = client.submit_all([_request(site, fixed, began + moment + _DUE * wide)])
        except UserError:
            continue  # no way is in time: that is the refusal, with the deadlines that would do
        chains.append([task.id for task in made])
    _wait(client, [name for chain in chains for name in chain])
    lasts = [client.task(chain[-1]) for chain in chains]
    in_time = sum(bool(task.on_time) for task in lasts)
    failed = tuple([task.id for task in lasts if task.state != "completed"])
    return Served(ways, len(chains), in_time, len(chains) - in_time - len(failed), failed)


def _wait(client: Client, names: Sequence[str]) -> None:
    until = time.monotonic() + _PATIENCE
    while any(client.task(name).state not in _FINAL for name in names):
        if time.monotonic() > until:
            raise SystemExit(f"tasks do not end within {_PATIENCE:.0f} s")
        time.sleep(0.2)


def _table(served: Sequence[Served], tasks: int) -> Table:
    table = Table("ways", "images", "guaranteed", "in time", "late", "refused")
    for each in served:
        row = (each.guaranteed, each.in_time, each.late, tasks - each.guaranteed)
        table.add_row(each.ways, str(tasks), *map(str, row))
    return table
