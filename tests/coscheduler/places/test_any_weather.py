"""The core in any weather, with tasks that share hosts or have several shapes: nothing overfilled, lost, run twice."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from cosched.connector.hosts import Host, HostShare
from cosched.coscheduler.events import HostsObserved, ScheduleImproved, TaskSubmitted
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.task import TaskState
from tests.coscheduler.makers import a_task, with_shapes
from tests.coscheduler.test_any_weather import AnyWeather
from tests.exploring import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.attempts.attempt import Attempt

SIZES = {1: HostShare(8000, 4, 1), 2: HostShare(16000, 8, 0), 3: HostShare(16000, 8, 0)}
_NEEDS = st.fixed_dictionaries(
    {
        "cores": st.integers(0, 8),
        "memory": st.sampled_from([0, 0, 500, 12000]),
        "gpus": st.sampled_from([0, 0, 0, 1]),
        "exclusive": st.sampled_from([False, False, False, True]),
    }
)


class Choosing(AnyWeather):
    """Tasks may have several shapes."""

    @rule(
        seconds=st.dictionaries(
            st.integers(1, 8),
            st.lists(st.sampled_from([1.0, 3.0, 9.0]), min_size=1, max_size=3),
            min_size=2,
            max_size=4,
        ),
        due=st.one_of(st.none(), st.floats(0.0, 20.0)),
        owner=st.sampled_from(["ann", "bob"]),
    )
    def submit_with_shapes(self, seconds: dict[int, list[float]], due: float | None, owner: str) -> None:
        self.accepted += 1
        deadline = None if due is None else self.time + due
        task = a_task(self.accepted, submitted=self.time, deadline=deadline, owner=owner)
        self.tell(TaskSubmitted(self.later(), with_shapes(task, seconds)))

    @invariant()
    def a_task_takes_what_one_of_its_shapes_says(self) -> None:
        """An attempt has the cores of an alternative; what waits has all of them, the fewest in its request."""
        for task in self.core.tasks.values():
            if not task.alternatives:
                continue
            attempt, cores = self.core.attempt_of(task.id), [each.cores for each in task.alternatives]
            if attempt is not None:
                assert task.spec.cores in cores
                assert attempt.cores == (task.spec.cores if self.shared else 0)
                assert task.profile is not None
                assert task.profile.on(len(attempt.hosts)) < math.inf
            elif task.status.state is TaskState.QUEUED:
                assert task.spec.cores == cores[0]
                assert task == task.reopened()


class SharedHosts(Choosing):
    """Tasks take parts of hosts, and so do jobs of others."""

    shared = True

    @initialize(staging=st.sampled_from([0.0, 2.0]))
    def begin(self, staging: float) -> None:
        self.others = {number: HostShare() for number in SIZES}
        super().begin(staging)

    def domain(self, down: Sequence[int] = ()) -> tuple[Host, ...]:
        return tuple(
            Host(
                f"node{number:02d}",
                "fast" if number == 1 else "slow",
                up=number not in down,
                claimed=self.others[number] != HostShare(),
                memory=size.memory,
                cores=size.cores,
                gpus=size.gpus,
                others=self.others[number],
            )
            for number, size in SIZES.items()
        )

    def fits(self, attempt: Attempt) -> None:
        for host in attempt.hosts:
            here = [other for other in self.core.attempts.values() if other.takes_hosts and host in other.hosts]
            number = int(host[-2:])
            if any(other.share is None for other in here):
                alone = [other.uuid for other in here] == [attempt.uuid]  # a lead's status may have changed since
                assert alone, "beside a task that has the host for itself"
                assert self.others[number] == HostShare(), "others are there"
                continue
            taken = sum((other.share for other in here if other.share), self.others[number])
            assert taken.within(SIZES[number]), f"{host} is overfilled: {taken}"

    @rule(
        seconds=st.lists(st.sampled_from([1.0, 3.0, 9.0, math.inf]), min_size=1, max_size=3),
        needs=_NEEDS,
        due=st.one_of(st.none(), st.floats(0.0, 20.0)),
        owner=st.sampled_from(["ann", "bob"]),
    )
    def submit_with_needs(self, seconds: list[float], needs: dict[str, Any], due: float | None, owner: str) -> None:
        if not any(map(math.isfinite, seconds)):
            return
        self.accepted += 1
        deadline = None if due is None else self.time + due
        task = a_task(self.accepted, seconds, submitted=self.time, deadline=deadline, owner=owner)
        self.tell(TaskSubmitted(self.later(), replace(task, spec=replace(task.spec, **needs))))

    @rule(order=st.permutations([str(number) for number in range(1, 7)]), count=st.integers(1, 3), data=st.data())
    def the_search_chooses_cores(self, order: list[str], count: int, data: st.DataObject) -> None:
        cores = tuple(data.draw(st.integers(0, 8)) for _ in order)
        self.tell(ScheduleImproved(self.later(), TaskPlan(tuple(order), (count,) * len(order), (), cores)))

    @rule(number=st.integers(1, 3), cores=st.integers(0, 8), memory=st.integers(0, 16000))
    def others_come_and_go(self, number: int, cores: int, memory: int) -> None:
        self.others[number] = HostShare(min(memory, SIZES[number].memory), min(cores, SIZES[number].cores))
        self.tell(HostsObserved(self.later(), self.domain()))

    @invariant()
    def no_host_has_two_attempts(self) -> None:
        """What our own attempts take never exceeds what a host has."""
        for number, size in SIZES.items():
            host = f"node{number:02d}"
            here = [other for other in self.core.attempts.values() if other.takes_hosts and host in other.hosts]
            if any(other.share is None for other in here):
                assert len(here) == 1
            else:
                assert sum((other.share for other in here if other.share), HostShare()).within(size)


SharedHosts.TestCase.settings = hypothesis_settings(max_examples=examples(13), stateful_step_count=40, deadline=None)
TestSharedHosts = SharedHosts.TestCase
Choosing.TestCase.settings = hypothesis_settings(max_examples=examples(8), stateful_step_count=40, deadline=None)
TestWholeHosts = Choosing.TestCase
