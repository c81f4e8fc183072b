"""What must hold for any text that is given as a model: shared by the property tests and the fuzzer."""

from __future__ import annotations

import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from zlib import crc32

from cosched.errors import UserError
from cosched.evaluation import evaluate, load, load_hardware, profile
from cosched.language import ModelError, check_files, decode, format_source, parse_hmcl, parse_psl, read
from cosched.language.checks.objects import MOST_FAULTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.language import Diagnostic, Source

__all__ = ["Oracle"]

_STEPS = 5_000


_HARDWARE = """config h {
    hardware { T = 1 / 2; }
    mpi { transfer_latency = 1 us, transfer_bandwidth = 1 GB/s, send_overhead = 2, receive_overhead = 3; }
    clc { LFOR = T, AFDG = 2 * T, CMLL = 1; }
    memory { L1_size = 1 KiB, L1_bandwidth = 8 GB/s, bandwidth = 2 GB/s; }
    blocks { a.u = 2 ns; }
}"""
_TEMPLATE = "partmp t { var numeric: x = 1 us, size = 8 B; proc exec init { step cpu { confdev x; } } }"


class Oracle:
    """Gives texts to everything that reads models."""

    def __init__(self, *, thorough: bool = True) -> None:
        """Make a small library.

        Args:
            thorough: lay out and evaluate every text; else, for speed, lay out only a quarter of those with faults,
                and evaluate none with a `while`.
        """
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a file for each text: not on a disk
        self._folder = TemporaryDirectory(prefix="cosched-fuzz-", dir=memory)
        self._thorough = thorough
        folder = Path(self._folder.name)
        self._library = (folder,)
        (folder / "t.psl").write_text(_TEMPLATE, encoding="utf-8")
        (folder / "h.hmcl").write_text(_HARDWARE, encoding="utf-8")
        self._hardware = load_hardware("h", self._library)

    def examine(self, content: bytes, suffix: str) -> str:
        """Return what became of a text: `refused`, `faulty`, `sound` or `evaluated`.

        Args:
            content: of a model file; it may include the template `t` and name the hardware `h`.
            suffix: `.psl` or `.hmcl`.

        Raises:
            AssertionError: a property does not hold. Any other error that is no `UserError` is a defect too.
        """
        path = self._library[0] / f"any{suffix}"
        try:
            source = decode(content, str(path))
        except ModelError as error:
            _readable(error.diagnostics)
            return "refused"
        path.write_bytes(content)
        faults = check_files([path], self._library)
        _readable(faults)
        assert all(_inside(fault, source) for fault in faults if fault.file == str(path))
        if self._thorough or not faults or crc32(content) % 4 == 0:
            _formatted(source, suffix)
        if faults:
            return "faulty"
        if not self._thorough and b"while" in content:  # most of these never end, and end at their bound after seconds
            return "sound"
        return self._evaluated(path) if suffix == ".psl" else self._taken(path)

    def _evaluated(self, path: Path) -> str:
        """Evaluate a sound application; side by side and one step after another must agree."""
        try:
            application = load(path, self._library)
            seconds = profile(application, self._hardware, [1, 3], steps=_STEPS)
            single = evaluate(application, self._hardware, 3, steps=_STEPS).seconds
        except UserError:
            return "sound"
        assert all(second >= 0 for second in seconds)
        assert abs(single - seconds[1]) <= 1e-6 * abs(single), (single, seconds[1])
        return "evaluated"

    def _taken(self, path: Path) -> str:
        if len(parse_hmcl(read(path))) != 1:
            return "sound"
        load_hardware(path)
        return "evaluated"


def _readable(faults: Sequence[Diagnostic]) -> None:
    assert len(faults) <= 1000 * MOST_FAULTS
    for fault in faults:
        shown = fault.render()
        assert "\n" not in str(fault), fault
        assert shown.startswith(str(fault)), fault
        assert fault.line >= 1, fault
        assert fault.column >= 1, fault


def _inside(fault: Diagnostic, source: Source) -> bool:
    lines = source.text.split("\n")
    return fault.line <= len(lines) and fault.column <= len(lines[fault.line - 1]) + 1


def _formatted(source: Source, suffix: str) -> None:
    parse = parse_psl if suffix == ".psl" else parse_hmcl
    try:
        once = format_source(source)
    except ModelError:
        return
    laid_out = decode(once, source.file)
    assert format_source(laid_out) == once, "another layout the second time"
    assert _meaning(parse(laid_out)) == _meaning(parse(source)), "the layout changed what the text says"
    comments = r"\(\*[\s\S]*?\*\)|\"[^\"\n]*\""
    kept, given = re.findall(comments, once), re.findall(comments, source.text)
    assert [part.split() for part in kept] == [part.split() for part in given], "a comment is lost"


def _meaning(nodes: Sequence[object]) -> str:
    return re.sub(r"Position\(line=\d+, column=\d+\)", "", repr(nodes))
