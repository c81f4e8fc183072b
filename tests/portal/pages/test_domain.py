from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.access.principals import Principal, Role
from cosched.api.documents import ExchangeView, HostLoadView, HostView, PeerView, PlacementView, PlanView, RunView
from cosched.connector.hosts import Host
from cosched.coscheduler.events import HostsObserved
from cosched.portal.pages.domain import (
    BusySpan,
    HostClass,
    busy_over_time,
    busy_shares,
    flows,
    host_classes,
    owners_course,
    spans_of,
)
from cosched.portal.pages.figures.neighbourhood import Flow
from tests.cli.test_peer import ADVICE, NETWORK
from tests.documents import NOW, host
from tests.portal.makers import portal

if TYPE_CHECKING:
    from pathlib import Path


def test_neighbours_are_told_of_and_what_they_say_is_only_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bad inputs 15 and 19: a neighbour may call itself what it likes."""
    peer = PeerView(
        name="far",
        address="far.example:8642",
        role="upper",
        paused=False,
        heard=None,
        hosts=16,
        free=4,
        hardware=("<i>fast</i>",),
        given=1,
        taken=2,
        fault="<script>no\u202eanswer</script>",
    )
    with portal(tmp_path) as here:
        assert "Neighbouring domains" not in here.person("ann").see("/domain")
        monkeypatch.setattr(here.daemon.services.neighbours, "peers", lambda: [peer])
        text = here.person("ann").see("/domain")
        assert "&lt;script&gt;no⟨U+202E⟩answer&lt;/script&gt;" in text
        assert "&lt;i&gt;fast&lt;/i&gt;" in text
        assert "elsewhere" in here.person("ann").see("/tasks")


def test_what_the_agent_did_and_what_would_be_better_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peer = PeerView(
        name="far",
        address="far.example:8642",
        role="upper",
        paused=False,
        heard=None,
        hosts=16,
        free=4,
        hardware=("fast",),
        given=1,
        taken=2,
        fault="",
    )
    with portal(tmp_path) as here:
        ann = here.person("ann")
        monkeypatch.setattr(here.daemon.services.neighbours, "peers", lambda: [peer])
        monkeypatch.setattr(here.daemon.services.neighbours, "network", lambda: NETWORK)
        text = ann.see("/domain")
        assert "tasks were offered around 3 times, 1 of them in vain" in text
        assert "Adviser (advise): nothing yet." in text
        monkeypatch.setattr(here.daemon.services.neighbours, "network", lambda: replace(NETWORK, advice=ADVICE))
        assert "asked for every 5.0 s, scope 0, believed for 30 s would be better, it found" in ann.see("/domain")
        stays = replace(ADVICE, best=ADVICE.present)
        monkeypatch.setattr(here.daemon.services.neighbours, "network", lambda: replace(NETWORK, advice=stays))
        assert "nothing clearly better was found" in ann.see("/domain")


def test_a_host_shows_its_cluster_where_it_has_one(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        assert "cluster <bdi>" not in here.person("ann").see("/domain")
        there = (Host("h1", cluster="<b>delft"), Host("h2"))
        here.daemon.inbox.apply(HostsObserved(here.daemon.clock.now(), there)).result(60)
        assert here.person("ann").see("/domain").count("cluster <bdi>&lt;b&gt;delft</bdi>") == 1


def test_the_log_tells_nobody_of_other_users_tasks(tmp_path: Path) -> None:
    with portal(tmp_path) as here:
        here.person("ann").submit(name="secret plan")
        assert "secret plan" not in here.person("bob").see("/domain")
        assert "hosts observed" in here.person("bob").see("/domain")
        assert "secret plan" in here.person("olga", Role.OPERATOR).see("/domain")


HOSTS = [host("a"), host("b"), host("c")]


def spans() -> list[BusySpan]:
    run = RunView(
        task="1", name="", application="", hosts=("a", "gone"), start=-50.0, end=20.0, deadline=None, state="completed"
    )
    running = PlacementView(task="2", hosts=("a", "b"), start=60.0, end=500.0, deadline=None, running=True)
    planned = PlacementView(task="3", hosts=("c",), start=10.0, end=90.0, deadline=None, running=False)
    return spans_of(
        [run],
        PlanView(time=100.0, placements=(running, planned), makespan=0.0, bound=None, gap=None, evaluations=0),
        100.0,
    )


def test_a_host_is_busy_while_tasks_are_on_it() -> None:
    assert busy_shares(HOSTS, spans(), (0.0, 100.0)) == {"a": 0.6, "b": 0.4, "c": 0.0}


def test_the_course_adds_up_to_the_shares() -> None:
    course = busy_over_time(HOSTS, spans(), (0.0, 120.0))
    assert [course[second] for second in (0, 19, 20, 59, 60, 99, 100)] == pytest.approx(
        [1 / 3, 1 / 3, 0.0, 0.0, 2 / 3, 2 / 3, 0.0]
    )
    shares = busy_shares(HOSTS, spans(), (0.0, 120.0))
    assert sum(course) / len(course) == pytest.approx(sum(shares.values()) / 3)


def test_tasks_that_share_a_host_keep_its_cores_busy() -> None:
    nodes = [replace(host("a"), cores=8), host("b")]
    shared = [BusySpan(("a",), 0.0, 100.0, 2), BusySpan(("a",), 50.0, 100.0, 4), BusySpan(("b",), 0.0, 100.0)]
    assert busy_shares(nodes, shared, (0.0, 100.0)) == {"a": 0.5, "b": 1.0}
    course = busy_over_time(nodes, shared, (0.0, 120.0))
    assert [course[10], course[60], course[110]] == pytest.approx([0.625, 0.875, 0.0])


def test_without_hosts_nothing_is_busy() -> None:
    assert set(busy_over_time([], spans(), (0.0, 120.0))) == {0.0}


def test_classes_have_their_own_shares() -> None:
    hosts = [
        HostView(name=name, host_class=kind, up=up, reason="", task="", free_at=None)
        for name, kind, up in (("a", "fast", True), ("b", "slow", True), ("c", "slow", False))
    ]
    assert host_classes(hosts, {"a": 0.6, "b": 0.4, "c": 0.0}) == [
        HostClass("fast", 1, 0, 0.6),
        HostClass("slow", 1, 1, 0.2),
    ]


def exchange(peer: str, direction: str, state: str, task: str = "7") -> ExchangeView:
    values = {"name": "<x>", "owner": "ann", "time": NOW, "closed": None, "why": "near"}
    return ExchangeView(peer=peer, direction=direction, task=task, state=state, **values)  # type: ignore[arg-type]


def test_flows_to_and_from_each_neighbour_are_counted() -> None:
    went = [exchange("far", "sent", state) for state in ("granted", "ended", "refused", "returned")]
    assert flows([*went, exchange("far", "received", "failed"), exchange("b", "received", "queued")]) == {
        "far": Flow(sent=4, back=2, received=1),
        "b": Flow(received=1),
    }


def test_tasks_that_went_and_came_are_told_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peer = PeerView(
        name="far",
        address="far.example:8642",
        role="upper",
        paused=False,
        heard=None,
        hosts=16,
        free=4,
        hardware=("fast",),
        given=1,
        taken=2,
        fault="",
    )
    with portal(tmp_path) as here:
        services = here.daemon.services
        monkeypatch.setattr(services.neighbours, "peers", lambda: [peer])
        asked = []

        def exchanges(principal: Principal, since: float) -> list[ExchangeView]:
            asked.append((principal.name, since))
            return [exchange("far", "sent", "refused"), exchange("far", "received", "running", "8")]

        monkeypatch.setattr(services.history, "exchanges", exchanges)
        text = here.person("ann").see("/domain?part=peers")
        assert "(1 came back)" in text
        (drawn,) = re.findall(r'<svg class="domains".*?</svg>', text, re.DOTALL)
        assert "far not heard of, 1 sent, 1 received" in drawn
        assert drawn.count("<polygon") == 2
        assert "tasks of the last day, yours" in text
        assert 'href="/tasks/8"' in text
        assert "&lt;x&gt;" in text
        ((name, since),) = asked
        assert name == "ann"
        assert here.access.now() - since == pytest.approx(86400, abs=60)


def load_of(name: str, part: float, cause: str = "owner") -> HostLoadView:
    return HostLoadView(
        host=name,
        cause=cause,
        now=1.0,
        coming=(part, *[part / 2] * 23),
        planned=0.25,
        departed=True,
        rate=2.0,
        mean=300.0,
        deviation=60.0,
        hours=40,
    )


def test_owners_take_their_share_of_all_hosts() -> None:
    assert owners_course([load_of("h1", 0.4), load_of("h2", 0.2)], 4) == pytest.approx([0.15, *[0.075] * 23])
    assert owners_course([], 4) == []


def test_what_owners_take_is_shown_and_nothing_where_hosts_are_dedicated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with portal(tmp_path) as here:
        assert 'id="owners"' not in here.person("ann").see("/domain")
        loads = [load_of("h01", 0.32), load_of("h02", 0.9, "jobs")]
        monkeypatch.setattr(here.daemon.services.loads, "all", lambda: loads)
        text = here.person("ann").see("/domain")
    assert 'id="owners"' in text
    assert "1 host with an owner" in text
    assert "owner: 32 % this hour, unusually" in text
    assert "in plans: 25 %" in text
    assert "90 %" not in text
