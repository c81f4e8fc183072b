from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.free_hosts import FreeHostsByClass, IdenticalFreeHosts, NamedFreeHosts
from cosched.scheduling.host_counts import single_class
from tests.scheduling.problems import a_problem, problems


@given(st.data())
def test_a_task_takes_the_hosts_that_end_it_first_of_all_that_are_no_slower(data: st.DataObject) -> None:
    """Against all hosts in one list, gone through for each class as the slowest."""
    problem = data.draw(problems(tasks=1))
    free = FreeHostsByClass.of(problem)
    kinds = [0] * len(problem.hosts) if single_class(problem) is not None else problem.host_class.tolist()
    plain = sorted(zip(problem.free.tolist(), kinds, strict=True))
    times = st.sampled_from([1.0, 2.0, 3.5, math.inf])
    for _ in range(6):
        count, ready = data.draw(st.integers(0, len(kinds) + 1)), data.draw(st.integers(0, 9).map(float))
        seconds = data.draw(st.tuples(*[times] * len(problem.classes)))
        start, end, parts = free.first_to_end(seconds, count, ready)
        ways: list[tuple[float, float, list[tuple[float, int]]]] = [(math.inf, math.inf, [])]
        for slowest in {each for each in seconds if math.isfinite(each)}:
            able = [host for host in plain if seconds[host[1]] <= slowest]
            if 0 < count <= len(able):
                ways.append((max(able[count - 1][0], ready) + slowest, slowest, able[:count]))
        known, slowest, taken = min(ways)
        assert end == known
        assert dict(parts) == {kind: sum(each == kind for _, each in taken) for _, kind in taken}
        if parts:
            assert start + slowest == end
            free.take(parts, end)
            for host in taken:
                plain.remove(host)
            plain = sorted([*plain, *[(end, kind) for _, kind in taken]])
        assert sorted((time, kind) for kind, row in enumerate(free.rows) for time in row) == plain


def test_a_host_that_never_becomes_free_is_none() -> None:
    free = FreeHostsByClass.of(a_problem([[4.0, 2.0]], hosts=2, free=[0.0, math.inf]))
    assert free.first_to_end((4.0,), 1, 0.0) == (0.0, 4.0, ((0, 1),))
    assert free.first_to_end((2.0,), 2, 0.0).parts == ()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.data())
def test_hosts_are_taken_from_the_front_and_come_back_in_place(free: list[int], data: st.DataObject) -> None:
    times, plain = IdenticalFreeHosts(free), sorted(free)
    for _ in range(5):
        count = data.draw(st.integers(1, len(free)))
        end = data.draw(st.integers(0, 20))
        times.take(count, end)
        plain = sorted(plain[count:] + [end] * count)
        assert [times.earliest(number + 1) for number in range(len(free))] == plain


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
