"""Certificates that sign themselves: agents pin each other's, a Dask cluster's is its own authority."""

from __future__ import annotations

import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

__all__ = ["self_signed"]


def self_signed(name: str, days: int, *, authority: bool = False) -> tuple[bytes, bytes]:
    """Return a new private key and its certificate, both as PEM.

    Args:
        name: its common name.
        days: for which it is valid.
        authority: whether those who trust it are to take it for the authority that has signed it.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    # Clocks differ: what is made now must be valid where the clock is behind.
    begin = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=0 if authority else None), critical=True)
    )
    if authority:
        ours, signers = x509.SubjectKeyIdentifier, x509.AuthorityKeyIdentifier
        builder = builder.add_extension(ours.from_public_key(key.public_key()), critical=False)
        builder = builder.add_extension(signers.from_issuer_public_key(key.public_key()), critical=False)
    certificate = builder.sign(key, hashes.SHA256())
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return pem, certificate.public_bytes(serialization.Encoding.PEM)
