from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

import cosched
from cosched.cli.main import run
from cosched.errors import CoschedError, SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


def descendants(kind: type[CoschedError]) -> Iterator[type[CoschedError]]:
    for child in kind.__subclasses__():
        yield child
        yield from descendants(child)


def test_every_error_says_whose_fault_it_is() -> None:
    """Exit code and HTTP status follow from it."""
    for module in pkgutil.walk_packages(cosched.__path__, "cosched."):
        if not module.name.endswith(("__main__", ".migrations.env")):  # these do something when they are imported
            importlib.import_module(module.name)
    errors = [kind for kind in descendants(CoschedError) if kind not in (UserError, SystemFault)]
    assert errors
    assert [kind for kind in errors if issubclass(kind, UserError) == issubclass(kind, SystemFault)] == []


def test_the_users_fault_is_1_and_the_systems_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "/no/such/queue.json"]) == 1
    assert run(["host", "list", "--server", "unix:/no/such/socket"]) == 2
    assert all(line.startswith("cosched: ") for line in capsys.readouterr().err.splitlines())
