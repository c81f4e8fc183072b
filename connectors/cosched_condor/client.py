"""Our end of the worker process: a call with a time limit, and a new worker after one that failed."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from cosched.connector import ConnectorError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Worker"]

if importlib.util.find_spec("htcondor2") is None:
    raise ImportError("no module named 'htcondor2'")

_BLOCK = 65536


class Worker:
    """A process that runs HTCondor's library for us; started by the first call, one call at a time.

    Args:
        config: path of HTCondor's configuration; None for the one that HTCondor finds by itself.
        schedd: name of the scheduler; empty for this machine's.
        timeout: seconds that HTCondor may take for an answer.

    Attributes:
        calls: how often each verb was called.
    """

    def __init__(self, config: Path | None, schedd: str, timeout: float) -> None:
        self._config = config
        self._schedd = schedd
        self._timeout = timeout
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self.calls: Counter[str] = Counter()

    def call(self, verb: str, wait: float = 0.0, **arguments: object) -> Any:
        """Let the worker do a verb of its manager.

        Args:
            verb: the name.
            wait: seconds that the verb itself waits, on top of the time limit.
            arguments: what JSON can carry.

        Raises:
            ConnectorError: HTCondor refused, does not answer in time (`transient`), or the worker died (`transient`).
        """
        self.calls[verb] += 1
        with self._guard:
            answer = self._exchange({"verb": verb, "arguments": arguments}, self._timeout + wait)
        if "error" in answer:
            raise _refusal(verb, str(answer["error"]))
        return answer["answer"]

    def close(self) -> None:
        """End the process."""
        with self._guard:
            self._end()

    def _exchange(self, request: dict[str, object], limit: float) -> dict[str, Any]:
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = self._line(process, time.monotonic() + limit)
        except BrokenPipeError:
            line = b""
        except BaseException:
            self._end()
            raise
        if line is None:
            self._end()  # an answer that comes later must not pass for that of the next request
            raise ConnectorError(
                f"HTCondor did not answer within {limit:.0f} s: is its scheduler well?", transient=True
            )
        if not line:
            self._end()
            raise ConnectorError("the process that talks to HTCondor ended: see its last words in the log of cosched",
                                 transient=True)  # fmt: skip
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _line(self, process: subprocess.Popen[bytes], end: float) -> bytes | None:
        """Read one line; None when the time is over, empty when the process has ended."""
        assert process.stdout is not None
        pipe = process.stdout.fileno()
        while b"\n" not in self._unread:
            ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return None
            block = os.read(pipe, _BLOCK)
            if not block:
                return b""
            self._unread += block
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            environment = dict(os.environ)
            if self._config is not None:
                environment["CONDOR_CONFIG"] = str(self._config)
            self._unread = b""
            self._process = subprocess.Popen(
                [sys.executable, "-m", "cosched_condor.worker", self._schedd],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                start_new_session=True,  # a Ctrl-C for the daemon is not one for a request under way
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


_FINAL = ("failed to create job ad", "permission", "not authorized", "owner", "invalid", "parse", "no such",
          "undefined")  # fmt: skip


def _refusal(verb: str, message: str) -> ConnectorError:
    """Turn the library's words into an error; what might pass by itself is transient."""
    final = verb == "submit" and any(word in message.lower() for word in _FINAL)
    return ConnectorError(f"HTCondor, asked to {_PURPOSE.get(verb, verb)}: {message}", transient=not final)


_PURPOSE = {
    "hosts": "list its hosts",
    "queue": "show its queue",
    "history": "show its history",
    "act": "change a job",
    "follow": "tell its events",
}
