"""SIGKILLs of the daemon while elastic tasks give hosts to others and get them back, on real managers.

    python -m benchmarks.elastic_kills [--connector local|condor|slurm] [--kind workers restart] [--kills 40] [--seed 1]
                                       [--minutes 30] [--json FILE]

Each story (`tests.testbed.elastic_stories`) has a new pool of four hosts; the daemon is killed at random moments from
its first task until the story has ended, for a minute at most, and started again at once. It must neither lose a task
nor run one twice, nor let a host have two tenants, as the jobs themselves write it down. Exit code 1 where anything is
wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cosched.errors import CoschedError
from tests.testbed.elastic_stories import STORIES, STORY_SETTINGS
from tests.testbed.forked.nursery import QuickSite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cosched.client import Client
    from demo.site import Site

__all__ = ["KilledStory", "main", "run_story"]

_PAUSE = (0.3, 4.0)  # seconds between two kills
_KILLED = 60.0  # seconds of a story for which it is killed: what then does not come about is lost, and not just slow
_PATIENCE = 120.0  # seconds for a daemon to answer
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class KilledStory:
    """What became of a story. `fault` is empty where nothing was wrong."""

    connector: str
    kind: str
    seed: int
    kills: int
    seconds: float
    fault: str


class _Daemon:
    """A site's daemon, which is asked until it answers and killed now and then."""

    def __init__(self, site: Site, chance: random.Random) -> None:
        self.kills = 0
        self._site = site
        self._chance = chance
        self._over = threading.Event()

    def ask(self, question: Callable[[Client], _T]) -> _T:
        """Return the answer to a question, whenever the daemon lives to give it."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                with self._site.client() as client:
                    return question(client)
            except CoschedError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    @contextmanager
    def killed(self) -> Iterator[None]:
        """Have it killed at random moments until the block ends, or for a minute; then it lives."""
        killer = threading.Thread(target=self._kill)
        killer.start()
        try:
            yield
        finally:
            self._over.set()
            killer.join()

    def _kill(self) -> None:
        until = time.monotonic() + _KILLED
        while time.monotonic() < until and not self._over.wait(self._chance.uniform(*_PAUSE)):
            self._site.kill()
            self._site.start()
            self.kills += 1


def run_story(connector: str, kind: str, seed: int) -> KilledStory:
    """Have a story happen while its daemon is killed."""
    begun, fault, kills = time.monotonic(), "", 0
    with QuickSite(connector, scale=1.0, hosts=4, settings=STORY_SETTINGS) as site:
        daemon = _Daemon(site, random.Random(seed))
        try:
            with daemon.killed():
                STORIES[kind](site, daemon.ask)
        except (AssertionError, CoschedError) as error:
            fault = f"{type(error).__name__}: {error}"
        kills = daemon.kills
    return KilledStory(connector, kind, seed, kills, time.monotonic() - begun, fault)


def main() -> None:
    """Have stories happen until there are so many kills, or the minutes are over; print each, and their sum."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.elastic_kills",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--connector", choices=("local", "condor", "slurm"), default="local")
    parser.add_argument("--kind", nargs="+", choices=tuple(STORIES), default=list(STORIES), help="of the stories")
    parser.add_argument("--kills", type=int, default=40, help="in all")
    parser.add_argument("--seed", type=int, default=1, help="of the first story")
    parser.add_argument("--minutes", type=float, default=30.0, help="no further story after these")
    parser.add_argument("--json", type=Path, help="file for what became of each story")
    options = parser.parse_args()
    until, stories = time.monotonic() + 60 * options.minutes, list[KilledStory]()
    while sum(story.kills for story in stories) < options.kills and time.monotonic() < until:
        number = len(stories)
        story = run_story(options.connector, options.kind[number % len(options.kind)], options.seed + number)
        stories.append(story)
        what = story.fault or "as it should be"
        print(f"{story.kind:8} seed {story.seed}: {story.kills} kills in {story.seconds:.0f} s: {what}", flush=True)
    wrong = sum(bool(story.fault) for story in stories)
    print(f"{options.connector}: {sum(story.kills for story in stories)} kills, {len(stories)} stories, {wrong} wrong")
    if options.json:
        options.json.write_text(json.dumps([asdict(story) for story in stories], indent=1))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
