"""A limit to what one conversation with a neighbour may take, however much it goes on saying.

A socket's own timeout begins anew with every byte: who sends one now and then would hold a thread for ever.
"""

from __future__ import annotations

import http.client
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["limited"]


@contextmanager
def limited(connection: socket.socket, seconds: float) -> Iterator[None]:
    """End a connection, secured or not, that is still in use here after so many seconds.

    Raises:
        TimeoutError: that has happened, whatever came of it within.
    """
    over = threading.Event()

    def end() -> None:
        over.set()
        with suppress(OSError):  # a secured socket's own shutdown would forget its keys while they are in use
            socket.socket.shutdown(connection, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException):
        if not over.is_set():
            raise
    finally:
        timer.cancel()
    if over.is_set():
        raise TimeoutError(f"it took longer than {seconds:g} s")
