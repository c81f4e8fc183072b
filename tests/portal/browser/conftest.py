"""One browser, and one busy site, for all tests of pages that follow one another in it."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeVar

import pytest

from cosched.api.documents import TaskRequest
from tests.portal.browser.visitor import Visitor, visiting
from tests.testbed.forked.nursery import QuickSite
from tests.testbed.software.browser import chromium
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from playwright.sync_api import Browser

    from demo.site import Site

_T = TypeVar("_T")
_OPEN = ExitStack()
_BROWSER = pytest.StashKey["Browser"]()
_BUSY = pytest.StashKey["Site"]()


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Browser:
    return _kept(request, _BROWSER, chromium())


@pytest.fixture(scope="module")
def busy(request: pytest.FixtureRequest) -> Site:
    """One task has completed, one has failed, some run and some wait, and one host is down."""
    return _kept(request, _BUSY, _busy_site())


@pytest.fixture
def visitor(browser: Browser, busy: Site) -> Iterator[Visitor]:
    with visiting(browser, busy) as visitor:
        yield visitor
        assert visitor.complaints == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Close both before a test that has no browser: while it is open, nothing else may run in this thread's loop.

    Also where what the page complained of is an error: the jobs of the site went on for hours.
    """
    try:
        yield
    finally:
        if nextitem is None or "browser" not in getattr(nextitem, "fixturenames", ()):
            _OPEN.close()


def _kept(request: pytest.FixtureRequest, key: pytest.StashKey[_T], made: AbstractContextManager[_T]) -> _T:
    """Return what is open from the first test that needs it on; what is there already is not made anew."""
    stash = request.session.stash
    if key not in stash:
        stash[key] = _OPEN.enter_context(made)
        _OPEN.callback(stash.__delitem__, key)
    return stash[key]


@contextmanager
def _busy_site() -> Iterator[Site]:
    with QuickSite("local", scale=0.05) as site, site.client() as client:
        sleeps = ["/bin/sh", "-c", "echo working on $COSCHED_RANK; echo oh >&2; sleep 6000"]
        client.submit(TaskRequest(application="jacobi", deadline=time.time() + 600))
        client.submit(TaskRequest(command=("/bin/false",), hosts=2))
        client.wait(["1", "2"], timeout=240)
        site.take_host("host16")
        long = [TaskRequest(command=tuple(sleeps), profile=(3600.0,), name=f"long {n}") for n in range(20)]
        client.submit_all(
            [*long, TaskRequest(application="fft", parameters={"Scale": 100}, hosts=1, deadline=time.time() + 9999)]
        )
        until(lambda: client.status().tasks["running"] >= 15)
        yield site
