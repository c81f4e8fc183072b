from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.free_hosts import FreeHosts
from cosched.scheduling.problem import Problem
from cosched.scheduling.widths import single_class
from tests.scheduling.problems import a_problem, problems


@given(st.data())
def test_a_task_takes_the_hosts_that_end_it_first_of_all_that_are_no_slower(data: st.DataObject) -> None:
    """Against all hosts in one list, gone through for each class as the slowest."""
    problem = data.draw(problems(tasks=1))
    free = FreeHosts(problem)
    kinds = [0] * len(problem.hosts) if single_class(problem) is not None else problem.host_class.tolist()
    plain = dict(enumerate(problem.free.tolist()))  # host → when it becomes free
    times = st.sampled_from([1.0, 2.0, 3.5, math.inf])
    for _ in range(6):
        count, ready = data.draw(st.integers(1, len(kinds))), data.draw(st.integers(0, 9).map(float))
        seconds = data.draw(st.tuples(*[times] * len(problem.classes)))
        place = free.first_to_end(seconds, count, ready)
        ends: list[tuple[float, float, list[int]]] = [(math.inf, math.inf, [])]
        for slowest in {each for each in seconds if math.isfinite(each)}:
            able = sorted((time, kinds[host], host) for host, time in plain.items() if seconds[kinds[host]] <= slowest)
            if len(able) >= count:
                ends.append((max(able[count - 1][0], ready) + slowest, slowest, sorted(x[2] for x in able[:count])))
        end, slowest, hosts = min(ends)
        assert place.end == end
        assert sorted(host for _, _, host in place.entries) == hosts
        if hosts:
            assert place.start + slowest == end
            assert free.take(place) == hosts
            plain |= dict.fromkeys(hosts, end)


def test_hosts_whose_classes_differ_in_name_alone_are_of_one() -> None:
    one = a_problem([[4.0, 2.0]], hosts=2, free=[1.0, 0.0])
    two = Problem(("a",), one.hosts, ("x", "y"), np.arange(2), one.free, one.seconds.repeat(2, axis=0),
                  one.release, one.deadline)  # fmt: skip
    places = [FreeHosts(problem).first_to_end((2.0,), 2, 0.0) for problem in (one, two)]
    assert [(place.start, place.end) for place in places] == [(1.0, 3.0)] * 2


def test_a_host_that_never_becomes_free_is_none() -> None:
    problem = replace(a_problem([[4.0, 2.0]], hosts=2), free=np.array([0.0, math.inf]))
    free = FreeHosts(problem)
    assert free.first_to_end((4.0,), 1, 0.0).end == 4.0
    assert free.first_to_end((2.0,), 2, 0.0).entries == ()
