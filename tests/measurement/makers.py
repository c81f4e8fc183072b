"""Samples of a machine that is made up."""

from __future__ import annotations

import re

from cosched.measurement.memory import working_sets
from cosched.measurement.messages import MESSAGE_SIZES
from cosched.measurement.operations import operation_source
from cosched.measurement.samples import Samples
from cosched.measurement.writing import MachineFacts

__all__ = ["FACTS", "made_up_samples"]

FACTS = MachineFacts(4, "2026-01-31", "cc 12 -O2", "Open MPI 4", "sockets", 0.0)
_KERNELS = re.findall(r'^    \{"(\w+)", kernel_', operation_source(), re.MULTILINE)


def made_up_samples(factor: float = 1.0) -> Samples:
    """Return three samples of each test, all alike; the operations take `factor` times as long as usual."""
    values = {f"operation {name}": 0.5 if name.startswith("empty") else 1.0 * factor for name in _KERNELS}
    values |= {f"memory {size}": 50e3 if size <= 2 << 20 else 10e3 for size in working_sets(1 << 32)}
    for kind, base in (("shm", 10.0), ("network", 20.0)):
        for size in MESSAGE_SIZES:
            total = base + 0.001 * size
            values |= {f"{kind} pingpong {size}": total, f"{kind} send {size}": 1.0, f"{kind} receive {size}": 2.0}
    values |= {"noise deviation": 0.02, "noise slowest": 1.03}
    return Samples({name: [value] * 3 for name, value in values.items()})
