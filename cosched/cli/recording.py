"""Save a daemon's recording: through the daemon, or from its folder without one."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.coscheduler.recording.lines import RecordedEvent, RecordedStart, RecordingWriter, read_recording
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SavedRecording", "recorded_bytes", "save_recording"]


@dataclass(frozen=True, slots=True)
class SavedRecording:
    """A recording that was saved.

    Attributes:
        events: number of its events.
        since: time of the first state, epoch seconds.
        until: time of the last event, epoch seconds.
    """

    file: str
    events: int
    since: float
    until: float
    redacted: bool


def recorded_bytes(server: str, config: Path | None) -> bytes:
    """Return what a daemon has recorded, names included.

    Args:
        server: its address; empty: the one of the configuration, or its folder if no daemon answers there.
        config: the configuration that names the folder; None: ask a daemon first.

    Raises:
        UserError: nothing is recorded, or the user is no administrator.
        SystemFault: the daemon or its folder cannot be read.
    """
    from cosched.cli.connection import connect
    from cosched.client import NotRunningError

    if config is None:
        try:
            with connect(server) as client:
                return client.recording()
        except NotRunningError:
            if server:
                raise
    return _folder_bytes(config)


def _folder_bytes(config: Path | None) -> bytes:
    from cosched.daemon.config.loading import load_configuration
    from cosched.daemon.recorder import RecordingFiles

    section = load_configuration(config).recorder
    try:
        content = b"".join(RecordingFiles(section.folder, section.size, section.files).blocks())
    except OSError as error:
        raise SystemFault(f"{section.folder} cannot be read ({error.strerror or error}): check its rights") from error
    if not content:
        raise UserError(f"nothing is recorded in {section.folder}: start a daemon, or name another with --config")
    return content


def save_recording(content: bytes, file: Path, *, with_names: bool) -> SavedRecording:
    """Write a recording; a new file has mode 0600.

    Raises:
        UserError: it is none, or the file cannot be written.
    """
    writer = RecordingWriter(redacted=not with_names)
    entries = list(read_recording(io.BytesIO(content), "what the daemon recorded"))
    starts = [each.time for each in entries if isinstance(each, RecordedStart)]
    events = [each.event.time for each in entries if isinstance(each, RecordedEvent)]
    try:
        with open(file, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as written:
            written.writelines(map(writer.again, entries))
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror or error}") from None
    return SavedRecording(str(file), len(events), starts[0], max(starts + events), redacted=not with_names)
