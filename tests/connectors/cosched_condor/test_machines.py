"""From slots to hosts."""

from __future__ import annotations

import pytest

from cosched.connector import Host
from cosched_condor.machines import machines, projection


def test_hosts_are_sorted_and_have_their_class() -> None:
    slots = [{"Machine": "b", "State": "Unclaimed", "Kind": "fast"}, {"Machine": "a", "State": "Claimed"}]
    assert machines(slots, "Kind") == [Host("a"), Host("b", "fast")]
    assert "Kind" in projection("Kind")


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"Offline": True}, "offline"),
        ({"State": "Drained"}, "draining"),
        ({"Draining": True, "DrainReason": "new\ndisk"}, "new disk"),
        ({"Start": False}, "START"),
        ({"State": "Delete"}, "Delete"),
    ],
)
def test_a_host_out_of_use_is_down_for_a_reason(values: dict[str, object], word: str) -> None:
    (host,) = machines([{"Machine": "a", **values}], "")
    assert not host.up
    assert word in host.reason


def test_a_machine_is_up_when_one_of_its_slots_is() -> None:
    slots = [{"Machine": "a", "State": "Drained"}, {"Machine": "a", "State": "Unclaimed"}]
    assert machines(slots, "") == [Host("a")]


def test_ads_without_a_usable_name_are_no_hosts() -> None:
    assert machines([{}, {"Machine": "a,b"}], "") == []
