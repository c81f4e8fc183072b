"""When the queue is asked: seldom, and never too late."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from cosched_condor.job_events import LONGEST_PAUSE, SHORTEST_PAUSE, QueuePolling

_JOBS = st.frozensets(st.sampled_from(["1.0", "2.0", "2.1"]))
_STEPS = st.lists(
    st.tuples(st.floats(0.01, 5.0), st.sampled_from(["look", "stir", "nothing"]), _JOBS, _JOBS, st.booleans()),
    max_size=60,
)


def _due(pace: QueuePolling, start: float, until: float = LONGEST_PAUSE + SHORTEST_PAUSE) -> float:
    """Return after how many seconds a question is due; infinity for not at all."""
    steps = int(until / 0.25) + 1
    return next((0.25 * step for step in range(steps) if pace.is_due(start + 0.25 * step)), math.inf)


def test_the_first_question_is_asked_at_once() -> None:
    assert QueuePolling().is_due(0.0)


def test_where_queue_and_slots_agree_nothing_is_asked() -> None:
    pace = QueuePolling()
    pace.slots_seen(frozenset({"1.0"}), 0.0)
    pace.answered(frozenset({"1.0"}), waiting=False, now=0.0)
    assert _due(pace, 0.0, 3600.0) == math.inf
    pace.slots_seen(frozenset({"1.0"}), 50.0)
    assert _due(pace, 50.0) == math.inf
    pace.slots_seen(frozenset(), 60.0)
    assert pace.is_due(60.0)


def test_what_waits_is_asked_for_ever_more_rarely() -> None:
    pace, now, gaps = QueuePolling(), 0.0, []
    for _ in range(9):
        pace.answered(frozenset(), waiting=True, now=now)
        gaps.append(_due(pace, now))
        now += gaps[-1]
    assert gaps == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_change_during_a_question_is_asked_for_once_more() -> None:
    pace = QueuePolling()
    pace.changed(10.2)
    pace.answered(frozenset(), waiting=False, now=10.0)
    assert 0 < _due(pace, 10.2) <= SHORTEST_PAUSE


@given(_STEPS)
def test_never_too_often_and_never_too_late(
    steps: list[tuple[float, str, frozenset[str], frozenset[str], bool]],
) -> None:
    """Two questions are a second apart; what disagrees, waits, or changed since is asked for within a minute."""
    pace, now, asked = QueuePolling(), 0.0, -math.inf
    seen: frozenset[str] = frozenset()
    for gap, kind, jobs, running, waiting in steps:
        now += gap
        changed = kind == "stir" or (kind == "look" and jobs != seen)
        if kind == "look":
            pace.slots_seen(jobs, now)
            seen = jobs
        elif kind == "stir":
            pace.changed(now)
        if changed:
            assert _due(pace, now) <= SHORTEST_PAUSE + 0.25
        if pace.is_due(now):
            assert now - asked >= SHORTEST_PAUSE
            asked = now
            pace.answered(running, waiting=waiting, now=now)
            assert (_due(pace, now) == math.inf) is (running == seen and not waiting)
