"""Command: take the pictures of all pages that stand in README and docs, and write the page that shows them.

python -m tests.portal.pages.pictures [FOLDER] [--whole]

Two domains of local slots work for it, for about eight minutes. FOLDER is docs/pictures unless named; elsewhere no
page is written. `--whole` shows pages to their ends, to be looked at while a page is changed.
"""

from __future__ import annotations

import argparse
import base64
import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.portal.browser.visitor import visiting
from tests.portal.pages.sample_domain import come_to_life, people, sample_sites
from tests.testbed.software.browser import chromium

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from playwright.sync_api import Browser, Page

    from cosched.client import Client
    from demo.site import Site

__all__ = ["DOCS", "LOOKS", "PICTURES", "Picture", "main", "page_of_pictures"]

DOCS = Path(__file__).resolve().parents[3] / "docs"
_QUALITY = 66  # of WebP, of 100: text is still sharp
_DESK, _PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 800}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": _DESK},
    "dark": {"viewport": _DESK, "color_scheme": "dark"},
    "phone": {"viewport": _PHONE, "is_mobile": True, "has_touch": True, "device_scale_factor": 1},
}
"""How each page is shown, with the options of the browser's context."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A page to be shown.

    Attributes:
        name: of its files.
        path: its address; `{late}` and its like stand for tasks of `Shown`.
        words: what it shows.
        ready: a selector that is there once the page is whole.
        prepare: what is done on it before.
        logged_in: whether somebody is.
    """

    name: str
    path: str
    words: str
    ready: str = "main h1"
    prepare: Callable[[Page], None] = lambda _page: None
    logged_in: bool = True


def _fill(page: Page) -> None:
    page.fill("[name='p.Scale']", "1.5")
    page.click("text=+1 h")
    page.mouse.move(0, 0)


_MODEL = """(* The flow around a wing, by cells of its mesh. *)
application wing {
  var numeric: cells = 412886;
  proc exec init {
    step cpu { confusec 950 * cells / Nproc; }
  }
}
"""


def _describe(page: Page, *, sound: bool = False) -> None:
    page.fill("[name=command]", "/opt/cfd/solve\n--mesh\nwing-0412.vtk")
    page.click("summary:has-text('A model of your own')")
    page.click(".cm-content")
    page.keyboard.insert_text(_MODEL.replace("confusec", "confdev") if sound else _MODEL)
    page.mouse.move(0, 0)
    page.locator(".cm-content").blur()
    page.evaluate("scrollTo(0, 0)")


def _evaluate(page: Page) -> None:
    for _ in range(8):  # on a busy machine only some hardware is looked at in one request; what is known stays known
        if page.locator("text=not evaluated").count():
            page.reload()


def _choose_two(page: Page) -> None:
    for box in page.locator("tbody .tick input").all()[1:3]:
        box.check()


FIRST = (Picture("welcome", "/", "The first page of a domain that nobody has used yet.", ".steps"),)
"""Pages that are only seen before anything was submitted."""
PICTURES = (
    *FIRST,
    Picture("login", "/login", "The login, for those with a local account.", logged_in=False),
    Picture("tasks", "/tasks", "All tasks, two of them selected.", "tbody tr", _choose_two),
    Picture("tasks-late", "/tasks?state=late", "The tasks that will be late."),
    Picture("schedule", "/schedule", "What runs and what is planned, on which hosts.", ".gantt path"),
    Picture(
        "schedule-slack",
        "/schedule?span=10min&colour=slack&show=late",
        "The next minutes by slack; those that will be late stand out.",
        ".gantt",
    ),
    Picture("submit", "/submit", "What can be submitted.", ".cards"),
    Picture(
        "submit-application",
        "/submit?application=fft",
        "Submitting an application: when it would end, and whom it would delay.",
        ":is(.near, .foreseen):not(.stale) .verdict:visible",
        _fill,
    ),
    Picture(
        "submit-command",
        "/submit?own=command",
        "Submitting a command with a model of one's own; its faults are marked.",
        ".places button",
        _describe,
    ),
    Picture(
        "submit-model",
        "/submit?own=command",
        "Likewise with a model without a fault: the curve stands beside it.",
        ":is(.near, .foreseen):not(.stale) .verdict:visible",
        partial(_describe, sound=True),
    ),
    Picture("submit-file", "/submit?own=file", "Submitting a batch script or a submit file."),
    Picture("task-waiting", "/tasks/{waiting}", "A task that waits: why, and what would change that.", "h1 .pill"),
    Picture("task-late", "/tasks/{late}", "A task that will be late, and what would save it.", "h1 .pill"),
    Picture("task-running", "/tasks/{running}", "A task that runs, with its output as it comes.", "pre"),
    Picture("task-failed", "/tasks/{failed}", "A task that failed, and its last words.", "#failure pre"),
    Picture("task-forwarded", "/tasks/{forwarded}", "A task that the neighbouring domain took.", "h1 .pill"),
    Picture("output", "/tasks/{running}/output/out", "The whole output of a task, by parts.", "pre"),
    Picture("cancel", "/tasks/{running}/cancel", "What is asked before a task that runs is cancelled.", ".confirm"),
    Picture("cancel-several", "/cancel?task={running}&task={waiting}", "Likewise of several tasks.", ".confirm"),
    Picture("deadlines", "/deadlines", "How many deadlines were met, and by how much.", ".plot"),
    Picture("accuracy", "/accuracy", "Measured against predicted run times.", "main h1"),
    Picture(
        "accuracy-application",
        "/accuracy?application=fft&by=hosts",
        "Those of one application, by number of hosts.",
        ".plot",
    ),
    Picture("domain", "/domain", "Hosts and classes, neighbours and the log.", ".hosts"),
    Picture(
        "utilisation",
        "/utilisation?by=user&span=1h",
        "How many hosts were in use, by user, and what is planned; where tasks share hosts, how much of "
        "their cores, memory and GPUs.",
    ),
    Picture("models", "/models", "Applications and the library of models."),
    Picture(
        "model",
        "/models/applications/jacobi_measured",
        "A model: its source, and its times on every hardware.",
        "svg.plot",
        _evaluate,
    ),
    Picture("account", "/account", "One's own tokens; for administrators, the audit log."),
    Picture("administration", "/administration?host=host12", "Reserved hosts, accounts and everybody's tokens."),
    Picture("health", "/administration/health", "What works and what does not."),
    Picture("configuration", "/administration/configuration?own=yes", "The configuration in force, with its origins."),
    Picture("notices", "/administration/notices", "Lines that everybody sees."),
    Picture("api", "/docs", "What programs can ask."),
    Picture("nowhere", "/nowhere", "An address that is none."),
)


def page_of_pictures(pictures: Sequence[Picture] = PICTURES) -> str:
    """Return docs/pages.md."""
    lines = [
        "# The pages in pictures",
        "",
        "Each page in light, in dark and on a phone: a domain of 16 local slots at work, with a neighbour beside it.",
        "What can be done on them is told in [using cosched](using.md#on-web-pages), how they are made in",
        "[their design](design.md). `python -m tests.portal.pages.pictures` takes them anew and writes this page.",
    ]
    for each in pictures:
        files = [f"![{each.name}, {look}](pictures/{each.name}-{look}.webp)" for look in LOOKS]
        lines += ["", f"## {each.name.replace('-', ' ').capitalize()}", f"{each.words} `{each.path.split('?')[0]}`"]
        lines += ["", f"| {' | '.join(LOOKS)} |", "|---|---|---|", f"| {' | '.join(files)} |"]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class _Camera:
    browser: Browser
    site: Site
    folder: Path
    whole: bool

    def take(self, pictures: Sequence[Picture], client: Client, tasks: dict[str, str]) -> None:
        """Take each picture in each of the looks, and print its name."""
        for logged_in in (True, False):
            for look, options in LOOKS.items():
                shown = [each for each in pictures if each.logged_in is logged_in]
                with visiting(self.browser, self.site, client=client, log_in=logged_in, **options) as visitor:
                    for each in shown:
                        page = visitor.go(each.path.format(**tasks))
                        each.prepare(page)
                        page.wait_for_selector(each.ready)
                        page.wait_for_timeout(600)
                        self._write(page, self.folder / f"{each.name}-{look}.webp")

    def _write(self, page: Page, file: Path) -> None:
        options: dict[str, Any] = {"format": "webp", "quality": _QUALITY, "captureBeyondViewport": self.whole}
        if self.whole:
            size = page.evaluate("[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
            options["clip"] = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], 3000), "scale": 1}
        session = page.context.new_cdp_session(page)
        picture = base64.b64decode(session.send("Page.captureScreenshot", options)["data"])
        session.detach()
        file.write_bytes(picture)
        sys.stdout.write(f"{file}  {len(picture) // 1024} KiB\n")


def main() -> int:
    """Take the pictures, print their names, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.portal.pages.pictures")
    parser.add_argument("folder", nargs="?", type=Path, default=DOCS / "pictures")
    parser.add_argument("--whole", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with sample_sites() as (site, _), chromium() as browser, people(site) as known:
        camera = _Camera(browser, site, options.folder, options.whole)
        camera.take(FIRST, known.administrator, {})
        shown = come_to_life(site, known)
        camera.take([each for each in PICTURES if each not in FIRST], known.administrator, asdict(shown))
    if options.folder == DOCS / "pictures":
        (DOCS / "pages.md").write_text(page_of_pictures())
    return 0


if __name__ == "__main__":
    sys.exit(main())
