"""Command: take the pictures of the pages that stand in README and docs, of a domain of local slots at work.

python -m tests.portal.pages.pictures [FOLDER]      about a minute; FOLDER: docs/pictures unless named
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cosched.api.documents import TaskRequest
from cosched.simulation.kernels import KERNELS
from demo.site import Site
from tests.portal.pages.visitor import PHONE, visiting
from tests.testbed.browser import chromium

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page

    from cosched.client import Client

__all__ = ["main", "take"]

_FOLDER = Path(__file__).resolve().parents[3] / "docs" / "pictures"
_NAMES = ("night run", "mesh {}", "spectra {}", "calibration", "sample {}", "sweep {}", "figure {}", "reduction {}")
_WINDOW = {"width": 1280, "height": 800}


def take(browser: Browser, site: Site, folder: Path, task: str) -> list[Path]:
    """Take all pictures of a site; `task` is the identifier of the one whose page is shown."""
    taken = []

    def shoot(
        name: str,
        path: str,
        ready: str,
        prepare: Callable[[Page], None] = lambda _page: None,
        *,
        whole: bool = False,
        **options: Any,
    ) -> None:
        with visiting(browser, site, **{"viewport": _WINDOW, **options}) as visitor:
            page = visitor.go(path)
            prepare(page)
            page.wait_for_selector(ready)
            page.wait_for_timeout(500)
            taken.append(folder / f"portal-{name}.png")
            page.screenshot(path=taken[-1], full_page=whole)

    shoot("schedule", "/schedule", "path.planned")
    shoot("schedule-dark", "/schedule", "path.planned", color_scheme="dark")
    shoot("submit", "/submit?application=fft", ".verdict.good", _fill)
    shoot(
        "submit-phone",
        "/submit?application=fft",
        ".verdict.good",
        _fill,
        viewport=PHONE,
        is_mobile=True,
        device_scale_factor=1,
        whole=True,
    )
    shoot("task", f"/tasks/{task}", "h1 .pill")
    shoot("tasks", "/tasks", "tbody tr")
    shoot("domain", "/domain", ".hosts")
    shoot("accuracy", "/accuracy?by=hosts", ".plot")
    shoot("deadlines", "/deadlines", ".plot")
    shoot("model", "/models/applications/jacobi", "svg.plot")
    return taken


def work(client: Client) -> str:
    """Give a domain something to do, and something to remember; return the identifier of a task that waits."""
    draw = random.Random(7)
    short = [TaskRequest(application=kernel, parameters={"Scale": 0.02}) for kernel in KERNELS for _ in range(4)]
    client.wait([task.id for task in client.submit_all(short)], timeout=60)
    now = time.time()
    tasks = [
        TaskRequest(
            application=draw.choice(list(KERNELS)),
            parameters={"Scale": draw.choice((0.5, 1.0, 1.5))},
            deadline=now + draw.uniform(90, 420),
            name=draw.choice(_NAMES).format(number),
            best_effort=True,
        )
        for number in range(1, 43)
    ]
    made = client.submit_all(tasks)
    time.sleep(20.0)  # the search looks for better plans meanwhile, and the first tasks end
    waiting = [task.id for task in client.tasks(limit=100).tasks if task.state == "queued"]
    return waiting[len(waiting) // 2] if waiting else made[-1].id


def main() -> int:
    """Take the pictures and print their names."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with Site("local", scale=1.0) as site, chromium() as browser, site.client() as client:
        site.take_host("host11")
        for picture in take(browser, site, folder, work(client)):
            sys.stdout.write(f"{picture}  {picture.stat().st_size // 1024} KiB\n")
    return 0


def _fill(page: Page) -> None:
    page.fill("[name='p.Scale']", "1.5")
    page.click("text=+10 min")
    page.mouse.move(0, 0)


if __name__ == "__main__":
    sys.exit(main())
