"""`make demo DEMO_OPTIONS=--tunable`: an application with two ways, and how many tasks are in time with both of them.

Images come one by one, and their junctions are to be found soon. A fine sample takes all hosts and leaves little to
examine; a coarse one takes half of them, and what it leaves takes all: shapes of Figs 7 to 10 of the MILAN paper
(Chang, Karamcheti and Kedem). The same arrivals are submitted three times: with either way alone, and with both. The
stages are real processes of `examples/junctions/stage.py`, which find the junctions and then occupy their hosts for the
time that the model says. A few images come first, from which follows what a stage costs beside its work on this pool:
the stages' times, the arrivals and the deadlines are drawn with that (`stage_times.py`).
"""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table

from cosched.api.documents import TaskRequest
from cosched.errors import UserError
from demo.programs import environment_line, interpreter
from demo.site import Site
from demo.stage_times import NARROW, admitted_on_paper, fitted, ways_on_paper
from tests.testbed.software.debian import PackageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from cosched.api.documents import TaskDetail
    from cosched.client import Client
    from demo.stage_times import StageTimes

__all__ = ["HOSTS", "TASKS", "Image", "Served", "arrivals", "main", "told"]

TASKS = 14
HOSTS = 6
_WIDE = 2.0  # seconds of work of a stage on all hosts, times the scale
_MEASURED = 3  # images in each way of which it is seen what stages take beside their work
_BETWEEN, _DUE = 1.5, 5.0  # wide stages between two arrivals in the mean, and from an arrival to its deadline
_FINE, _COARSE = 4, 64  # one pixel of so many is sampled
_FINAL = ("completed", "failed", "cancelled")
_PATIENCE = 120.0
_OUTPUT = Path("demo-output")
_STAGES = Path(__file__).resolve().parent.parent / "examples" / "junctions"

_MODEL = """(* detect: junctions of an image; a fine sample takes all hosts, a coarse one leaves more to examine. *)
application detect {{
    var numeric: wide = 1, narrow = 1;
    var control: granularity, distance, lasts;
    proc tunable main {{
        task sample [] [granularity, lasts] [({{{fine}, wide}}, {{{hosts}, 1 s * wide}}, 1.0),
                                             ({{{coarse}, narrow}}, {{{part}, 1 s * narrow}}, 1.0)];
        task_select {{
            when (granularity == {fine})
                task examine [] [distance, lasts] [({{3, narrow}}, {{{part}, 1 s * narrow}}, 1.0)];
            when (granularity == {coarse})
                task examine [] [distance, lasts] [({{9, wide}}, {{{hosts}, 1 s * wide}}, 1.0)];
        }}
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class Image:
    """What became of an image. Times are seconds from the first one's release.

    Attributes:
        arrived: when it came.
        due: its deadline.
        way: fine or coarse; empty where it was refused.
        foretold: when its plan had it end as it was taken in.
        stages: hosts of each stage that ended, when cosched decided to start it, when it began and when it ended.
        in_time: whether it ended by its deadline.
        failed: the task that did not complete; empty for none.
    """

    arrived: float
    due: float
    way: str = ""
    foretold: float | None = None
    stages: tuple[tuple[int, float, float, float], ...] = ()
    in_time: bool = False
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Served:
    """What became of the arrivals.

    Attributes:
        ways: which ways there were.
        on_paper: how many would be in time if all took as long as they should.
        images: in order of arrival.
    """

    ways: str
    on_paper: int
    images: tuple[Image, ...]

    @property
    def guaranteed(self) -> int:
        """Return how many were taken in, with a guarantee."""
        return sum(bool(image.way) for image in self.images)

    @property
    def in_time(self) -> int:
        """Return how many of them ended by their deadlines."""
        return sum(image.in_time for image in self.images)

    @property
    def late(self) -> int:
        """Return how many ended later."""
        return sum(bool(image.way) and not image.in_time and not image.failed for image in self.images)


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
    console.print(
        f"{tasks} images on {HOSTS} hosts, {connector} connector. A fine sample takes {HOSTS} hosts, its examination "
        f"{HOSTS // NARROW} for {NARROW} times as long; a coarse one the other way round."
    )
    begun, served = time.monotonic(), list[Served]()
    with Site(connector, scale=1.0, hosts=HOSTS, prepare=_catalogue) as site:
        site.settle()
        with site.client() as client:
            times = _measured(client, site, _WIDE * scale)
            console.print(_drawn(times), markup=False)
            for ways, fixed in _SYSTEMS.items():
                served.append(_serve(client, site, ways, fixed, arrivals(tasks, seed), times))
                console.print(told(served[-1]), markup=False)
    console.print(_table(served))
    _OUTPUT.mkdir(exist_ok=True)
    figures = _OUTPUT / f"figures-tunable-{connector}.json"
    figures.write_text(json.dumps({"times": asdict(times), "ways": [asdict(each) for each in served]}, indent=2))
    *alone, both = served
    more = both.in_time - max(each.in_time for each in alone)
    on_paper = both.on_paper - max(each.on_paper for each in alone)
    console.print(
        f"with both ways {both.in_time} of {tasks} are in time, {more:+d} beside the better one alone "
        f"(on paper {on_paper:+d}); figures: {figures}"
    )
    console.print(f"all in all {time.monotonic() - begun:.0f} s; load of the machine now {os.getloadavg()[0]:.1f}")
    failed = [image.failed for each in served for image in each.images if image.failed]
    if failed:
        raise SystemExit(f"tasks that did not complete: {', '.join(failed)}")
    if more < 0:
        raise SystemExit("with both ways fewer images were in time than with one: were the hosts busy with others?")


_ALONE: list[dict[str, float | str]] = [{"granularity": _FINE}, {"granularity": _COARSE}]
_SYSTEMS: dict[str, dict[str, float | str]] = {"fine alone": _ALONE[0], "coarse alone": _ALONE[1], "both ways": {}}


_WAYS = {_FINE: "fine", _COARSE: "coarse"}


def _catalogue(site: Site) -> None:
    """Write the application, its programs and its model into a site's folder."""
    programs = site.folder / "programs"
    programs.mkdir()
    for name in ("junctions.py", "stage.py"):
        shutil.copy(_STAGES / name, programs / name)
    model = site.folder / "detect.psl"
    model.write_text(_MODEL.format(fine=_FINE, coarse=_COARSE, hosts=HOSTS, part=HOSTS // NARROW))
    python, variables = interpreter(site.connector)
    lines = [f'name = "detect"\nmodel = {json.dumps(str(model))}', environment_line(variables)]
    for stage in ("sample", "examine"):
        words = [python, str(programs / "stage.py"), "--granularity", "{granularity}", "--occupy", "{lasts}"]
        words += ["--distance", "{distance}"] if stage == "examine" else []
        lines.append(f"[stages.{stage}]\ncommand = {json.dumps(words)}")
    lines += [f'[parameters.{name}]\ntype = "number"' for name in ("wide", "narrow")]
    (site.folder / "applications.d" / "detect.toml").write_text("\n".join(lines) + "\n")
    (site.folder / "images").mkdir(mode=0o777)
    (site.folder / "images").chmod(0o777)  # the pool's own user writes there


def _request(
    site: Site, wide: float, narrow: float, fixed: dict[str, float | str], deadline: float | None
) -> TaskRequest:
    values = {"wide": round(wide, 3), "narrow": round(narrow, 3), **fixed}
    return TaskRequest(
        application="detect", parameters=values, deadline=deadline, directory=str(site.folder / "images")
    )


def _measured(client: Client, site: Site, wide: float) -> StageTimes:
    """Run a few images one after another, and find out what stages take beside their work.

    The daemon learns from them, too, how soon jobs begin here.
    """
    beside: dict[bool, list[float]] = {True: [], False: []}
    for fixed in _ALONE * _MEASURED:
        narrow = NARROW * wide
        names = [task.id for task in client.submit_all([_request(site, wide, narrow, dict(fixed), None)])]
        _wait(client, names, _PATIENCE)
        first, second = (client.task(name).tries[-1] for name in names)
        is_wide = len(first.hosts) == HOSTS
        # The next stage leaves as soon as this one's end is known.
        beside[is_wide].append(second.created - first.created - (wide if is_wide else narrow))
    return fitted(wide, beside[True], beside[False])


def _drawn(times: StageTimes) -> str:
    return (
        f"Beside its work a stage takes {times.beside_wide:.1f} s on {HOSTS} hosts and {times.beside_narrow:.1f} s on "
        f"{HOSTS // NARROW}, until the next one leaves. So stages work for {times.wide:.1f} and {times.narrow:.1f} s, "
        f"and have their hosts for {times.period:.1f} and {NARROW * times.period:.1f} s; an image comes each "
        f"{_BETWEEN * times.period:.1f} s in the mean, due {_DUE * times.period:.1f} s later."
    )


def _serve(
    client: Client, site: Site, ways: str, fixed: dict[str, float | str], moments: Sequence[float], times: StageTimes
) -> Served:
    """Submit the images as they come, each to be in time or to be refused, and wait for those that were taken in."""
    began, chains = time.time(), list[tuple[float, list[str], float | None]]()
    for moment in moments:
        arrival = began + moment * times.period
        time.sleep(max(arrival - time.time(), 0.0))
        try:
            made = client.submit_all([_request(site, times.wide, times.narrow, fixed, arrival + _DUE * times.period)])
        except UserError:  # no way is in time: that is the refusal, with the deadlines that would do
            chains.append((arrival, [], None))
            continue
        chains.append((arrival, [task.id for task in made], client.explain(made[-1].id).planned_end))
    _wait(client, [name for _, chain, _ in chains for name in chain], _PATIENCE + 10 * times.period)
    images = []
    for arrival, chain, foretold in chains:
        image = Image(arrival - began, arrival - began + _DUE * times.period)
        if chain:
            image = _ended(image, [client.task(name) for name in chain], began)
            image = replace(image, foretold=None if foretold is None else foretold - began)
        images.append(image)
    chosen = tuple([chain for way, chain in ways_on_paper(HOSTS, _DUE).items() if _allows(fixed, way)])
    return Served(ways, admitted_on_paper(moments, chosen, HOSTS), tuple(images))


def _allows(fixed: dict[str, float | str], way: str) -> bool:
    return not fixed or _WAYS[int(float(fixed["granularity"]))] == way


def _ended(image: Image, tasks: Sequence[TaskDetail], began: float) -> Image:
    """Return an image with what became of its tasks."""
    stages = list[tuple[int, float, float, float]]()
    for attempt in [task.tries[-1] for task in tasks if task.tries]:
        if attempt.started is not None and attempt.finished is not None:
            times = (attempt.created - began, attempt.started - began, attempt.finished - began)
            stages.append((len(attempt.hosts), *times))
    return replace(
        image,
        way=_WAYS[int(float(tasks[-1].parameters["granularity"]))],
        stages=tuple(stages),
        in_time=bool(tasks[-1].on_time),
        failed=next((task.id for task in tasks if task.state != "completed"), ""),
    )


def _wait(client: Client, names: Sequence[str], patience: float) -> None:
    until = time.monotonic() + patience
    while any(client.task(name).state not in _FINAL for name in names):
        if time.monotonic() > until:
            raise SystemExit(f"tasks do not end within {patience:.0f} s")
        time.sleep(0.2)


def told(served: Served) -> str:
    """Say what was done with one choice of ways, and by how much ends missed what was foretold."""
    taken = [image for image in served.images if image.way]
    by_way = " and ".join(f"{sum(image.way == way for image in taken)} {way}" for way in _WAYS.values())
    off = [image.stages[-1][3] - image.foretold for image in taken if image.stages and image.foretold is not None]
    ends = f", ended {fmean(off):+.1f} s after what was foretold in the mean" if off else ""
    return f"{served.ways}: {served.in_time} of {len(served.images)} in time ({by_way}{ends})"


def _table(served: Sequence[Served]) -> Table:
    table = Table("ways", "images", "in time on paper", "guaranteed", "in time", "late", "refused")
    for each in served:
        images = len(each.images)
        row = (images, each.on_paper, each.guaranteed, each.in_time, each.late, images - each.guaranteed)
        table.add_row(each.ways, *map(str, row))
    return table
