"""What `import cosched` offers, and what it does not load."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

import cosched
from cosched import client, language
from cosched.api.documents import TaskRequest
from cosched.scheduling import policies


@pytest.mark.parametrize("name", cosched.__all__)
def test_every_exported_name_is_there(name: str) -> None:
    assert getattr(cosched, name) is not None
    assert name in dir(cosched)


def test_exported_names_are_those_of_the_parts() -> None:
    assert cosched.Client is client.Client
    assert cosched.check is language.check_files
    assert cosched.plan is policies.plan
    assert cosched.TaskRequest is TaskRequest


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Clint'"):
        _ = cosched.Clint


def test_no_exported_name_is_a_submodules() -> None:
    """Importing a submodule sets its name on the package."""
    assert [name for name in cosched.__all__ if importlib.util.find_spec(f"cosched.{name}")] == []


def test_importing_the_package_loads_neither_an_http_client_nor_numpy() -> None:
    code = "import sys, cosched; print([name for name in ('httpx2', 'numpy', 'pydantic') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
