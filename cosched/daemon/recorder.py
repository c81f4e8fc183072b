"""The recorder keeps the core's last events in files, from which decisions can be replayed.

The engine's thread only queues what the core handled; a thread of the recorder writes it. Start at `Recorder`.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import structlog

from cosched.coscheduler.recording.lines import RecordingWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.recording.snapshot import CoreSnapshot

__all__ = ["Recorder", "RecordingFiles"]

_log = structlog.get_logger("cosched.recorder")

_BATCH = 500  # events written at once at most
_MOST_WAITING = 20_000  # events that wait to be written; more are left out, and a new file begins
_AGAIN = 30.0  # seconds after a fault until a new file is begun
_BLOCK = 1 << 20  # bytes read at once
_PATIENCE = 10.0  # seconds that a reader waits for what is queued
_KEPT_MISTAKES = 3  # recordings in which the core failed that are kept beside the others


@dataclass(frozen=True, slots=True)
class RecordingFiles:
    """A folder of recordings; each recording replays alone.

    Attributes:
        folder: holds `recording-00000001.jsonl` and so on, the oldest first, and `mistake-00000001.jsonl` for a
            recording in which the core failed: the same file by another name, which stays when the recordings go.
        size: bytes of events after which a file is full, or as many as its state takes where that is more.
        files: how many are kept.
    """

    folder: Path
    size: int
    files: int

    def paths(self) -> list[Path]:
        """Return the files, oldest first; one that somebody has put beside them is none."""
        return sorted(self.folder.glob(f"recording-{8 * '[0-9]'}.jsonl"))

    def begin(self, start: bytes) -> int:
        """Start the next file, then delete the oldest; return its descriptor.

        `start` is written at its beginning.

        Raises:
            OSError: it cannot be made or written; then there is none, and the oldest stays.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = self.paths()
        last = int(known[-1].stem.rpartition("-")[2]) if known else 0
        path = self.folder / f"recording-{last + 1:08}.jsonl"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            _write_all(descriptor, start)
        except OSError:
            os.close(descriptor)
            path.unlink(missing_ok=True)
            raise
        for old in known[: len(known) + 1 - self.files]:
            old.unlink(missing_ok=True)
        return descriptor

    def keep_newest(self) -> None:
        """Keep the newest file under a second name, and delete the oldest kept so."""
        newest = self.paths()[-1]
        with contextlib.suppress(OSError):  # it has that name, or the file system knows no second names
            (self.folder / newest.name.replace("recording", "mistake")).hardlink_to(newest)
        for old in sorted(self.folder.glob("mistake-*.jsonl"))[:-_KEPT_MISTAKES]:
            old.unlink(missing_ok=True)

    def blocks(self) -> Iterator[bytes]:
        """Return the content of all files, oldest first, each line with its end.

        Raises:
            OSError: one cannot be read.
        """
        opened = []
        for path in self.paths():
            with contextlib.suppress(FileNotFoundError):  # it was the oldest one
                opened.append(path.open("rb"))
        return _blocks(opened)


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _blocks(files: Sequence[BinaryIO]) -> Iterator[bytes]:
    for file in files:
        with file:
            last = b"\n"
            while block := file.read(_BLOCK):
                yield block
                last = block[-1:]
            if last != b"\n":
                yield b"\n"


@dataclass(frozen=True, slots=True)
class _Start:
    time: float
    snapshot: CoreSnapshot


class Recorder(threading.Thread):
    """Records what a core handles. A full disk stops the recording, and nothing else."""

    def __init__(self, core: Coscheduler, files: RecordingFiles) -> None:
        super().__init__(name="recorder", daemon=True)
        self._core = core
        self._files = files
        self._items: queue.SimpleQueue[tuple[Event, Outcome | None] | _Start | threading.Event | None]
        self._items = queue.SimpleQueue()
        self._writer = RecordingWriter()
        self._descriptor = -1
        self._room = sys.maxsize  # bytes of events that the file may still take
        self._full = False  # whether the core's thread is to begin a new file
        self._told_full = False  # once for each file
        self._faulty = False
        self._recording = False  # whether what is queued follows a start
        self._begin_from = 0.0

    def handled(self, event: Event, outcome: Outcome | None) -> None:
        """Queue an event that the core has handled; `outcome` is None if it failed.

        It runs on the core's thread.
        """
        if self._recording:
            self._items.put((event, outcome))
            if self._items.qsize() > _MOST_WAITING:
                self._recording, self._begin_from = False, time.monotonic() + _AGAIN
        if outcome is not None and (self._full or not self._recording) and time.monotonic() >= self._begin_from:
            self._full, self._recording = False, True
            self._items.put(_Start(event.time, self._core.snapshot()))

    def blocks(self) -> Iterator[bytes]:
        """Return all that is recorded, up to now.

        Raises:
            OSError: it cannot be read.
        """
        if self.is_alive():
            written = threading.Event()
            self._items.put(written)
            written.wait(_PATIENCE)
        return self._files.blocks()

    def stop(self) -> None:
        """Write all queued entries, then end the thread."""
        self._items.put(None)
        if self.ident is not None:
            self.join()

    def run(self) -> None:
        """Write until `stop`."""
        going = True
        while going:
            batch = [self._items.get()]
            while len(batch) < _BATCH and not self._items.empty():
                batch.append(self._items.get())
            try:
                self._write(batch)
            except Exception as error:  # no error of the recorder may harm the core
                self._fail(error)
            for item in batch:
                if isinstance(item, threading.Event):
                    item.set()
            going = None not in batch
        self._close()

    def _write(self, batch: Sequence[tuple[Event, Outcome | None] | _Start | threading.Event | None]) -> None:
        text: list[str] = []
        for item in batch:
            if isinstance(item, _Start):
                self._append(text)
                self._close()
                start = self._writer.start(self._core.settings, item.time, item.snapshot).encode()
                self._descriptor = self._files.begin(start)
                self._room = max(self._files.size, len(start))  # a long state is not written for a few events
                text = []
            elif isinstance(item, tuple) and self._descriptor >= 0:
                text.append(self._writer.handled(*item))
                if item[1] is None:
                    self._files.keep_newest()
        self._append(text)

    def _append(self, lines: Sequence[str]) -> None:
        if not lines or self._descriptor < 0:
            return
        content = "".join(lines).encode()
        self._room -= len(content)
        _write_all(self._descriptor, content)
        if self._faulty:
            self._faulty = False
            _log.info("recording again", folder=str(self._files.folder))
        if self._room <= 0 and not self._told_full:
            self._told_full = self._full = True

    def _close(self) -> None:
        self._room, self._told_full = sys.maxsize, False
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _fail(self, error: Exception) -> None:
        """Stop recording for a while; the engine's thread begins a new file then."""
        self._close()
        self._recording, self._begin_from = False, time.monotonic() + _AGAIN
        if not self._faulty:
            self._faulty = True
            _log.error("events are not recorded", folder=str(self._files.folder), fault=str(error))
