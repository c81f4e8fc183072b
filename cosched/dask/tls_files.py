"""Certificates of one Dask cluster: whoever has its files may use it, and nobody else.

A scheduler runs the code of anybody who reaches its port. So all of a cluster's parts prove themselves to one another
by one key, made for this cluster alone and kept in private files; a command line names their folder at most.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from cosched.certificates import self_signed
from cosched.errors import UserError

__all__ = ["ClusterTlsFiles", "join_address", "make_tls_files", "split_address"]

_NAME = "cosched-dask"
_DAYS = 365
_SEPARATOR = "#"  # between a scheduler's address and the folder of its files


@dataclass(frozen=True, slots=True)
class ClusterTlsFiles:
    """A key and its certificate, which is its own authority, as PEM files in a folder."""

    folder: Path

    @property
    def certificate(self) -> Path:
        """The certificate."""
        return self.folder / "certificate.pem"

    @property
    def key(self) -> Path:
        """The private key."""
        return self.folder / "key.pem"

    def environment(self, address: str) -> dict[str, str]:
        """Return the variables by which `distributed.Client()` finds a scheduler and proves itself to it."""
        prefix = "DASK_DISTRIBUTED__COMM__"
        roles = ("CLIENT", "WORKER", "SCHEDULER")
        return {
            "DASK_SCHEDULER_ADDRESS": address,
            f"{prefix}REQUIRE_ENCRYPTION": "True",
            f"{prefix}TLS__CA_FILE": str(self.certificate),
            **{f"{prefix}TLS__{role}__CERT": str(self.certificate) for role in roles},
            **{f"{prefix}TLS__{role}__KEY": str(self.key) for role in roles},
        }

    def options(self) -> dict[str, str | bool]:
        """Return the arguments of `distributed.Security` for every role."""
        roles = ("client", "worker", "scheduler")
        return {
            "require_encryption": True,
            "tls_ca_file": str(self.certificate),
            **{f"tls_{role}_cert": str(self.certificate) for role in roles},
            **{f"tls_{role}_key": str(self.key) for role in roles},
        }

    def proven_own(self) -> ClusterTlsFiles:
        """Return the same files by a path without links, of this user's own and closed to others.

        Who joins a scheduler runs its code: an address that somebody else has told in the lead's name, where jobs can
        write into each other's mailboxes, must lead to no key of theirs.

        Raises:
            UserError: they are not there, another user's, or open to others.
        """
        try:
            own = ClusterTlsFiles(self.folder.resolve(strict=True))
            found = [each.lstat() for each in (own.folder, own.key, own.certificate)]
        except (OSError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "its links lead in a circle"
            raise UserError(f"the cluster's certificates in {self.folder} cannot be read: {reason}") from error
        if any(state.st_uid != os.geteuid() or state.st_mode & 0o077 or stat.S_ISLNK(state.st_mode) for state in found):
            raise UserError(
                f"the cluster's certificates in {self.folder} are not this user's alone: use those that its lead has "
                "made, as the user of its jobs"
            )
        return own

    def remove(self) -> None:
        """Delete the files and their folder."""
        for file in (self.key, self.certificate):
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # there is something else in it
            self.folder.rmdir()


def make_tls_files(folder: Path) -> ClusterTlsFiles:
    """Make a key and its certificate in a new folder that only its owner reaches.

    Raises:
        UserError: the folder is there already, or cannot be made.
    """
    try:
        folder.mkdir(mode=0o700)
        files = ClusterTlsFiles(folder)
        key, certificate = self_signed(_NAME, _DAYS, authority=True)
        _write_private(files.key, key)
        _write_private(files.certificate, certificate)
    except OSError as error:
        raise UserError(f"no certificates for Dask can be made in {folder}: {error.strerror}") from error
    return files


def join_address(address: str, files: ClusterTlsFiles) -> str:
    """Return a scheduler's address with the folder of its files, as a lead tells it to its workers."""
    return f"{address}{_SEPARATOR}{files.folder}"


def split_address(told: str) -> tuple[str, ClusterTlsFiles]:
    """Return the scheduler's address and the files of an address that a lead has told.

    Raises:
        UserError: it names no folder.
    """
    address, _, folder = told.partition(_SEPARATOR)
    if not address.startswith("tls://") or not folder.startswith("/"):
        raise UserError(f"{told[:200]!r} is no address of a Dask scheduler: write tls://HOST:PORT#FOLDER")
    return address, ClusterTlsFiles(Path(folder))


def _write_private(file: Path, data: bytes) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as writing:
        writing.write(data)
