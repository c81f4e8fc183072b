"""Frames for expressions written in a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cosched.evaluation.budget import Budget
from cosched.evaluation.interpreter.frame import Frame, ObjectRun, ProgramRun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.evaluation.interpreter.frame import Value


def frame(
    values: Mapping[str, Value],
    own: Mapping[str, Value] | None = None,
    hosts: Sequence[int] = (1,),
    budget: Budget | None = None,
) -> Frame:
    """Return a frame of some numbers of hosts."""
    counts = np.array(hosts)
    run = ObjectRun(ProgramRun(budget or Budget(), 10_000, expand=len(hosts) > 1), counts, np.cumsum(counts) - counts)
    return Frame(dict(values), dict(own or {}), run, run.lanes)
