"""Three everyday tasks done on the pages by a scripted hand, with the pauses of a person.

A hand does what it does in a real browser, and each act takes the time that the keystroke-level model gives it (Card,
Moran and Newell, The keystroke-level model for user performance time with interactive systems, CACM 23 (7), 1980);
what is read takes a quarter of a second for each word (238 words a minute: Brysbaert, Journal of Memory and Language
109, 2019). So figures of different pages and days can be compared. Start at `ERRANDS`.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.api.documents import TaskRequest
from cosched.simulation.kernels import KERNELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Page

    from cosched.client import Client

__all__ = ["ERRANDS", "Effort", "Errand", "Hand", "occupy", "run_errand"]

_KEY, _POINT, _BUTTON, _HOME, _THINK = 0.28, 1.1, 0.1, 0.4, 1.35  # seconds: K, P, B, H and M of the model
_WORD = 0.25  # seconds
_LATE = 7  # tasks that cannot end in time


@dataclass(slots=True)
class Effort:
    """What an errand took.

    Attributes:
        clicks: of the mouse.
        keys: that were pressed.
        thoughts: pauses before an act, M of the model.
        pauses: seconds of the person's, all acts and thoughts together.
        seconds: from the begin to the end; what is no pause is the pages'.
    """

    clicks: int = 0
    keys: int = 0
    thoughts: int = 0
    pauses: float = 0.0
    seconds: float = 0.0


class Hand:
    """A hand at mouse and keyboard, with a person behind it."""

    def __init__(self, page: Page, *, waits: bool) -> None:
        """Put it on the mouse.

        Args:
            page: on which it works.
            waits: whether pauses are made; else they are only counted, and what the page does meanwhile is left out.
        """
        self.page = page
        self.effort = Effort()
        self._waits = waits
        self._at_keys = False

    def read(self, words: Locator) -> None:
        """Read what stands there."""
        self._pause(max(_THINK, _WORD * len(words.inner_text().split())))
        self.effort.thoughts += 1

    def click(self, target: Locator, *, shift: bool = False, times: int = 1) -> None:
        """Think, point at something, and click it."""
        self._think()
        self._change(to_keys=False)
        self._pause(_POINT + 2 * times * _BUTTON + _KEY * shift)
        target.click(click_count=times, modifiers=["Shift"] if shift else None)
        self.effort.clicks += times
        self.effort.keys += shift

    def type(self, text: str, *, thinks: bool = True) -> None:
        """Think, and type where the focus is."""
        if thinks:
            self._think()
        self._change(to_keys=True)
        for letter in text:
            self._pause(_KEY)
            self.page.keyboard.type(letter)
        self.effort.keys += len(text)

    def press(self, *keys: str) -> None:
        """Press keys with names."""
        self._change(to_keys=True)
        for key in keys:
            self._pause(_KEY)
            self.page.keyboard.press(key)
        self.effort.keys += len(keys)

    def _think(self) -> None:
        self._pause(_THINK)
        self.effort.thoughts += 1

    def _change(self, *, to_keys: bool) -> None:
        if self._at_keys is not to_keys:
            self._pause(_HOME)
        self._at_keys = to_keys

    def _pause(self, seconds: float) -> None:
        self.effort.pauses += seconds
        if self._waits:
            self.page.wait_for_timeout(seconds * 1000)


def submit_with_a_deadline(hand: Hand, client: Client) -> None:
    """Submit an application with a parameter and ten minutes of time, and see that it is taken."""
    page, known = hand.page, client.tasks().total
    hand.click(page.locator("nav a:text-is('Submit')"))
    hand.click(page.locator(".card:has-text('fft')"))
    hand.click(page.locator("[name='p.Scale']"), times=2)
    hand.type("0.5")
    hand.click(page.locator("button:text-is('+10 min')"))
    page.wait_for_selector("[data-foreseen]:not(.stale) .verdict")
    hand.read(page.locator(".verdict"))
    hand.click(page.locator("button:text-is('Submit')"))
    page.wait_for_url("**/tasks/*")
    hand.read(page.locator("h1"))
    assert client.tasks().total == known + 1
    assert client.tasks(limit=1).tasks[0].deadline is not None


def submit_with_a_typed_deadline(hand: Hand, client: Client) -> None:
    """Submit the same with a deadline of a certain day and time, typed into its field."""
    page, then = hand.page, time.localtime(time.time() + 86400)
    hand.click(page.locator("nav a:text-is('Submit')"))
    hand.click(page.locator(".card:has-text('fft')"))
    hand.click(page.locator("[name='p.Scale']"), times=2)
    hand.type("0.5")
    hand.click(page.locator("label[for=deadline]"))
    hand.type(f"{then.tm_mon:02}{then.tm_mday:02}{then.tm_year}")
    hand.press("Tab")
    hand.type("0630", thinks=False)
    hand.press("Tab")
    hand.type("P", thinks=False)
    page.wait_for_selector("[data-foreseen]:not(.stale) .verdict")
    hand.read(page.locator(".verdict"))
    hand.click(page.locator("button:text-is('Submit')"))
    page.wait_for_url("**/tasks/*")
    hand.read(page.locator("h1"))
    deadline = client.tasks(limit=1).tasks[0].deadline
    assert deadline is not None
    assert deadline > time.time() + 3600


def save_a_late_task(hand: Hand, client: Client) -> None:
    """Find a task that will be late, read why, and save it by what the page offers first."""
    page = hand.page
    hand.read(page.locator(".deadlines"))
    hand.click(page.locator(".deadlines a.late"))
    page.wait_for_selector(".deadlines a.late[aria-current]")
    hand.read(page.locator("tbody tr").first)
    first = page.locator("tbody th a").first
    task = (first.get_attribute("href") or "").rpartition("/")[2]
    hand.click(first)
    page.wait_for_url(f"**/tasks/{task}")
    saves = page.locator("#explanation .rescues").first  # others only help
    hand.read(saves)
    hand.click(saves.locator("button").last)
    page.wait_for_selector(".stats .early")
    hand.read(page.locator(".stats"))
    slack = client.explain(task).slack
    assert slack is not None
    assert slack >= 0


def reserve_hosts(hand: Hand, client: Client) -> None:
    """Keep tasks off three neighbouring hosts for eight hours, and see that they are reserved."""
    page = hand.page
    hand.click(page.locator("nav a:text-is('Admin')"))
    hand.read(page.locator("h3:text-is('Reserve hosts')"))
    options = page.locator("#host option")
    hand.click(options.nth(2))
    hand.click(options.nth(4), shift=True)
    hand.click(page.locator("[name=name]").first)
    hand.type("new memory")
    hand.click(page.locator("#lasting"))
    hand.type("8")
    hand.press("Enter")
    hand.click(page.locator("button:text-is('Reserve')"))
    page.wait_for_selector("[aria-label='Reserved hosts'] >> text=new memory")
    hand.read(page.locator("[aria-label='Reserved hosts'] tbody tr").first)
    (kept,) = client.reservations()
    assert len(kept.hosts) == 3
    assert 7.9 < (kept.end - time.time()) / 3600 < 8.1


@dataclass(frozen=True, slots=True)
class Errand:
    """Something that people come for.

    Attributes:
        name: for people.
        most: seconds that it may take.
        run: does it, and looks whether it was done.
    """

    name: str
    most: float
    run: Callable[[Hand, Client], None]


ERRANDS = (
    Errand("submit with a deadline", 40.0, submit_with_a_deadline),
    Errand("submit with a typed deadline", 40.0, submit_with_a_typed_deadline),
    Errand("find and save a late task", 60.0, save_a_late_task),
    Errand("reserve hosts", 60.0, reserve_hosts),
)


def run_errand(errand: Errand, page: Page, client: Client, *, waits: bool) -> Effort:
    """Do an errand from the page on which it begins; return what it took."""
    hand, began = Hand(page, waits=waits), time.monotonic()
    errand.run(hand, client)
    seconds = time.monotonic() - began
    hand.effort.seconds = seconds if waits else seconds + hand.effort.pauses
    return hand.effort


def occupy(client: Client, tasks: int) -> None:
    """Have tasks run for long on all hosts of a domain and others wait, a few of which will be late."""
    draw, now = random.Random(3), time.time()
    requests = [
        TaskRequest(
            application=draw.choice(list(KERNELS)),
            parameters={"Scale": 200.0},
            deadline=now + (30 if number < _LATE else 86400 + 3600 * draw.random()),
            name=f"study {number}",
            best_effort=True,
        )
        for number in range(tasks)
    ]
    client.submit_all(requests[_LATE:])
    hosts = len(client.hosts())
    while sum(len(place.hosts) for place in client.plan().placements if place.running) < hosts:
        assert time.time() < now + 60, "hosts stay idle"
        time.sleep(0.2)
    client.submit_all(requests[:_LATE])  # now they have to wait
