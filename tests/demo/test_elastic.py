from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from demo.elastic import Story, primes_below, tell
from demo.elastic_picture import LENT
from tests.testbed.forked.nursery import QuickSite

if TYPE_CHECKING:
    from collections.abc import Mapping

RIGHT = Story(primes=25, expected=25, starts=400, widest=12, narrowest=4, widest_again=12, in_time=True, waited=2.0)


@pytest.mark.parametrize(("limit", "primes"), [(2, 0), (3, 1), (100, 25), (1_000_000, 78498)])
def test_a_sieve_in_one_piece_counts_the_primes(limit: int, primes: int) -> None:
    assert primes_below(limit) == primes


def test_a_run_in_which_all_came_about_has_no_faults() -> None:
    assert RIGHT.faults(400, 12, 4) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"primes": 24}, "24 primes were counted, and there are 25"),
        ({"starts": 401}, "401 blocks were begun, and there are 400"),
        ({"widest": 11}, "it had 11 hosts at most before, not 12"),
        ({"narrowest": 5}, "it kept 5 hosts, not 4"),
        ({"widest_again": 4}, "it had 4 hosts at most afterwards"),
        ({"in_time": False}, "the task with the deadline was late"),
    ],
)
def test_what_did_not_come_about_is_said(change: Mapping[str, Any], fault: str) -> None:
    assert RIGHT._replace(**change).faults(400, 12, 4) == [fault]


@pytest.mark.daemon
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_demonstration_counts_right_and_each_block_once() -> None:
    """In short form; whether a host falls idle before it ends depends on the machine: tests/connectors/test_dask.py."""
    settings = {"elastic": {"settle": "1s", "payback": 0.0, "grace": "5m"}}
    console = Console(file=io.StringIO())
    with QuickSite("local", scale=1.0, hosts=4, settings=settings) as site:
        story, pieces = tell(site, 0.3, 4, 2, 120, console)
    assert (story.primes, story.starts) == (story.expected, 120)
    assert story.narrowest <= 2
    assert any(piece.kind == LENT for piece in pieces) == (story.widest > 2 or story.widest_again > 2)
