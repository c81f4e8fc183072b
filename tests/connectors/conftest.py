"""Lets pytest explain a failed assertion of the contract."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("cosched.connector.contract")
