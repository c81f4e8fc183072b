"""A process runs a resource manager's library for a connector; a dead one is replaced.

Such libraries hang, hold the interpreter's lock while they wait, and may end their process. `WorkerProcess` is the
connector's end, with a time limit for each call; `serve_requests` is the other, one line of JSON each way.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from cosched.connector.interface import ConnectorError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["WorkerEndedError", "WorkerProcess", "error_line", "serve_requests"]

_READ_BYTES = 65536


class WorkerEndedError(ConnectorError):
    """The process ended during a call, by the library's doing or by a kill."""


class WorkerProcess:
    """The connector's end of the process; it starts the process at the first call.

    It takes one call at a time.

    Args:
        module: module of the process, and the module's arguments.
        environment: environment of the process.
        timeout: seconds that an answer may take.
        manager: manager of the library, for messages ("HTCondor").
        daemon: to be looked at where no answer comes ("its scheduler").

    Attributes:
        calls: verb → number of calls.
        ended: how often the process has died, or was ended because it did not answer.
    """

    def __init__(
        self, module: Sequence[str], environment: Mapping[str, str], timeout: float, *, manager: str, daemon: str
    ) -> None:
        self._module = module
        self._environment = environment
        self._timeout = timeout
        self._manager = manager
        self._daemon = daemon
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._abandoned = False
        self.calls: Counter[str] = Counter()
        self.ended = 0

    def call(self, verb: str, wait: float = 0.0, **arguments: object) -> Any:
        """Let the process do a verb.

        Args:
            verb: the name.
            wait: seconds that the verb itself waits, on top of the time limit.
            arguments: values that JSON can carry.

        Raises:
            WorkerEndedError: the process died (`transient`).
            ConnectorError: refused, or no answer in time (`transient`).
        """
        self.calls[verb] += 1
        with self._guard:
            answer = self._exchange({"verb": verb, "arguments": arguments}, self._timeout + wait)
        if "error" in answer:
            raise self.refusal(verb, str(answer["error"]))
        return answer["answer"]

    def refusal(self, verb: str, message: str) -> ConnectorError:
        """Return the error for the library's words; override it where these say more."""
        return ConnectorError(f"{self._manager}, asked to {verb}: {message}", transient=True)

    def close(self) -> None:
        """End the process when the calls that wait for it have been answered."""
        with self._guard:
            self._end()

    def abandon(self) -> None:
        """End the process for good; waiting calls fail, and so do all later ones."""
        self._abandoned = True
        process = self._process
        if process is not None:
            process.kill()
        self.close()

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
        self.ended += not line and not self._abandoned
        if line is None:
            self._end()  # an answer that comes later must not pass for that of the next request
            raise ConnectorError(
                f"{self._manager} did not answer within {limit:.0f} s: is {self._daemon} well?", transient=True
            )
        if not line:
            self._end()
            message = f"the process that talks to {self._manager} ended: its last words are in the log of cosched"
            raise WorkerEndedError(message, transient=True)
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
            block = os.read(pipe, _READ_BYTES)
            if not block:
                return b""
            self._unread += block
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None and not self._abandoned:
            self._unread = b""
            self._process = subprocess.Popen(
                # -P: modules in the folder where the daemon was started are none of its own.
                [sys.executable, "-P", "-m", *self._module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=dict(self._environment),
                start_new_session=True,  # a Ctrl-C for the daemon is not one for a request under way
            )
        if self._process is None or self._abandoned:  # read last: `abandon` sets it before it looks for the process
            self._end()
            raise ConnectorError(f"{self._manager} is not asked any more: cosched is ending", transient=True)
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


def serve_requests(verbs: object, failed: Callable[[], None] = lambda: None) -> None:
    """Answer requests from standard input until there are no more.

    Args:
        verbs: its public methods are the verbs; they take and return what JSON can carry.
        failed: called after a verb that raised.
    """
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the library prints must not get among the answers
        for line in sys.stdin:
            request = json.loads(line)
            answer: dict[str, object]
            try:
                answer = {"answer": getattr(verbs, request["verb"])(**request["arguments"])}
            except Exception as error:
                failed()
                answer = {"error": error_line(error), "kind": type(error).__name__}
            try:
                answers.write(json.dumps(answer) + "\n")
                answers.flush()
            except BrokenPipeError:
                os._exit(0)  # the connector was killed: there is nobody left to tell


def error_line(error: Exception) -> str:
    """Return an error's message in one line."""
    return " ".join(str(error).split()) or type(error).__name__
