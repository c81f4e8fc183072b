"""The allow-list of neighbours: one TOML file for each, in a folder of the administrator."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cosched.agents.agent_settings import Peer, PeerRole
from cosched.agents.transport import tls
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["PeerAllowList", "PeerEntry", "read_peer_entry"]

_MAX_BYTES = 64 << 10
# With a part of its name that is empty or too long nobody is even asked where the host is: that is no OSError.
_ADDRESS = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9][A-Za-z0-9-]{0,62}(\.[A-Za-z0-9-]{1,63}){0,126}\.?):(?P<port>[0-9]{1,5})"
)


class PeerEntry(BaseModel):
    """One neighbour as described in its file.

    Attributes:
        name: name of its domain.
        address: "host:port" at which its agent listens.
        certificate: PEM; it alone proves that a connection is this neighbour's.
        role: its role as our neighbour.
        paused: nothing new is exchanged with it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    address: str
    certificate: str
    role: PeerRole = PeerRole.NEIGHBOUR
    paused: bool = False

    @property
    def peer(self) -> Peer:
        """The neighbour as a value for the agent."""
        return Peer(self.name, self.role, self.paused)

    @property
    def host_and_port(self) -> tuple[str, int]:
        """The host and the port that its agent listens on."""
        match = _ADDRESS.fullmatch(self.address)
        assert match is not None  # checked when it was read
        return match["host"].strip("[]"), int(match["port"])

    @property
    def text(self) -> str:
        """The file's content."""
        return (
            f'name = "{self.name}"\naddress = "{self.address}"\nrole = "{self.role}"\n'
            f'paused = {str(self.paused).lower()}\ncertificate = """\n{self.certificate}"""\n'
        )


def read_peer_entry(path: Path) -> PeerEntry:
    """Read a neighbour's file.

    Raises:
        UserError: what is wrong with it, in one line with its name.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UserError(f"{path} is larger than {_MAX_BYTES} bytes: it describes no peer")
        values: dict[str, Any] = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        entry = PeerEntry.model_validate(values, strict=False)
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}): name the peer's file") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path} is not TOML ({error}): take the peer's file as it was made") from error
    except ValidationError as error:
        fault = error.errors()[0]
        raise UserError(f"{path}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from error
    match = _ADDRESS.fullmatch(entry.address)
    if match is None or not 0 < int(match["port"]) < 65536:
        raise UserError(f"{path}: address is {entry.address!r}: write host:port")
    try:
        return entry.model_copy(update={"certificate": tls.checked_certificate(entry.certificate)})
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


class PeerAllowList:
    """Reads and writes the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fingerprint(self) -> tuple[tuple[str, int, int], ...]:
        """Return a value that differs when a file has changed."""
        found = []
        for path in self._paths():
            try:
                status = path.stat()
            except OSError:
                continue  # removed meanwhile
            found.append((path.name, status.st_mtime_ns, status.st_size))
        return tuple(found)

    def entries(self) -> list[PeerEntry]:
        """Return all neighbours, by name.

        Raises:
            UserError: a file is wrong, or two have one name or one certificate.
        """
        found: dict[str, PeerEntry] = {}
        certificates: dict[str, str] = {}
        for path in self._paths():
            entry = read_peer_entry(path)
            if entry.name in found:
                raise UserError(f"{path}: another file is about {entry.name} too: remove one")
            if entry.certificate in certificates:
                raise UserError(f"{path}: {certificates[entry.certificate]} has the same certificate: remove one")
            found[entry.name] = entry
            certificates[entry.certificate] = entry.name
        return [found[name] for name in sorted(found)]

    def get(self, name: str) -> PeerEntry:
        """Return one neighbour.

        Raises:
            UserError: there is none of this name, or a file is wrong.
        """
        entries = {entry.name: entry for entry in self.entries()}
        if name not in entries:
            raise UserError(f"no peer {name!r}: known are {', '.join(entries) or 'none'}")
        return entries[name]

    def put(self, entry: PeerEntry) -> Path:
        """Write or replace a neighbour's file.

        Raises:
            SystemFault: it cannot be written.
        """
        path = self.folder / f"{entry.name}.toml"
        draft = path.with_suffix(".new")
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            draft.write_text(entry.text)
            draft.chmod(0o644)
            draft.replace(path)
        except OSError as error:
            raise SystemFault(f"{path} cannot be written ({error.strerror}): correct its permissions") from error
        return path

    def remove(self, name: str) -> None:
        """Remove a neighbour's file.

        Raises:
            UserError: there is none of this name.
            SystemFault: it cannot be removed.
        """
        self.get(name)
        for path in self._paths():
            if read_peer_entry(path).name == name:
                try:
                    path.unlink()
                except OSError as error:
                    raise SystemFault(f"{path} cannot be removed ({error.strerror}): check its folder") from error

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("*.toml")) if self.folder.is_dir() else []
