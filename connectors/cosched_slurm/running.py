"""A command that is run to its end, or until it says something."""

from __future__ import annotations

import os
import select
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence

__all__ = ["Done", "run"]

_BLOCK = 65536
_LOOK = 0.05  # seconds


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended.

    Attributes:
        code: its exit code.
        output: what it wrote to standard output.
        words: what it wrote to standard error, in one line.
        interrupted: it was ended because of these words.
        seconds: how long it lived after these words at most.
    """

    code: int
    output: str
    words: str
    interrupted: bool
    seconds: float


def run(
    command: Sequence[str], environment: Mapping[str, str], limit: float, until: re.Pattern[bytes] | None = None
) -> Done:
    """Run a command without input.

    Args:
        command: argument vector, a path first.
        environment: all that it sees.
        limit: seconds that it may take.
        until: it is ended as soon as standard error holds this.

    Raises:
        TimeoutError: it took longer and was ended.
        OSError: it cannot be started.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )  # a Ctrl-C is not for it
    with process:
        try:
            output, errors, silent = _read(process, began + limit, until)
            interrupted = until is not None and until.search(errors) is not None
            if not interrupted:
                process.wait(max(0.0, began + limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        finally:
            process.kill()
        process.wait()
    words = " ".join(errors.decode(errors="replace").split())
    return Done(process.returncode, output.decode(errors="replace"), words, interrupted, time.monotonic() - silent)


def _read(process: subprocess.Popen[bytes], end: float, until: re.Pattern[bytes] | None) -> tuple[bytes, bytes, float]:
    """Return what it writes to both pipes until it closes them, or standard error holds what is waited for.

    Returns:
        Output, errors, and a time (monotonic) at which nothing of their last part had been written.

    Raises:
        TimeoutError: neither happened in time.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    read = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    output, errors = read.values()
    poll = select.poll()
    for pipe in read:
        poll.register(pipe, select.POLLIN)
    left = len(read)
    silent = time.monotonic()
    while left and not (until is not None and until.search(errors)):
        asked = time.monotonic()
        ready = poll.poll(max(0.0, min(end - asked, _LOOK)) * 1000)
        if not ready:
            silent = asked
        if not ready and asked >= end:
            raise TimeoutError
        for pipe, _ in ready:
            block = os.read(pipe, _BLOCK)
            read[pipe] += block
            if not block:
                poll.unregister(pipe)
                left -= 1
    return bytes(output), bytes(errors), silent
