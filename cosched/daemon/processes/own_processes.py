"""The daemon's own processes: what each is for, what it occupies, and since when.

Only Linux shows them; elsewhere none are known.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.api.documents import ProcessView

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["own_processes"]

_PARTNER = "cosched.scheduling.exact.worker"  # the search starts it
_PURPOSES = {  # what stands in its command line
    "cosched.daemon.processes.planner": "search for better plans",
    _PARTNER: "proves how short plans can be",
    "cosched.daemon.processes.predictors": "predictions from models",
    "cosched.daemon.processes.advising": "adviser of the agent",
    "cosched_condor.htcondor_worker": "talks to HTCondor",
    "cosched_slurm.pyslurm_worker": "talks to Slurm",
    "cosched_local/runner.py": "looks after a job of the local slots",
}
_PROC = Path("/proc")
_PARENT, _USER, _SYSTEM, _STARTED, _PAGES = 1, 11, 12, 19, 21  # fields of /proc/PID/stat after the command's name


def own_processes(proc: Path = _PROC) -> Iterator[ProcessView]:
    """Yield this process, then those that it and its search have started, the oldest first."""
    mine = os.getpid()
    found, others = [], []
    for folder in proc.glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            pid, parent = int(folder.name), int(stat[_PARENT])
            command = (folder / "cmdline").read_bytes()
            if pid == mine:
                found.append(_view(mine, "the daemon itself", stat))
            elif parent == mine or _PARTNER.encode() in command:
                others.append((parent, _view(pid, _purpose(command), stat)))
        except (OSError, ValueError, IndexError):  # it has ended meanwhile
            continue
    parents = {mine} | {view.pid for parent, view in others if parent == mine}
    found += [view for parent, view in others if parent in parents]
    yield from sorted(found, key=lambda each: (each.pid != mine, each.started, each.pid))


def _purpose(command_line: bytes) -> str:
    words = command_line.decode(errors="replace").split("\0")
    known = next((purpose for word in words for name, purpose in _PURPOSES.items() if name in word), "")
    return known or Path(words[0]).name or "ended, not yet waited for"


def _view(pid: int, purpose: str, stat: list[str]) -> ProcessView:
    ticks = os.sysconf("SC_CLK_TCK")
    up = float((_PROC / "uptime").read_text().split()[0])
    return ProcessView(
        pid=pid,
        purpose=purpose,
        memory=int(stat[_PAGES]) * os.sysconf("SC_PAGE_SIZE"),
        seconds=(int(stat[_USER]) + int(stat[_SYSTEM])) / ticks,
        started=time.time() - up + int(stat[_STARTED]) / ticks,
    )
