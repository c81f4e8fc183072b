from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cosched.coscheduler.attempts.attempt import Attempt, AttemptState
from cosched.coscheduler.elastic.wishes import unwanted

WORKERS = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.sampled_from([AttemptState.RUNNING, AttemptState.CANCELLING])),
    max_size=8,
).map(
    lambda drawn: [
        Attempt(
            f"u{number}",
            "1",
            (f"h{number}",),
            1,
            None,
            0.0,
            state,
            worker=number,
            loan=loan,
            leave_by=9.0 if leaves else None,
        )
        for number, (loan, leaves, state) in enumerate(drawn, start=1)
    ]
)


def stays(worker: Attempt) -> bool:
    return worker.leave_by is None and worker.state is AttemptState.RUNNING


@given(WORKERS, st.integers(1, 9))
def test_so_many_lent_hosts_go_that_the_wish_is_met_or_only_promised_ones_are_left(
    workers: list[Attempt], most: int
) -> None:
    going = unwanted(workers, most, {})
    assert all(worker.loan and stays(worker) for worker in going)
    left = [worker for worker in workers if stays(worker) and worker not in going]
    assert 1 + len(left) <= most or not any(worker.loan for worker in left)
    assert not going or 1 + len(left) >= most
    assert [worker.worker for worker in going] == sorted((worker.worker for worker in going), reverse=True)


@given(WORKERS)
def test_without_a_wish_nobody_goes(workers: list[Attempt]) -> None:
    assert unwanted(workers, None, {}) == []
