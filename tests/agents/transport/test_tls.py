from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from cosched.agents.transport import tls
from cosched.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path


def test_each_is_its_own() -> None:
    (_, first), (_, second) = tls.make_certificate("a"), tls.make_certificate("a")
    ders = [ssl.PEM_cert_to_DER_cert(pem.decode()) for pem in (first, second)]
    assert tls.fingerprint(ders[0]) != tls.fingerprint(ders[1])
    assert tls.checked_certificate(first.decode()).strip() == first.decode().strip()


@pytest.mark.parametrize("text", ["", "nonsense", "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"])
def test_what_is_no_certificate_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UserError) as caught:
        tls.checked_certificate(text)
    assert "\n" not in str(caught.value)


def test_two_certificates_are_one_too_many() -> None:
    pems = [tls.make_certificate(name)[1].decode() for name in ("a", "b")]
    with pytest.raises(UserError, match="2 certificates"):
        tls.checked_certificate("".join(pems))


def test_only_the_newest_protocol_is_spoken(tmp_path: Path) -> None:
    key, pem = tls.make_certificate("a")
    (tmp_path / "key").write_bytes(key)
    (tmp_path / "crt").write_bytes(pem)
    for context in (
        tls.server_context(tmp_path / "crt", tmp_path / "key", (pem.decode(),)),
        tls.client_context(tmp_path / "crt", tmp_path / "key", pem.decode()),
    ):
        assert context.minimum_version is ssl.TLSVersion.TLSv1_3
        assert context.verify_mode is ssl.CERT_REQUIRED
