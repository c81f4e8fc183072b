"""One browser for all tests of pages that follow one another in it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.testbed.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_OPEN = ExitStack()
_BROWSER = pytest.StashKey["Browser"]()


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Browser:
    stash = request.session.stash
    if _BROWSER not in stash:
        stash[_BROWSER] = _OPEN.enter_context(chromium())
        _OPEN.callback(stash.__delitem__, _BROWSER)
    return stash[_BROWSER]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Close it before a test that has none: while it is open, nothing else may run in this thread's event loop."""
    if nextitem is None or "browser" not in getattr(nextitem, "fixturenames", ()):
        _OPEN.close()
