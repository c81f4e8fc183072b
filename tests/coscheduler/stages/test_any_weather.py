"""The core in any weather, with chains of stages: no stage out of turn, no way left half, nothing lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from cosched.coscheduler.elastic.values import Elastic
from cosched.coscheduler.events import HoldRequested, StageDone, TaskSubmitted
from cosched.coscheduler.task import TaskState
from tests.coscheduler.elastic.test_any_weather import ElasticWeather
from tests.coscheduler.places.test_any_weather import SharedHosts
from tests.coscheduler.places.test_licences import Licensed
from tests.coscheduler.stages.makers import a_chain
from tests.coscheduler.test_any_weather import AnyWeather
from tests.exploring import examples

if TYPE_CHECKING:
    from tests.coscheduler.stages.makers import Way

_STAGE = st.tuples(st.sampled_from(["sample", "mark"]), st.integers(1, 3), st.sampled_from([1.0, 3.0, 9.0]))
_WAYS = st.lists(
    st.tuples(st.sampled_from([0.5, 0.9, 1.0]), st.lists(_STAGE, min_size=1, max_size=3)), min_size=1, max_size=3
)


class _Chained(AnyWeather):
    @rule(ways=_WAYS, due=st.one_of(st.none(), st.floats(0.0, 40.0)), owner=st.sampled_from(["ann", "bob"]))
    def submit_a_chain(self, ways: list[Way], due: float | None, owner: str, **asked: Any) -> None:
        deadline = None if due is None else self.time + due
        chain = a_chain(self.accepted + 1, *ways, deadline=deadline, time=self.time, owner=owner, **asked)
        time = self.later()
        for task in chain:
            self.accepted += 1
            self.after[task.id] = task.spec.after
            plain = replace(task, spec=replace(task.spec, environment={}))  # recordings leave it out
            self.tell(TaskSubmitted(time, plain))

    @rule(number=st.integers(1, 20))
    def hold(self, number: int) -> None:
        before = self.core.tasks.get(str(number))
        self.tell(HoldRequested(self.later(), str(number), "ann"))
        held = self.core.tasks.get(str(number))
        if before is not None and before.stage is not None:
            assert held == before, "a stage was held by itself"

    @invariant()
    def a_held_task_is_in_no_plan(self) -> None:
        planned = set(self.core.plan.tasks)
        assert planned == {
            name
            for name, task in self.core.tasks.items()
            if task.status.state is TaskState.QUEUED
            and task.profile is not None
            and not task.status.held_by
            and not (task.stage is not None and task.stage.unused)
        }

    @invariant()
    def the_tasks_of_a_chain_have_one_way_that_is_open(self) -> None:
        chains: dict[str, set[int]] = {}
        for task in self.core.tasks.values():
            if task.stage is not None:
                chains.setdefault(task.stage.chain, set()).add(task.stage.way)
                waits = task.status.state is TaskState.QUEUED and self.core.attempt_of(task.id) is None
                assert not waits or task.stage.way in task.stage.open
        assert all(len(ways) == 1 for ways in chains.values())

    @invariant()
    def what_leaves_is_the_stage_of_its_way(self) -> None:
        for attempt in self.core.attempts.values():
            stage = self.core.tasks[attempt.task].stage
            if stage is not None and attempt.lead is None and not attempt.worker:
                assert attempt.count == stage.works[stage.chosen.work].hosts


class ChainsOnWholeHosts(_Chained):
    """Each task has its hosts for itself."""


class ChainsOfOneProgram(_Chained, ElasticWeather):
    """A lead stays through the stages of its chain, with workers that come and go."""

    @rule(ways=_WAYS, due=st.none() | st.floats(0.0, 40.0), needs_lead=st.booleans())
    def submit_one_program(self, ways: list[Way], due: float | None, needs_lead: bool) -> None:
        elastic = Elastic(("/bin/worker",), needs_lead=needs_lead, grace=6.0, whole_chain=True)
        self.submit_a_chain(ways, due, "ann", elastic=elastic)

    @precondition(lambda self: bool(self.leads()))
    @rule(number=st.integers(0, 99))
    def a_lead_is_done_with_its_stage(self, number: int) -> None:
        lead = self.pick(number, self.leads())
        self.say(StageDone(self.later(), lead, self.core.attempts[lead].task))

    @invariant()
    def a_stage_that_has_begun_has_the_hosts_of_its_way(self) -> None:
        for attempt in self.core.attempts.values():
            stage, lead = self.core.tasks[attempt.task].stage, attempt.lead
            if stage is not None and lead is not None and lead.stage_done is None:
                assert len(attempt.reckoned_hosts) == stage.works[stage.chosen.work].hosts

    @invariant()
    def no_lead_waits_for_the_host_of_one_that_waits_for_its_own(self) -> None:
        kept = {attempt.hosts[0]: attempt.task for attempt in self.core.attempts.values() if attempt.lead is not None}
        waits = {
            attempt.task: {kept[host] for host in attempt.lead.promised if host in kept}
            for attempt in self.core.attempts.values()
            if attempt.lead is not None and attempt.lead.gathers
        }
        for task, others in waits.items():
            assert all(task not in waits.get(other, set()) for other in others)


class ChainsOnSharedHosts(_Chained, SharedHosts):
    """Tasks share hosts."""


class ChainsWithLicences(_Chained, Licensed):
    """Stages hold licences of the domain."""

    @rule(ways=_WAYS, due=st.none() | st.floats(0.0, 40.0), licences=st.sampled_from([{"matlab": 1}, {"matlab": 2}]))
    def submit_a_chain_with_licences(self, ways: list[Way], due: float | None, licences: dict[str, int]) -> None:
        self.submit_a_chain(ways, due, "ann", licences=licences)


ChainsWithLicences.TestCase.settings = hypothesis_settings(
    max_examples=examples(8), stateful_step_count=40, deadline=None
)
TestChainsWithLicences = ChainsWithLicences.TestCase
ChainsOnWholeHosts.TestCase.settings = hypothesis_settings(
    max_examples=examples(8), stateful_step_count=40, deadline=None
)
ChainsOfOneProgram.TestCase.settings = hypothesis_settings(
    max_examples=examples(8), stateful_step_count=40, deadline=None
)
TestChainsOfOneProgram = ChainsOfOneProgram.TestCase
TestChainsOnWholeHosts = ChainsOnWholeHosts.TestCase
ChainsOnSharedHosts.TestCase.settings = hypothesis_settings(
    max_examples=examples(8), stateful_step_count=40, deadline=None
)
TestChainsOnSharedHosts = ChainsOnSharedHosts.TestCase
