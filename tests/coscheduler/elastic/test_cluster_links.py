"""Clusters with slow links: what is learnt of them, and how workers leave them and come to others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.elastic.cluster_links import ClusterLinks, cluster_ranks
from cosched.coscheduler.elastic.values import ElasticSettings, WorkerOverhead
from cosched.coscheduler.events import HostsObserved, HostsWished, OverheadsMeasured, SpeedsMeasured, Tick
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.recording.codec import Codec
from cosched.coscheduler.recording.snapshot import CoreSnapshot
from cosched.prediction.efficiency import WorkerStatistics
from cosched.prediction.loads.host_load import LoadTrigger
from tests.coscheduler.elastic.test_elastic_tasks import SPEEDS, leaving, removed
from tests.coscheduler.makers import a_core, dispatched, elastic_task, hosts, start, submit, workers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.connector.hosts import Host
    from cosched.coscheduler.attempts.attempt import Attempt

SETTLE, LIMIT = 10.0, 0.25


def statistics(**parts: float) -> list[WorkerStatistics]:
    """Return statistics of two workers in each cluster, one of which has twice its mean part, the other none."""
    return [
        WorkerStatistics(2 * number + place, f"{name}{place}", name, 1.0, 2 * part * place, 2 * part * place)
        for number, (name, part) in enumerate(parts.items())
        for place in (0, 1)
    ]


def test_a_cluster_is_bad_by_the_mean_of_its_workers_once_it_has_been_for_a_while() -> None:
    links = ClusterLinks()
    for time in (0.0, 4.0, 9.9):
        links.report("1", statistics(here=0.1, delft=0.24, leiden=0.4), "here", LIMIT, time)
        assert not links.proved("1", SETTLE)
    links.report("1", statistics(here=0.1, delft=0.26, leiden=0.4), "here", LIMIT, 10.0)
    assert links.proved("1", SETTLE) == {"leiden": pytest.approx(0.4)}
    links.report("1", statistics(here=0.1, delft=0.26, leiden=0.1), "here", LIMIT, 11.0)
    assert not links.proved("1", SETTLE)


def test_the_cluster_of_the_lead_and_hosts_of_none_are_never_bad() -> None:
    links = ClusterLinks()
    unknown = [WorkerStatistics(9, "h", "", 1.0, 0.9, 0.9)]
    for time in (0.0, 100.0):
        links.report("1", statistics(here=0.45) + unknown, "here", LIMIT, time)
    assert not links.now("1")


def test_ended_tasks_are_forgotten_with_their_statistics() -> None:
    links = ClusterLinks()
    links.report("1", statistics(here=0.1), "here", LIMIT, 0.0)
    links.keep(set())
    assert not links.records
    assert not links.statistics


@given(st.lists(st.sampled_from("abcd"), max_size=9), st.lists(st.sampled_from("abcd"), max_size=6))
def test_hosts_near_a_task_come_first_and_clusters_stay_together(idle: list[str], held: list[str]) -> None:
    clusters = {f"i{n}": each for n, each in enumerate(idle)} | {f"h{n}": each for n, each in enumerate(held)}
    ranks = cluster_ranks([f"i{n}" for n in range(len(idle))], [f"h{n}" for n in range(len(held))], clusters)
    assert len(set(ranks.values())) == len(set(idle))
    for one, rank in ranks.items():
        for other in ranks:
            if clusters[one] == clusters[other]:
                assert rank == ranks[other]
            elif rank < ranks[other]:
                assert held.count(clusters[one]) >= held.count(clusters[other])


def clustered(*names: str) -> tuple[Host, ...]:
    """Return hosts, each in a cluster; node01 is in the first."""
    return tuple(replace(host, cluster=name) for host, name in zip(hosts(len(names)), names, strict=True))


def measured(core: Coscheduler, lead: Attempt, parts: Mapping[str, float], since: float, until: float) -> None:
    """Have a lead say each second which part of their time its workers spend on other clusters, by their clusters."""
    clusters = {host.name: host.cluster for host in core.domain.hosts.values()}
    for time in range(int(since), int(until) + 1):
        there = {0: lead.hosts[0], **{each.worker: each.hosts[0] for each in core.workers_of("1")}}
        said = [WorkerOverhead(number, 0.1, 0.1, parts.get(clusters[host], 0.0)) for number, host in there.items()]
        core.handle(OverheadsMeasured(float(time), lead.uuid, tuple(said)))


def running(
    promised: int,
    names: str,
    longer: float = 10.0,
    limit: float = LIMIT,
    trigger: LoadTrigger = LoadTrigger.ACT,
) -> tuple[Coscheduler, Attempt, list[Attempt]]:
    """Return a core with a task that runs on the first hosts, those promised, since 1 s; others have come since."""
    terms = ElasticSettings(settle=5.0, link_limit=limit)
    core = a_core(promised, elastic=terms, trigger=trigger)
    core.handle(HostsObserved(0.5, clustered(*names[:promised])))
    seconds = [longer * each for each in SPEEDS]
    lead, *mine = dispatched(submit(core, elastic_task(1, [float("inf")] * (promised - 1) + seconds[promised - 1 :])))
    for attempt in (lead, *mine):
        start(core, attempt, 1.0)
    core.handle(HostsObserved(1.0, clustered(*names)))
    return core, core.attempts[lead.uuid], [core.attempts[worker.uuid] for worker in mine]


def lent(core: Coscheduler, time: float) -> list[Attempt]:
    """Return the workers that are started on lent hosts at a time."""
    found = workers(core.handle(Tick(time)))
    for worker in found:
        start(core, worker, time)
    return found


def of_hosts(found: list[Attempt]) -> list[str]:
    return sorted(each.hosts[0] for each in found)


WHY = "the workers in cluster b spend 40% of their time on communication with other clusters"


def test_a_whole_cluster_with_a_slow_link_leaves_and_its_hosts_do_not_come_back() -> None:
    core, lead, _ = running(1, "aabbc")
    far = lent(core, 7.0)
    assert of_hosts(far) == ["node02", "node03", "node04", "node05"]
    measured(core, lead, {"b": 0.4, "c": 0.2}, 13, 17)
    assert not leaving(core)  # it has not been for long
    measured(core, lead, {"b": 0.4, "c": 0.2}, 18, 18)
    assert sorted(leaving(core)) == [("node03", WHY), ("node04", WHY)]
    for worker in far:
        if worker.hosts[0] in ("node03", "node04"):
            removed(core, core.attempts[worker.uuid], 19.0)
    assert not [each for time in range(20, 40) for each in lent(core, float(time))]
    said = explain(core, "1", 40.0)
    assert said is not None
    away = "it keeps away from cluster b, which it left for its slow link, for 9 min 38 s"
    assert any(away in words for words in said.waits_for)
    assert any("weighted average efficiency is " in words for words in said.waits_for)


def test_workers_within_the_limit_stay() -> None:
    core, lead, _ = running(1, "aabb")
    lent(core, 7.0)
    measured(core, lead, {"b": 0.25}, 13, 40)
    assert not leaving(core)


def test_the_limit_is_the_administrators() -> None:
    core, lead, _ = running(1, "aabb", limit=0.5)
    lent(core, 7.0)
    measured(core, lead, {"b": 0.4}, 13, 40)
    assert not leaving(core)


def test_of_two_clusters_the_worse_leaves_first() -> None:
    core, lead, _ = running(1, "abbcc")
    lent(core, 7.0)
    measured(core, lead, {"b": 0.4, "c": 0.5}, 13, 18)
    assert sorted(host for host, _ in leaving(core)) == ["node04", "node05"]


def test_the_cluster_of_the_lead_stays_though_its_link_is_the_slowest() -> None:
    core, lead, _ = running(1, "aabb")
    lent(core, 7.0)
    measured(core, lead, {"a": 0.8, "b": 0.1}, 13, 40)
    assert not leaving(core)


def test_promised_hosts_in_a_bad_cluster_are_promised_elsewhere_and_stay_where_there_is_nothing_else() -> None:
    core, lead, mine = running(4, "aabb")
    measured(core, lead, {"b": 0.4}, 13, 20)
    assert not leaving(core)
    said = explain(core, "1", 20.0)
    assert said is not None
    assert any(f"{WHY}; the promised hosts there stay while no others" in words for words in said.waits_for)
    core.handle(HostsObserved(21.0, clustered(*"aabbb")))
    assert not leaving(core)  # another of that cluster is no better
    core.handle(HostsObserved(22.0, clustered(*"aabbbcc")))
    assert sorted(leaving(core)) == [("node03", WHY), ("node04", WHY)]
    status = core.attempts[lead.uuid].lead
    assert status is not None
    assert sorted(status.promised) == ["node02", "node06", "node07"]
    assert of_hosts(workers(core.handle(Tick(22.5)))) == ["node06", "node07"]
    for worker in mine:
        if worker.hosts[0] in ("node03", "node04"):
            removed(core, core.attempts[worker.uuid], 23.0)
    assert not [each for time in range(24, 60) for each in lent(core, float(time))]


def test_where_hosts_are_few_they_are_for_the_cluster_with_the_slow_link_not_for_a_slow_worker() -> None:
    core, lead, mine = running(4, "aabbcc")
    assert of_hosts(lent(core, 7.0)) == ["node05", "node06"]
    slow = next(each for each in mine if each.hosts[0] == "node02")
    speeds = tuple((worker, 0.1 if worker == slow.worker else 1.0) for worker in (0, *(each.worker for each in mine)))
    for time in range(13, 18):
        core.handle(SpeedsMeasured(float(time), lead.uuid, speeds))
    measured(core, lead, {"b": 0.4}, 17, 17)
    core.handle(SpeedsMeasured(18.0, lead.uuid, speeds))
    assert not leaving(core)  # the worker is known to be slow, the link not yet
    measured(core, lead, {"b": 0.4}, 19, 22)
    assert sorted(leaving(core)) == [("node03", WHY), ("node04", WHY)]


def test_a_slow_worker_leaves_the_idle_hosts_to_a_cluster_that_nothing_is_known_of_yet() -> None:
    core, lead, mine = running(4, "aabbcc", longer=1000.0)
    assert of_hosts(lent(core, 7.0)) == ["node05", "node06"]
    slow = next(each for each in mine if each.hosts[0] == "node02")
    speeds = tuple((worker, 0.1 if worker == slow.worker else 1.0) for worker in (0, *(each.worker for each in mine)))
    near = tuple(WorkerOverhead(worker, 0.0, 0.0, 0.0) for worker in (0, slow.worker))
    for time in range(13, 23):
        core.handle(OverheadsMeasured(float(time), lead.uuid, near))
        core.handle(SpeedsMeasured(float(time), lead.uuid, speeds))
    assert not leaving(core)  # of the workers in the other cluster nothing is known
    core.handle(SpeedsMeasured(13.0 + 180, lead.uuid, speeds))
    assert [host for host, _ in leaving(core)] == ["node02"]  # it does not wait for ever


def test_a_program_that_ends_soon_stays_where_it_is() -> None:
    core, lead, _ = running(4, "aabbcc", longer=1.0)  # it ends at 31 s
    measured(core, lead, {"b": 0.4}, 22, 27)
    assert not leaving(core)


@pytest.mark.parametrize("trigger", [LoadTrigger.ADVISE, LoadTrigger.OFF])
def test_clusters_stay_where_the_trigger_does_not_act_and_are_told_of(trigger: LoadTrigger) -> None:
    core, lead, _ = running(1, "aabb", trigger=trigger)
    lent(core, 7.0)
    measured(core, lead, {"b": 0.4}, 13, 30)
    assert not leaving(core)
    said = explain(core, "1", 30.0)
    assert said is not None
    assert any(WHY in words for words in said.waits_for)


def test_a_program_grows_over_its_own_cluster_before_others() -> None:
    core, lead, _ = running(1, "acbbaac")
    core.handle(HostsWished(2.0, lead.uuid, 3))
    assert of_hosts(lent(core, 7.0)) == ["node05", "node06"]


def test_it_grows_over_the_cluster_with_most_idle_hosts_beside_its_own() -> None:
    core, lead, _ = running(1, "abccb")
    core.handle(HostsObserved(1.5, clustered(*"abcccb")))
    core.handle(HostsWished(2.0, lead.uuid, 3))
    assert of_hosts(lent(core, 7.0)) == ["node03", "node04"]


def test_of_workers_that_nobody_needs_those_with_the_slowest_link_go_first() -> None:
    core, lead, _ = running(1, "abcc")
    lent(core, 7.0)
    measured(core, lead, {"b": 0.2, "c": 0.1}, 8, 9)
    core.handle(HostsWished(10.0, lead.uuid, 3))
    assert [host for host, _ in leaving(core)] == ["node02"]


def test_where_no_cluster_is_known_nothing_is_avoided_and_the_order_is_that_of_names() -> None:
    core, lead, _ = running(1, "a" * 4)
    core.handle(HostsObserved(1.5, hosts(4)))
    core.handle(HostsWished(2.0, lead.uuid, 3))
    assert of_hosts(lent(core, 7.0)) == ["node02", "node03"]
    measured(core, lead, {"": 0.8}, 13, 30)
    assert not leaving(core)


def test_a_core_that_goes_on_from_a_snapshot_still_keeps_away_from_the_cluster() -> None:
    core, lead, _ = running(1, "aabb")
    far = [each for each in lent(core, 7.0) if each.hosts[0] in ("node03", "node04")]
    measured(core, lead, {"b": 0.4}, 13, 18)
    for worker in far:
        removed(core, core.attempts[worker.uuid], 19.0)
    saved = Codec().read(Codec().write(core.snapshot(), CoreSnapshot), CoreSnapshot)
    again = Coscheduler.from_snapshot(core.settings, saved)
    assert again.snapshot() == core.snapshot()
    assert not [each for time in range(20, 40) for each in workers(again.handle(Tick(float(time))))]
