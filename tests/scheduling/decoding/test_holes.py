from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.decoding.holes import Hole, Holes

if TYPE_CHECKING:
    from collections.abc import Sequence

INF = float("inf")
# (hosts, seconds, ready) of tasks placed one after the other on few hosts: whole numbers, so that times coincide often.
requests = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(0, 12)), max_size=10)
frees = st.lists(st.integers(0, 6).map(float), min_size=5, max_size=5)


def brute(free: Sequence[float], taken: Sequence[tuple[int, float, float]]) -> list[Hole]:
    """Return every maximal rectangle, by trying all of them."""
    moments = sorted({*free, *(time for _, begin, end in taken for time in (begin, end))})

    def idle(begin: float, end: float) -> int:
        at = {begin, *(when for when in moments if begin <= when < end)}
        used = {when: sum(hosts for hosts, first, last in taken if first <= when < last) for when in at}
        return min(sum(value <= when for value in free) - used[when] for when in at)

    found = {
        Hole(begin, end, idle(begin, end))
        for begin, end in product(moments, [*moments, INF])
        if begin < end and idle(begin, end) > 0
    }

    def held(one: Hole) -> bool:
        return any(
            other != one and other.begin <= one.begin and one.end <= other.end and one.hosts <= other.hosts
            for other in found
        )

    return sorted(hole for hole in found if not held(hole))


def place(holes: Holes, tasks: Sequence[tuple[int, int, int]]) -> list[tuple[int, float, float]]:
    taken = []
    for hosts, seconds, ready in tasks:
        start = holes.earliest(hosts, seconds, ready)
        holes.take(hosts, start, start + seconds)
        taken.append((hosts, start, start + seconds))
    return taken


@given(frees, requests)
def test_the_holes_are_those_that_trying_all_rectangles_finds(
    free: list[float], tasks: list[tuple[int, int, int]]
) -> None:
    holes = Holes(free)
    taken = place(holes, tasks)
    assert holes.maximal == brute(free, taken)


@given(frees, requests)
def test_a_task_starts_at_the_first_moment_at_which_it_could(
    free: list[float], tasks: list[tuple[int, int, int]]
) -> None:
    holes = Holes(free)
    taken: list[tuple[int, float, float]] = []
    for hosts, seconds, ready in tasks:
        start = holes.earliest(hosts, seconds, ready)

        def fits(begin: float, hosts: int = hosts, seconds: int = seconds) -> bool:
            used = [
                sum(value > begin + step for value in free) + sum(n for n, a, b in taken if a <= begin + step < b)
                for step in range(seconds)
            ]
            return max(used) + hosts <= len(free)

        assert start == next(float(begin) for begin in range(ready, 200) if fits(float(begin)))
        holes.take(hosts, start, start + seconds)
        taken.append((hosts, start, start + seconds))


@given(frees, requests, st.integers(0, 20))
def test_forgetting_the_past_changes_nothing_about_the_future(
    free: list[float], tasks: list[tuple[int, int, int]], now: int
) -> None:
    whole, cut = Holes(free), Holes(free)
    place(whole, tasks)
    place(cut, tasks)
    cut.forget(now)
    assert all(hole.begin >= min(now, min(free)) for hole in cut.maximal)
    for hosts, seconds in product(range(1, 6), (1, 4)):
        assert cut.earliest(hosts, seconds, now) == whole.earliest(hosts, seconds, now)


def test_more_hosts_than_there_are_are_never_idle() -> None:
    assert Holes([0.0, 3.0]).earliest(3, 1.0, 0.0) == INF
    assert Holes([0.0, 3.0]).earliest(2, 1.0, 0.0) == 3.0
