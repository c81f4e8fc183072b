"""What the processes of an attempt leave to be seen."""

from __future__ import annotations

from pathlib import Path

from cosched_local.spool import LocalSpool


def runner_of(spool: Path, attempt: str) -> int:
    claim = LocalSpool(spool).claim(attempt)
    assert claim is not None
    return claim.pid


def bearing(attempt: str) -> list[int]:
    """Return the living processes that belong to the attempt."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # Bytes: a process, of another test for one, may be called anything.
            dead = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0] in b"ZX"
            if not dead and f"COSCHED_ATTEMPT={attempt}".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found
