"""Somebody with a browser: logged in, and strict about what the pages do."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from cosched.access.authentication import COOKIE
from cosched.access.principals import Role, RoleSource
from cosched.access.sessions import Login
from cosched.addresses import parse_listen_address
from cosched.daemon.web.server import WebServer
from cosched.daemon.web.sockets import open_socket
from cosched.portal.application import build_application
from tests.daemon.makers import access_to
from tests.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, ViewportSize

    from cosched.access.authentication import Authenticator
    from cosched.client import Client
    from demo.site import Site
    from tests.daemon.makers import Daemon

__all__ = [
    "BEFORE_A_SITE",
    "DESK",
    "PHONE",
    "OpenPages",
    "Visitor",
    "open_pages",
    "renewal",
    "tab_to",
    "visiting",
    "wait_until",
]

BEFORE_A_SITE = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    # The HTTP library leaves the socket to the garbage collector where nobody listens.
    pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning"),
]
"""Marks of tests with a browser before a daemon that runs as a process of its own."""
DESK: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 360, "height": 740}
_ZONE = "Europe/Berlin"


@dataclass
class Visitor:
    """A page and what it complained of.

    Attributes:
        address: of the portal.
        complaints: errors in the console (violations of the content security policy among them) and failed requests.
    """

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        """Open a page and wait until it follows what happens."""
        self.page.goto(self.address + path)
        # No wait for a function: it would be a script of its own, which the pages' policy does not let run.
        if self.page.locator(".state .domain").count():
            self.page.wait_for_selector(".live.on")
        return self.page

    def listen(self) -> None:
        """Note what the page complains of, and be patient with it."""
        self.page.set_default_timeout(120_000)
        self.page.on("console", self.heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def heard(self, message: ConsoleMessage) -> None:
        """Take note of what the console says."""
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def faults(self, rule: str | None = None, *, alike: str = "") -> list[str]:
        """Return what axe-core finds serious or critical on the page, with where it is; by one rule or by all.

        Args:
            rule: the only one; None for all.
            alike: a selector of elements that are drawn as others are that stay. They are taken off the page: the 6,100
                elements of the longest page take ten seconds of a processor, and four where axe only leaves them out.
        """
        if self.page.evaluate("typeof axe") == "undefined":  # half a megabyte, which a page need read but once
            self.page.evaluate(AXE_SCRIPT)
        if alike:
            self.page.evaluate("alike => document.querySelectorAll(alike).forEach(each => each.remove())", alike)
        options = {"resultTypes": ["violations"]} | ({"runOnly": {"type": "rule", "values": [rule]}} if rule else {})
        response = self.page.evaluate("options => axe.run(document, options)", options)
        return [
            f"{each['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
            for each in response["violations"]
            if each["impact"] in ("serious", "critical")
            for node in each["nodes"]
        ]

    def sideways(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        wider: int = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return wider


@dataclass(frozen=True, slots=True)
class OpenPages:
    """The pages of a daemon that runs in this process, and a browser for people to look at them."""

    browser: Browser
    address: str
    access: Authenticator

    @contextmanager
    def visitor(self, name: str, role: Role = Role.USER, *, zone: str = _ZONE, **options: Any) -> Iterator[Visitor]:
        """Give a window of its own to somebody who has logged in.

        Args:
            name: the user's.
            role: likewise.
            zone: time zone of the browser, which the pages learn from it alone.
            options: of the browser's context.
        """
        secret, _ = self.access.sessions.begin(Login(name, role, RoleSource.GRANTED), self.access.now())
        context = self.browser.new_context(**{"viewport": DESK, "locale": "en-GB", "timezone_id": zone, **options})
        try:
            context.add_cookies([{"name": COOKIE, "value": secret, "url": self.address}])
            visitor = Visitor(context.new_page(), self.address)
            visitor.listen()
            yield visitor
        finally:
            context.close()


@contextmanager
def open_pages(browser: Browser, running: Daemon) -> Iterator[OpenPages]:
    """Serve the pages of a daemon that runs in this process."""
    access = access_to(running.store)
    server = WebServer(build_application(running.services, access), [open_socket(parse_listen_address("127.0.0.1:0"))])
    server.start()
    try:
        yield OpenPages(browser, f"http://{server.addresses[0]}", access)
    finally:
        running.services.feed.close()
        server.stop()


@contextmanager
def visiting(
    browser: Browser, site: Site, *, log_in: bool = True, client: Client | None = None, **options: Any
) -> Iterator[Visitor]:
    """Give a browser window of its own at a site's portal.

    Args:
        browser: to open it in.
        site: with a port for browsers.
        log_in: through a link as `cosched portal` prints it; no page has been shown then.
        client: of whoever it is; None for the daemon's own user.
        options: of the browser's context, such as `color_scheme`.
    """
    with ExitStack() as stack:
        link = (client or stack.enter_context(site.client())).login_link().url
    address = link.partition("/login")[0]
    context = browser.new_context(**{"viewport": DESK, "timezone_id": _ZONE, "locale": "en-GB", **options})
    try:
        if log_in:
            _log_in(context, link)
        visitor = Visitor(context.new_page(), address)
        visitor.listen()
        yield visitor
    finally:
        context.close()


def _log_in(context: BrowserContext, link: str) -> None:
    """Send the form of the link's page, and know the zone: pages that nobody looks at need not be drawn.

    Those who log in on pages are led by the tests of just that.
    """
    asked = context.request.get(link)
    form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', asked.text()))
    sent = context.request.post(asked.url.partition("?")[0] + "/link", form=form, max_redirects=0)
    assert sent.status == 303, sent.text()
    context.add_cookies([{"name": "zone", "value": _ZONE, "url": link}])


@contextmanager
def renewal(page: Page, part: str) -> Iterator[None]:
    """Wait until a part of the page has come anew after what is done meanwhile."""
    element = page.locator(f"[data-live={part}]")
    element.evaluate("each => { each.addEventListener('renewed', () => { each.anew += 1; }); each.anew = 0; }")
    yield
    # The first answer may be to a question that was asked before.
    wait_until(page, lambda: element.evaluate("each => each.anew") >= 2)


def wait_until(page: Page, true: Callable[[], bool]) -> None:
    """Wait until something is true of the page."""
    give_up = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < give_up
        page.wait_for_timeout(50)


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element has the focus, as somebody without a mouse does."""
    wanted = page.locator(selector).first
    for _ in range(80):
        if wanted.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} is not reached with Tab")
