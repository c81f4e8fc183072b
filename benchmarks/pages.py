"""How quick the schedule page is with many tasks and hosts, in a real browser before a real daemon.

python -m benchmarks.pages [--tasks 1000 5000] [--hosts 256] [--keep FOLDER]

Prints the size of what is sent each time the schedule changes, how long the daemon takes to make it and the browser
to draw it, how long a frame takes while the pointer moves over it, and the daemon's memory.
"""

from __future__ import annotations

import argparse
import gzip
import random
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.figures import Figures, add_keep_option
from cosched.api.documents import TaskRequest
from demo.site import Site
from tests.portal.browser.visitor import visiting
from tests.testbed.software.browser import chromium

if TYPE_CHECKING:
    from cosched.client import Client
    from tests.portal.browser.visitor import Visitor

__all__ = ["main"]

_DRAW = """async () => {
  const box = document.querySelector("[data-live=chart]"), times = [];
  const text = await (await fetch("/schedule?part=chart")).text();
  for (let round = 0; round < 10; round++) {
    const began = performance.now();
    box.innerHTML = text;
    box.getBoundingClientRect();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - began);
  }
  return times;
}"""
_FRAMES = """() => new Promise((done) => {
  const times = []; let before = performance.now();
  const next = (now) => {
    times.push(now - before);
    before = now;
    if (times.length < 120) requestAnimationFrame(next); else done(times);
  };
  requestAnimationFrame(next);
})"""


def main() -> None:
    """Measure, print, and keep the figures where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages")
    parser.add_argument("--tasks", type=int, nargs="+", default=[1000])
    parser.add_argument("--hosts", type=int, default=256)
    add_keep_option(parser)
    options = parser.parse_args()

    def measure(figures: Figures) -> None:
        figures.section("pages", f"the schedule page with tasks on {options.hosts} hosts")
        for tasks in options.tasks:
            figures.values(f"{tasks} tasks", _measure(tasks, options.hosts))

    Figures(options.keep).measure("pages", measure)


def _measure(tasks: int, hosts: int) -> dict[str, float]:
    settings = {"connector.local": {"hosts": hosts}}
    with Site("local", scale=1.0, settings=settings) as site, site.client() as client, chromium() as browser:
        _fill(client, tasks)
        with visiting(browser, site) as visitor:
            visitor.go("/schedule")
            return _seen(visitor) | {"memory of the daemon MB": _memory(site.pid)}


def _fill(client: Client, tasks: int) -> None:
    draw = random.Random(1)
    requests = []
    for number in range(tasks):
        least = draw.choice((4, 8, 16))
        profile = tuple(None if count < least else 2000.0 / count for count in range(1, 33))
        requests.append(TaskRequest(command=("/bin/sleep", "900"), profile=profile, name=f"task {number}"))
    client.submit_all(requests)
    give_up = time.monotonic() + 120
    while client.plan().evaluations == 0 and time.monotonic() < give_up:
        time.sleep(0.5)
    time.sleep(5.0)


def _seen(visitor: Visitor) -> dict[str, float]:
    page = visitor.page
    times = []
    for _ in range(5):
        began = time.perf_counter()
        body = page.request.get(f"{visitor.address}/schedule?part=chart").body()
        times.append(time.perf_counter() - began)
    drawn = page.evaluate(_DRAW)
    box = page.locator(".gantt").bounding_box()
    assert box is not None
    page.evaluate(f"window.frames_ = ({_FRAMES})(); 0")
    for step in range(60):
        page.mouse.move(box["x"] + 100 + step * (box["width"] - 120) / 60, box["y"] + 20 + step * 5)
    frames = sorted(page.evaluate("window.frames_"))
    return {
        "bars": float(page.locator(".gantt path").count()),
        "KiB of an update": len(body) / 1024,
        "KiB of an update, compressed": len(gzip.compress(body, 4)) / 1024,
        "ms in which the daemon makes it, median": 1e3 * statistics.median(times),
        "ms in which the browser draws it, median": statistics.median(drawn),
        "ms in which the browser draws it, at most": max(drawn),
        "ms of a frame under the moving pointer, median": statistics.median(frames),
        "ms of a frame under the moving pointer, 95 %": frames[int(len(frames) * 0.95)],
    }


def _memory(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


if __name__ == "__main__":
    main()
