from __future__ import annotations

import threading

from cosched.app.periodic_writer import PeriodicWriter


class Counter(PeriodicWriter):
    """Counts how often it was asked to write, and by which threads."""

    def __init__(self, pause: float) -> None:
        super().__init__("counter", pause)
        self.writers: list[str] = []
        self.second = threading.Event()

    def write(self) -> None:
        self.writers.append(threading.current_thread().name)
        if len(self.writers) == 2:
            self.second.set()


def test_it_writes_again_and_again_and_once_more_at_the_end() -> None:
    counter = Counter(0.01)
    counter.start()
    assert counter.second.wait(60)
    counter.stop()
    assert not counter.is_alive()
    assert set(counter.writers[:-1]) == {"counter"}
    assert counter.writers[-1] == threading.current_thread().name


def test_the_end_waits_for_no_pause() -> None:
    counter = Counter(1e6)
    counter.start()
    counter.stop()
    assert len(counter.writers) == 1


def test_one_that_was_never_started_only_writes() -> None:
    counter = Counter(1e6)
    counter.stop()
    assert counter.writers == [threading.current_thread().name]
