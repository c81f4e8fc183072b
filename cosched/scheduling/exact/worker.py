"""The partner's process: `python -m cosched.scheduling.exact.worker NICE`.

Requests come in on standard input, findings go out on standard output, both as pickles between one user's own
processes. It ends when its input does, also in the middle of a proof. Loading this module loads OR-Tools.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from typing import BinaryIO

from cosched.scheduling.exact.messages import ExactAnswer, ExactRequest
from cosched.scheduling.exact.proof import Proof

__all__ = ["main"]


_STOP_AGAIN = 0.2  # seconds


class _RequestReader(threading.Thread):
    """Keeps the newest request, and stops the work on the one before."""

    def __init__(self, source: BinaryIO) -> None:
        super().__init__(daemon=True, name="requests")
        self._source = source
        self._arrived = threading.Condition()
        self._newest: ExactRequest | None = None
        self._proof: Proof | None = None

    def run(self) -> None:
        while True:
            try:
                request = pickle.load(self._source)  # noqa: S301  from the search that started this process
            except (EOFError, pickle.UnpicklingError):
                os._exit(0)  # the search has gone; the solver would go on
            with self._arrived:
                self._newest = request
                self._arrived.notify()
                while self._newest is request and self._proof is not None:
                    self._proof.stop()  # again and again: a solver that is about to begin does not hear it
                    self._arrived.wait(_STOP_AGAIN)

    def take(self) -> ExactRequest:
        """Wait for a request and return it."""
        with self._arrived:
            while self._newest is None:
                self._arrived.wait()
            request, self._newest, self._proof = self._newest, None, None
            return request

    def watch(self, proof: Proof) -> None:
        """Stop this proof when a request arrives, or at once where one has."""
        with self._arrived:
            self._proof = proof
            if self._newest is not None:
                proof.stop()


def _serve(requests: _RequestReader, out: BinaryIO) -> None:
    def answer(answer: ExactAnswer) -> None:
        pickle.dump(answer, out)
        out.flush()

    while True:
        request = requests.take()
        if request.problem is None or request.plan is None:
            continue
        proof = Proof(request.problem, request.plan, request.bound)
        requests.watch(proof)
        for finding in proof.findings(request.seconds):
            answer(ExactAnswer(request.number, finding.bound, finding.plan))
        answer(ExactAnswer(request.number, None))


def main() -> None:
    """Run until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the search, which ends this process
    os.nice(int(sys.argv[1]))
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of a library must not end up between the pickles
    requests = _RequestReader(sys.stdin.buffer)
    requests.start()
    try:
        _serve(requests, out)
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
