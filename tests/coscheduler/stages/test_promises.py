"""Chains whose deadlines are guaranteed keep them in a domain that runs all as predicted, whatever tasks wait for.

Tasks and chains have licences, parts of shared hosts, deadlines, priorities and predecessors; some hosts are reserved.
The search proposes whatever it likes, and objectives count what they like.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import given, note
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cosched.connector.hosts import Host
from cosched.connector.jobs import JobState
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import AttemptSubmitted, HostsObserved, HostsReserved, ScheduleImproved, Tick
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.reservations import Reservation
from cosched.scheduling.objective.weights import ObjectiveName
from tests.coscheduler.makers import a_task, complete, dispatched, report, settings, submit
from tests.coscheduler.stages.makers import a_chain, submit_chain
from tests.exploring import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.changes import Outcome

_SOON = 1e-3  # seconds: what is planned for now is told to start within
_MUCH = 1000.0  # seconds: far more than all tasks together
_NEEDS = st.fixed_dictionaries(
    {},
    optional={
        "licences": st.dictionaries(st.sampled_from(["ansys", "matlab"]), st.integers(1, 2), min_size=1),
        "cores": st.integers(1, 4),
    },
)
_STAGES = st.lists(
    st.tuples(st.sampled_from(["sample", "mark"]), st.integers(1, 3), st.sampled_from([1.0, 3.0, 8.0])),
    min_size=1,
    max_size=3,
)
_PLAIN = st.fixed_dictionaries(
    {
        "seconds": st.lists(st.sampled_from([2.0, 5.0, 9.0]), min_size=1, max_size=3),
        "due": st.none() | st.integers(1, 40),
        "needs": _NEEDS,
        "follows": st.booleans(),
        "priority": st.sampled_from([0, 0, 5]),
    }
)
_CHAIN = st.fixed_dictionaries(
    {
        "ways": st.lists(st.tuples(st.sampled_from([0.5, 1.0]), _STAGES), min_size=1, max_size=2),
        "due": st.integers(5, 60),
        "needs": _NEEDS,
        "follows": st.booleans(),
    }
)
_ARRIVALS = st.lists(st.tuples(st.sampled_from([0.0, 0.0, 1.0, 4.0]), _PLAIN | _CHAIN), min_size=1, max_size=8)


class _Domain:
    """A domain that runs every attempt for the seconds of its profile, from the moment on that it leaves."""

    def __init__(self, core: Coscheduler) -> None:
        self.core = core
        self.time = 0.0
        self.running: dict[str, tuple[float, float, Attempt]] = {}  # attempt → begin, end
        self.guaranteed: dict[str, float] = {}  # last stage of its way → the chain's deadline
        self.ended: dict[str, float] = {}

    def take(self, outcome: Outcome) -> None:
        """Run what leaves; note what has ended."""
        for attempt in dispatched(outcome):
            task = self.core.tasks[attempt.task]
            assert task.profile is not None
            end = self.time + task.profile.seconds[len(attempt.hosts) - 1]
            self.running[attempt.uuid] = (self.time, end, attempt)
            self.take(self.core.handle(AttemptSubmitted(self.time, attempt.uuid, "1.0")))
            self.take(report(self.core, attempt, JobState.RUNNING, self.time, started=self.time))
        for name, task in outcome.changes.tasks.items():
            if task.status.state.final:
                self.ended[name] = self.time
        self._note_guarantees()

    def _note_guarantees(self) -> None:
        for task in self.core.tasks.values():
            if task.stage is not None and task.stage.guaranteed and task.stage.deadline is not None:
                self.guaranteed.setdefault(task.stage.chain, task.stage.deadline)

    def until(self, time: float) -> None:
        """Go on to a time: jobs end, and what is planned to start is asked for."""
        while True:
            ends = [end for _, end, _ in self.running.values()]
            spans = self.core.planning_view.spans(self.time) or ()
            starts = [self.time + start for _, start, _, _ in spans if start > _SOON]
            following = min([*ends, *starts], default=math.inf)
            if following == math.inf or following > time:
                break
            self.time = following
            assert self.time < _MUCH, "what is planned does not start"
            over = [uuid for uuid, (_, end, _) in self.running.items() if end <= self.time]
            for uuid in over:
                begin, end, attempt = self.running.pop(uuid)
                self.take(complete(self.core, attempt, begin, end))
            if not over:
                self.take(self.core.handle(Tick(self.time)))
        self.time = max(self.time, time) if time < math.inf else self.time


def _hosts(shared: bool) -> tuple[Host, ...]:
    size: dict[str, Any] = {"cores": 4, "memory": 8000} if shared else {}
    return tuple(Host(f"node{number:02d}", **size) for number in range(1, 5))


@hypothesis_settings(max_examples=examples(15), deadline=None)
@given(
    arrivals=_ARRIVALS,
    shared=st.booleans(),
    objective=st.sampled_from(ObjectiveName),
    reserved=st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 20), st.integers(1, 20)), max_size=2, unique_by=lambda each: each[0]
    ),
    proposals=st.lists(st.permutations(range(1, 20)), max_size=3),
)
def test_what_is_guaranteed_is_kept_where_all_goes_as_predicted(
    arrivals: Sequence[tuple[float, dict[str, Any]]],
    shared: bool,
    objective: ObjectiveName,
    reserved: Sequence[tuple[int, int, int]],
    proposals: Sequence[Sequence[int]],
) -> None:
    domain = {"licences": {"ansys": 2, "matlab": 2}, "share_hosts": shared, "margin": 0.0}
    core = Coscheduler(settings(weights=objective.weights, **domain))
    here = _Domain(core)
    here.take(core.handle(HostsObserved(0.0, _hosts(shared))))
    for host, begin, length in reserved:
        period = Reservation(f"r{host}", (f"node{host:02d}",), float(begin), float(begin + length))
        here.take(core.handle(HostsReserved(0.0, period)))
    deadlines: dict[str, tuple[list[str], float]] = {}
    searches = iter(proposals)
    number = 1
    for pause, each in arrivals:
        here.until(here.time + pause)
        needs = {name: value for name, value in each["needs"].items() if shared or name != "cores"}
        due = None if each["due"] is None else here.time + each["due"]
        if each["follows"] and str(number - 1) in core.tasks:
            needs["after"] = (str(number - 1),)
        if "ways" not in each:
            needs["priority"] = each["priority"]
            task = a_task(number, each["seconds"], submitted=here.time, deadline=due, **needs)
            number += 1
            here.take(submit(core, task, here.time))
        else:
            chain = a_chain(number, *each["ways"], deadline=due, time=here.time, **needs)
            number += len(chain)
            here.take(submit_chain(core, chain, here.time))
            assert due is not None
            deadlines[chain[0].id] = ([task.id for task in chain], due)
        if (order := next(searches, None)) is not None:
            names = tuple(map(str, order))
            here.take(core.handle(ScheduleImproved(here.time, TaskPlan(names, (1,) * len(names)))))
    here.until(math.inf)
    for name, due in here.guaranteed.items():
        stages, _ = deadlines[name]
        late = max(here.ended[stage] for stage in stages) - due
        note(f"chain {name} of {stages} by {due}: {[here.ended[stage] for stage in stages]}")
        assert late <= _SOON, "a guarantee was broken"
    assert not [name for name, task in core.tasks.items() if replace(task).status.attempts], "what runs ends"
