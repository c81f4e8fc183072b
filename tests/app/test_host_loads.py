from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, TypeVar

from cosched.app.host_loads import HostLoadService
from cosched.prediction.loads.load_history import HourlyLoad, LoadCause, LoadHistory

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

_A = TypeVar("_A")
_HOUR = 500_000


class Reader:
    """Two hosts with owners; each question waits for the gate and is counted."""

    def __init__(self) -> None:
        self.gate, self.asked = threading.Event(), threading.Semaphore(0)
        self.gate.set()
        self.owners, self.jobs = LoadHistory(), LoadHistory(LoadCause.JOBS)
        self.owners.load(HourlyLoad(host, _HOUR, 3600.0, 900.0, 900.0, 1, 900.0, 810_000.0) for host in ("n1", "n2"))

    def read(self, question: Callable[[LoadHistory, LoadHistory], _A]) -> _A:
        self.asked.release()
        assert self.gate.wait(60)
        return question(self.owners, self.jobs)


def questions(reader: Reader) -> int:
    """Return how many were asked since the last time."""
    count = 0
    while reader.asked.acquire(blocking=False):
        count += 1
    return count


def test_an_answer_is_made_host_by_host_by_one_thread_and_serves_all_who_ask_meanwhile() -> None:
    """Of a thousand hosts it takes 5 s, in which nobody could look at hosts; everybody may ask, and again."""
    reader = Reader()
    service = HostLoadService(reader, lambda: (_HOUR + 1) * 3600.0)
    first = service.all()
    assert [load.host for load in first] == ["n1", "n2"]
    assert questions(reader) == 3  # between them others have the histories
    reader.gate.clear()

    def ask_until_it_is_made_anew() -> None:
        while service.all() is first:
            pass

    making = threading.Thread(target=ask_until_it_is_made_anew)
    making.start()
    assert reader.asked.acquire(timeout=240)
    assert [service.all() is first for _ in range(100)] == [True] * 100
    reader.gate.set()
    making.join(60)
    assert service.all() == first


def test_an_answer_that_took_long_is_kept_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    processor = [0.0]  # seconds of this thread
    monkeypatch.setattr(time, "thread_time", lambda: processor[0])

    class Busy(Reader):
        def read(self, question: Callable[[LoadHistory, LoadHistory], _A]) -> _A:
            processor[0] += 10.0
            return super().read(question)

    reader = Busy()
    service = HostLoadService(reader, lambda: (_HOUR + 1) * 3600.0)
    service.all()
    questions(reader)
    service.all()  # within ten minutes
    assert questions(reader) == 0
