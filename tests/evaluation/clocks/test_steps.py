from __future__ import annotations

from cosched.evaluation.clocks.steps import COMPUTE, RECEIVE, SEND, Recorder


def test_nothing_recorded_is_no_segment() -> None:
    assert Recorder().close() is None


def test_each_processor_keeps_the_order_of_its_own_steps() -> None:
    recorder = Recorder()
    recorder.send(1, 0, 8, 5)
    recorder.compute(range(2), 3, 6)
    recorder.receive(1, 0, 8, 7)
    steps = recorder.close()
    assert steps is not None
    assert len(steps) == 4
    assert steps.processor.tolist() == [0, 0, 1, 1]
    assert steps.kind.tolist() == [COMPUTE, RECEIVE, SEND, COMPUTE]
    assert steps.peer.tolist() == [0, 1, 0, 1]
    assert steps.amount.tolist() == [3, 8, 8, 3]
    assert steps.place.tolist() == [6, 7, 5, 6]


def test_the_next_segment_begins_empty() -> None:
    recorder = Recorder()
    recorder.compute(range(1), 3, 0)
    assert recorder.close() is not None
    assert recorder.close() is None
