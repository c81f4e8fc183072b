"""`make demo-elastic`: a Dask computation grows over idle hosts, gives eight to a task with a deadline and ends right.

Eight of twelve hosts are taken at first, so that the computation is promised four. When the others fall idle, it grows
over them; a task with a deadline needs eight, which it gives back, and gets again once that has ended. It counts
primes, which is checked, and no block of numbers is counted twice.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from rich.console import Group
from rich.live import Live

from cosched.api.documents import ElasticRequest, TaskRequest
from cosched.client.dask_commands import dask_command, dask_worker_command
from cosched.counts import plural
from demo.elastic_picture import DEADLINE, LENT, OTHER, PROMISED, drawn, pieces_of, shown
from demo.live import wide_console
from demo.programs import interpreter
from demo.site import Site
from tests.testbed.software.debian import PackageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from rich.console import Console

    from cosched.client import Client
    from demo.elastic_picture import Piece

__all__ = ["Story", "main", "primes_below", "tell"]

_HOSTS, _GIVEN = 12, 8
_SECONDS = 1.0  # that a block occupies a host, times the scale
_BLOCKS = 400
_LIMIT = 4_000_000
_TAKEN = 300.0  # seconds for which the first task says that it takes its hosts; it is cancelled before
_URGENT = 8.0  # seconds of the task with the deadline, times the scale
_DUE = 90.0  # seconds from its submission to its deadline
_PATIENCE = 300.0
_EVERY = 0.5  # seconds between two looks
_SAY_EVERY = 5.0  # seconds between two lines where there is no terminal
_FINAL = ("completed", "failed", "cancelled")
_OUTPUT = Path("demo-output")
_JOURNAL = "blocks"
_SCRIPT = Path(__file__).resolve().parent.parent / "examples" / "dask" / "primes.py"
# Waits of seconds between changes are for programs that run for hours.
_SETTINGS = {"elastic": {"settle": "1s", "payback": 0.0, "grace": "1m"}}


class Story(NamedTuple):
    """What came of it.

    Attributes:
        primes: what the computation printed.
        expected: what is right.
        starts: how often blocks were begun; each once where that is the number of blocks.
        widest: the most hosts that it had before the task with the deadline came.
        narrowest: the fewest while that ran.
        widest_again: the most that it had afterwards.
        in_time: whether the task with the deadline ended by it.
        waited: seconds from its submission to its start.
    """

    primes: int
    expected: int
    starts: int
    widest: int
    narrowest: int
    widest_again: int
    in_time: bool
    waited: float

    def faults(self, blocks: int, hosts: int, kept: int) -> list[str]:
        """Return what did not come about, in words.

        Args:
            blocks: of the computation.
            hosts: that it was to have at most.
            kept: of these, while the task with the deadline ran.
        """
        claims = {
            f"{self.primes} primes were counted, and there are {self.expected}": self.primes == self.expected,
            f"{self.starts} blocks were begun, and there are {blocks}": self.starts == blocks,
            f"it had {self.widest} hosts at most before, not {hosts}": self.widest == hosts,
            f"it kept {self.narrowest} hosts, not {kept}": self.narrowest == kept,
            f"it had {self.widest_again} hosts at most afterwards": self.widest_again > kept,
            "the task with the deadline was late": self.in_time,
        }
        return [fault for fault, holds in claims.items() if not holds]


def main() -> None:
    """Run the demonstration; exits with 1 where something did not come about."""
    options = _options()
    console = wide_console()
    try:
        interpreter(options.connector)
    except PackageError as obstacle:
        raise SystemExit(f"Dask needs Python in its jobs: {obstacle}") from obstacle
    begun = time.monotonic()
    hosts, given, blocks = options.hosts, options.give, options.blocks
    console.print(
        f"A Dask computation of {blocks} blocks, {_SECONDS * options.scale:g} s each, on {hosts} hosts "
        f"({options.connector} connector)."
    )
    with Site(options.connector, scale=1.0, hosts=hosts, settings=_SETTINGS) as site:
        site.settle()
        began = time.time()
        story, pieces = tell(site, options.scale, hosts, given, blocks, console)
    _OUTPUT.mkdir(exist_ok=True)
    picture = _OUTPUT / f"elastic-{options.connector}.svg"
    names = sorted({piece.host for piece in pieces})
    picture.write_text(drawn(pieces, names, began, options.connector))
    figures = _OUTPUT / f"figures-elastic-{options.connector}.json"
    figures.write_text(json.dumps(story._asdict(), indent=2))
    console.print(shown(pieces, names, began, max(piece.end or began for piece in pieces)))
    if faults := story.faults(blocks, hosts, hosts - given):
        console.print("; ".join(faults))
    else:
        console.print(
            f"{story.primes:,} primes below {_LIMIT:,}, as one sieve says; {blocks} blocks, each begun once. "
            f"Hosts: {story.widest}, then {story.narrowest} while {given} were given, then {story.widest_again}. "
            f"The task with the deadline waited {story.waited:.1f} s for its hosts."
        )
    console.print(f"picture: {picture}, figures: {figures}")
    console.print(f"all in all {time.monotonic() - begun:.0f} s; load of the machine now {os.getloadavg()[0]:.1f}")
    if faults:
        raise SystemExit("something did not come about")


def tell(site: Site, scale: float, hosts: int, given: int, blocks: int, console: Console) -> tuple[Story, list[Piece]]:
    """Let it happen on a site; return what came of it, and who had which host when.

    Args:
        site: where it happens, on all hosts.
        scale: of the times that blocks and the task with the deadline take.
        hosts: how many the computation may have.
        given: how many of the site's the task with the deadline needs; the others are promised to the computation.
        blocks: into how many the computation is divided.
        console: where progress is shown.
    """
    with site.client() as client, _Watch(client, console) as watch:
        promised = len(client.hosts()) - given
        other = client.submit(TaskRequest(command=("/bin/sleep", str(_TAKEN)), profile=_only(given, _TAKEN)))
        watch.others[other.id] = OTHER
        watch.until(f"another task takes {given} hosts", lambda: watch.has(other.id, "running"))
        watch.lead = client.submit(_computation(site, scale, promised, hosts, blocks)).id
        watch.until(f"Dask starts on {plural(promised, 'host')}", lambda: watch.width() >= promised)
        client.cancel(other.id)
        watch.until("the other task ends early, and Dask grows over its hosts", lambda: watch.width() >= hosts)
        journal = site.folder / _JOURNAL
        watch.until("Dask computes on all hosts", lambda: len(journal.read_text().split()) >= blocks // 3)
        urgent = client.submit(
            TaskRequest(
                command=("/bin/sleep", str(_URGENT * scale)),
                profile=_only(given, _URGENT * scale),
                deadline=time.time() + _DUE,
                best_effort=True,
            )
        )
        watch.others[urgent.id] = DEADLINE
        watch.until(
            f"a task with a deadline needs {given}, which are given back", lambda: watch.has(urgent.id, *_FINAL)
        )
        watch.until("Dask has them again, and computes to the end", lambda: watch.has(watch.lead, *_FINAL))
        task, done, pieces = client.task(watch.lead), client.task(urgent.id), watch.pieces()
        if task.state != "completed":
            said = client.output(task.id, "err")
            raise SystemExit(f"the computation {task.state}: {b'' if said is None else said.data[-2000:]!r}")
        printed = client.output(task.id, "out")
    assert printed is not None
    assert done.started is not None
    assert done.finished is not None
    starts = journal.read_text().split()
    return Story(
        primes=int(printed.data),
        expected=primes_below(_LIMIT),
        starts=len(starts),
        widest=_widest(pieces, task.started or 0.0, done.submitted),
        narrowest=_widest(pieces, done.started, done.started),
        widest_again=_widest(pieces, done.finished, math.inf),
        in_time=bool(done.on_time),
        waited=done.started - done.submitted,
    ), pieces


def primes_below(limit: int) -> int:
    """Return how many primes there are, by a sieve in one piece."""
    is_prime = np.ones(limit, dtype=bool)
    is_prime[:2] = False
    for number in range(2, int(limit**0.5) + 1):
        if is_prime[number]:
            is_prime[number * number :: number] = False
    return int(is_prime.sum())


def _computation(site: Site, scale: float, promised: int, hosts: int, blocks: int) -> TaskRequest:
    """Return the computation as `cosched task submit --dask` would submit it."""
    journal = site.folder / _JOURNAL
    journal.touch()
    journal.chmod(0o666)  # the pool's user writes it
    script = site.folder / _SCRIPT.name
    shutil.copy(_SCRIPT, script)
    seconds = _SECONDS * scale
    arguments = (str(_LIMIT), "--blocks", str(blocks), "--seconds", str(seconds), "--journal", str(journal))
    python, variables = interpreter(site.connector)
    return TaskRequest(
        command=dask_command(script, arguments, python),
        elastic=ElasticRequest(worker=dask_worker_command(python)),
        environment=variables,
        profile=tuple(blocks * seconds / count if count >= min(2, promised) else None for count in range(1, hosts + 1)),
        name="primes",
    )


def _only(hosts: int, seconds: float) -> tuple[float | None, ...]:
    """Return the profile of a task that takes so many hosts and no other number."""
    return (*(None for _ in range(hosts - 1)), seconds)


def _widest(pieces: Sequence[Piece], first: float, last: float) -> int:
    """Return the most hosts that the computation had at one moment of a time."""
    own = [piece for piece in pieces if piece.kind in (PROMISED, LENT)]
    moments = [first, *(piece.start for piece in own if first <= piece.start <= last)]
    return max(
        sum(piece.start <= moment < (math.inf if piece.end is None else piece.end) for piece in own)
        for moment in moments
    )


class _Watch:
    """Follows the tasks and shows them, until something holds."""

    def __init__(self, client: Client, console: Console) -> None:
        self.lead = ""
        self.others: dict[str, str] = {}
        self._client = client
        self._console = console
        self._began = time.time()
        self._hosts = sorted(host.name for host in client.hosts())
        self._said = -math.inf
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def has(self, task: str, *states: str) -> bool:
        """Return whether a task is in one of these states."""
        return self._client.task(task).state in states

    def width(self) -> int:
        """Return how many hosts the computation has now."""
        pieces = self.pieces() if self.lead else []
        return sum(piece.end is None and piece.kind in (PROMISED, LENT) for piece in pieces)

    def pieces(self) -> list[Piece]:
        """Return who has had which host until now."""
        others = [(self._client.task(task), kind) for task, kind in self.others.items()]
        if not self.lead:
            return pieces_of(None, None, others)
        return pieces_of(self._client.task(self.lead), self._client.workers(self.lead), others)

    def until(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait until something holds, or the computation has ended."""
        until = time.monotonic() + _PATIENCE
        self._said = -math.inf
        while not holds():
            if self.lead and self.has(self.lead, *_FINAL):
                return
            if time.monotonic() > until:
                raise SystemExit(f"it does not come about within {_PATIENCE:.0f} s: {what}")
            self._show(what)
            time.sleep(_EVERY)

    def _show(self, what: str) -> None:
        now = time.time()
        line = f"{now - self._began:5.1f} s  {what}: Dask has {self.width()} of {len(self._hosts)} hosts"
        if self._live is not None:
            self._live.update(Group(line, shown(self.pieces(), self._hosts, self._began, now)))
        elif time.monotonic() >= self._said + _SAY_EVERY:
            self._said = time.monotonic()
            self._console.print(line)
            sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m demo.elastic", description=__doc__)
    parser.add_argument("--connector", choices=("local", "condor", "slurm"), default="local")
    parser.add_argument("--scale", type=float, default=1.0, help="of the seconds that everything takes")
    parser.add_argument("--hosts", type=int, default=_HOSTS)
    parser.add_argument("--give", type=int, default=_GIVEN, help="hosts of the task with the deadline")
    parser.add_argument("--blocks", type=int, default=_BLOCKS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
