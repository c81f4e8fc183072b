from __future__ import annotations

import gc
import socket

import pytest

_IN_ORDER = pytest.mark.xdist_group("leftovers")


@_IN_ORDER
@pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning")
def test_a_test_may_leave_what_its_mark_says() -> None:
    class Knot:
        def __init__(self) -> None:
            self.itself, self.socket = self, socket.socket()

    Knot()


@_IN_ORDER
def test_what_another_test_may_leave_is_no_fault_of_the_next() -> None:
    """A socket that a daemon's client had left open failed some other test, of all that ran later."""
    gc.collect()
