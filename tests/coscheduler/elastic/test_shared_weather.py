"""The core in any weather with elastic tasks on shared hosts: nothing overfilled, no planned start delayed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from cosched.connector.hosts import HostShare
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import DispatchAttempt
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.elastic.values import ElasticSettings
from cosched.coscheduler.events import TaskSubmitted
from tests.coscheduler.elastic.test_any_weather import SPEEDS, ElasticWeather
from tests.coscheduler.makers import elastic_task
from tests.coscheduler.places.test_any_weather import SIZES, SharedHosts
from tests.exploring import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.events import Event

_NEEDS = st.fixed_dictionaries(
    {
        "cores": st.integers(1, 4),
        "memory": st.sampled_from([0, 0, 500, 6000]),
        "gpus": st.sampled_from([0, 0, 0, 1]),
        "exclusive": st.sampled_from([False, False, False, True]),
    }
)
_LONG = (300.0, 150.0, 100.0, 75.0, 60.0, 50.0)


class SharedElastic(SharedHosts, ElasticWeather):
    """Workers take parts of hosts, beside tasks that share these and jobs of others."""

    elastic = ElasticSettings(payback=1.0, settle=1.0)

    @initialize(staging=st.sampled_from([0.0, 2.0]))
    def begin(self, staging: float) -> None:
        super().begin(staging)
        self.hosts_come_and_go({1})
        self.submit_elastic_with_needs(_LONG, {"cores": 1}, None, "bob", False)
        wide = {"cores": 8, "memory": 0, "gpus": 0, "exclusive": False}
        self.submit_with_needs([math.inf, 9.0], wide, None, "bob")  # room is saved up for it until the first has ended
        for _ in range(3):  # its lead and its promised workers first, then lent ones
            self.much_time_goes_by()
            self.the_manager_starts_all_that_it_was_given()
        self.hosts_come_and_go(set())

    @rule(
        seconds=st.sampled_from([SPEEDS, SPEEDS[:2], _LONG]),
        needs=_NEEDS,
        due=st.one_of(st.none(), st.floats(0.0, 20.0)),
        owner=st.sampled_from(["ann", "bob"]),
        needs_lead=st.booleans(),
    )
    def submit_elastic_with_needs(
        self, seconds: Sequence[float], needs: dict[str, Any], due: float | None, owner: str, needs_lead: bool
    ) -> None:
        self.accepted += 1
        deadline = None if due is None else self.time + due
        fields: dict[str, Any] = {"submitted": self.time, "deadline": deadline, "owner": owner, "grace": 6.0}
        task = elastic_task(self.accepted, seconds, needs_lead=needs_lead, **fields)
        self.tell(TaskSubmitted(self.later(), replace(task, spec=replace(task.spec, **needs))))

    def tell(self, event: Event) -> None:
        super().tell(event)
        lent = [each.attempt for each in self.outcomes[-1].decisions if isinstance(each, DispatchAttempt)]
        if new := {each.uuid for each in lent if each.loan}:
            self.no_loan_delays_what_is_planned(new)

    def no_loan_delays_what_is_planned(self, new: set[str]) -> None:
        """With the same core without the new loans, everything that waits is planned to start at the same times."""
        snapshot, time = self.core.snapshot(), self.time
        kept = tuple(each for each in snapshot.attempts if each.uuid not in new)
        other = Coscheduler.from_snapshot(self.core.settings, replace(snapshot, attempts=kept))
        views = [core.planning_view for core in (self.core, other)]
        if self.core.fair_shares.tree is not None or len({repr(view.assumptions(time)) for view in views}) > 1:
            return  # loans count for whose turn it is, and at limits of users
        with_loans, without = (view.forecast(time) for view in views)
        starts = [
            None if each is None else [(a.task, a.start) for a in each[1].assignments] for each in (with_loans, without)
        ]
        assert starts[0] == starts[1], "a loan delays what is planned"

    @invariant()
    def promised_hosts_are_nobody_elses(self) -> None:
        """What leads are promised, with or without a worker there, fits beside all that runs."""
        places: dict[str, list[HostShare | None]] = {}
        leads = {each.task: each for each in self.core.attempts.values() if each.lead is not None}
        for each in self.core.attempts.values():
            lead = leads.get(each.task)
            if each.worker and not each.loan and lead is not None and lead.state is not AttemptState.HELD:
                assert each.hosts[0] in lead.reckoned_hosts
                continue
            for host in each.reckoned_hosts if each.takes_hosts else ():
                places.setdefault(host, []).append(each.share)
        for number, size in SIZES.items():
            here = places.get(f"node{number:02d}", [])
            if None in here:
                assert len(here) == 1
            else:
                assert sum((share for share in here if share), HostShare()).within(size)


SharedElastic.TestCase.settings = hypothesis_settings(max_examples=examples(20), stateful_step_count=40, deadline=None)
TestSharedElastic = SharedElastic.TestCase
