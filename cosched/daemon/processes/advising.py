"""The adviser in a process of its own: `python -m cosched.daemon.processes.advising NICE`.

One question comes in on standard input and its answer goes out on standard output, both as pickles between one user's
own processes. It takes no more processor time than it was given.
"""

from __future__ import annotations

import math
import os
import pickle
import resource
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from cosched.simulation.advertising_search import advise

if TYPE_CHECKING:
    from cosched.agents.advice import Advice, AdviserSnapshot
    from cosched.agents.agent_settings import AdvertisingBounds

__all__ = ["AdviceRequest", "answer", "main"]

_ALLOWANCE = 4  # times the given processor time after which the process is ended: one simulation may be a long one


@dataclass(frozen=True, slots=True)
class AdviceRequest:
    """A question, with the processor seconds that it may take."""

    situation: AdviserSnapshot
    bounds: AdvertisingBounds
    seconds: float


def answer(question: AdviceRequest) -> Advice:
    """Return the advice."""
    return advise(question.situation, question.bounds, question.seconds)


def main(nice: int, source: BinaryIO, target: BinaryIO) -> None:
    """Answer one question; `nice` is added to the process's nice value."""
    os.nice(nice)
    question: AdviceRequest = pickle.load(source)  # noqa: S301  from our own parent
    most = math.ceil(time.process_time() + _ALLOWANCE * question.seconds) + 1  # imports have had their part already
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    pickle.dump(answer(question), target)
    target.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.stdin.buffer, sys.stdout.buffer)
