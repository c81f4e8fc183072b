from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest

from cosched.access.principals import Principal, ProofOfIdentity, Role
from cosched.api.documents import LeadMessage, OverheadReport, ResizeRequest, StopOrder, WorkerOrder
from cosched.api.problems import BusyError, ConflictError, NotFoundError
from cosched.app.elastic.offers import offer_of
from cosched.app.elastic.service import ElasticService
from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched.connector.jobs import JobState
from cosched.coscheduler.elastic.resize_counts import ResizeCounts
from cosched.coscheduler.elastic.values import Elastic
from cosched.coscheduler.events import AttemptDiagnosed, AttemptSubmitted, HostsObserved, Tick
from cosched.errors import UserError
from cosched.store import Store
from tests.coscheduler.makers import a_core, a_task, dispatched, elastic_task, report, restart_task, submit, workers
from tests.coscheduler.stages.makers import a_chain
from tests.store.new_database import new_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.events import Event

ANN, BOB = Principal("ann", Role.USER), Principal("bob", Role.USER)
_T = TypeVar("_T")


class Domain:
    """A core with a store, asked and told as the daemon's is."""

    def __init__(self, folder: Path) -> None:
        self.core = a_core(4)
        self.store = Store(new_database(folder))
        self.time = 0.0

    def keep(self, outcome: Outcome) -> Outcome:
        self.store.commit(outcome.changes)
        return outcome

    def now(self) -> float:
        return self.time

    def ask(self, question: Callable[[Coscheduler, float], _T]) -> _T:
        return question(self.core, self.time)

    def apply(self, event: Event, check: object = None) -> None:
        assert check is None
        self.keep(self.core.handle(event))


@pytest.fixture
def domain(tmp_path: Path) -> Iterator[Domain]:
    domain = Domain(tmp_path)
    yield domain
    domain.store.close()


@pytest.fixture
def service(domain: Domain) -> ElasticService:
    return ElasticService(cast("Any", domain), domain.store)


@pytest.fixture
def lead(domain: Domain) -> Attempt:
    """A lead on two promised hosts, which has been lent two others."""
    lead, worker = dispatched(
        domain.keep(submit(domain.core, elastic_task(1, [float("inf"), 60.0, 40.0, 30.0], owner="ann")))
    )
    for attempt in (lead, worker):
        domain.keep(report(domain.core, attempt, JobState.RUNNING, 1.0, started=1.0))
    domain.keep(domain.core.handle(Tick(1.0)))
    for each in workers(domain.keep(domain.core.handle(Tick(12.0)))):
        domain.keep(report(domain.core, each, JobState.RUNNING, 12.0, started=12.0))
    domain.time = 12.0
    return domain.core.attempts[lead.uuid]


def of_lead(lead: Attempt) -> Principal:
    return Principal(f"lead:{lead.uuid}", Role.USER, frozenset(), ProofOfIdentity.LEAD, lead.uuid)


def test_workers_are_shown_with_host_promise_and_both_ends(service: ElasticService, lead: Attempt) -> None:
    found = service.workers(ANN, "1")
    assert (found.host, found.promised) == (lead.hosts[0], ("node02",))
    assert [(each.worker, each.host, each.promised, each.state) for each in found.workers] == [
        (1, "node02", True, "running"),
        (2, "node03", False, "running"),
        (3, "node04", False, "running"),
    ]
    assert found.expected_end is not None
    assert found.promised_end is not None
    assert found.expected_end <= found.promised_end


def test_a_worker_that_leaves_is_said_to_and_why(domain: Domain, service: ElasticService, lead: Attempt) -> None:
    service.take(lead, LeadMessage(address="here", drains=True))
    domain.keep(submit(domain.core, a_task(2, [5.0]), 12.5))
    (leaving,) = (each for each in service.workers(ANN, "1").workers if each.state == "leaving")
    assert leaving.leave_by == 42.5
    assert leaving.reason == f"task 2 starts on {leaving.host}"
    offer = service.offer(of_lead(lead), "1")
    assert [each for each in offer.workers if each.order == "leave"] == [
        WorkerOrder(worker=leaving.worker, host=leaving.host, order="leave", by=42.5, reason=leaving.reason)
    ]
    service.tell(of_lead(lead), "1", LeadMessage(refused={str(leaving.worker): "busy"}))
    (kept,) = (each for each in service.workers(ANN, "1").workers if each.state == "leaving")
    assert kept.reason == "busy"
    service.tell(of_lead(lead), "1", LeadMessage(drained=(leaving.worker,)))
    assert [each.state for each in service.workers(ANN, "1").workers if each.worker == leaving.worker] == ["leaving"]
    assert domain.core.attempts[lead.uuid].lead is not None


def test_what_is_repeated_changes_nothing(domain: Domain, service: ElasticService, lead: Attempt) -> None:
    message = LeadMessage(address="here", drains=True, done=1, total=4, most=3)
    service.take(lead, message)
    before = offer_of(domain.core, domain.core.attempts[lead.uuid])
    service.take(domain.core.attempts[lead.uuid], message)
    assert offer_of(domain.core, domain.core.attempts[lead.uuid]) == before


def test_a_wish_stands_until_another_one(domain: Domain, service: ElasticService, lead: Attempt) -> None:
    def wish() -> int | None:
        known = domain.core.attempts[lead.uuid].lead
        assert known is not None
        return known.most

    for most, expected in ((3, 3), (None, 3), (-1, None)):
        service.tell(of_lead(lead), "1", LeadMessage(most=most))
        assert wish() == expected


def test_a_user_has_a_task_keep_to_other_numbers_of_hosts(
    domain: Domain, service: ElasticService, lead: Attempt
) -> None:
    view = service.resize(ANN, "1", ResizeRequest(most=2))
    assert view.promised == ("node02",)
    assert [each.host for each in view.workers if each.state == "leaving"] == ["node03", "node04"]
    before = domain.core.snapshot()
    service.resize(ANN, "1", ResizeRequest(most=2))
    service.tell(of_lead(lead), "1", LeadMessage(resize=ResizeRequest(most=2)))
    assert domain.core.snapshot() == before  # what is repeated changes nothing


@pytest.mark.parametrize(
    ("wish", "fault"),
    [
        (ResizeRequest(least=0), "least is 0: give a number of hosts from 1 to 10000"),
        (ResizeRequest(most=10_001), "most is 10001: give a number of hosts from 1 to 10000"),
        (ResizeRequest(least=4, most=3), "least is 4 and most 3: give the smaller number as least"),
        (ResizeRequest(most=1), "most is 1: task 1 runs on 2 hosts and more"),
    ],
)
def test_a_wish_for_hosts_at_fault_changes_nothing(
    domain: Domain, service: ElasticService, lead: Attempt, wish: ResizeRequest, fault: str
) -> None:
    before = domain.core.snapshot()
    with pytest.raises(UserError, match=fault):
        service.resize(ANN, lead.task, wish)
    assert domain.core.snapshot() == before


def test_hosts_of_other_tasks_cannot_be_wished_for(domain: Domain, service: ElasticService) -> None:
    (attempt,) = dispatched(domain.keep(submit(domain.core, restart_task(1, [60.0], owner="ann"))))
    domain.keep(report(domain.core, attempt, JobState.RUNNING, 1.0, started=1.0))
    with pytest.raises(ConflictError, match="task 1 checkpoints and is run again: cosched chooses its hosts"):
        service.resize(ANN, "1", ResizeRequest(most=2))
    with pytest.raises(NotFoundError):
        service.resize(BOB, "1", ResizeRequest(most=2))
    domain.keep(submit(domain.core, a_task(2, [9.0], owner="ann")))
    with pytest.raises(ConflictError, match="does not run, or is not elastic"):
        service.resize(ANN, "2", ResizeRequest(most=2))


def test_the_speeds_of_workers_are_kept_by_their_hosts(domain: Domain, service: ElasticService, lead: Attempt) -> None:
    workers = domain.core.workers_of("1")
    speeds = {"0": 2.0, "99": 0.1, **{str(each.worker): 2.0 for each in workers[:-1]}, str(workers[-1].worker): 0.5}
    service.tell(of_lead(lead), "1", LeadMessage(speeds=speeds))
    record = domain.core.elastic.bad_hosts.slow.records["1"]
    assert record.parts == ({workers[-1].hosts[0]: 0.25} if len(workers) > 1 else {})


def test_how_workers_spend_their_time_is_kept_with_their_clusters(
    domain: Domain, service: ElasticService, lead: Attempt
) -> None:
    workers = domain.core.workers_of("1")
    there = [replace(host, cluster=f"at-{host.name}") for host in domain.core.domain.hosts.values()]
    domain.keep(domain.core.handle(HostsObserved(12.0, tuple(there))))
    report = OverheadReport(idle=0.1, intra=0.2, inter=0.3)
    named = {"0": report, "99": report, **{str(each.worker): report for each in workers}}
    service.tell(of_lead(lead), "1", LeadMessage(overheads=named))
    found = domain.core.elastic.bad_hosts.links.statistics["1"]
    assert [(each.worker, each.cluster) for each in found] == [
        (0, f"at-{lead.hosts[0]}"),
        *((each.worker, f"at-{each.hosts[0]}") for each in workers),
    ]
    assert {(round(each.overhead, 9), each.inter_cluster) for each in found} == {(0.6, 0.3)}
    offer = service.offer(of_lead(lead), "1")
    assert offer.cluster == f"at-{lead.hosts[0]}"
    assert [each.cluster for each in offer.workers] == [f"at-{each.hosts[0]}" for each in workers]


def test_only_the_lead_itself_and_the_owner_speak_for_a_task(service: ElasticService, lead: Attempt) -> None:
    service.tell(ANN, "1", LeadMessage(address="there"))
    assert service.workers(ANN, "1").lead == "there"
    for refused, error in ((BOB, NotFoundError), (of_lead(lead.__class__("u", "1", (), 1, None, 0.0)), ConflictError)):
        with pytest.raises(error):
            service.offer(refused, "1")
    with pytest.raises(NotFoundError):
        service.workers(BOB, "1")


def test_a_task_that_is_not_elastic_or_does_not_run_has_no_offers(domain: Domain, service: ElasticService) -> None:
    domain.keep(submit(domain.core, a_task(1, [9.0], owner="ann")))
    with pytest.raises(ConflictError, match="is not elastic"):
        service.workers(ANN, "1")
    with pytest.raises(ConflictError, match="does not run, or is not elastic"):
        service.offer(ANN, "1")


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (LeadMessage(fraction=1.5), "give a part from 0 to 1"),
        (LeadMessage(fraction=-0.1), "give a part from 0 to 1"),
        (LeadMessage(done=5), "give both"),
        (LeadMessage(done=5, total=0), "above 0"),
        (LeadMessage(done=5, total=4), "done at most total"),
        (LeadMessage(address="x" * 501), "at most 500"),
        (LeadMessage(address="a\nb"), "address"),
        (LeadMessage(refused={"one": "no"}), "give its number"),
        (LeadMessage(speeds={"one": 1.0}), "give its number"),
        (LeadMessage(speeds={"1": 0.0}), "give a number above 0"),
        (LeadMessage(speeds={"1": float("inf")}), "give a number above 0"),
        (LeadMessage(speeds={"1": float("nan")}), "give a number above 0"),
        (LeadMessage(overheads={"one": OverheadReport()}), "give its number"),
        (LeadMessage(overheads={"1": OverheadReport(inter=-0.1)}), "together at most 1"),
        (LeadMessage(overheads={"1": OverheadReport(idle=0.6, inter=0.6)}), "together at most 1"),
        (LeadMessage(overheads={"1": OverheadReport(idle=float("nan"))}), "together at most 1"),
        (LeadMessage(drained=tuple(range(10_001))), "send several"),
        (LeadMessage(address="there", most=0), "give a number of hosts from 1, or -1"),
    ],
)
def test_nothing_of_a_message_with_a_fault_counts(
    domain: Domain, service: ElasticService, lead: Attempt, message: LeadMessage, fault: str
) -> None:
    before = domain.core.snapshot()
    with pytest.raises(UserError, match=fault):
        service.take(lead, message)
    assert domain.core.snapshot() == before


def test_workers_are_counted_for_monitoring(domain: Domain, service: ElasticService, lead: Attempt) -> None:
    found = service.counts()
    assert (found.tasks, found.running, found.wanted, found.lent, found.leaving) == (1, 3, 3, 2, 0)
    domain.time = 13.0
    domain.keep(submit(domain.core, a_task(2, [10.0]), 13.0))  # it has the idle host of a lent one
    after = service.counts()
    assert (after.running, after.wanted, after.lent, after.leaving) == (2, 2, 2, 1)


def test_hosts_that_come_and_go_are_counted_for_monitoring(
    domain: Domain, service: ElasticService, lead: Attempt
) -> None:
    domain.time = 20.0
    found = service.counts()
    assert (found.width, found.resizes, found.lent_seconds) == (4, ResizeCounts(grown=2), 16.0)
    domain.keep(submit(domain.core, a_task(2, [10.0]), 20.0))
    (gone,) = (each for each in domain.core.workers_of("1") if each.leaves)
    domain.keep(report(domain.core, gone, JobState.REMOVED, 22.0, finished=22.0))
    domain.time = 30.0
    after = service.counts()
    assert (after.width, after.resizes.grown, after.resizes.shrunk, after.resizes.forced) == (3, 2, 1, 0)
    assert after.lent_seconds == 10.0 + 18.0


def test_a_worker_that_has_not_begun_says_why(domain: Domain, service: ElasticService) -> None:
    first, late = dispatched(domain.keep(submit(domain.core, elastic_task(1, [float("inf"), 600.0], owner="ann"))))
    domain.keep(report(domain.core, first, JobState.RUNNING, 1.0, started=1.0))
    domain.keep(domain.core.handle(AttemptSubmitted(1.0, late.uuid, "9.0")))
    domain.time = 62.0
    domain.keep(domain.core.handle(Tick(62.0)))
    diagnosis = StartDiagnosis(StartVerdict.WAITING, "node02 has no disk")
    domain.keep(domain.core.handle(AttemptDiagnosed(62.0, late.uuid, diagnosis)))
    (view,) = service.workers(ANN, "1").workers
    assert (view.state, view.reason) == ("submitted", "not started for 1 min 1 s: node02 has no disk")


def test_a_list_of_workers_that_are_not_there_costs_no_commit_for_each(
    domain: Domain, service: ElasticService, lead: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.take(lead, LeadMessage(address="here", drains=True))
    domain.keep(submit(domain.core, a_task(2, [5.0]), 12.5))
    (leaving,) = (each for each in service.workers(ANN, "1").workers if each.state == "leaving")
    applied: list[Event] = []
    monkeypatch.setattr(domain, "apply", applied.append)
    others = {str(number): "no" for number in range(100, 200)}
    service.take(lead, LeadMessage(drained=(*range(4000), *range(4000)), refused=others))
    assert [getattr(event, "worker", None) for event in applied] == [leaving.worker]


def test_a_lead_that_never_stops_announcing_itself_fills_no_log(
    domain: Domain, service: ElasticService, lead: Attempt
) -> None:
    """By mail it said 80 addresses a second, each of which is a line of the database."""
    kept = 0
    for number in range(1100):
        with suppress(BusyError):
            service.take(domain.core.attempts[lead.uuid], LeadMessage(address=f"here {number}"))
            kept += 1
    assert kept == 1000
    service.take(lead, LeadMessage(fraction=0.5))
    domain.time += 10.0
    service.take(domain.core.attempts[lead.uuid], LeadMessage(address="there"))
    assert domain.core.attempts[lead.uuid].lead is not None


@pytest.mark.parametrize("number", ["9" * 5000, "-1", "²", "٣", "1" * 10])
def test_a_worker_that_is_no_number_is_refused(service: ElasticService, lead: Attempt, number: str) -> None:
    with pytest.raises(UserError, match="give its number"):
        service.take(lead, LeadMessage(refused={number: "no"}))


def test_a_program_that_checkpoints_is_asked_to_stop_and_its_record_is_kept(
    domain: Domain, service: ElasticService
) -> None:
    task = restart_task(1, [420.0, 205.0, 135.0, 100.0], owner="ann", cost=4.0, grace=20.0)
    (attempt,) = dispatched(domain.keep(submit(domain.core, task)))
    domain.keep(report(domain.core, attempt, JobState.RUNNING, 0.0, started=0.0))
    assert service.leads()[attempt.uuid][1].stop is None
    late = a_task(2, [float("inf"), 200.0], deadline=250.0, submitted=20.0, owner="ann")
    domain.keep(submit(domain.core, late, 20.0))
    domain.time = 20.0
    stop = StopOrder(by=40.0, reason="task 2 would be late without its hosts")
    assert service.leads()[attempt.uuid][1].stop == stop
    assert service.offer(ANN, "1").stop == stop
    with pytest.raises(ConflictError, match="without workers"):
        service.workers(ANN, "1")
    domain.keep(report(domain.core, attempt, JobState.FAILED, 22.0, finished=22.0, exit_code=85))
    kept = domain.store.task("1")
    assert kept is not None
    assert kept.status.restarts == domain.core.tasks["1"].status.restarts
    assert kept.spec.elastic == task.spec.elastic
    assert service.counts().tasks == 1


def test_a_program_that_stays_is_told_of_each_stage_and_says_when_it_is_done(
    domain: Domain, service: ElasticService
) -> None:
    way = (0.9, [("sample", 1, 4.0), ("examine", 2, 10.0)])
    chain = a_chain(1, way, owner="ann", elastic=Elastic(("/bin/worker",), whole_chain=True))
    for task in chain:
        outcome = domain.keep(submit(domain.core, task))
    (lead,) = dispatched(outcome)
    token = of_lead(lead)

    def stage() -> tuple[str, str, int]:
        found = service.offer(token, "1").stage  # it knows the task that it began with
        assert found is not None
        return found.task, found.order, found.hosts

    assert stage() == ("1", "wait", 1)
    domain.keep(report(domain.core, lead, JobState.RUNNING, 1.0, started=1.0))
    assert stage() == ("1", "run", 1)
    service.tell(token, "1", LeadMessage(stage_done="1"))
    assert stage() == ("2", "wait", 2)
    (worker,) = domain.core.workers_of("2")
    domain.keep(report(domain.core, worker, JobState.RUNNING, 2.0, started=2.0))
    assert stage() == ("2", "run", 2)
    service.tell(token, "1", LeadMessage(stage_done="1"))  # once more
    assert stage() == ("2", "run", 2)
    service.tell(token, "1", LeadMessage(stage_done="2"))
    assert stage() == ("2", "end", 2)
    ended = domain.store.attempts("1")
    assert [(each.state, each.lead.job_of) for each in ended if each.lead is not None] == [("completed", lead.uuid)]
    assert {each.uuid for each in domain.store.attempts("2")} == {lead.uuid, worker.uuid}
