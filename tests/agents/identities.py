"""Identities of agents for TLS, and a box that collects letters."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cosched.agents.transport import tls
from cosched.agents.transport.allow_list import PeerEntry
from cosched.connector.jobs import Output
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.agents.protocol.letters import Letter
    from cosched.agents.transport.remote_output import OutputQuery

UUID = "9a1f5e0c-36a1-4a51-9a5b-0d2f3c6f8b1e"


@dataclass
class Identity:
    name: str
    certificate: Path
    key: Path

    @property
    def files(self) -> tls.CertificateFiles:
        return tls.CertificateFiles(self.certificate, self.key)

    def entry(self, port: int) -> PeerEntry:
        return PeerEntry(name=self.name, address=f"127.0.0.1:{port}", certificate=self.certificate.read_text())


def an_identity(folder: Path, name: str) -> Identity:
    key, pem = tls.make_certificate(name)
    found = Identity(name, folder / f"{name}.crt", folder / f"{name}.key")
    found.key.write_bytes(key)
    found.certificate.write_bytes(pem)
    return found


class Box:
    def __init__(self) -> None:
        self.letters: list[Letter] = []
        self.came = threading.Event()

    def put(self, letter: Letter) -> None:
        self.letters.append(letter)
        self.came.set()

    def output(self, peer: str, query: OutputQuery) -> Output | None:
        if query.task != UUID:
            raise UserError(f"no task {query.task} has come from {peer}")
        return Output(b"\0line\n"[: query.limit], 3, 9) if query.stream == "out" else None
