from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched_local.processor_use import ForeignUse, ProcessorSample, part_taken

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = st.builds(ProcessorSample, *[st.integers(0, 10**9)] * 3)


def a_process(proc: Path, pid: int, parent: int, session: int, ticks: tuple[int, int, int, int], begun: int) -> None:
    words = ["S", str(parent), "1", str(session), *["0"] * 7, *map(str, ticks), *["0"] * 4, str(begun)]
    (proc / str(pid)).mkdir(parents=True)
    (proc / str(pid) / "stat").write_text(f"{pid} (a (b) c) {' '.join(words)} 0 0\n")


def test_counters_are_read_from_proc(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  100 20 30 4000 50 6 7 8 99 99\ncpu0 1 2 3\n")
    a_process(tmp_path, 10, 1, 10, (1, 2, 3, 4), begun=5)
    a_process(tmp_path, 11, 10, 10, (10, 0, 0, 0), begun=6)
    a_process(tmp_path, 12, 1, 12, (500, 0, 0, 0), begun=4)
    sample = ProcessorSample.read(lambda _pid, _parent, session: session == 10, tmp_path)
    assert sample == ProcessorSample(busy=171, idle=4050, own=20)


def test_others_take_only_what_they_do_not_leave() -> None:
    before = ProcessorSample(0, 0, 0)
    assert part_taken(before, ProcessorSample(100, 100, 100), processors=2, slots=2) == 0  # all of it is ours
    assert part_taken(before, ProcessorSample(100, 100, 0), processors=2, slots=1) == 0  # a processor is left
    assert part_taken(before, ProcessorSample(100, 100, 0), processors=2, slots=2) == pytest.approx(0.5)
    assert part_taken(before, ProcessorSample(200, 0, 100), processors=2, slots=16) == pytest.approx(0.5)
    assert part_taken(before, before, processors=2, slots=2) == 0


@given(SAMPLES, SAMPLES, st.integers(1, 64), st.integers(1, 64))
def test_a_part_is_a_part(before: ProcessorSample, after: ProcessorSample, processors: int, slots: int) -> None:
    assert 0 <= part_taken(before, after, processors, slots) <= 1


def test_this_machine_is_read_and_this_process_is_ours() -> None:
    everything = ProcessorSample.read(lambda *_: True)
    ours = ProcessorSample.read(lambda pid, _parent, _session: pid == os.getpid())
    assert 0 < ours.own <= everything.own + ours.own
    assert everything.busy > 0
    assert 0 <= ForeignUse(2, lambda: [os.getsid(0)]).part() <= 1
