from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.access import Principal, Role
from cosched.api.documents import FreeView, PlacementView, PlanView, ReservationRequest
from cosched.connector.hosts import Host
from cosched.coscheduler.events import HostsObserved, ScheduleImproved
from tests.documents import host
from tests.portal.makers import portal

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.coscheduler.core import Coscheduler


def test_other_users_tasks_are_shown_without_their_names(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann, bob = here.person("ann"), here.person("bob")
        ann.submit(name="secret plan")
        bob.submit(name="his")
        text = bob.see("/schedule")
        assert "secret plan" not in text
        assert text.count('class="planned ') == 2
        assert "another user" in text
        assert 'data-task="2"' in text
        assert 'data-task="1"' not in text


def test_parts_are_asked_for_by_themselves_and_compressed(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        ann = here.person("ann")
        for _ in range(8):
            ann.submit(key="")
        part = ann.client.get("/schedule?span=6h&part=chart", headers={"Accept-Encoding": "gzip"})
        assert part.headers["Content-Encoding"] == "gzip"
        assert "<html" not in part.text
        assert part.text.count('class="planned ') == 8
        assert ann.client.get("/schedule?part=nothing").status_code == 404


def test_an_empty_domain_has_a_schedule(tmp_path: Path) -> None:
    with portal(tmp_path, hosts=0) as here:
        assert "Nothing waits." in here.person("ann").see("/schedule")


def test_a_reservation_is_a_band_on_the_schedule_and_named_on_the_domains_page(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        (host, *_) = here.daemon.inbox.ask(lambda core, _time: core.domain.up()).result(60)
        wanted = ReservationRequest(hosts=(host,), end=here.daemon.clock.now() + 3600, name="<course>")
        here.daemon.services.reservations.reserve(Principal("chief", Role.ADMINISTRATOR), wanted)
        ann = here.person("ann")
        text = ann.see("/schedule?span=1h")
        assert text.count('<path class="kept"') == 1
        assert '<text class="label kept"' in text
        assert "<course>" not in text
        assert "reserved: <bdi>&lt;course&gt;</bdi>" in ann.see("/domain")


def test_a_plan_that_is_proved_to_be_shortest_is_called_optimal(tmp_path: Path) -> None:
    with portal(tmp_path, hosts=1) as here:
        ann = here.person("ann")
        for _ in range(2):  # one of them waits for the other
            ann.submit(key="")
        assert "optimal" not in ann.see("/schedule")

        def prove(core: Coscheduler, time: float) -> None:
            core.handle(ScheduleImproved(time, core.plan, since=time, bound=9.0, makespan=9.0))

        here.daemon.inbox.ask(prove).result(60)
        assert "optimal: no plan is shorter" in ann.see("/schedule")


def test_hosts_that_others_have_are_no_idle_ones(tmp_path: Path) -> None:
    with portal(tmp_path, hosts=2) as here:
        free, taken = here.daemon.inbox.ask(lambda core, _time: core.domain.up()).result(60)
        now = here.daemon.clock.now()
        hosts = (Host(free), Host(taken, claimed=True, free_at=now + 3600, reason="taken by job 7 of <eva>"))
        ann = here.person("ann")
        assert "taken by others" not in ann.see("/schedule?span=1h")
        here.daemon.inbox.apply(HostsObserved(now, hosts)).result(60)
        text = ann.see("/schedule?span=1h")
        assert text.count('<path class="others ') == 1
        assert "taken by others" in text
        assert "taken by job 7 of &lt;eva&gt;" in text
        assert "other jobs · <time>" in ann.see("/domain")


def test_the_row_of_a_shared_host_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with portal(tmp_path, hosts=3) as here:
        nodes = [
            replace(host(f"h0{number}"), cores=64, free=FreeView(memory=0, cores=0, gpus=0)) for number in (1, 2, 3)
        ]
        monkeypatch.setattr(here.daemon.services.domain, "hosts", lambda _principal: nodes)
        now = here.access.now()
        places = tuple(
            PlacementView(
                task=task, hosts=hosts, start=now, end=now + 60, deadline=None, running=True, owner="ann", cores=16
            )
            for task, hosts in (("7", ("h01",)), ("8", ("h02", "h03")), ("9", ("h02",)))
        )
        plan = PlanView(time=now, placements=places, makespan=60.0, bound=None, gap=None, evaluations=0)
        monkeypatch.setattr(here.daemon.services.domain, "plan", lambda _principal: plan)
        ann = here.person("ann")
        every = ann.see("/schedule")
        assert [f'data-task="{task}"' in every for task in "789"] == [True] * 3
        assert '<option value="h02">h02</option>' in every
        opened = ann.see("/schedule?host=h02")
        assert [f'data-task="{task}"' in opened for task in "789"] == [False, True, True]
        heights = [float(each) for each in re.findall(r'<path class="running [^"]*" d="M[^v]*v([0-9.]+)', opened)]
        assert heights == [pytest.approx(120.0, abs=4.0)] * 2  # 16 of 64 cores each, of 480
        assert "<b>h02 alone is shown</b>" in opened
        assert "alone is shown" not in ann.see("/schedule?host=gone")
