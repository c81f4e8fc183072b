from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.free_hosts import NamedFreeHosts
from tests.scheduling.problems import problems


@given(st.data())
def test_of_each_class_those_that_become_free_first_are_taken_and_of_equals_the_first(data: st.DataObject) -> None:
    problem, alike = data.draw(problems(tasks=1)), data.draw(st.booleans())
    hosts = NamedFreeHosts(problem, alike=alike)
    kinds = [0 if alike else kind for kind in problem.host_class.tolist()]
    free = problem.free.tolist()
    for _ in range(6):
        parts = [(kind, data.draw(st.integers(1, kinds.count(kind)))) for kind in sorted(set(kinds))]
        end = data.draw(st.integers(0, 60).map(float))
        first = sorted(range(len(kinds)), key=lambda host: (free[host], host))
        wanted = [[host for host in first if kinds[host] == kind][:count] for kind, count in parts]
        taken = sorted(host for each in wanted for host in each)
        assert hosts.take(tuple(parts), end) == taken
        for host in taken:
            free[host] = end
