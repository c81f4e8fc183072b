from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.access.principals import Role
from cosched.api.documents import PlacementView, PlanView
from cosched.app.history import HostUse
from cosched.portal.pages.figures.utilisation import (
    UsedSpan,
    UseGrouping,
    grouped_spans,
    hosts_in_use,
    use_chart,
    use_groups,
)
from tests.portal.pages.makers import NOW, host, portal

if TYPE_CHECKING:
    from pathlib import Path

FAST, SLOW = replace(host("f1"), host_class="fast"), replace(host("s1"), host_class="slow", cores=4)


def test_a_use_counts_for_its_user_or_for_the_classes_of_its_hosts() -> None:
    uses = [HostUse("ann", ("f1", "s1", "gone"), 0.0, 9.0, 0), HostUse("", ("s1",), 1.0, 2.0, 1)]
    assert grouped_spans(uses, [FAST, SLOW], UseGrouping.CLASS) == [
        UsedSpan("fast", 1.0, 0.0, 9.0),
        UsedSpan("slow", 1.0, 0.0, 9.0),
        UsedSpan("slow", 0.25, 1.0, 2.0),
    ]
    assert grouped_spans(uses, [FAST, SLOW], UseGrouping.USER) == [
        UsedSpan("ann", 2.0, 0.0, 9.0),
        UsedSpan("others", 0.25, 1.0, 2.0),
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.floats(0, 9), st.floats(-50, 150), st.floats(0, 99)).map(
            lambda drawn: UsedSpan(drawn[0], drawn[1], drawn[2], drawn[2] + drawn[3])
        )
    ),
    st.integers(1, 40),
)
def test_what_is_drawn_is_what_was_used(spans: list[UsedSpan], parts: int) -> None:
    part = 100.0 / parts
    used = hosts_in_use(spans, 0.0, part, parts)
    drawn = sum(sum(counts) for counts in used.values()) * part
    meant = sum(span.hosts * max(min(span.end, 100.0) - max(span.start, 0.0), 0.0) for span in spans)
    assert drawn == pytest.approx(meant, abs=1e-6)
    assert all(len(counts) == parts for counts in used.values())


def test_the_smallest_groups_are_drawn_together_last() -> None:
    used = {f"user{number}": [float(number)] for number in range(1, 12)} | {"others": [100.0]}
    found = use_groups(used)
    assert list(found) == [*sorted(f"user{number}" for number in range(4, 12)), "others"]
    assert found["others"] == [100.0 + 1 + 2 + 3]


def test_areas_stand_on_one_another_and_the_future_begins_at_now() -> None:
    chart = use_chart({"a": [1.0, 1.0, 2.0], "b": [1.0, 3.0, 0.0]}, 4, (NOW, NOW + 3600), 2, UTC)
    first, second = chart.areas
    assert first.path.startswith("M0 220.00V165.00")
    assert second.path.startswith("M0 165.00V110.00")
    assert (first.past, first.planned, second.past, second.planned) == (0.25, 0.5, 0.5, 0.0)
    assert chart.now == chart.width * 2 / 3
    assert chart.columns[2][2].splitlines()[1:] == ["a: 2 hosts"]
    assert ", planned" in chart.columns[2][2]
    assert ", planned" not in chart.columns[1][2]
    assert chart.counts[0] == (220.0, "0")
    assert chart.counts[-1] == (0.0, "4")


def test_a_domain_without_hosts_or_runs_has_a_page(tmp_path: Path) -> None:
    with portal(tmp_path, hosts=0) as here:
        for query in ("", "?span=7d&by=user", "?span=1h&part=use", "?span=nonsense"):
            assert "Nothing ran in this time" in here.person("ann").see(f"/utilisation{query}")


def test_past_and_plan_are_shown_by_user_and_others_have_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with portal(tmp_path, hosts=4) as here:
        services, now = here.daemon.services, here.access.now()
        # The page's clock is the test's: what is planned begins with the future, however long the page takes.
        monkeypatch.setattr("cosched.portal.pages.figures.utilisation.time", SimpleNamespace(time=lambda: now))
        names = ("h01", "h02", "h03", "h04")
        uses = [("ann", names[:1], now - 1800, now, 0), ("bob", names[1:2], now - 720, now, 0)]
        monkeypatch.setattr(here.daemon.store, "host_uses", lambda *_: uses)
        place = PlacementView(
            task="7", hosts=tuple(names), start=now, end=now + 360, deadline=None, running=False, owner="ann"
        )
        plan = PlanView(time=now, placements=(place,), makespan=360.0, bound=None, gap=None, evaluations=0)
        monkeypatch.setattr(services.domain, "plan", lambda _principal: plan)
        mine = here.person("ann").see("/utilisation?span=1h&by=user")
        assert "<bdi>bob</bdi>" not in mine
        assert "<bdi>others</bdi>" in mine
        everybodys = here.person("chief", Role.OPERATOR).see("/utilisation?span=1h&by=user")
        assert "<bdi>bob</bdi>" in everybodys
        assert "12.5 %" in mine  # half an hour of one host of four
        assert "5.0 %" in everybodys
        assert "100.0 %" in mine  # all of them are planned for ann
