"""For all tests: property tests never fail for being slow, and try the same examples each time.

With EXPLORE=1 in the environment (`make soak`) they go on looking, fifty times as far: what they find becomes a test of
its own, not a run that failed by chance.

What a test leaves to the garbage collector by leave (a mark says which warning it ignores) is collected before it ends:
later its warning would fail whichever test ran by then.

Tests of one `xdist_group` run in one worker. pytest-xdist 3.8 appends the group to a name that pytest 9.2 does not read
any more, so that groups were taken apart; here it gets to where it is read.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.exploring import EXPLORES, examples

if TYPE_CHECKING:
    from collections.abc import Iterator

settings.register_profile(
    "cosched",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not EXPLORES,
    max_examples=examples(15),
)
settings.load_profile("cosched")


@pytest.fixture(autouse=True)
def _collected(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect what the test may leave, while the warning about it is still ignored."""
    yield
    marks = request.node.iter_markers("filterwarnings")
    if any("PytestUnraisable" in str(words) for mark in marks for words in mark.args):
        gc.collect()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Name the tests of a group by it, as the scheduler that keeps groups together wants it; slow ones come first."""
    if not getattr(config.option, "loadgroup", False):
        return
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)  # else a slow one ends alone
    for item in items:
        groups = sorted({str(mark.args[0]) for mark in item.iter_markers("xdist_group")})
        if groups and "@" not in item.nodeid:
            item._id = type(item._id).parse(f"{item.nodeid}@{'_'.join(groups)}")
