"""For all tests: property tests never fail for being slow, and try the same examples each time.

With EXPLORE=1 in the environment (`make soak`) they go on looking, a hundred times as far: what they find becomes a
test of its own, not a run that failed by chance.

What a test leaves to the garbage collector by leave (a mark says which warning it ignores) is collected before it ends:
later its warning would fail whichever test ran by then.

The garbage collector rests while tests are collected, and then passes over all that was: modules and tests live to the
end, and nothing is found by looking through them again and again. The log shows tracebacks as the daemon's log does:
structlog's own, with all variables, cost more than what they report.

Linear algebra has one thread, as in the daemon: several workers with a thread for each processor wait for one another,
and what takes 20 s then takes minutes.

A cosched that this machine runs has a configuration in /etc, which no test may read.

Tests of one `xdist_group` run in one worker. pytest-xdist 3.8 appends the group to a name that pytest 9.2 does not read
any more, so that groups were taken apart; here it gets to where it is read.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog
from hypothesis import HealthCheck, settings

from cosched import paths
from tests.distribution import from_both_ends, group_of, name_units, sort_for_workers
from tests.exploring import EXPLORES, examples
from tests.language.parsed_once import parse_once
from tests.store.compiled_once import compile_once

if TYPE_CHECKING:
    from collections.abc import Iterator

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy reads it when it is loaded, which nothing above does
settings.register_profile(
    "cosched",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not EXPLORES,
    max_examples=examples(8),
)
settings.load_profile("cosched")
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.dev.ConsoleRenderer(colors=False),
    ]
)
gc.disable()
compile_once()
parse_once()
paths.SYSTEM_CONFIGURATION = Path("/nonexistent/cosched.toml")


@pytest.fixture(autouse=True)
def _collected(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect what the test may leave, while the warning about it is still ignored."""
    yield
    marks = request.node.iter_markers("filterwarnings")
    if any("PytestUnraisable" in str(words) for mark in marks for words in mark.args):
        gc.collect()


def pytest_collection_finish() -> None:
    """Let the garbage collector look after what the tests make, and only that."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)  # most of what tests leave holds no cycles: looked through less often
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Name the tests of a group by it, as the scheduler that keeps groups together wants it."""
    if not getattr(config.option, "loadgroup", False):
        return
    sort_for_workers(items)
    for item in items:
        if (group := group_of(item)) and "@" not in item.nodeid:
            item._id = type(item._id).parse(f"{item.nodeid}@{group}")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have a worker name the units of its tests."""
    if hasattr(session.config, "workerinput") and getattr(session.config.option, "loadgroup", False):
        name_units(session)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """Have the workers forked from a process that has imported all tests."""
    from tests.testbed.forked.workers import forked_python  # a worker needs none of it

    python = str(forked_python(config.args))
    for spec in specs:
        spec.python = python


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand tests out from both ends of their order, where they are handed out by groups."""
    return from_both_ends(config, log) if config.getvalue("dist") == "loadgroup" else None
