from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from cosched.certificates import self_signed


@pytest.mark.parametrize("authority", [False, True])
def test_a_certificate_is_its_keys_and_signs_itself(authority: bool) -> None:
    key, pem = self_signed("north", 30, authority=authority)
    certificate = x509.load_pem_x509_certificate(pem)
    certificate.verify_directly_issued_by(certificate)
    assert load_pem_private_key(key, None).public_key() == certificate.public_key()
    assert certificate.subject.rfc4514_string() == "CN=north"
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is authority
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == datetime.timedelta(days=30)
    assert certificate.not_valid_before_utc < datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=23)
