"""Connectors are found by name among the installed packages, and a wrong name says which there are."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from typing import TYPE_CHECKING

import pytest

from cosched.connector import available_connectors, load_connector
from cosched.errors import UserError
from cosched_local import LocalConnector

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    points = EntryPoints(
        EntryPoint(name, target, "cosched.connectors")
        for name, target in (
            ("own", "cosched_local:LocalConnector"),
            ("broken", "no_such_package:Connector"),
            ("odd", "collections:OrderedDict"),
        )
    )
    monkeypatch.setattr("cosched.connector.registry.connector_points", lambda: points)


def test_the_local_connector_is_installed(tmp_path: Path) -> None:
    assert "local" in available_connectors()
    connector = load_connector("local", {"spool": str(tmp_path)})
    assert isinstance(connector, LocalConnector)
    assert connector.name == "local"


@pytest.mark.usefixtures("installed")
def test_a_third_partys_connector_is_found() -> None:
    assert available_connectors() == ["broken", "odd", "own"]
    assert isinstance(load_connector("own", {}), LocalConnector)


@pytest.mark.usefixtures("installed")
def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(UserError, match="'pbs' is not installed: choose one of broken, odd, own"):
        load_connector("pbs", {})


@pytest.mark.usefixtures("installed")
def test_a_missing_package_says_how_to_install_it() -> None:
    with pytest.raises(UserError, match=r"no_such_package.*pip install 'cosched\[broken\]'"):
        load_connector("broken", {})


@pytest.mark.usefixtures("installed")
def test_a_class_that_is_no_connector_is_refused() -> None:
    with pytest.raises(UserError, match="'odd' is none: its class must inherit"):
        load_connector("odd", {})


def test_a_wrong_setting_is_the_users_error() -> None:
    with pytest.raises(UserError, match="no setting 'hots'"):
        load_connector("local", {"hots": 3})
