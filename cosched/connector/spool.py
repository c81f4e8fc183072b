"""A connector's spool has folders for attempts, and fences for cancelled ones.

A fence is believed where no job can write. Start at `AttemptFolders`; `offline_hosts` reads which hosts an
administrator took off.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from cosched.connector.interface import ConnectorError
from cosched.connector.jobs import Output
from cosched.connector.spool_lock import SpoolLock

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = [
    "FENCED",
    "FENCES",
    "MAILBOXES",
    "AttemptFolders",
    "cancelled_before_submission",
    "is_attempt_folder",
    "offline_hosts",
    "output_part",
    "read_job_file",
    "read_output",
    "spool_faults",
    "write_durably",
]

FENCED = 143  # exit code of a program that ends at SIGTERM
FENCES = "fences"  # folder of the fences in the spool
MAILBOXES = "mailboxes"  # folder in it of the attempts' mailboxes: in a folder of their own jobs could move them
_LOCK = "lock"  # file in it: no job can write there
_FORMER = "former"  # file in it: the attempts whose scripts look for a fence in their own folders


@contextlib.contextmanager
def spool_faults(connector: str, spool: Path) -> Iterator[None]:
    """Turn errors of the file system into the transient error of an unusable spool."""
    try:
        yield
    except OSError as error:
        # A full disk is one fault, whichever file finds no room: who logs what is new says it once.
        place = spool if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.filename or spool
        raise ConnectorError(
            f"the {connector} connector cannot work in its spool: {error.strerror}: {place}: make room or "
            "correct the rights",
            transient=True,
        ) from error


def cancelled_before_submission(attempt: str) -> ConnectorError:
    """Return the error for the submission of an attempt that was cancelled before."""
    return ConnectorError(
        f"attempt {attempt} was cancelled before it was submitted: make a new attempt", transient=False
    )


@contextlib.contextmanager
def _plain_file(file: Path) -> Iterator[int | None]:
    """Open a plain file that a job may have made; yield None for others.

    A link or a special file counts as none, and so does one that its job keeps from others.

    Raises:
        OSError: it cannot be opened.
    """
    try:  # O_NONBLOCK: a pipe that stands there would be waited for
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        # EAGAIN: a process of the job's keeps it by a lease, for which an open file would have to be waited for.
        if error.errno not in (errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EAGAIN):
            raise
        yield None
        return
    try:
        yield handle if stat.S_ISREG(os.fstat(handle).st_mode) else None
    finally:
        os.close(handle)


def read_output(file: Path, offset: int, limit: int) -> Output | None:
    """Return at most `limit` bytes from `offset` on; None if there is no such file.

    A negative `offset` counts from the end. A job's own user may have put something else in the file's place: only a
    plain file that is no link is read.

    Raises:
        OSError: it cannot be read.
    """
    with _plain_file(file) as handle:
        state = None if handle is None else os.fstat(handle)
        if handle is None or state is None or state.st_nlink > 1:
            return None
        start = max(state.st_size + offset, 0) if offset < 0 else min(offset, state.st_size)
        return Output(os.pread(handle, limit, start), start, state.st_size)


def read_job_file(file: Path, most: int = 4096) -> str | None:
    """Return the text of a small file that a job may have written, or None.

    A link, a pipe or a device in its place counts as missing, and so does a file of more than `most` bytes.

    Raises:
        OSError: it cannot be read.
    """
    with _plain_file(file) as handle:
        if handle is None or os.fstat(handle).st_size > most:
            return None
        return os.pread(handle, most, 0).decode(errors="replace")


def output_part(data: bytes, offset: int, limit: int) -> Output:
    """Return at most `limit` bytes of an output from `offset`.

    A negative offset counts from the end.
    """
    start = max(len(data) + offset, 0) if offset < 0 else min(offset, len(data))
    return Output(data[start : start + limit], start, len(data))


class AttemptFolders:
    """The folders of attempts, with scripts, output and fences; connectors add further files.

    A new spool is closed to other users, for scripts hold users' environments. Jobs may write their attempts' folders,
    so fences are in a folder of their own: others may look a name up in it, as far as they may enter the spool, and
    write nothing.

    Args:
        spool: folder of the folders; every host reaches them under this path.

    Attributes:
        root: the same.
        lock: the spool's; see `hold`.
    """

    def __init__(self, spool: Path) -> None:
        self.root = spool
        self.lock = SpoolLock(spool, spool / FENCES / _LOCK)
        self._formers: frozenset[str] | None = None

    def folder(self, attempt: str) -> Path:
        """Return the folder of an attempt."""
        return self.root / attempt

    def known(self, attempt: str) -> bool:
        """Return whether the attempt belongs to this spool."""
        return self.folder(attempt).is_dir()

    def create(self, attempt: str) -> bool:
        """Make the attempt's folder, durably; return False where there is one already."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_fences()
        self._make_mailboxes()
        folder = self.folder(attempt)
        try:
            folder.mkdir()
        except FileExistsError:
            return False
        folder.chmod(self.mode())
        _sync_folder(self.root)
        return True

    def begin(self, attempt: str) -> bool:
        """Make the folder for a submission; return False where there is one already.

        There may be a job, too, then.

        Raises:
            ConnectorError: the attempt was cancelled.
            OSError: the spool cannot be written.
        """
        new = self.create(attempt)
        self.refuse_fenced(attempt)
        return new

    def hold(self) -> None:
        """Keep other daemons out of the spool, which is made where it is missing.

        Raises:
            ConnectorError: another cosched has it.
            OSError: it cannot be used.
        """
        if not self.lock.is_held:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make_fences()
            self.lock.take()

    def refuse_fenced(self, attempt: str) -> None:
        """Refuse the submission of an attempt that was cancelled.

        Raises:
            ConnectorError: it was.
        """
        if self.fenced(attempt):
            raise cancelled_before_submission(attempt)

    def fence(self, attempt: str) -> None:
        """Mark the attempt as cancelled, durably: its processes end before they begin."""
        self.create(attempt)
        if not self.is_ours(self.fence_file(attempt)):
            _write_file(self.fence_file(attempt), "", 0o644)
            os.utime(self.folder(attempt), follow_symlinks=False)  # who watches the folder looks again
        _sync_folder(self.root / FENCES)
        if self._is_former(attempt) and not self._former_fence(attempt).exists():  # its script looks there
            _write_file(self._former_fence(attempt), "", 0o644)
            _sync_folder(self.folder(attempt))

    def fence_file(self, attempt: str) -> Path:
        """Return the file that exists once the attempt is cancelled; its script looks for it."""
        return self.root / FENCES / attempt

    def fenced(self, attempt: str) -> bool:
        """Return whether the attempt was cancelled."""
        if self.is_ours(self.fence_file(attempt)):
            return True
        return self._is_former(attempt) and self._former_fence(attempt).exists()

    def mailbox(self, attempt: str) -> Path:
        """Return the folder of an attempt's mailbox."""
        return self.root / MAILBOXES / attempt

    def check_mailboxes(self) -> None:
        """Refuse to make a mailbox where another user has put something in the place of their folder.

        Raises:
            ConnectorError: one has.
            OSError: the folder cannot be made.
        """
        self._make_mailboxes()
        self._refuse_others(self.root / MAILBOXES)

    def output(self, attempt: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        """Return part of `out.<rank>` or `err.<rank>`; see `Connector.output`."""
        return read_output(self.folder(attempt) / f"{stream}.{rank}", offset, limit)

    def write(self, attempt: str, name: str, text: str) -> Path:
        """Write a script into the attempt's folder, as open to others as the folder."""
        script = self.folder(attempt) / name
        _write_file(script, text, self.file_mode())
        return script

    def mode(self) -> int:
        """Return the mode of attempts' folders: as open to others as the spool is."""
        return stat.S_IMODE(self.root.stat().st_mode)

    def remarks(self) -> list[str]:
        """Return a line where the spool is open to everybody, who could read the environments in its scripts."""
        try:
            mode = self.mode()
        except OSError:  # what submits says so
            return []
        if not mode & stat.S_IRWXO:
            return []
        return [
            f"everybody has rights in the spool {self.root} (mode {mode:o}), where scripts have users' environments: "
            "chmod 700, or give it the group of the jobs' user and chmod 3770"
        ]

    def file_mode(self) -> int:
        """Return the mode of scripts: as open as their folder, and never writable by others."""
        return self.mode() & 0o755

    def is_ours(self, path: Path) -> bool:
        """Return whether something is there that no other user has put there.

        Raises:
            OSError: it cannot be looked at.
        """
        try:
            owner = path.lstat().st_uid
        except FileNotFoundError:
            return False
        return owner in (os.geteuid(), self.root.stat().st_uid)  # a file server may know our root by another name

    def _former_fence(self, attempt: str) -> Path:
        return self.folder(attempt) / "cancelled"

    def _is_former(self, attempt: str) -> bool:
        """Return whether an earlier version began the attempt.

        The script of such an attempt knows only the former place of fences.
        """
        if self._formers is None:
            try:
                self._formers = frozenset((self.root / FENCES / _FORMER).read_text().split())
            except FileNotFoundError:  # nothing has been begun or fenced since
                return True
        return attempt in self._formers

    def _make_fences(self) -> None:
        """Make the folder of fences with a list of the attempts begun without it.

        It is made with the list or not at all.

        Raises:
            ConnectorError: another user has put something there.
        """
        fences = self.root / FENCES
        if not os.path.lexists(fences):
            new = Path(tempfile.mkdtemp(prefix=".fences-", dir=self.root))
            former = [entry.name for entry in self.root.iterdir() if is_attempt_folder(entry.name)]
            _write_file(new / _FORMER, "".join(f"{name}\n" for name in former), 0o644)
            new.chmod(stat.S_IMODE(self.root.stat().st_mode) & 0o711)
            with contextlib.suppress(OSError):  # another process has just made it
                new.rename(fences)
            shutil.rmtree(new, ignore_errors=True)
        self._refuse_others(fences)

    def _make_mailboxes(self) -> None:
        """Make the folder of mailboxes, before a job can put something in its place."""
        boxes = self.root / MAILBOXES
        if not os.path.lexists(boxes):
            with contextlib.suppress(FileExistsError):
                boxes.mkdir(mode=0o700)
                boxes.chmod(stat.S_IMODE(self.root.stat().st_mode) & 0o711)

    def _refuse_others(self, folder: Path) -> None:
        if not self.is_ours(folder):
            raise ConnectorError(
                f"{folder} belongs to another user: remove it, and keep others from writing into the spool",
                transient=True,
            )


def _write_file(file: Path, text: str, mode: int) -> None:
    """Write a file into a folder that may be another user's.

    An existing file is replaced, never written into.

    A pipe would block, and a link lead elsewhere.
    """
    new = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as written:
            written.write(text)
            os.fchmod(handle, mode)
        new.replace(file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def write_durably(file: Path, text: str) -> None:
    """Write a small file, whole or not at all, also where the power fails."""
    new = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    with new.open("x", encoding="utf-8") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    new.replace(file)
    _sync_folder(file.parent)


def _sync_folder(folder: Path) -> None:
    """Bring the names in a folder to disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def offline_hosts(folder: Path) -> dict[str, str]:
    """Return the hosts that an administrator took off, with reasons.

    A file's name is the host, its first line the reason.

    Raises:
        OSError: the folder cannot be read.
    """
    off: dict[str, str] = {}
    for marker in folder.iterdir():
        text = ""
        with contextlib.suppress(OSError):  # given back while we look, or not a file: it is off all the same
            text = marker.read_text(errors="replace").partition("\n")[0].strip()
        off[marker.name] = text or f"taken off: remove {marker} to give it back"
    return off


def is_attempt_folder(name: str) -> bool:
    """Return whether a name is a UUID, as the folders of attempts are named."""
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False
