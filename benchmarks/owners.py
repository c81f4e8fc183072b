"""What knowing of owners is worth on a real HTCondor pool: `python -m benchmarks.owners`, and with `--moves`.

Hosts whose owners come and go (`tests.testbed.condor.owners`), while HTCondor lets jobs stand still. The same tasks, at
the same moments of the same owners, with `[load] planned` and without; the past of the owners is in the database as ten
days would have left it. Prints makespan, deadlines in time and how far off predictions were.

With `--moves` nothing foretells the owner of the first host, who takes three quarters of it from the start on, and the
tasks are programs that checkpoint: under each `[load] trigger`, how often they went to other hosts.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.api.documents import ElasticRequest, TaskRequest
from cosched.prediction.loads.load_history import HourlyLoad, hour_of
from cosched.simulation.loaded_hosts import OwnerDiary
from cosched.store.host_loads import HostLoadTable
from cosched.store.store import Store
from demo.site import Site
from tests.testbed.condor.owners import Owners

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["OwnersResult", "main"]

_PRESENCE = 15.0  # seconds, on average
_PARTS = (0.0, 0.0, 0.5, 0.65)  # that owners take of their hosts, in turn
_PAST = 240  # hours
_TICK = 0.25  # seconds of work between two looks at the clock; a job that stands still does not look
_LONGEST = 3600.0  # seconds for which owners come and go
_TAKEN, _SHORT = 0.75, 6.0  # part of the first host, and seconds of a presence there, with `--moves`
_MOVABLE: dict[str, dict[str, object]] = {"load": {"notice": "5s"}, "elastic": {"settle": "2s", "payback": 1.0}}
_CHECKPOINTS = """i=$(cat "$2" 2>/dev/null || echo 0)
while [ "$i" -lt "$1" ]; do
    if [ -e "$COSCHED_MAILBOX/stop" ]; then echo "$i" > "$2"; exit 85; fi
    i=$((i+1)); sleep {tick}
done
"""


class OwnersResult(NamedTuple):
    """What came of the tasks under one setting."""

    makespan: float
    on_time: int
    error: float
    moves: int


def main() -> None:
    """Measure both ways and print them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.owners")
    parser.add_argument("--hosts", type=int, default=4, help="how many")
    parser.add_argument("--tasks", type=int, default=16, help="of one host each")
    parser.add_argument("--seed", type=int, default=1, help="of owners and tasks")
    parser.add_argument("--seconds", type=float, default=30.0, help="that programs which checkpoint work in the mean")
    parser.add_argument("--moves", action="store_true", help="what moving programs that checkpoint is worth")
    options = parser.parse_args()
    if options.moves:
        print("trigger    makespan   on time   moves")
        for trigger in ("off", "advise", "act"):
            found = _measure_moves(options.hosts, options.tasks, options.seed, options.seconds, trigger)
            on_time = f"{found.on_time} of {options.tasks}"
            print(f"{trigger:<9}  {found.makespan:6.1f} s   {on_time:<8}  {found.moves}", flush=True)
        return
    print("load       makespan   on time   |predicted ÷ actual|, median")
    for planned in (False, True):
        found = _measure(options.hosts, options.tasks, options.seed, planned=planned)
        name = "planned" if planned else "not known"
        print(
            f"{name:<9}  {found.makespan:6.1f} s   {found.on_time} of {options.tasks}   {found.error:.0%}", flush=True
        )


def _always(part: float, _time: float) -> float:
    """Return the part of its host that an owner takes, which is the same at all hours."""
    return part


def _measure(hosts: int, tasks: int, seed: int, *, planned: bool) -> OwnersResult:
    draw = np.random.default_rng(seed)
    names = [f"node{number:02d}" for number in range(1, hosts + 1)]
    parts = {name: _PARTS[place % len(_PARTS)] for place, name in enumerate(names)}
    diaries = {
        name: OwnerDiary.drawn(draw, partial(_always, part), _PRESENCE, (0.0, _LONGEST)) for name, part in parts.items()
    }
    with tempfile.TemporaryDirectory(prefix="owners-") as folder:
        owners = Owners(Path(folder), names)
        site = Site(
            "condor",
            scale=1.0,
            hosts=hosts,
            settings={"load": {"planned": planned}},
            pool_settings=owners.settings,
            prepare=lambda made: _remember(made, parts),
        )
        with site:
            site.settle()
            return _run(site, owners, diaries, _requests(draw, tasks, hosts))


def _measure_moves(hosts: int, tasks: int, seed: int, seconds: float, trigger: str) -> OwnersResult:
    draw = np.random.default_rng(seed)
    names = [f"node{number:02d}" for number in range(1, hosts + 1)]
    diary = OwnerDiary.drawn(draw, partial(_always, _TAKEN), _SHORT, (0.0, _LONGEST))
    settings = {**_MOVABLE, "load": {**_MOVABLE["load"], "trigger": trigger}}
    with tempfile.TemporaryDirectory(prefix="owners-") as folder:
        owners = Owners(Path(folder), names)
        site = Site("condor", scale=1.0, hosts=hosts, settings=settings, pool_settings=owners.settings)
        with site:
            site.settle()
            return _run(site, owners, {names[0]: diary}, _movable(site.folder, draw, tasks, hosts, seconds))


def _remember(site: Site, parts: Mapping[str, float]) -> None:
    """Write the past of the owners into the database of a site that has not started yet."""
    (site.folder / "state").mkdir(exist_ok=True)
    store = Store(site.database_url)
    now, table = hour_of(time.time()), HostLoadTable(store)
    for host, part in parts.items():
        if part:
            presences = round(part * 3600 / _PRESENCE)
            hour = (3600.0, part * 3600, part * 3600, presences, presences * _PRESENCE, 2 * presences * _PRESENCE**2)
            table.put([HourlyLoad(host, each, *hour) for each in range(now - _PAST, now)])
    store.close()


def _movable(folder: Path, draw: np.random.Generator, tasks: int, hosts: int, seconds: float) -> list[TaskRequest]:
    """Draw programs that checkpoint and work for so many seconds, with deadlines shortly after the last should end."""
    program, saved = folder / "program", folder / "saved"
    program.write_text(_CHECKPOINTS.format(tick=_TICK))
    saved.mkdir()
    saved.chmod(0o777)  # the pool's own user writes there
    works = [round(float(work) / _TICK) * _TICK for work in draw.uniform(seconds * 2 / 3, seconds * 4 / 3, tasks)]
    due = 1.3 * sum(works) / hosts + 15.0
    return [
        TaskRequest(
            command=("/bin/sh", str(program), str(round(work / _TICK)), str(saved / str(number))),
            name=f"t{number}",
            profile=(work * 1.05 + 1.0,),
            deadline=f"now+{due:.0f}s",
            elastic=ElasticRequest(kind="restart", grace="2m", cost=2.0),
        )
        for number, work in enumerate(works, 1)
    ]


def _requests(draw: np.random.Generator, tasks: int, hosts: int) -> list[TaskRequest]:
    """Draw tasks that work for 5 to 25 seconds, with deadlines that leave some of the queue's time."""
    works = [round(float(work) / _TICK) * _TICK for work in draw.uniform(5.0, 25.0, tasks)]
    queue = sum(works) / hosts
    slacks = draw.uniform(0.8, 2.2, tasks) * queue
    script = f"i=0; while [ $i -lt $0 ]; do i=$((i+1)); sleep {_TICK}; done"
    return [
        TaskRequest(
            command=("/bin/sh", "-c", script, str(round(work / _TICK))),
            name=f"t{number}",
            profile=(work * 1.05 + 1.0,),
            deadline=f"now+{work + slack + 15.0:.0f}s",
        )
        for number, (work, slack) in enumerate(zip(works, slacks.tolist(), strict=True), 1)
    ]


def _run(
    site: Site, owners: Owners, diaries: Mapping[str, OwnerDiary], requests: Sequence[TaskRequest]
) -> OwnersResult:
    over = threading.Event()
    begin = time.monotonic()
    moves = threading.Thread(target=_move, args=(owners, diaries, begin, over), daemon=True)
    moves.start()
    try:
        with site.client() as client:
            ended = client.wait([task.id for task in client.submit_all(requests)])
    finally:
        over.set()
        moves.join()
    first = min(task.submitted for task in ended)
    errors = [abs(task.predicted / task.actual - 1) for task in ended if task.predicted and task.actual]
    return OwnersResult(
        max(task.finished or first for task in ended) - first,
        sum((task.finished or 0.0) <= (task.deadline or 0.0) for task in ended),
        statistics.median(errors),
        sum(0 if task.restarts is None else task.restarts.count for task in ended),
    )


def _move(owners: Owners, diaries: Mapping[str, OwnerDiary], begin: float, over: threading.Event) -> None:
    """Have owners come and go by their diaries."""
    while not over.wait(0.2):
        now = time.monotonic() - begin
        for host, diary in diaries.items():
            (owners.come if diary.there(now) else owners.go)(host)


if __name__ == "__main__":
    main()
