"""The exact partner at work on one problem for some seconds of processor time, whoever else uses the cores."""

from __future__ import annotations

import threading
import time
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cosched.scheduling.exact.proof import Finding
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["findings"]

_LOOK = 0.1  # seconds between two looks at the clock


def findings(problem: Problem, plan: Plan, bound: float, seconds: float) -> Iterator[tuple[float, Finding]]:
    """Yield better bounds and shorter plans, each with the seconds of processor time after which it was found.

    Args:
        problem: one that is not `uncovered`.
        plan: the shortest known.
        bound: the lower bound of the makespan known, in seconds.
        seconds: processor time of this process, in which nothing else works meanwhile.
    """
    from cosched.scheduling.exact.proof import Proof  # loads OR-Tools

    began = time.process_time()
    proof, over = Proof(problem, plan, bound), threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK):
            if time.process_time() - began >= seconds:
                proof.stop()

    threading.Thread(target=watch, daemon=True).start()
    try:
        for finding in proof.findings(inf):
            yield time.process_time() - began, finding
    finally:
        over.set()
