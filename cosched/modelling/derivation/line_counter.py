"""Runs a Python program and counts how often each of its lines is executed; a program of its own.

    python line_counter.py COUNTS.json PROGRAM.py ARGUMENT…

Only lines of PROGRAM.py are counted. It imports nothing of cosched: the program's own interpreter runs it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, FrameType

__all__: list[str] = []

_Counts = dict[tuple[str, int], int]


def _count_by_monitoring(program: str, counts: _Counts) -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]  # since Python 3.12
    tool = monitoring.COVERAGE_ID

    def line(code: CodeType, number: int) -> Any:
        if code.co_filename != program:
            return monitoring.DISABLE
        place = (code.co_name, number)
        counts[place] = counts.get(place, 0) + 1
        return None

    monitoring.use_tool_id(tool, "cosched")
    monitoring.register_callback(tool, monitoring.events.LINE, line)
    monitoring.set_events(tool, monitoring.events.LINE)


def _count_by_tracing(program: str, counts: _Counts) -> None:
    def called(frame: FrameType, _event: str, _argument: object) -> Any:
        return line if frame.f_code.co_filename == program else None

    def line(frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line":
            place = (frame.f_code.co_name, frame.f_lineno)
            counts[place] = counts.get(place, 0) + 1
        return line

    threading.settrace(called)
    sys.settrace(called)


def _main() -> None:
    _self, target, program, *arguments = sys.argv
    counts: _Counts = {}
    # As `python PROGRAM.py` has it: its own folder first, its arguments, its name.
    sys.argv = [program, *arguments]
    sys.path[0] = str(Path(program).parent)
    code = compile(Path(program).read_bytes(), program, "exec")
    names = {"__name__": "__main__", "__file__": program, "__builtins__": __builtins__}
    (_count_by_monitoring if hasattr(sys, "monitoring") else _count_by_tracing)(program, counts)
    status: object = 0
    try:
        exec(code, names)  # noqa: S102  the user's own program, as the user
    except SystemExit as end:
        status = end.code
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type,unused-ignore]
    if status not in (None, 0):
        sys.exit(status)  # type: ignore[arg-type,unused-ignore]
    rows = [[name, number, count] for (name, number), count in counts.items()]
    part = Path(f"{target}.{os.getpid()}")  # one for each rank
    part.write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    _main()
