"""TLS between agents: self-signed certificates, pinned by each neighbour without an authority, and time limits."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from cosched.certificates import self_signed
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = [
    "SILENCE_TIMEOUT",
    "CertificateFiles",
    "checked_certificate",
    "client_context",
    "fingerprint",
    "make_certificate",
    "server_context",
    "time_limit",
]

SILENCE_TIMEOUT = 10.0
"""Seconds of silence in a handshake, a request or an answer after which a connection is given up."""

_DAYS = 3650


class CertificateFiles(NamedTuple):
    """Files of an agent's certificate and its private key, both PEM."""

    certificate: Path
    key: Path


def make_certificate(name: str) -> tuple[bytes, bytes]:
    """Return a new private key and its certificate for a domain's agent, both as PEM."""
    return self_signed(name, _DAYS)


def checked_certificate(pem: str) -> str:
    """Return a certificate's PEM in its normal form.

    Raises:
        UserError: it is not one certificate.
    """
    try:
        found = x509.load_pem_x509_certificates(pem.encode())
    except ValueError as error:
        raise UserError(f"the certificate cannot be read ({error}): take the peer's file as it was made") from error
    if len(found) != 1:
        raise UserError(f"the peer has {len(found)} certificates: exactly one is pinned")
    return found[0].public_bytes(serialization.Encoding.PEM).decode()


def fingerprint(der: bytes) -> str:
    """Return the SHA-256 of a certificate, by which a peer is recognised."""
    return x509.load_der_x509_certificate(der).fingerprint(hashes.SHA256()).hex()


def server_context(certificate: Path, key: Path, pinned: Iterable[str]) -> ssl.SSLContext:
    """Return a context for listening that accepts the pinned certificates alone."""
    return _context(ssl.PROTOCOL_TLS_SERVER, certificate, key, pinned)


def client_context(certificate: Path, key: Path, pinned: str) -> ssl.SSLContext:
    """Return a context for calling that accepts this certificate alone, under any name."""
    return _context(ssl.PROTOCOL_TLS_CLIENT, certificate, key, (pinned,))


def _context(protocol: int, certificate: Path, key: Path, pinned: Iterable[str]) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # a pinned certificate says more than a name
    context.verify_mode = ssl.CERT_REQUIRED
    # The certificates are their own trust anchors; whatever else they signed is not trusted: they are no authorities.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise UserError(
            f"the agent's key {key} and certificate {certificate} cannot be used "
            f"({error.strerror or error}): make them with `cosched peer init`"
        ) from error
    anchors = "".join(pinned)
    if anchors:
        context.load_verify_locations(cadata=anchors)
    return context


@contextmanager
def time_limit(connection: socket.socket, seconds: float) -> Iterator[None]:
    """End a connection, secured or not, that is still in use after `seconds`.

    A socket's own timeout begins anew with every byte: a neighbour that sends one now and then would hold a thread for
    ever.

    Raises:
        TimeoutError: it was, whatever error came of that within.
    """
    over = threading.Event()

    def end() -> None:
        over.set()
        with suppress(OSError):  # a secured socket's own shutdown would forget its keys while they are in use
            socket.socket.shutdown(connection, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException):
        if not over.is_set():
            raise
    finally:
        timer.cancel()
    if over.is_set():
        raise TimeoutError(f"it took longer than {seconds:g} s")
