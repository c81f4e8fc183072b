from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from types import SimpleNamespace
from typing import TYPE_CHECKING

from cosched.access.principals import Role
from cosched.api.documents import FreeView, GroupUseView, PlacementView, PlanView, ResourceUseView, UtilisationView
from cosched.portal.pages.figures.utilisation import use_chart
from tests.documents import NOW, host
from tests.portal.makers import Portal, portal

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def group(name: str, amounts: tuple[float, ...]) -> GroupUseView:
    return GroupUseView(name=name, past=0.25, now=0.5, planned=0.75, amounts=amounts)


def test_areas_stand_on_one_another_and_the_future_begins_at_now() -> None:
    groups = (group("a", (1.0, 1.0, 2.0)), group("b", (1.0, 3.0, 0.0)))
    use = ResourceUseView(resource="hosts", total=4, past=0.5, now=1.0, planned=0.5, groups=groups)
    found = UtilisationView(
        since=NOW,
        time=NOW + 2400,
        until=NOW + 3600,
        planned_until=NOW + 3600,
        part=1200,
        past_parts=2,
        complete=True,
        resources=(use,),
    )
    chart = use_chart(use, found, UTC)
    first, second = chart.areas
    assert first.path.startswith("M0 220.00V165.00")
    assert second.path.startswith("M0 165.00V110.00")
    assert (first.past, first.now, first.planned) == (0.25, 0.5, 0.75)
    assert chart.now == chart.width * 2 / 3
    assert chart.columns[2][2].splitlines()[1:] == ["a: 2 hosts"]
    assert ", planned" in chart.columns[2][2]
    assert ", planned" not in chart.columns[1][2]
    assert chart.counts[0] == (220.0, "0")
    assert chart.counts[-1] == (0.0, "4")


def test_memory_is_drawn_in_gibibytes() -> None:
    use = ResourceUseView(
        resource="memory", total=4096, past=0.5, now=0.5, planned=0.5, groups=(group("a", (2048.0, 1536.0)),)
    )
    found = UtilisationView(
        since=NOW,
        time=NOW + 60,
        until=NOW + 120,
        planned_until=NOW + 120,
        part=60,
        past_parts=1,
        complete=True,
        resources=(),
    )
    chart = use_chart(use, found, UTC)
    assert chart.counts[-1] == (0.0, "4")
    assert [words.splitlines()[1] for _, _, words in chart.columns] == [
        "a: 2 GiB of memory",
        "a: 1.5 GiB of memory",
    ]


def test_a_domain_without_hosts_or_runs_has_a_page(tmp_path: Path) -> None:
    with portal(tmp_path, hosts=0) as here:
        for query in ("", "?span=7d&by=user", "?span=1h&part=use", "?span=nonsense", "?of=gpus"):
            assert "Nothing ran in this time" in here.person("ann").see(f"/utilisation{query}")


def planned(here: Portal, monkeypatch: pytest.MonkeyPatch, now: float, *places: PlacementView) -> None:
    """Have these in the plan, and the page's clock be the test's: what is planned begins with the future."""
    monkeypatch.setattr("cosched.portal.pages.figures.utilisation.time", SimpleNamespace(time=lambda: now))
    plan = PlanView(time=now, placements=places, makespan=360.0, bound=None, gap=None, evaluations=0)
    monkeypatch.setattr(here.daemon.services.domain, "plan", lambda _principal: plan)


def test_past_and_plan_are_shown_by_user_and_others_have_no_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with portal(tmp_path, hosts=4) as here:
        now = here.access.now()
        names = ("h01", "h02", "h03", "h04")
        uses = [("ann", names[:1], now - 1800, now, 0, 0, 0), ("bob", names[1:2], now - 720, now, 0, 0, 0)]
        monkeypatch.setattr(here.daemon.store, "host_uses", lambda *_: uses)
        place = PlacementView(
            task="7", hosts=tuple(names), start=now, end=now + 360, deadline=None, running=False, owner="ann"
        )
        planned(here, monkeypatch, now, place)
        mine = here.person("ann").see("/utilisation?span=1h&by=user")
        assert "<bdi>bob</bdi>" not in mine
        assert "<bdi>others</bdi>" in mine
        everybodys = here.person("chief", Role.OPERATOR).see("/utilisation?span=1h&by=user")
        assert "<bdi>bob</bdi>" in everybodys
        assert "12.5 %" in mine  # half an hour of one host of four
        assert "5.0 %" in everybodys
        assert "100.0 %" in mine  # all of them are planned for ann
        assert "What is counted" not in mine  # hosts are all that there is to count


def test_cores_memory_and_gpus_of_shared_hosts_are_beside_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with portal(tmp_path) as here:
        now = here.access.now()
        node = replace(host("n1"), cores=64, memory=4096, gpus=4, free=FreeView(memory=0, cores=0, gpus=0))
        monkeypatch.setattr(here.daemon.services.domain, "hosts", lambda _principal: [node])
        place = PlacementView(
            task="7", hosts=("n1",), start=now, end=now + 360, deadline=None, running=True, cores=8, memory=3072, gpus=1
        )
        planned(here, monkeypatch, now, place)
        person = here.person("ann")
        for of, amount in (("cores", "64"), ("memory", "4G"), ("gpus", "4")):
            page = person.see(f"/utilisation?span=1h&of={of}")
            unit = ", in GiB" if of == "memory" else ""
            assert f"in use{unit}, of {amount}; what is right" in page
            assert [f"{part} %<small>now" in page for part in (12, 75, 25)] == [True] * 3
        assert "Cores in use, of 64" in person.see("/utilisation")
