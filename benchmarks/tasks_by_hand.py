"""How long a person needs for everyday tasks on the pages, in a real browser before a real daemon.

python -m benchmarks.tasks_by_hand [--tasks 350]

A scripted hand makes the pauses that the keystroke-level model gives a person (`tests.portal.browser.by_hand`). Prints
seconds, and what of them is the person's, with clicks, keys and thoughts.
"""

from __future__ import annotations

import argparse
import sys

from demo.site import Site
from tests.portal.browser.by_hand import ERRANDS, occupy, run_errand
from tests.portal.browser.visitor import visiting
from tests.testbed.software.browser import chromium

__all__ = ["main"]


def main() -> int:
    """Measure and print; 1 where something takes longer than it may."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tasks_by_hand")
    parser.add_argument("--tasks", type=int, default=350, help="that run and wait meanwhile")
    options = parser.parse_args()
    kept = True
    with Site("local", scale=1.0) as site, site.client() as client, chromium() as browser:
        occupy(client, options.tasks)
        for errand in ERRANDS:
            with visiting(browser, site) as visitor:
                took = run_errand(errand, visitor.go("/tasks"), client, waits=True)
            kept &= took.seconds <= errand.most
            print(
                f"{errand.name}: {took.seconds:.1f} s (at most {errand.most:.0f}), {took.pauses:.1f} s of it the "
                f"person's; {took.clicks} clicks, {took.keys} keys, {took.thoughts} thoughts"
            )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
