from __future__ import annotations

import pytest

import cosched
from cosched.client import Client


def test_the_package_offers_the_client() -> None:
    assert cosched.Client is Client
    with pytest.raises(AttributeError):
        _ = cosched.Clint
